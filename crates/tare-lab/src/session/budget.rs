//! What a budget has room for: how long trials are, how many rounds there are, and how many of them share a start.

use std::iter::Sum;
use std::ops::Add;

use tare_analysis::verdicts::judge::FEWEST_STARTS;
use tare_analysis::verdicts::stopping::{look, planned_looks};

/// Trials are made shorter, step by step, until the budget has room for the first look...
const SHORTER: [f64; 4] = [1.0, 0.5, 0.25, 0.1];
/// ...and longer where it has room for [`MANY_ROUNDS`] even so. What is left then goes into more rounds.
const LONGER: [f64; 3] = [8.0, 4.0, 2.0];
/// Most rounds that are planned.
const MOST_ROUNDS: f64 = 1000.0;
/// Rounds that come before longer trials: what differs from round to round, no longer trial averages away.
const MANY_ROUNDS: u32 = 300;
/// An environment whose calibration is this many times the baseline's is decided early and leaves...
pub const FAR: f64 = 3.0;
/// ...by this look at the latest, for the plan.
const FAR_LEAVES: u32 = look(2);
/// Racing frees time: cells that are decided leave. The plan counts on this much more than a full table allows.
const RACING_GAIN: f64 = 1.25;
/// Rounds after which most cells are decided...
const MOST_HAVE_LEFT: u32 = look(5);
/// ...so that those beyond take less than half of a full table's time.
const LATE_GAIN: f64 = 2.5;
/// ...or where rounds share starts, by this start: if all agree in sign, their p passes the correction for some
/// twenty cells at every look of a plan.
const FAR_STARTS: u32 = 14;
/// Starts of environments may take this share of the budget; beyond it rounds share starts...
const STARTS_SHARE: f64 = 0.2;
/// ...but to give every environment the starts that a verdict needs, they may take this share.
const MOST_STARTS_SHARE: f64 = 0.5;
/// More rounds than these are planned only where each can have a start of its own: rounds that share one are fewer
/// units than they look.
const ROUNDS_THAT_SHARE: u32 = 90;

/// Time of one round, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoundTime {
    pub all_s: f64,
    /// Without the environments that are far from the baseline.
    pub near_s: f64,
}

impl RoundTime {
    /// With a trial more.
    pub fn with(self, s: f64, is_far: bool) -> RoundTime {
        RoundTime { all_s: self.all_s + s, near_s: self.near_s + if is_far { 0.0 } else { s } }
    }
}

impl Add for RoundTime {
    type Output = RoundTime;

    fn add(self, other: RoundTime) -> RoundTime {
        RoundTime { all_s: self.all_s + other.all_s, near_s: self.near_s + other.near_s }
    }
}

impl Sum for RoundTime {
    fn sum<I: Iterator<Item = RoundTime>>(rounds: I) -> RoundTime {
        rounds.fold(RoundTime::default(), Add::add)
    }
}

/// What a start of an environment takes, in seconds, and whether the environment leaves early.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    pub s: f64,
    pub is_far: bool,
}

/// The largest scale of trials at which the budget has room for many rounds, or else for the first look, and the looks
/// that it has room for. `round` says what a round takes at a scale.
pub fn rounds_within(left_s: f64, starts: &[Start], round: impl Fn(f64) -> RoundTime) -> (f64, Vec<u32>) {
    let fewest_starts_s = FEWEST_STARTS as f64 * starts.iter().map(|start| start.s).sum::<f64>();
    let starts_share = Some(fewest_starts_s / left_s).filter(|share| *share <= MOST_STARTS_SHARE);
    let affordable = |scale: f64| {
        let RoundTime { all_s, near_s } = round(scale);
        let trials_s = left_s * (1.0 - starts_share.unwrap_or(0.0).max(STARTS_SHARE));
        let whole = (trials_s / all_s.max(1e-6)).min(f64::from(FAR_LEAVES));
        whole + (trials_s - whole * all_s) / near_s.max(1e-6)
    };
    let near_starts_s: f64 = starts.iter().filter(|start| !start.is_far).map(|start| start.s).sum();
    let own_starts = (left_s * STARTS_SHARE / near_starts_s.max(1e-6)).max(f64::from(ROUNDS_THAT_SHARE));
    let longer =
        LONGER.into_iter().find(|scale| affordable(*scale) >= own_starts.min(f64::from(MANY_ROUNDS)));
    let shorter = || SHORTER.into_iter().find(|scale| affordable(*scale) >= f64::from(look(0)));
    let scale = longer.or_else(shorter).unwrap_or(SHORTER[SHORTER.len() - 1]);
    let early = f64::from(MOST_HAVE_LEFT);
    let raced = affordable(scale) * RACING_GAIN;
    let most = (raced.min(early) + (raced - early).max(0.0) * LATE_GAIN).min(own_starts);
    let last = (0..).map(look).take_while(|look| f64::from(*look) <= most.min(MOST_ROUNDS)).last();
    (scale, planned_looks(last.unwrap_or(look(0))))
}

