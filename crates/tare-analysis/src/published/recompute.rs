//! An article's conclusions, computed again from the figures that it printed.

use super::{Check, Claim, Figure, PrintedUnit, Published, Quantity, Run};

/// Limit on the pairs of runs that are examined: articles print a handful of runs.
const MOST_PAIRS: usize = 10_000;

/// Results that follow from an article's figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Recomputed<'a> {
    /// Each figure, with every pair of environments that it was printed for, in their order.
    pub ratios: Vec<(&'a Figure, Vec<PairRatio<'a>>)>,
    /// Each claim with its checks; empty where no figure would tell.
    pub claims: Vec<(&'a Claim, Vec<Checked<'a>>)>,
}

/// A value over another, of the means of the printed numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairRatio<'a> {
    pub environment: &'a str,
    pub against: &'a str,
    /// None where the divisor is 0.
    pub ratio: Option<f64>,
}

/// A stated figure, and the one that follows.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked<'a> {
    pub check: &'a Check,
    /// From the means over runs, in the stated unit. Of a range the value farthest outside or inside.
    pub computed: f64,
    /// Least and greatest over the choices of a run for each environment.
    pub low: f64,
    pub high: f64,
    /// Digits after the point of the stated figure.
    pub decimals: usize,
    /// Its unit, `%` for a share; empty for a ratio.
    pub unit: &'a str,
    pub conclusion: Conclusion,
}

/// The result of computing a stated figure again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// The means of the printed figures round to it.
    Follows,
    /// They are it when cut off at its digits, and not rounded.
    CutOff,
    /// Not the means, but the runs of this number (from 1) round to it.
    FollowsFromRun(usize),
    /// It is among the results of single runs; the means round to another figure.
    WithinRuns,
    /// No choice of the printed figures gives it.
    DoesNotFollow,
}

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

/// Computes an article's ratios and claims again, as far as its figures go.
pub fn recompute_article(article: &Published) -> Recomputed<'_> {
    let ratios = article.figures.iter();
    let claims = article.claims.iter();
    Recomputed {
        ratios: ratios.map(|figure| (figure, pairs(article, figure))).collect(),
        claims: claims
            .map(|claim| (claim, claim.checks.iter().filter_map(|check| checked(article, check)).collect()))
            .collect(),
    }
}

/// Pairs every environment with each that is listed after it.
fn pairs<'a>(article: &'a Published, figure: &'a Figure) -> Vec<PairRatio<'a>> {
    let ids: Vec<&str> = article.environments.iter().map(|environment| environment.id.as_str()).collect();
    let mut pairs = Vec::new();
    for (at, environment) in ids.iter().copied().enumerate() {
        for against in ids[at + 1..].iter().copied() {
            if let (Some(value), Some(other)) = (figure.mean(environment), figure.mean(against)) {
                let ratio = Some(value / other).filter(|ratio| ratio.is_finite());
                pairs.push(PairRatio { environment, against, ratio });
            }
        }
    }
    pairs
}

/// Explains why a check cannot be computed, if it cannot.
pub(super) fn can_be_computed(article: &Published, check: &Check) -> Result<(), String> {
    match checked(article, check) {
        Some(_) => Ok(()),
        None => Err(format!(
            "'{}' cannot be computed from the figure '{}' of '{}'",
            check.states, check.figure, check.environment
        )),
    }
}

/// Computes a check from the article's own figures; none where they do not tell.
pub(super) fn compute_check(article: &Published, check: &Check) -> Option<f64> {
    checked(article, check).map(|checked| checked.computed)
}

