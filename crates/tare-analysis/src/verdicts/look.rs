//! A look at a case while its session runs: which environments may leave it, which will not be decided, and how long the rest takes.

use std::collections::BTreeMap;

use tare_data::session::{PlannedCase, Role};

use crate::findings::sameness::LASTING;
use crate::findings::{Cell, Missing, Needed};
use crate::statistics::signed_ranks::Nulls;
use crate::verdicts::judge::judge_pairs;
use crate::verdicts::leaving::{is_beyond_reach, is_found, may_be_state, may_leave, safe_p};
use crate::verdicts::pairs::pair_rounds;
use crate::verdicts::rows::{Judge, Judged, JudgedRow, Options, Progress};
use crate::verdicts::stopping::Schedule;
use crate::verdicts::verdict::Margin;

/// A case judged at a planned look. What it finds is in the order of `plan.targets`.
pub struct Look<'a> {
    judge: Judge<'a>,
    case: &'a PlannedCase,
    /// Index of the case in the plan.
    at: usize,
    safe_p: f64,
    rows: Vec<JudgedRow>,
    /// Rows that decide when an environment leaves.
    metrics: Vec<usize>,
}

impl<'a> Look<'a> {
    /// Judges a case after `rounds` rounds of it; None where no look is planned there.
    pub fn take(progress: Progress<'a>, case: &str, rounds: u32, options: &'a Options) -> Option<Self> {
        let is_planned = Schedule::from_plan(progress.plan).is_look(rounds);
        if is_planned { Self::take_between(progress, case, rounds, options) } else { None }
    }

    /// Judges a case after any number of rounds of it. Such a look decides nothing: it may only take back what another decided.
    pub fn take_between(
        progress: Progress<'a>,
        case: &str,
        rounds: u32,
        options: &'a Options,
    ) -> Option<Self> {
        let at = progress.plan.cases.iter().position(|planned| planned.id == case)?;
        let mut judge = Judge::new(progress, options, |t| t.case == case && t.round < rounds);
        judge.begun[at] = judge.begun[at].min(rounds);
        let case = &progress.plan.cases[at];
        let metrics = list_deciding(case);
        let counted = metrics.last().map_or(0, |last| last + 1);
        let rows = judge.judge_rows(at, counted, &BTreeMap::new(), &mut Nulls::default());
        Some(Look { judge, case, at, safe_p: safe_p(progress.plan), rows, metrics })
    }

    /// Finds the environments that need no more rounds.
    ///
    /// A subject or control environment is done when its headline's verdict is decided and would be so in
    /// [`compute_findings`](crate::compute_findings) whatever the other cells show, or when it misses something that more rounds will
    /// not bring. The baseline is done when every other environment is.
    pub fn find_finished(&self) -> Vec<bool> {
        // A case without a metric has nothing to wait for.
        let done: Vec<Option<bool>> =
            self.targets().map(|target| self.all(target, |at| self.is_done(at))).collect();
        let others = done.iter().flatten().all(|done| *done);
        done.into_iter().map(|done| done.unwrap_or(others)).collect()
    }

    /// Finds the environments whose answer another state, which comes and goes, may take back.
    pub fn find_possible_states(&self) -> Vec<bool> {
        let judged = |target: usize| {
            self.metrics.iter().filter_map(move |metric| self.rows[*metric].targets[target].as_ref())
        };
        let may_be = |judged: &Judged| judged.judgement.as_ref().is_some_and(may_be_state);
        self.targets().map(|target| judged(target).any(may_be)).collect()
    }

    /// Finds the subjects that are not decided, and will most likely not be when they have run as many rounds in all as they can
    /// reach; none where the number has no end.
    pub fn find_beyond_reach(&self, reachable: impl Fn(usize) -> Option<u32>) -> Vec<bool> {
        let is_lost = |(target, judged): (usize, &Judged)| {
            let is_lost =
                |judgement| reachable(target).is_some_and(|rounds| is_beyond_reach(judgement, rounds));
            self.is_done((target, judged)) || judged.judgement.as_ref().is_some_and(is_lost)
        };
        let lost = |target: usize| {
            self.role(target) == Role::Subject
                && self.all(target, |at| self.is_done(at)) == Some(false)
                && self.all(target, is_lost) == Some(true)
        };
        self.targets().map(lost).collect()
    }

