//! Looks of the analysis: when they come, at which level, and their combined result.
//!
//! Group-sequential: up to n of at most n_max rounds, alpha ln(1 + n / 12) / ln(1 + n_max / 12) is spent (half of that before the
//! 29 rounds of "same"), by each look the part between it and the one before, so that all looks together spend at most alpha
//! (Bonferroni over looks), and the interval shown is the combined one of all looks taken (repeated
//! confidence intervals, Jennison and Turnbull 1989). Since each look comes after half as many rounds again,
//! all spend about alike (as Pocock's, 1977, in the form of Lan and DeMets 1983): a horizon ten times as far
//! costs each of them a few percent of its interval's width. The look at which the session's time is up
//! spends all that is left.
//!
//! A session that ends when all is decided has no n_max: up to its look number k it spends alpha (1 - 1 /
//! sqrt(k + 1)), which leaves something for every look there may be. It looks where that is planned and
//! nowhere else, so that a person who reads it under way, or ends it because of its verdicts, reads verdicts
//! that hold all the same.

use tare_data::session::Plan;

use crate::findings::Leading;
use crate::findings::sameness::FEWEST_FOR_SAME;
use crate::statistics::level::ALPHA;
use crate::statistics::sign_test;
use crate::statistics::signed_ranks::{self, Interval, Nulls, compute_median, hodges_lehmann};

/// The first look of a session, in rounds: the fewest at which alpha's share leaves signed ranks some resolution.
const FIRST_LOOK: u32 = 12;

/// The second one, so that the third comes at 30: hardly more than the 29 rounds that "same" needs at least.
const SECOND_LOOK: u32 = 20;

/// Share of its alpha that a look spends where the same cannot be shown yet: a direction that leaves so early is far, and needs little.
/// The look after it has the rest, at which most cells are decided.
const EARLY_SHARE: f64 = 0.5;

/// Limit on the looks that are taken; a plan that lists more is not ours, and the rest of its alpha stays
/// unspent.
const MOST_LOOKS: usize = 64;

/// Fewest units whose signs can reject at 5 %: two in 2^6.
pub(crate) const FEWEST_UNITS: u32 = 6;

/// Gives the rounds before a look of a session, the first being number 0: 12, 20, 30, 45, 68, 102, 153,
/// 230, ... without end.
pub const fn rounds_before_look(number: usize) -> u32 {
    let (mut look, mut at) = (FIRST_LOOK, 0);
    while at < number {
        look = look_after(look);
        at += 1;
    }
    look
}

/// Counts the units of one sign with which a cell can leave at one of the first looks: the correction for
/// this many cells keeps two in 2^n at a tenth of alpha, which these looks have to spend.
pub fn units_to_leave(cells: usize) -> u32 {
    (1.0 - libm::log2(ALPHA / 10.0 / cells.max(1) as f64)).ceil() as u32
}

/// Computes half as many rounds again, rounded up.
const fn look_after(look: u32) -> u32 {
    if look == FIRST_LOOK { SECOND_LOOK } else { look.saturating_add(look.div_ceil(2)) }
}

/// Lists the rounds after which a session of at most `most` rounds looks; the last is `most`.
pub fn planned_looks(most: u32) -> Vec<u32> {
    let looks = std::iter::successors(Some(FIRST_LOOK), |look| Some(look_after(*look)));
    looks.take_while(|look| *look < most).chain(Some(most).filter(|most| *most > 0)).collect()
}

/// The looks of a session and the alpha that it may spend on each.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    looks: Vec<u32>,
    most: u32,
    /// True where there is no last look: a share of alpha is left for each.
    is_endless: bool,
    /// True where the last look taken spends the whole rest.
    is_over: bool,
    /// Number of cells that verdicts are corrected for.
    cells: usize,
    /// True where the cell has no more rounds after the last look taken.
    is_last: bool,
    /// True where only planned looks are taken: something else than the clock chose when the rounds ended.
    is_planned_only: bool,
    /// Share of its level at which intervals are computed; p and what a look spends are those of the whole level.
    share: f64,
}

