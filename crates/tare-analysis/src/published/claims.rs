//! An article's conclusions, judged by a session.

use std::collections::{BTreeMap, BTreeSet};

use super::conditions::compare_sizes;
use super::figures;
use super::measured::{Measured, Place};
use super::stated::{Stated, compute_check, parse_stated};
use super::{Check, Claim, Expectation, Expected, Figure, Published, Quantity};
use crate::findings::{CheckBeside, ClaimBeside, ClaimOutcome, Interval, Position, Row};
use crate::statistics::signed_ranks::{compute_median, sort_values};
use crate::target_pairs::Ratio;
use tare_data::unit::Direction;

/// Ratio that "hardly differs" allows: articles print two digits of it at most.
const ALIKE: f64 = 1.1;
/// Rounds from which a median has an interval at 95 %.
const ROUNDS_OF_AN_INTERVAL: u32 = 6;

/// Judges every conclusion in each row that it speaks of.
pub(super) fn judge_claims(
    article: &Published,
    rows: &[Row],
    measured: &mut Measured<'_>,
) -> Vec<ClaimBeside> {
    let places: Vec<Place> = rows.iter().filter_map(|row| measured.find_place(row)).collect();
    let mut claims = Vec::new();
    for claim in &article.claims {
        let mut checks = Vec::new();
        for check in &claim.checks {
            let Some(figure) = article.find_figure(&check.figure) else { continue };
            let of = places.iter().filter(|place| figure.subject().is_some_and(|of| place.is_of(of)));
            for place in of {
                checks.extend(check_in(article, (check, figure), place, &places, measured));
            }
        }
        for expectation in &claim.expectations {
            for place in places.iter().filter(|place| place.is_of(expectation.subject())) {
                checks.extend(expected_in(article, expectation, place, &places, measured));
            }
        }
        claims.push(ClaimBeside {
            text: claim.text.clone(),
            recommends: claim.recommends,
            checks,
            needs: claim.needs.clone(),
            unmeasured: find_unmeasured(article, claim, measured),
        });
    }
    claims
}

/// Lists the environments of a conclusion to which none of the session's corresponds.
fn find_unmeasured(article: &Published, claim: &Claim, measured: &Measured<'_>) -> Vec<String> {
    let checks = claim.checks.iter().flat_map(|of| [Some(&of.environment), of.against.as_ref()]);
    let expected = claim.expectations.iter().flat_map(|of| [Some(&of.environment), Some(&of.against)]);
    let named: BTreeSet<&String> = checks.chain(expected).flatten().collect();
    let is_missing =
        |id: &&String| article.find_environment(id).is_some_and(|of| measured.find_target(of.kind).is_none());
    named.into_iter().filter(is_missing).cloned().collect()
}

/// Judges a check in a row: none where no environment corresponds to the article's.
fn check_in(
    article: &Published,
    (check, figure): (&Check, &Figure),
    place: &Place<'_, '_>,
    places: &[Place<'_, '_>],
    measured: &mut Measured<'_>,
) -> Option<CheckBeside> {
    let target = measured.find_target(article.find_environment(&check.environment)?.kind)?;
    let sizes = compare_sizes(&article.conditions, place);
    let mut found =
        CheckBeside::new(&check.states, check.of, place, measured.target_name(target), sizes.here);
    let level = measured.read_level(place.row, target);
    let printed = figures::compute_value(figure, measured.target_name(target), measured);
    match check.of {
        // The extreme of a run is that of all its operations.
        Quantity::Value if printed.is_some() && figure.unit.time_us().is_some() => {
            found.value = printed.zip(figure.unit.time_us()).map(|(value, us)| value * us * 1e3);
            return Some(found);
        }
        Quantity::Value | Quantity::Range => {
            let level = level?;
            found.value = Some(level.median);
            if level.rounds >= ROUNDS_OF_AN_INTERVAL {
                (found.low, found.high) = (Some(level.low), Some(level.high));
            }
            return Some(found);
        }
        Quantity::BetweenRuns => {
            found.value = between_rounds(&level?.values);
            return Some(found);
        }
        Quantity::Difference => {
            let other = measured.find_target(article.find_environment(check.against.as_deref()?)?.kind)?;
            found.against_target = Some(measured.target_name(other));
            found.value = Some(level?.median - measured.read_level(place.row, other)?.median);
            return Some(found);
        }
        Quantity::More | Quantity::Less | Quantity::Ratio => {}
    }
    let mut compared = vec![target];
    let ratio = match (&check.against, &check.over) {
        (Some(against), _) => {
            let other = measured.find_target(article.find_environment(against)?.kind)?;
            found.against_target = Some(measured.target_name(other));
            compared.push(other);
            measured.compare_targets(place, target, other)
        }
        (None, over) => {
            let over = article.find_figure(over.as_deref()?)?.subject()?;
            let over = places.iter().find(|other| {
                let same = (&other.row.place, &other.row.peer) == (&place.row.place, &place.row.peer);
                same && other.is_of(over)
            })?;
            found.over = Some(over.row.label.clone());
            measured.compare_rows(place, over, target)
        }
    };
    found.answer = ClaimOutcome::Undecided;
    if let Some(ratio) = ratio.map(|ratio| of_values(ratio, place.row.metric.direction)) {
        found.judge(ratio, &find_claimed(article, check, figure)?);
    }
    Some(found.qualify(sizes.unmet, measured.find_objection(place, &compared)))
}

