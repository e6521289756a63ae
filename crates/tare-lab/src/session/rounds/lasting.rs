//! Stretches of work that lasts: by turns, in one environment at a time, while all others are left.
//!
//! Turns of some milliseconds give the price of an operation; they end before a limit of processor time stops them, and helpers of an
//! environment slow both sides. Here an environment has the machine for itself, and so has the baseline. All others are left and not
//! frozen: what does not run any more needs no thaw, however the session ends. Nothing that disturbs a stretch is left out.

use std::collections::BTreeSet;

use tare_data::batch::{Batch, Sample};
use tare_data::facts::keys::LIMIT_BURST;
use tare_data::failure::Failure;
use tare_data::generator::Generator;
use tare_data::names::{Case, Parameters};
use tare_data::request::{Amount, TrialRequest};
use tare_data::session::Role;
use tare_data::session::lasting::{LastingWork, Stretch};
use tare_probes::descriptions::{ALL_SLICES, QUICK_SLICE, WORK_LASTING};

use crate::session::plan::before::trial_request;
use crate::session::plan::lasting::{BEFORE_MS, COUNTED_MS, STRETCHES, estimate_work_s};
use crate::session::rounds::course::Course;

/// Parts in which the stretches of a kind of work come, so that they lie apart in the session.
const BLOCKS: u32 = 2;
const STRETCHES_A_BLOCK: u32 = STRETCHES / BLOCKS;
/// An environment that is entered within this time is entered for each stretch; another for those of a block together.
const QUICK_START_S: f64 = 0.1;
/// Share of a session that the starts of all environments may take for this: a limit of processor time lengthens them as well.
const STARTS_SHARE: f64 = 0.2;
/// Time from one block to the next where no budget tells, in seconds.
const INTERVAL_S: f64 = 20.0;
/// Time beyond that of the work after which a stretch is given up.
const PATIENCE_MS: u64 = 20_000;
/// Longest period of a quota that a kernel takes, and the longest time for which a saved one is spent.
const LONGEST_PERIOD_US: u64 = 1_000_000;
const MOST_BURST_MS: f64 = 2_000.0;

/// A block: stretches of one kind of work.
pub type Block = (LastingWork, u32);

/// The blocks that are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Blocks whose time has come, with rounds after them.
    Due,
    /// Missing blocks of the kind that comes first: everything else is decided, and they do not take longer than it.
    First,
    /// All missing blocks: their time was kept.
    All,
}

/// Blocks of a session.
pub struct Lasting {
    blocks: Vec<Block>,
    done: usize,
    /// Environments that failed.
    failed: BTreeSet<usize>,
}

impl Lasting {
    /// Lists the blocks of a plan that have no stretch yet.
    pub fn new(planned: &[LastingWork], stretches: &[Stretch]) -> Lasting {
        let planned = LastingWork::ALL.into_iter().filter(|work| planned.contains(work));
        let all = planned.flat_map(|work| (0..BLOCKS).map(move |block| (work, block)));
        let is_missing = |(work, block): &Block| {
            !stretches.iter().any(|of| of.work == *work && of.round / STRETCHES_A_BLOCK == *block)
        };
        Lasting { blocks: all.filter(is_missing).collect(), done: 0, failed: BTreeSet::new() }
    }

    /// Counts the blocks that are missing.
    pub fn count_missing(&self) -> usize {
        self.blocks.len() - self.done
    }

    /// Finds the next block that is wanted, of a session whose budget may be spent at some time.
    pub fn find_next(&self, now_ns: u64, until_ns: Option<u64>, wanted: Wanted) -> Option<Block> {
        let block = *self.blocks.get(self.done)?;
        let (number, of) = ((1 + self.done) as f64, (1 + self.blocks.len()) as f64);
        // In the second half of the time: what the first decides does not wait for them.
        let due_ns = until_ns
            .map_or(INTERVAL_S * 1e9 * number, |until_ns| until_ns as f64 * (1.0 + number / of) / 2.0);
        let is_due = now_ns as f64 >= due_ns;
        let is_wanted = match wanted {
            Wanted::Due => is_due,
            Wanted::First => block.0 == LastingWork::ALL[0],
            Wanted::All => true,
        };
        is_wanted.then_some(block)
    }

    /// Keeps that a block has been run.
    pub fn finish_block(&mut self) {
        self.done += 1;
    }

    /// Keeps that an environment failed, and has no more stretches.
    pub fn give_up(&mut self, target: usize) {
        self.failed.insert(target);
    }

    pub fn is_given_up(&self, target: usize) -> bool {
        self.failed.contains(&target)
    }

    /// Tells whether there is a baseline to compare with, and anything else: without either nobody is left for it.
    pub fn has_pairs(&self, course: &Course) -> bool {
        let sides = self.list_sides(course);
        sides.len() > 1 && course.session.plan.targets.role(sides[0]) == Role::Baseline
    }

    /// Estimates the time that the missing blocks take, in ns.
    pub fn estimate_missing_ns(&self, course: &Course) -> u64 {
        if !self.has_pairs(course) {
            return 0;
        }
        let sides = self.list_sides(course);
        // Each is entered once a block at least, and once after it.
        let starts_s: f64 = sides.iter().map(|target| 2.0 * course.targets[*target].start.s).sum();
        let block_s = estimate_work_s(sides.len()) / f64::from(BLOCKS) + starts_s;
        (self.count_missing() as f64 * block_s * 1e9) as u64
    }