impl Schedule {
    /// Looks in any order; those of 0 rounds or of more than `most` are left out.
    pub fn new(looks: &[u32], most: u32) -> Self {
        let mut looks: Vec<u32> = looks.iter().copied().filter(|look| (1..=most).contains(look)).collect();
        looks.sort_unstable();
        looks.dedup();
        looks.truncate(MOST_LOOKS);
        let (is_endless, is_over, is_last, is_planned_only) = Default::default();
        Schedule { looks, most, is_endless, is_over, cells: 1, is_last, is_planned_only, share: 1.0 }
    }

    pub fn from_plan(plan: &Plan) -> Self {
        let cells = plan.count_comparisons().max(1);
        Schedule { is_endless: plan.until_decided, cells, ..Schedule::new(&plan.looks, plan.rounds) }
    }

    /// Schedules a cell that was measured until the session's time was up: its last look spends the whole
    /// rest.
    ///
    /// That is valid because the moment was not chosen by the cell's figures. It makes a plan of more rounds
    /// than there is time for cost next to nothing. Not for a cell that left early, nor where a person ended
    /// the session.
    pub fn with_time_over(&self) -> Schedule {
        Schedule { is_over: !self.is_endless, ..self.with_rounds_ended() }
    }

    /// Schedules a session that ended because of what its cells showed.
    pub(crate) fn with_planned_looks_only(&self) -> Schedule {
        Schedule { is_planned_only: true, ..self.clone() }
    }

    /// Schedules a cell that has no more rounds: its last look shows as much as it can, however many cells
    /// there are.
    pub(crate) fn with_rounds_ended(&self) -> Schedule {
        Schedule { is_last: true, ..self.clone() }
    }

    /// Schedules a cell that verdicts are not corrected for, as controls are.
    pub(crate) fn without_correction(&self) -> Schedule {
        Schedule { cells: 1, ..self.clone() }
    }

    /// Computes intervals at a share of the level, by the same looks. One excludes "no effect" where p is at most that share.
    pub(crate) fn with_share(&self, share: f64) -> Schedule {
        Schedule { share, ..self.clone() }
    }

    /// Counts the cells that verdicts are corrected for.
    pub(crate) fn count_cells(&self) -> usize {
        self.cells
    }

    /// Tells whether the rule looks after this number of rounds.
    pub(crate) fn is_look(&self, rounds: u32) -> bool {
        self.looks.binary_search(&rounds).is_ok()
    }

    /// Counts the rounds that a cell has run with those in which its environment rested: up to the first look
    /// after its last one, or to as many as the session has begun.
    pub(crate) fn with_rests(&self, reached: u32, begun: u32) -> u32 {
        let look = self.looks.iter().copied().find(|look| *look >= reached);
        look.map_or(begun, |look| look.min(begun)).max(reached)
    }

    /// Finds the next look after this number of rounds.
    pub(crate) fn look_after(&self, rounds: u32) -> Option<u32> {
        self.looks.iter().copied().find(|look| *look > rounds)
    }

    /// Lists the looks taken when `reached` rounds have run, each with the alpha that it may spend.
    ///
    /// A session that ends between looks, because its time is up or its user stops it, takes one more there,
    /// and spends on it the alpha between them. That is valid because the moment was not chosen by the cell's
    /// figures. Rounds beyond n_max find nothing left to spend and change no verdict.
    pub(crate) fn list_taken_looks(&self, reached: u32) -> Vec<(u32, f64)> {
        let reached = reached.min(self.most);
        let planned = self.looks.iter().copied().filter(|look| *look <= reached);
        let is_unplanned = |reached: &u32| {
            *reached > 0 && !self.is_look(*reached) && !self.is_endless && !self.is_planned_only
        };
        let unplanned = Some(reached).filter(is_unplanned);
        let mut before = 0.0;
        let spend = |(number, look): (usize, u32)| {
            let share = match self.is_endless {
                true => 1.0 - 1.0 / (number as f64 + 2.0).sqrt(),
                false => share_spent(look) / share_spent(self.most),
            };
            let spent = ALPHA * if self.is_over && look == reached { 1.0 } else { share };
            let alpha = spent - std::mem::replace(&mut before, spent);
            (look, alpha)
        };
        planned.chain(unplanned).enumerate().map(spend).collect()
    }
}

/// Computes the share of alpha spent up to a look, relative to that at the horizon.
fn share_spent(rounds: u32) -> f64 {
    let share = if (rounds as usize) < FEWEST_FOR_SAME { EARLY_SHARE } else { 1.0 };
    share * libm::log1p(f64::from(rounds) / f64::from(FIRST_LOOK))
}