fn checked<'a>(article: &'a Published, check: &'a Check) -> Option<Checked<'a>> {
    let figure = article.find_figure(&check.figure)?;
    let stated = parse_stated(&check.states, figure.unit)?;
    let of_run = |environment: &str| values(figure, environment, check.run);
    let own = &of_run(&check.environment)?;
    let unit = check.states.split(' ').next_back().filter(|word| word.parse::<f64>().is_err()).unwrap_or("");
    let decimals = stated.decimals;
    let result = |computed: f64, low: f64, high: f64, conclusion| {
        computed.is_finite().then_some(Checked { check, computed, low, high, decimals, unit, conclusion })
    };
    let (least, most) = extremes(own)?;
    match (check.of, check.against.as_deref()) {
        (Quantity::BetweenRuns, None) if own.len() > 1 => {
            let spread = (most - least) / most * 100.0;
            let conclusion = decided(stated.rounds_to(spread));
            result(spread, spread, spread, conclusion)
        }
        (Quantity::Range, None) => {
            let (least, most) = (least * stated.scale, most * stated.scale);
            let computed = if least < stated.low { least } else { most };
            result(computed, least, most, decided(least >= stated.low && most <= stated.high))
        }
        (Quantity::Value, None) => {
            let (value, least, most) = (mean(own) * stated.scale, least * stated.scale, most * stated.scale);
            let conclusion = by_runs(&stated, value, own.iter().map(|run| run * stated.scale), least, most);
            result(value, least, most, conclusion)
        }
        (Quantity::More | Quantity::Less | Quantity::Ratio | Quantity::Difference, _) => {
            let other = &match (check.against.as_deref(), check.over.as_deref()) {
                (Some(against), None) => of_run(against)?,
                (None, Some(over)) => {
                    let over = article.find_figure(over).filter(|over| over.unit == figure.unit)?;
                    values(over, &check.environment, check.run)?
                }
                _ => return None,
            };
            let of = |value: f64, other: f64| match check.of {
                Quantity::More => (value / other - 1.0) * 100.0,
                Quantity::Less => (1.0 - value / other) * 100.0,
                Quantity::Difference => (value - other) * stated.scale,
                _ => value / other,
            };
            let all = own.iter().flat_map(|a| other.iter().map(move |b| of(*a, *b)));
            let all: Vec<f64> = all.take(MOST_PAIRS).collect();
            let (low, high) = extremes(&all)?;
            let computed = of(mean(own), mean(other));
            let runs = own.iter().zip(other).map(|(a, b)| of(*a, *b));
            result(computed, low, high, by_runs(&stated, computed, runs, low, high))
        }
        (Quantity::BetweenRuns | Quantity::Range | Quantity::Value, _) => None,
    }
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

fn decided(follows: bool) -> Conclusion {
    if follows { Conclusion::Follows } else { Conclusion::DoesNotFollow }
}

fn by_runs(
    stated: &Stated,
    mean: f64,
    mut runs: impl Iterator<Item = f64>,
    low: f64,
    high: f64,
) -> Conclusion {
    if stated.rounds_to(mean) {
        return Conclusion::Follows;
    }
    if let Some(at) = runs.position(|run| stated.rounds_to(run)) {
        return Conclusion::FollowsFromRun(at + 1);
    }
    if stated.cuts_to(mean) {
        return Conclusion::CutOff;
    }
    if stated.low >= low && stated.low <= high { Conclusion::WithinRuns } else { Conclusion::DoesNotFollow }
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

    /// Recognises a value that is the stated one when cut off after as many decimals as are stated.
    fn cuts_to(&self, value: f64) -> bool {
        if self.low != self.high {
            return false;
        }
        let factor = 10f64.powi(self.decimals as i32);
        self.rounds_to((value * factor).trunc() / factor)
    }

    /// Recognises a value that is the stated one when rounded to as many decimals as are stated.
    fn rounds_to(&self, value: f64) -> bool {
        if self.high == f64::INFINITY {
            return value > self.low;
        }
        if self.low == f64::NEG_INFINITY {
            return value < self.high;
        }
        if self.low < self.high {
            return self.holds_interval(value, value);
        }
        let decimals = self.decimals;
        value.is_finite() && format!("{value:.decimals$}") == format!("{:.decimals$}", self.low)
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