/// Finds the range that a check states, on the side of 1 on which the article's own figures are.
fn find_claimed(article: &Published, check: &Check, figure: &Figure) -> Option<Claimed> {
    let stated = parse_stated(&check.states, figure.unit)?;
    let neutral = match check.of {
        Quantity::More | Quantity::Less | Quantity::Difference => 0.0,
        Quantity::Ratio | Quantity::Value | Quantity::Range | Quantity::BetweenRuns => 1.0,
    };
    let own = compute_check(article, check)?;
    Some(Claimed { stated, neutral, is_above: own > neutral })
}

/// A stated range, the value of no difference, and the side of it on which the statement is.
struct Claimed {
    stated: Stated,
    neutral: f64,
    is_above: bool,
}

impl Claimed {
    /// Judges an interval: the statement holds where all of it is in the stated range and on the statement's side.
    fn judge(&self, low: f64, high: f64) -> ClaimOutcome {
        let (is_same_side, is_other_side) = match self.is_above {
            // "About 1" is on both sides.
            _ if self.stated.surrounds(self.neutral) => (true, false),
            true => (low > self.neutral, high < self.neutral),
            false => (high < self.neutral, low > self.neutral),
        };
        if is_other_side {
            ClaimOutcome::Opposite
        } else if !is_same_side || self.stated.is_crossed_by(low, high) {
            ClaimOutcome::Undecided
        } else if self.stated.holds_interval(low, high) {
            ClaimOutcome::Holds
        } else if self.stated.surrounds(self.neutral) {
            // It hardly differs there, and does here.
            ClaimOutcome::Opposite
        } else {
            ClaimOutcome::SameDirection
        }
    }
}

/// Judges an expectation in a row: none where no environment corresponds to the article's two.
fn expected_in(
    article: &Published,
    expectation: &Expectation,
    place: &Place<'_, '_>,
    places: &[Place<'_, '_>],
    measured: &mut Measured<'_>,
) -> Option<CheckBeside> {
    let target = measured.find_target(article.find_environment(&expectation.environment)?.kind)?;
    let other = measured.find_target(article.find_environment(&expectation.against)?.kind)?;
    let states = expectation.is.name();
    let sizes = compare_sizes(&article.conditions, place);
    let mut found =
        CheckBeside::new(states, Quantity::Ratio, place, measured.target_name(target), sizes.here);
    found.against_target = Some(measured.target_name(other));
    found.answer = ClaimOutcome::Undecided;
    let is_alone = expectation.against_place.is_none() && expectation.against_parameters.is_empty();
    let cost = match is_alone {
        true => measured.compare_targets(place, target, other),
        false => {
            let (elsewhere, others) = (expectation.against_place.as_deref(), &expectation.against_parameters);
            let over = places.iter().find(|other| other.is_variant(place, elsewhere, others))?;
            found.over = Some(over.row.label.clone());
            (target == other).then(|| measured.compare_rows(place, over, target)).flatten()
        }
    };
    if let Some(cost) = cost {
        let shown = of_values(cost, place.row.metric.direction);
        found.value = Some(shown.ratio);
        if cost.interval.is_bounded() {
            [found.low, found.high] = shown.interval.ends(Some);
            found.answer = expectation.is.answer(cost.interval);
        }
    }
    Some(found.qualify(sizes.unmet, measured.find_objection(place, &[target, other])))
}

impl Expected {
    fn answer(self, cost: Interval) -> ClaimOutcome {
        let is_beyond = |bound: f64| cost.against(bound) == Position::Beyond;
        let is_below = |bound: f64| cost.against(bound) == Position::Within;
        let (is_slower, is_faster) = (is_beyond(1.0), is_below(1.0));
        let is_different = is_beyond(ALIKE) || is_below(1.0 / ALIKE);
        let is_alike = is_below(ALIKE) && is_beyond(1.0 / ALIKE);
        let (holds, fails) = match self {
            Expected::Slower => (is_slower, is_faster),
            Expected::Faster => (is_faster, is_slower),
            Expected::Same => (is_alike, is_different),
            Expected::Different => (is_different, is_alike),
        };
        match (holds, fails) {
            (true, _) => ClaimOutcome::Holds,
            (_, true) => ClaimOutcome::Opposite,
            _ => ClaimOutcome::Undecided,
        }
    }
}

impl CheckBeside {
    /// Compares a ratio of values with the stated one.
    fn judge(&mut self, ratio: Ratio, claimed: &Claimed) {
        let of = |ratio: f64| match self.of {
            Quantity::More => (ratio - 1.0) * 100.0,
            Quantity::Less => (1.0 - ratio) * 100.0,
            _ => ratio,
        };
        self.value = Some(of(ratio.ratio));
        if !ratio.interval.is_bounded() {
            return;
        }
        let [one, other] = ratio.interval.ends(of);
        let (low, high) = (one.min(other), one.max(other));
        (self.low, self.high) = (Some(low), Some(high));
        self.answer = claimed.judge(low, high);
    }