/// The combined result of all looks up to one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Look {
    /// Rounds so far, and units of them: rounds, or starts that rounds share.
    pub rounds: u32,
    pub units: usize,
    /// By signed ranks.
    pub ranks: Interval,
    pub ranks_p: f64,
    /// By signs.
    pub signs: Interval,
    pub signs_p: f64,
    /// The least p that these numbers of units could have given at these looks, whatever the environment costs.
    pub least_p: f64,
}

/// Follows a cell through its looks. `units_at` gives the sorted differences known after a number of rounds.
///
/// A look with fewer units than `fewest`, or too few to reject anything at its level, spends nothing and leaves its share
/// to the next: the number of units does not depend on their values. So does one after which rounds go on, where too few for
/// the correction for many cells: no cell could leave there.
pub(crate) fn follow_looks(
    schedule: &Schedule,
    reached: u32,
    fewest: usize,
    nulls: &mut Nulls,
    mut units_at: impl FnMut(u32) -> Vec<f64>,
) -> Vec<Look> {
    let mut so_far = Look {
        rounds: 0,
        units: 0,
        ranks: Interval::EVERYTHING,
        ranks_p: 1.0,
        signs: Interval::EVERYTHING,
        signs_p: 1.0,
        least_p: 1.0,
    };
    let mut looks = Vec::new();
    let mut unspent = 0.0;
    let taken = schedule.list_taken_looks(reached);
    for (at, (rounds, alpha)) in taken.iter().copied().enumerate() {
        let is_last = schedule.is_last && at + 1 == taken.len();
        let cells = if is_last { 1.0 } else { schedule.cells as f64 };
        let units = units_at(rounds);
        (so_far.rounds, so_far.units) = (rounds, units.len());
        let alpha = alpha + unspent;
        // All of one sign: two in 2^n.
        let least_p = 2.0 * 0.5f64.powi(units.len() as i32);
        if least_p > alpha / cells || units.len() < fewest {
            unspent = alpha;
        } else {
            unspent = 0.0;
            so_far.least_p = so_far.least_p.min(least_p * ALPHA / alpha);
            so_far.add(&units, (alpha, schedule.share), nulls);
        }
        looks.push(so_far);
    }
    looks
}

impl Look {
    /// Returns the interval of the estimate that leads.
    pub fn interval(&self, leading: Leading) -> Interval {
        if leading == Leading::Sign { self.signs } else { self.ranks }
    }

    /// Returns the p of the estimate that leads.
    pub fn p(&self, leading: Leading) -> f64 {
        if leading == Leading::Sign { self.signs_p } else { self.ranks_p }
    }

    fn add(&mut self, units: &[f64], (alpha, share): (f64, f64), nulls: &mut Nulls) {
        let null = nulls.get_null(units.len());
        // A p at level alpha_k counts at level alpha as p alpha / alpha_k; the least over looks is valid as a whole.
        let p = |p: f64| (p * ALPHA / alpha).min(1.0);
        let ranks = (
            signed_ranks::compute_hodges_lehmann_interval(units, null, alpha * share),
            p(signed_ranks::p_value(units, null)),
        );
        let signs = (sign_test::compute_median_interval(units, alpha * share), p(sign_test::p_value(units)));
        (self.ranks, self.ranks_p) = together((self.ranks, self.ranks_p), ranks, || hodges_lehmann(units));
        (self.signs, self.signs_p) = together((self.signs, self.signs_p), signs, || compute_median(units));
    }
}

