//! Figures that an output states twice must agree, as far as its digits tell: a typing error, a cut number or a unit
//! that was taken for another shows there.

use super::text::{Refusal, Text};

/// The values that a written number may stand for.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    low: f64,
    high: f64,
}

impl Span {
    /// Takes a number as exact.
    pub fn exact(value: f64) -> Span {
        Span { low: value, high: value }
    }

    /// Takes a number as written, give or take one of its last digit: some tools round, some cut.
    pub fn written(digits: &str) -> Option<Span> {
        let digits = digits.replace(',', ".");
        let value = digits.parse::<f64>().ok().filter(|value| value.is_finite())?;
        let decimals = digits.split_once('.').map_or(0, |(_, decimals)| {
            i32::try_from(decimals.bytes().take_while(u8::is_ascii_digit).count()).unwrap_or(i32::MAX)
        });
        // A number with a power is exact enough.
        let last = if digits.contains(['e', 'E']) { value.abs() * 1e-3 } else { 10_f64.powi(-decimals) };
        Some(Span { low: value - last, high: value + last })
    }

    pub fn plus(self, other: Span) -> Span {
        Span { low: self.low + other.low, high: self.high + other.high }
    }

    pub fn scaled(self, factor: f64) -> Span {
        Span { low: self.low * factor, high: self.high * factor }
    }

    /// Divides by a span of numbers that are not negative.
    pub fn over(self, other: Span) -> Span {
        let low = self.low.max(0.0) / other.high;
        let high = if other.low > 0.0 { self.high / other.low } else { f64::INFINITY };
        Span { low, high }
    }

    /// Widens a span by a share of itself, where a tool measures the two in different places.
    pub fn widened(self, share: f64) -> Span {
        Span { low: self.low - self.low.abs() * share, high: self.high + self.high.abs() * share }
    }

    pub fn meets(self, other: Span) -> bool {
        self.low <= other.high && other.low <= self.high
    }

    /// Tells that every value is above those of another span.
    pub fn exceeds(self, other: Span) -> bool {
        self.low > other.high
    }
}

/// Refuses a part of a text where two of its statements differ.
pub fn check_agreement(
    text: &Text,
    part: &str,
    stated: Span,
    computed: Span,
    what: &str,
) -> Result<(), Refusal> {
    if stated.meets(computed) {
        return Ok(());
    }
    Err(text.refuse_part(part, format!("{what} do not agree in this line: a number or a unit is wrong")))
}

/// Refuses statistics that are not in their order: a minimum above the mean, a mean above the maximum.
pub fn check_order(text: &Text, part: &str, ascending: &[Option<Span>]) -> Result<(), Refusal> {
    if !is_ascending(ascending) {
        return Err(text.refuse_part(part, "least, mean and greatest are not in their order"));
    }
    Ok(())
}

/// Tells that each number may be at least the one before it; missing ones do not count.
pub fn is_ascending(spans: &[Option<Span>]) -> bool {
    let known: Vec<Span> = spans.iter().flatten().copied().collect();
    known.windows(2).all(|pair| !pair[0].exceeds(pair[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_tell_how_well_numbers_agree() {
        let rate = Span::exact(1_073_741_824.0).over(Span::written("10.0092").unwrap());
        assert!(Span::written("107").unwrap().scaled(1e6).meets(rate));
        assert!(!Span::written("107").unwrap().scaled(1_048_576.0).meets(rate));
        assert!(Span::written("0,642771").unwrap().meets(Span::exact(0.64277)));
        assert!(Span::written("1e-3").unwrap().meets(Span::exact(0.001)));
        let unknown = Span::exact(512.0).over(Span::written("0.00").unwrap());
        assert!(unknown.meets(Span::exact(1e12)), "a time of zero bounds nothing above");
        assert!(Span::written("x").is_none() && Span::written("1e999").is_none());
    }
}
