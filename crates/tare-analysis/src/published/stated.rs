//! Figures that an article states in its conclusions, and their values by the figures that it printed.

use super::{Check, Figure, PrintedUnit, Published, Quantity, Run};

/// A stated figure, taken apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stated {
    low: f64,
    high: f64,
    /// Digits after the point.
    decimals: usize,
    /// Factor from the article's unit to the stated one.
    scale: f64,
}

/// Computes a check from the means of the article's own figures, in the stated unit, of a range the value farthest outside or inside;
/// none where they do not tell.
pub(super) fn compute_check(article: &Published, check: &Check) -> Option<f64> {
    let figure = article.find_figure(&check.figure)?;
    let stated = parse_stated(&check.states, figure.unit)?;
    let of_run = |environment: &str| values(figure, environment, check.run);
    let own = &of_run(&check.environment)?;
    let (least, most) = extremes(own)?;
    let computed = match (check.of, check.against.as_deref()) {
        (Quantity::BetweenRuns, None) if own.len() > 1 => (most - least) / most * 100.0,
        (Quantity::Range, None) => {
            let (least, most) = (least * stated.scale, most * stated.scale);
            if least < stated.low { least } else { most }
        }
        (Quantity::Value, None) => mean(own) * stated.scale,
        (Quantity::More | Quantity::Less | Quantity::Ratio | Quantity::Difference, _) => {
            let other = &match (check.against.as_deref(), check.over.as_deref()) {
                (Some(against), None) => of_run(against)?,
                (None, Some(over)) => {
                    let over = article.find_figure(over).filter(|over| over.unit == figure.unit)?;
                    values(over, &check.environment, check.run)?
                }
                _ => return None,
            };
            let (value, other) = (mean(own), mean(other));
            match check.of {
                Quantity::More => (value / other - 1.0) * 100.0,
                Quantity::Less => (1.0 - value / other) * 100.0,
                Quantity::Difference => (value - other) * stated.scale,
                _ => value / other,
            }
        }
        (Quantity::BetweenRuns | Quantity::Range | Quantity::Value, _) => return None,
    };
    computed.is_finite().then_some(computed)
}

/// Selects the numbers printed for an environment: every run, or the one that the article goes by.
fn values(figure: &Figure, environment: &str, run: Option<Run>) -> Option<Vec<f64>> {
    let all = figure.values.get(environment)?;
    let (least, greatest) = extremes(all)?;
    Some(match run {
        None => all.clone(),
        Some(Run::Least) => vec![least],
        Some(Run::Greatest) => vec![greatest],
    })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn extremes(values: &[f64]) -> Option<(f64, f64)> {
    let least = values.iter().copied().min_by(f64::total_cmp)?;
    Some((least, values.iter().copied().max_by(f64::total_cmp)?))
}

impl Stated {
    /// Returns the ends of the numbers that round to the stated one.
    fn ends(&self) -> (f64, f64) {
        let rounding = 0.5 * 10f64.powi(-(self.decimals as i32));
        let half = if self.low == self.high { rounding } else { 0.0 };
        (self.low - half, self.high + half)
    }

    /// Checks if every number of an interval rounds to the stated one.
    pub(super) fn holds_interval(&self, low: f64, high: f64) -> bool {
        let (least, most) = self.ends();
        least <= low && high <= most
    }

    /// Checks if a bounded range has a value inside.
    pub(super) fn surrounds(&self, value: f64) -> bool {
        self.low.is_finite() && self.high.is_finite() && self.low < value && value < self.high
    }

    /// Tells whether an interval has both numbers that round to the stated one and numbers that do not.
    pub(super) fn is_crossed_by(&self, low: f64, high: f64) -> bool {
        let (least, most) = self.ends();
        low <= most && high >= least && !self.holds_interval(low, high)
    }
}

/// Reads `0.89 %`, `0.5`, `9.2 ms`, `130 to 180 us`, `over 9 ms`, `under 2`, `about 20` (a fifth more or less).
pub(super) fn parse_stated(text: &str, unit: PrintedUnit) -> Option<Stated> {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let scale = match *words.last()? {
        "%" => {
            words.pop();
            1.0
        }
        "us" => {
            words.pop();
            unit.time_us()?
        }
        "ms" => {
            words.pop();
            unit.time_us()? / 1e3
        }
        _ => 1.0,
    };
    let (low, high) = match words[..] {
        [value] => (value, value),
        [low, "to", high] => (low, high),
        ["over", low] => (low, "inf"),
        ["under", high] => ("-inf", high),
        ["about", value] => {
            let (about, decimals) = (value.parse::<f64>().ok()?, decimals(value));
            return Some(Stated { low: about * 0.8, high: about * 1.2, decimals, scale });
        }
        _ => return None,
    };
    let digits = if low == "-inf" { high } else { low };
    Some(Stated { low: low.parse().ok()?, high: high.parse().ok()?, decimals: decimals(digits), scale })
}

/// Counts the digits after the point.
fn decimals(number: &str) -> usize {
    number.split_once('.').map_or(0, |(_, decimals)| decimals.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_article_states_is_near_what_its_own_figures_give() {
        let article: Published =
            toml::from_str(include_str!("../../../../published/tuni-wsl2-linux.toml")).unwrap();
        let checks = article.claims.iter().flat_map(|claim| &claim.checks);
        let computed = checks
            .map(|check| (check.states.as_str(), format!("{:.3}", compute_check(&article, check).unwrap())));
        let expected = [
            ("0.89 %", "0.893"),
            ("0.02 %", "0.019"),
            ("6.7 %", "6.657"),
            // The thesis divides by the smaller total of each; the means would give 51.89 %.
            ("51.8 %", "51.835"),
            ("0.35 %", "0.347"),
            ("0.17 %", "0.174"),
            ("0 %", "0.000"),
            ("0 %", "0.000"),
        ];
        assert_eq!(computed.collect::<Vec<_>>(), expected.map(|(states, value)| (states, value.to_owned())));
    }

    #[test]
    fn stated_figures_are_read_with_their_digits_and_units() {
        let read = |text, unit| parse_stated(text, unit).map(|s| (s.low, s.high, s.decimals, s.scale));
        assert_eq!(read("0.89 %", PrintedUnit::PerSecond), Some((0.89, 0.89, 2, 1.0)));
        assert_eq!(read("9.2 ms", PrintedUnit::Microseconds), Some((9.2, 9.2, 1, 1e-3)));
        assert_eq!(read("under 2", PrintedUnit::Megabytes), Some((f64::NEG_INFINITY, 2.0, 0, 1.0)));
        assert_eq!(read("over 9 ms", PrintedUnit::Microseconds), Some((9.0, f64::INFINITY, 0, 1e-3)));
        assert_eq!(read("130 to 180 us", PrintedUnit::Microseconds), Some((130.0, 180.0, 0, 1.0)));
        assert_eq!(read("9.2 ms", PrintedUnit::Megabytes), None, "a size is not a time");
        assert_eq!(read("about half", PrintedUnit::Megabytes), None);
        assert_eq!(read("", PrintedUnit::Megabytes), None);
    }
}