    /// Estimates how many rounds in all will decide each environment; none where it is decided, or where the number is not known.
    pub fn estimate_needed_rounds(&self) -> Vec<Option<u32>> {
        let needed = |target: usize| {
            let judged = self.metrics.iter().filter_map(|metric| self.rows[*metric].targets[target].as_ref());
            let needed = judged.filter_map(|judged| {
                let judgement = judged.judgement.as_ref()?;
                if judgement.verdict.is_settled() {
                    // It stays until it was seen for longer.
                    return Some(LASTING[0].0.max(judgement.reached + 1));
                }
                match judgement.needed? {
                    Needed::Rounds(rounds) => Some(rounds),
                    // As many rounds a start as until now.
                    Needed::Starts(starts) => {
                        Some(starts.saturating_mul(judgement.reached.div_ceil(judgement.units.max(1) as u32)))
                    }
                    Needed::LessNoise => None,
                }
            });
            needed.max()
        };
        self.targets().map(needed).collect()
    }

    /// Tells whether any control differs from the environment that it repeats: the baseline, or a subject.
    pub fn control_differs(&self) -> bool {
        let mut controls = self.targets().filter(|target| self.role(*target) == Role::Control).peekable();
        let headline = self.case.metrics.first().filter(|_| controls.peek().is_some());
        let Some(headline) = headline else { return false };
        let read = self.judge.read_rows(self.at, std::slice::from_ref(headline));
        let Some(row) = read.first() else { return false };
        let (schedule, mut nulls) = (self.judge.schedule.without_correction(), Nulls::default());
        let mut differs = |control: usize| -> Option<bool> {
            let of_partner =
                row.against(control, &row.own[self.judge.progress.plan.targets.partner_of(control)?]);
            let pairs = pair_rounds(of_partner, &row.own[control], headline.direction).ok()?;
            let margin = Margin::from_planned(self.case.margin);
            let judged = judge_pairs(&pairs, &schedule, margin, &mut nulls)?;
            Some(!judged.interval.contains(0.0))
        };
        controls.any(|control| differs(control) == Some(true))
    }

    fn targets(&self) -> std::ops::Range<usize> {
        0..self.judge.progress.plan.targets.len()
    }

    fn role(&self, target: usize) -> Role {
        self.judge.progress.plan.targets.role(target)
    }

    /// Tells whether something holds of every metric that counts; none where there is none.
    fn all(&self, target: usize, holds: impl Fn((usize, &Judged)) -> bool) -> Option<bool> {
        let cells = self.metrics.iter().map(|metric| self.rows[*metric].targets[target].as_ref());
        let held = cells.map(|judged| judged.map(|judged| holds((target, judged))));
        held.collect::<Option<Vec<bool>>>().map(|held| held.into_iter().all(|held| held))
    }

    fn is_done(&self, (target, judged): (usize, &Judged)) -> bool {
        let safe_p = (self.role(target) != Role::Control).then_some(self.safe_p);
        let is_found_planted = |judgement| self.role(target) == Role::Planted && is_found(judgement, safe_p);
        match (&judged.cell, &judged.judgement) {
            // An environment that missed rounds is judged by the rounds it has, but a verdict between looks
            // stops nothing.
            (Cell::Compared(comparison), Some(judgement)) => {
                comparison.decided_at.is_some_and(|rounds| self.judge.schedule.is_look(rounds))
                    && (may_leave(judgement, safe_p) || is_found_planted(judgement))
            }
            (Cell::Missing(Missing::NotReached), _) => false,
            _ if judged.may_change => false,
            (Cell::Compared(_) | Cell::Observed(_) | Cell::Missing(_), _) => true,
        }
    }
}

/// Lists the metrics of a case that decide when an environment leaves it, in their order: those that the plan
/// names, or the headline.
fn list_deciding(case: &PlannedCase) -> Vec<usize> {
    let named = |at: &usize| case.decide.contains(&case.metrics[*at].name);
    let metrics: Vec<usize> = (0..case.metrics.len()).filter(named).collect();
    if metrics.is_empty() { (0..case.metrics.len().min(1)).collect() } else { metrics }
}