/// How many rounds share a start, environment by environment. One each where all starts together fit into their share
/// of the budget; otherwise the environment that spends most on starts shares them more, until they fit. An environment
/// keeps the starts that a verdict needs, if half of the budget has room for them: see [`short_of_starts`].
pub fn rounds_a_start(starts: &[Start], rounds: u32, left_s: Option<f64>) -> Vec<u32> {
    let mut shared = vec![1u32; starts.len()];
    let Some(left_s) = left_s else { return shared };
    let usual_s = left_s * STARTS_SHARE;
    let most_s = left_s * MOST_STARTS_SHARE;
    let fewest = FEWEST_STARTS as u32;
    share_starts(&mut shared, starts, rounds, fewest, |spent_s, is_stuck| {
        spent_s <= usual_s || (is_stuck && spent_s <= most_s)
    });
    let needed_s = f64::from(fewest) * starts.iter().map(|start| start.s).sum::<f64>();
    if needed_s > most_s {
        share_starts(&mut shared, starts, rounds, 1, |spent_s, is_stuck| is_stuck || spent_s <= most_s);
    }
    shared
}

/// Lets the environment that spends most on starts share them more, until it is enough or none can. `is_enough` is given
/// the seconds spent on starts, and whether the slowest environment has no more than `fewest` starts already.
fn share_starts(
    shared: &mut [u32],
    starts: &[Start],
    rounds: u32,
    fewest: u32,
    is_enough: impl Fn(f64, bool) -> bool,
) {
    loop {
        let spent_s =
            |target: &usize| starts[*target].s * f64::from(starts[*target].count(rounds, shared[*target]));
        let shared_more = |target: &usize| {
            let more = starts[*target].shared_more(rounds, shared[*target])?;
            (rounds.div_ceil(more) >= fewest).then_some(more)
        };
        let by_spent = |a: &usize, b: &usize| spent_s(a).total_cmp(&spent_s(b));
        let slowest = (0..starts.len()).max_by(by_spent);
        let is_stuck = slowest.as_ref().and_then(shared_more).is_none();
        if is_enough((0..starts.len()).map(|target| spent_s(&target)).sum(), is_stuck) {
            break;
        }
        let Some(target) = (0..starts.len()).filter(|target| shared_more(target).is_some()).max_by(by_spent)
        else {
            break;
        };
        shared[target] = shared_more(&target).unwrap_or(shared[target]);
    }
}

/// The environments that a plan gives too few starts for a verdict, and how many it gives them.
pub fn short_of_starts(rounds: u32, rounds_a_start: &[u32]) -> Vec<(usize, u32)> {
    let starts = rounds_a_start.iter().map(|shared| (*shared > 1, rounds.div_ceil(*shared))).enumerate();
    let short = starts.filter(|(_, (are_shared, starts))| *are_shared && *starts < FEWEST_STARTS as u32);
    short.map(|(target, (_, starts))| (target, starts)).collect()
}

impl Start {
    /// How many starts a session is expected to make where this number of rounds shares one.
    fn count(&self, rounds: u32, shared: u32) -> u32 {
        let all = rounds.div_ceil(shared);
        match self.is_far {
            true if shared == 1 => all.min(FAR_LEAVES),
            true => all.min(FAR_STARTS),
            false => all,
        }
    }

