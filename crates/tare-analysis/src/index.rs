//! An index: the weighted geometric mean of an environment's cost ratios over several cases, with an interval.
//!
//! It is made round by round, so that cases which are slow together widen the interval as they should. An index is
//! only as wide as the set of cases in it: the missing ones are named, and indices over other sets are not compared.

use std::collections::BTreeMap;

use crate::statistics::signed_ranks::Nulls;
use crate::verdicts::judge::{Judgement, Pair, Pairs, judge};
use crate::verdicts::stopping::{Engine, Schedule};
use crate::verdicts::verdict::Margin;

/// A case of the index: its weight and, where it could be compared, its paired rounds.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    pub case: &'a str,
    /// Above 0; fixed by the study, not by what was found.
    pub weight: f64,
    pub pairs: Option<Pairs>,
}

/// A geometric-mean index of one environment against the baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Index {
    /// Judged like a cell; none when no round has every case.
    pub judgement: Option<Judgement>,
    /// Cases in it, and cases that are missing because they could not be compared.
    pub cases: Vec<String>,
    pub missing: Vec<String>,
}

/// Per round g_r = sum of w_m d_m,r with weights that sum to 1, over the rounds in which every case was paired.
pub fn index(
    parts: &[Part<'_>],
    schedule: &Schedule,
    engine: Engine,
    margin: f64,
    nulls: &mut Nulls,
) -> Index {
    let usable = |part: &&Part<'_>| part.pairs.is_some() && part.weight.is_finite() && part.weight > 0.0;
    let (there, missing): (Vec<&Part<'_>>, Vec<&Part<'_>>) = parts.iter().partition(usable);
    let names = |parts: &[&Part<'_>]| parts.iter().map(|part| part.case.to_owned()).collect();
    let whole: f64 = there.iter().map(|part| part.weight).sum();
    let mut rounds: BTreeMap<u32, (Pair, usize)> = BTreeMap::new();
    for (part, pairs) in there.iter().filter_map(|part| Some((part, part.pairs.as_ref()?))) {
        for pair in &pairs.pairs {
            let (sum, cases) = rounds.entry(pair.round).or_insert((Pair { d: 0.0, ..*pair }, 0));
            sum.d += part.weight / whole * pair.d;
            *cases += 1;
        }
    }
    let full = rounds.into_values().filter(|(_, cases)| *cases == there.len()).map(|(pair, _)| pair);
    let reached = there.iter().filter_map(|part| Some(part.pairs.as_ref()?.reached)).min().unwrap_or(0);
    let pairs = Pairs { pairs: full.collect(), reached };
    Index {
        judgement: judge(&pairs, schedule, engine, Margin::plain(margin), nulls),
        cases: names(&there),
        missing: names(&missing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::Verdict;

    fn pairs(d: impl Fn(u32) -> f64, rounds: u32) -> Pairs {
        let pair = |round| Pair { round, start: round, d: d(round) };
        Pairs { pairs: (0..rounds).map(pair).collect(), reached: rounds }
    }

    #[test]
    fn it_is_the_weighted_geometric_mean() {
        let (twice, same) = (pairs(|_| 2f64.ln(), 12), pairs(|_| 0.0, 12));
        let parts = [
            Part { case: "a", weight: 1.0, pairs: Some(twice) },
            Part { case: "b", weight: 3.0, pairs: Some(same) },
            Part { case: "c", weight: 3.0, pairs: None },
        ];
        let schedule = Schedule::new(&[12], 12);
        let index = index(&parts, &schedule, Engine::GroupSequential, 0.02, &mut Nulls::default());
        assert_eq!((index.cases, index.missing), (vec!["a".into(), "b".into()], vec!["c".to_string()]));
        let judgement = index.judgement.unwrap();
        assert!((judgement.estimate - 2f64.ln() / 4.0).abs() < 1e-12);
        assert_eq!(judgement.verdict, Verdict::Slower);
    }

    #[test]
    fn noise_that_cases_share_with_opposite_signs_cancels() {
        let noise = |round: u32| f64::from(round % 5) * 0.1 - 0.2;
        let (up, down) = (pairs(noise, 12), pairs(|r| -noise(r), 12));
        let part = |case, pairs| Part { case, weight: 1.0, pairs: Some(pairs) };
        let schedule = Schedule::new(&[12], 12);
        let index = index(
            &[part("up", up), part("down", down)],
            &schedule,
            Engine::default(),
            0.02,
            &mut Nulls::default(),
        );
        assert_eq!(index.judgement.unwrap().verdict, Verdict::Same);
    }

    #[test]
    fn nothing_makes_no_index() {
        let index = index(&[], &Schedule::new(&[12], 12), Engine::default(), 0.02, &mut Nulls::default());
        assert_eq!(index.judgement, None);
    }
}