/// Combines the interval and p of the looks so far with those of one more.
///
/// All hold the truth at once unless one of them has missed it. Where they leave no room for the estimate,
/// one of them seems to have; the last, which has seen the most, is then shown alone. It holds the truth as
/// often.
fn together(so_far: (Interval, f64), look: (Interval, f64), estimate: impl Fn() -> f64) -> (Interval, f64) {
    let both = so_far.0.intersection(look.0);
    // A look's own interval holds its estimate.
    if both == look.0 || both.contains(estimate()) { (both, so_far.1.min(look.1)) } else { look }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_cut_at_the_budget() {
        assert_eq!(planned_looks(1000), [12, 20, 30, 45, 68, 102, 153, 230, 345, 518, 777, 1000]);
        assert_eq!(planned_looks(68), [12, 20, 30, 45, 68]);
        assert_eq!(planned_looks(50), [12, 20, 30, 45, 50]);
        assert_eq!(planned_looks(5), [5]);
        assert_eq!(planned_looks(100), [12, 20, 30, 45, 68, 100]);
        assert!(planned_looks(0).is_empty());
        assert_eq!(planned_looks(3000)[11..], [1166, 1749, 2624, 3000]);
    }

    #[test]
    fn more_cells_take_more_units_to_leave() {
        assert_eq!([1, 16, 45, 180].map(units_to_leave), [9, 13, 15, 17]);
    }

    #[test]
    fn looks_have_no_end() {
        assert_eq!(planned_looks(20_000)[11..], [1166, 1749, 2624, 3936, 5904, 8856, 13_284, 19_926, 20_000]);
        assert_eq!(
            (rounds_before_look(0), rounds_before_look(2), rounds_before_look(11), rounds_before_look(17)),
            (12, 30, 1166, 13284)
        );
        let looks = planned_looks(u32::MAX);
        assert!(looks.len() < MOST_LOOKS && looks.is_sorted() && looks.last() == Some(&u32::MAX));
    }

    #[test]
    fn a_session_whose_time_is_up_spends_what_is_left() {
        for (most, reached) in [(60, 60), (60, 22), (60, 20), (1000, 22), (1000, 5)] {
            let schedule = Schedule::new(&planned_looks(most), most);
            let (so_far, over) =
                (schedule.list_taken_looks(reached), schedule.with_time_over().list_taken_looks(reached));
            let spent: f64 = over.iter().map(|(_, alpha)| alpha).sum();
            assert!((spent - ALPHA).abs() < 1e-12, "{over:?}");
            assert_eq!(so_far[..so_far.len() - 1], over[..over.len() - 1]);
        }
    }

    #[test]
    fn alpha_is_spent_by_rounds_and_never_more_than_whole() {
        let spent = Schedule::new(&planned_looks(90), 90).list_taken_looks(90);
        let expected = [0.008097, 0.003361, 0.017811, 0.007135, 0.00792, 0.005676];
        assert_eq!(spent.len(), expected.len());
        for ((_, alpha), expected) in spent.iter().zip(expected) {
            assert!((alpha - expected).abs() < 1e-6, "{alpha} is not {expected}");
        }
        for reached in 0..=100 {
            let whole: f64 = Schedule::new(&planned_looks(90), 90)
                .list_taken_looks(reached)
                .iter()
                .map(|(_, alpha)| alpha)
                .sum();
            let share = share_spent(reached.min(90)) / share_spent(90);
            assert!((whole - ALPHA * share).abs() < 1e-12);
        }
    }

    #[test]
    fn a_far_horizon_leaves_each_look_about_as_much() {
        let spent = Schedule::new(&planned_looks(40_000), 40_000).list_taken_looks(40_000);
        let later = spent[3..spent.len() - 1].iter().map(|(_, alpha)| *alpha);
        assert!(later.clone().all(|alpha| (1.3e-3..3e-3).contains(&alpha)), "{spent:?}");
    }

    #[test]
    fn rounds_in_which_an_environment_rested_count_up_to_the_next_look() {
        let schedule = Schedule::new(&planned_looks(100), 100);
        let with_rests = |reached, begun| schedule.with_rests(reached, begun);
        assert_eq!(with_rests(16, 17), 17, "the session has just begun the next round");
        assert_eq!(with_rests(16, 20), 20);
        assert_eq!(with_rests(16, 90), 20, "it left at the look, or would have come again");
        assert_eq!(with_rests(20, 90), 20);
        assert_eq!(with_rests(97, 98), 98);
    }

    #[test]
    fn looks_without_end_leave_something_for_each() {
        let endless = Schedule { is_endless: true, ..Schedule::new(&planned_looks(u32::MAX), u32::MAX) };
        let spent = endless.with_time_over().list_taken_looks(1_000_000);
        let whole: f64 = spent.iter().map(|(_, alpha)| alpha).sum();
        assert!(
            spent.len() > 25 && whole < ALPHA && spent.iter().all(|(_, alpha)| *alpha > 1e-5),
            "{spent:?}"
        );
        assert!((spent[0].1 - ALPHA * 0.292_893).abs() < 1e-6);
        assert_eq!(endless.list_taken_looks(22), spent[..2], "between looks nothing is looked at");
        assert!(endless.list_taken_looks(11).is_empty());
    }

    #[test]
    fn a_session_cut_short_takes_one_more_look_there() {
        let schedule = Schedule::new(&planned_looks(60), 60);
        let rounds: Vec<u32> = schedule.list_taken_looks(22).iter().map(|(rounds, _)| *rounds).collect();
        assert_eq!(rounds, [12, 20, 22]);
        assert_eq!(schedule.look_after(22), Some(30));
        assert_eq!(schedule.look_after(60), None);
    }

    #[test]
    fn a_plan_that_is_not_ours_is_tamed() {
        let looks: Vec<u32> = (0..10_000).collect();
        assert!(Schedule::new(&looks, 500).list_taken_looks(u32::MAX).len() <= MOST_LOOKS + 1);
        assert!(
            Schedule::new(&[0, 5, 5, 900], 10)
                .list_taken_looks(7)
                .iter()
                .map(|(rounds, _)| *rounds)
                .eq([5, 7])
        );
        assert!(Schedule::new(&[], 0).list_taken_looks(12).is_empty());
    }

    #[test]
    fn looks_that_leave_no_room_for_the_estimate_are_forgotten() {
        let interval = |low, high| Interval { low, high };
        let early = (interval(-0.3, -0.1), 0.01);
        assert_eq!(together(early, (interval(-0.4, -0.05), 0.02), || -0.2), (interval(-0.3, -0.1), 0.01));
        assert_eq!(together(early, (interval(-0.2, 0.3), 0.4), || 0.05), (interval(-0.2, 0.3), 0.4));
        assert_eq!(together(early, (interval(0.1, 0.3), 0.03), || 0.2), (interval(0.1, 0.3), 0.03));
    }

    #[test]
    fn one_look_spends_all() {
        let d: Vec<f64> = (1..=6).map(f64::from).collect();
        let looks = follow_looks(&Schedule::new(&[6], 6), 6, 0, &mut Nulls::default(), |_| d.clone());
        assert_eq!(looks.len(), 1);
        assert_eq!(looks[0].ranks, Interval { low: 1.0, high: 6.0 });
        assert!((looks[0].ranks_p - 2.0 / 64.0).abs() < 1e-12);
    }

    #[test]
    fn a_look_at_which_no_cell_could_leave_spends_nothing_unless_it_is_the_last() {
        let among = |cells| Schedule { cells, ..Schedule::new(&planned_looks(27_000), 27_000) };
        let units = |rounds: u32| (1..=(rounds * 2).div_ceil(3)).map(|i| 2.3 + f64::from(i) / 1e3).collect();
        let p_at_30 = |schedule: &Schedule| {
            let looks = follow_looks(schedule, 30, 0, &mut Nulls::default(), units);
            looks.last().expect("three looks").ranks_p
        };
        // Among 45 cells the 14 units of the second look could reject nothing, and the third has its alpha.
        assert!(p_at_30(&among(1)) > 1.2 * p_at_30(&among(45)));
        let early =
            |schedule: &Schedule| follow_looks(schedule, 18, 0, &mut Nulls::default(), units)[1].least_p;
        assert_eq!(early(&among(45)), 1.0);
        assert!(early(&among(45).with_time_over()) < ALPHA);
    }

    #[test]
    fn a_look_that_cannot_reject_leaves_its_share_to_the_next() {
        // Five rounds a start: 3, 4, 6, 8 starts at the first four looks of 450 rounds.
        let schedule = Schedule::new(&planned_looks(450), 450);
        let starts = |rounds: u32| (1..=rounds.div_ceil(5)).map(|i| 2.3 + f64::from(i) / 1e3).collect();
        let looks = follow_looks(&schedule, 40, 0, &mut Nulls::default(), starts);
        assert!(looks[..3].iter().all(|look| look.ranks == Interval::EVERYTHING && look.least_p == 1.0));
        let spent = ALPHA * share_spent(40) / share_spent(450);
        assert!((looks[3].ranks_p - ALPHA / spent / 128.0).abs() < 1e-12, "{:?}", looks[3]);
        assert_eq!((looks[3].units, looks[3].least_p), (8, looks[3].ranks_p));
        assert!(looks[3].ranks.low > 2.3);
    }
}
