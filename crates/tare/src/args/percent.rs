//! Percentages on the command line.

/// Parses a percentage from 0.01 % to 10000 % into a fraction.
pub(crate) fn parse_percent(text: &str) -> Result<f64, String> {
    let share = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let share = share.map(|percent| percent / 100.0).filter(|share| (1e-4..=100.0).contains(share));
    share.ok_or_else(|| "a difference is a percentage, e.g. 5% or 0.5%".into())
}