    /// Withholds the answer where there is an objection. At other sizes than the article's only the direction is known.
    fn qualify(self, unmet: Option<String>, objection: Option<String>) -> CheckBeside {
        match (objection, self.answer) {
            (Some(objection), _) => {
                CheckBeside { answer: ClaimOutcome::NotJudged, because: Some(objection), ..self }
            }
            (None, ClaimOutcome::Holds) if unmet.is_some() => {
                CheckBeside { answer: ClaimOutcome::SameDirection, because: unmet, ..self }
            }
            (None, _) => CheckBeside { because: unmet, ..self },
        }
    }

    fn new(
        states: &str,
        of: Quantity,
        place: &Place<'_, '_>,
        target: String,
        sizes: BTreeMap<String, String>,
    ) -> CheckBeside {
        CheckBeside {
            states: states.to_owned(),
            case: place.row.case.clone(),
            label: place.row.label.clone(),
            metric: place.row.metric.name.clone(),
            unit: place.row.metric.unit,
            target,
            against_target: None,
            over: None,
            of,
            value: None,
            low: None,
            high: None,
            sizes,
            answer: ClaimOutcome::NotJudged,
            because: None,
        }
    }
}

/// Converts a ratio of costs to one of values.
pub(super) fn of_values(cost: Ratio, better: Direction) -> Ratio {
    match better {
        Direction::Lower => cost,
        Direction::Higher => cost.inverse(),
    }
}

/// Computes the typical difference of a round from the one before, in percent of the larger.
fn between_rounds(values: &[f64]) -> Option<f64> {
    let apart = |pair: &[f64]| {
        let (low, high) = (pair[0].min(pair[1]), pair[0].max(pair[1]));
        (high - low) / high * 100.0
    };
    let apart: Vec<f64> = values.windows(2).map(apart).filter(|apart| apart.is_finite()).collect();
    (!apart.is_empty()).then(|| compute_median(&sort_values(&apart)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expectation_is_judged_by_the_whole_interval() {
        let answer = |is: Expected, low: f64, high: f64| is.answer(Interval::new(low, high));
        assert_eq!(answer(Expected::Slower, 1.01, 1.2), ClaimOutcome::Holds);
        assert_eq!(answer(Expected::Slower, 0.7, 0.9), ClaimOutcome::Opposite);
        assert_eq!(answer(Expected::Faster, 0.7, 1.1), ClaimOutcome::Undecided);
        assert_eq!(answer(Expected::Same, 0.95, 1.05), ClaimOutcome::Holds);
        assert_eq!(answer(Expected::Same, 0.95, 1.5), ClaimOutcome::Undecided);
        assert_eq!(answer(Expected::Same, 2.0, 3.0), ClaimOutcome::Opposite);
        assert_eq!(answer(Expected::Different, 2.0, 3.0), ClaimOutcome::Holds);
    }

    #[test]
    fn a_figure_holds_where_the_whole_interval_does() {
        let answer = |states: &str, is_above: bool, low: f64, high: f64| {
            let stated = parse_stated(states, crate::published::PrintedUnit::Megabytes).unwrap();
            Claimed { stated, neutral: 1.0, is_above }.judge(low, high)
        };
        assert_eq!(answer("under 2", true, 1.5, 1.9), ClaimOutcome::Holds);
        assert_eq!(answer("under 2", true, 0.026, 0.046), ClaimOutcome::Opposite, "less than twice as fast");
        assert_eq!(answer("under 2", true, 0.9, 1.9), ClaimOutcome::Undecided);
        assert_eq!(answer("under 2", true, 3.0, 4.0), ClaimOutcome::SameDirection);
        assert_eq!(answer("about 20", true, 4.3, 18.0), ClaimOutcome::Undecided, "it touches the range");
        assert_eq!(answer("about 20", true, 17.0, 23.0), ClaimOutcome::Holds);
        assert_eq!(answer("about 20", true, 4.3, 15.0), ClaimOutcome::SameDirection);
        assert_eq!(answer("about 20", true, 10.0, 30.0), ClaimOutcome::Undecided, "wider than the range");
        assert_eq!(answer("about 1", false, 0.9, 1.1), ClaimOutcome::Holds);
        assert_eq!(answer("about 1", false, 1.3, 1.4), ClaimOutcome::Opposite, "it differs");
        assert_eq!(answer("0.5", false, 0.47, 0.53), ClaimOutcome::Holds);
        assert_eq!(answer("0.5", false, 1.8, 2.1), ClaimOutcome::Opposite);
    }

    #[test]
    fn rounds_differ_from_their_neighbours() {
        assert_eq!(between_rounds(&[100.0, 90.0, 100.0]), Some(10.0));
        assert_eq!(between_rounds(&[100.0]), None);
    }
}