    /// The next larger number of rounds a start with which there are fewer starts; none where there is one already.
    fn shared_more(&self, rounds: u32, shared: u32) -> Option<u32> {
        (shared + 1..=rounds).find(|more| self.count(rounds, *more) < self.count(rounds, shared))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(seconds: &[f64]) -> Vec<Start> {
        seconds.iter().map(|s| Start { s: *s, is_far: false }).collect()
    }

    fn far(s: f64) -> Start {
        Start { s, is_far: true }
    }

    #[test]
    fn cheap_starts_are_fresh_every_round_and_slow_ones_are_shared() {
        assert_eq!(rounds_a_start(&near(&[0.001, 0.15, 0.15]), 60, Some(140.0)), [1, 1, 1]);
        assert_eq!(rounds_a_start(&near(&[0.001, 0.15, 3.0]), 60, Some(140.0)), [1, 1, 8]);
        assert_eq!(rounds_a_start(&near(&[0.001, 90.0]), 12, Some(140.0)), [1, 12]);
        assert_eq!(rounds_a_start(&near(&[0.001, 90.0]), 12, None), [1, 1]);
    }

    #[test]
    fn an_environment_keeps_the_starts_that_a_verdict_needs() {
        // Five times 3 s would fit into a fifth of the budget; eight take 24 s of its 70.
        let starts = near(&[0.001, 0.15, 3.0]);
        for rounds in [12, 60, 90, 450] {
            let shared = rounds_a_start(&starts, rounds, Some(70.0));
            assert!(shared.iter().all(|shared| rounds.div_ceil(*shared) >= 8), "{rounds}: {shared:?}");
            assert_eq!(short_of_starts(rounds, &shared), []);
        }
        // Eight would take 72 s of 70.
        let shared = rounds_a_start(&near(&[0.001, 9.0]), 60, Some(70.0));
        assert_eq!((shared[1], short_of_starts(60, &shared)), (20, vec![(1, 3)]));
        assert_eq!(
            short_of_starts(5, &[1, 1]),
            [],
            "rounds with starts of their own are no fewer than they are"
        );
    }

    #[test]
    fn trials_leave_room_for_the_starts_that_a_verdict_needs() {
        // Eight starts take 40 of 100 s, so that trials have 60.
        let starts = near(&[0.001, 5.0]);
        assert_eq!(planned(100.0, &starts, 4.0, 0.0).0, 1.0);
        assert_eq!(
            planned(100.0, &starts, 6.0, 0.0).0,
            0.5,
            "as long as they are, there would be ten rounds"
        );
        assert_eq!(planned(100.0, &near(&[0.001]), 6.0, 0.0).0, 1.0);
    }

    #[test]
    fn a_target_that_leaves_early_shares_its_starts_less() {
        let starts = |last| [near(&[0.001, 0.01]), vec![last]].concat();
        assert_eq!(rounds_a_start(&starts(Start { s: 2.5, is_far: false }), 450, Some(350.0)), [1, 1, 18]);
        assert_eq!(rounds_a_start(&starts(far(2.5)), 450, Some(350.0)), [1, 1, 2]);
    }

    /// Of environments that take so long a round at scale 1.
    fn planned(left_s: f64, starts: &[Start], near_s: f64, far_s: f64) -> (f64, u32) {
        let round = |scale| RoundTime::default().with(near_s * scale, false).with(far_s * scale, true);
        let (scale, looks) = rounds_within(left_s, starts, round);
        (scale, *looks.last().unwrap())
    }

    #[test]
    fn rounds_come_before_longer_trials_and_both_after_the_first_look() {
        let cheap = near(&[0.001]);
        assert_eq!(planned(100.0, &cheap, 100.0, 0.0), (0.1, 12), "nothing fits");
        assert_eq!(planned(100.0, &cheap, 20.0, 0.0), (0.25, 18));
        assert_eq!(planned(100.0, &cheap, 1.0, 0.0), (1.0, 90));
        assert_eq!(planned(100.0, &cheap, 0.4, 0.0), (1.0, 450));
        assert_eq!(planned(100.0, &cheap, 0.1, 0.0), (2.0, 1000));
        assert_eq!(planned(100.0, &cheap, 0.001, 0.0), (8.0, 1000));
    }

    #[test]
    fn a_target_that_is_far_counts_until_it_leaves() {
        let cheap = near(&[0.001]);
        assert_eq!(planned(100.0, &cheap, 2.2, 0.0), (1.0, 40));
        assert_eq!(planned(100.0, &cheap, 0.2, 2.0), (1.0, 200));
    }

    #[test]
    fn rounds_that_would_share_starts_are_no_more_than_ninety() {
        assert_eq!(planned(100.0, &near(&[0.001, 0.15]), 0.001, 0.0), (8.0, 90));
        assert_eq!(planned(100.0, &near(&[0.001, 0.09]), 0.001, 0.0), (8.0, 200));
        assert_eq!(planned(100.0, &[near(&[0.001]), vec![far(9.0)]].concat(), 0.001, 0.0), (8.0, 1000));
    }
}