    /// Lists the environments that are compared, but for those that failed and those whose starts take too much of the session.
    fn list_sides(&self, course: &Course) -> Vec<usize> {
        let plan = &course.session.plan;
        let starts = 2 * self.blocks.len();
        let subjects = plan.targets.of_role(Role::Subject).count();
        let has_time = |target: &usize| {
            let starts_s = starts as f64 * course.targets[*target].start.s;
            plan.budget_s.is_none_or(|budget_s| starts_s * subjects as f64 <= budget_s * STARTS_SHARE)
        };
        let is_compared =
            |target: &usize| matches!(plan.targets.role(*target), Role::Baseline | Role::Subject);
        let all = (0..plan.targets.len()).filter(is_compared);
        let entered =
            all.filter(|target| course.pilot.started[*target].is_ok() && !self.is_given_up(*target));
        entered.filter(has_time).collect()
    }

    /// Draws which environment is entered when, and for which rounds: for each one by one where that takes next to nothing, or else
    /// for all in the middle of the block.
    pub fn draw_visits(&self, (work, block): Block, course: &Course) -> Vec<(usize, Vec<u32>)> {
        let seed = course.session.plan.seed;
        let mut generator = Generator::for_part(seed, &format!("stretches of {} {block}", work.name()));
        let first = block * STRETCHES_A_BLOCK;
        let all: Vec<u32> = (first..first + STRETCHES_A_BLOCK).collect();
        let mut visits = Vec::new();
        for round in &all {
            let mut targets = self.list_sides(course);
            generator.shuffle(&mut targets);
            for target in targets {
                let is_quick = course.targets[target].start.s <= QUICK_START_S;
                match (is_quick, *round == first + STRETCHES_A_BLOCK / 2) {
                    (true, _) => visits.push((target, vec![*round])),
                    (false, true) => visits.push((target, all.clone())),
                    (false, false) => {}
                }
            }
        }
        visits
    }
}

/// Makes the request of a stretch, which uses up what the environment's quotas have saved and then lasts for whole periods of them.
pub fn make_stretch_request(
    (number, course): (u64, &Course),
    target: usize,
    work: LastingWork,
    processors: usize,
) -> Result<TrialRequest, Failure> {
    let session = &course.session;
    let started = course.pilot.started[target].as_ref().map_err(Clone::clone)?;
    let name = &session.plan.targets[target].name;
    let counts = session.limits.iter().rev().find(|counts| counts.target == *name);
    let quotas = counts.iter().flat_map(|counts| &counts.groups).filter_map(|group| group.quota);
    let bursts = started.outside.get(LIMIT_BURST).unwrap_or_default().split_whitespace();
    let burst_us = bursts.filter_map(|level| level.parse::<u64>().ok()).max().unwrap_or(0);
    let [mut before_ms, mut counted_ms] = [BEFORE_MS, COUNTED_MS];
    for quota in quotas {
        let period_ms = quota.period_us.clamp(1_000, LONGEST_PERIOD_US) as f64 / 1e3;
        // A burst is spent at the rate by which one thread exceeds the quota.
        let spent_ms = burst_us as f64 / 1e3 / (1.0 - quota.processors()).max(0.1);
        before_ms = before_ms.max((2.0 * period_ms + spent_ms.min(MOST_BURST_MS)).ceil() as u64);
        counted_ms = counted_ms.max(((COUNTED_MS as f64 / period_ms).ceil() * period_ms) as u64);
    }
    let (kind, threads) = match work {
        LastingWork::Arithmetic => ("arithmetic", 1),
        LastingWork::Calls => ("calls", 1),
        LastingWork::Processors => ("arithmetic", processors.max(1)),
    };
    let values = [("threads", threads as u64), ("before_ms", before_ms), ("counted_ms", counted_ms)];
    let mut parameters = Parameters(values.map(|(key, value)| (key.to_owned(), value.to_string())).into());
    parameters.0.insert("work".into(), kind.into());
    let case = Case { probe: WORK_LASTING.into(), parameters, place: None, peer: None };
    let once = Amount::Operations { batch: 1, batches: 1 };
    let deadline_ms = before_ms + counted_ms + PATIENCE_MS;
    trial_request(number, &case, once, started, session.plan.seed, deadline_ms)
}

/// Reads what a stretch did; none where an environment sent something else.
pub fn read_stretch(batches: &[Batch]) -> Option<(u64, u64, f64)> {
    let all = batches.iter().find_map(|batch| match batch.sample {
        Sample::Throughput { operations, elapsed_ns, .. } if batch.series == ALL_SLICES => {
            Some((operations, elapsed_ns))
        }
        _ => None,
    });
    let slice_ns = batches.iter().find_map(|batch| match batch.sample {
        Sample::Gauge { value } if batch.series == QUICK_SLICE => Some(value),
        _ => None,
    });
    let ((operations, elapsed_ns), slice_ns) = all.zip(slice_ns)?;
    (operations > 0 && elapsed_ns > 0 && slice_ns > 0.0).then_some((operations, elapsed_ns, slice_ns))
}
