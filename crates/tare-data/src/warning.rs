//! A warning: a reason to doubt a result; it travels with the result and is shown with it, with advice.

use serde::{Deserialize, Serialize};

use crate::batch::RunEnd;
use crate::facts::Facts;
use crate::facts::keys::{CPU_LIST, LIMIT_WEIGHT, PROCESS_CLASS, PROCESS_NICE, PROCESS_POLICY};

/// A reason to doubt a result or a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Warning {
    /// The control, which is the baseline entered twice, differs from it in more cells than chance allows.
    ControlColoured { coloured: usize, cells: usize },
    /// Hodges-Lehmann and the median disagree by more than the margin.
    SkewedTail { hodges_lehmann: f64, median: f64 },
    /// The cost is typically the same, but one in this many rounds takes longer, by this factor.
    Stalls { one_in: u32, factor: f64 },
    /// The cost is typically the same, but one batch in this many is slow, and such batches add this share to the mean, or save it.
    SlowBatches { one_in: u32, added: f64 },
    /// The cost is typically the same, but the ratio of mean costs is not known to be as close.
    MeanCost { ratio: f64, low: f64, high: f64 },
    /// Differences fall into separate groups.
    Modal { groups: Vec<Group> },
    /// Rounds that follow each other are alike, as in a state that lasts about this long: blocks of them are compared.
    RoundsAlike {
        rounds: u32,
        blocks: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state_s: Option<f64>,
    },
    /// The processor canary of this environment differs from the baseline's by more than the margin.
    CanaryOutside { ratio: f64 },
    /// Trials that follow one of this environment take this many times as long as others.
    CarriesOver { ratio: f64 },
    /// The environment's clock and the host's disagree over the same trials.
    ClockDisagrees { parts_per_million: f64 },
    /// The environment's clock moves in steps that are too coarse for the operations timed.
    CoarseClock { step_ns: u64 },
    /// Rounds were run again because a noise limit fixed beforehand was broken.
    RoundsRepeated { repeated: u32, kept: u32 },
    /// Trials failed and are missing from the comparison.
    TrialsFailed { failed: u32, of: u32 },
    /// Trials of a session failed, most of them for this reason.
    SessionFailed { failed: usize, of: usize, mostly: String },
    /// Rounds share starts, of the environment or of the baseline: starts are compared, and there are fewer of them.
    SharedStarts { starts: u32, rounds: u32 },
    /// The environment entered once more differs from itself, by this ratio.
    OwnControlDiffers { ratio: f64 },
    /// The session ended before its plan did.
    BrokenOff { rounds: u32, planned: Option<u32> },
    /// The processor is emulated: processor times say nothing about real hardware.
    EmulatedProcessor,
    /// Lines of the record cannot be read; these trials are left out with them.
    DamagedLines { lines: u64, trials: Vec<u64> },
    /// Lines of the record belong to no trial that was open.
    StrayLines { lines: u64 },
    /// Other sessions ran on the same machine at the same time.
    SessionsAtOnce { others: u64 },
    /// The session was resumed after the machine had been restarted.
    SeveralBoots { boots: usize },
    /// Timed runs of a command ended otherwise than a run that did its work.
    RunsEnded { command: String, end: RunEnd, count: u32, runs: u32 },
    /// Pairs of runs that did not end alike are left out.
    RunsLeftOut { end: RunEnd, here: u32, runs: u32, of_baseline: u32, baseline_runs: u32 },
    /// A limit of processor time stopped the environment in this share of its periods; work that lasts takes about this many times as
    /// long, where that is known, with an interval where it was measured. The baseline does not have the limit.
    Throttled { share: f64, factor: Option<f64>, interval: Option<[f64; 2]> },
    /// A limit of processor time stopped the baseline itself in this share of its periods.
    BaselineThrottled { share: f64 },
    /// The environment used this many processors on average while others were measured.
    Helpers { processors: f64 },
    /// Limits of the environment are not the baseline's.
    LimitsDiffer {
        limits: Vec<LimitPair>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        settings: Vec<SettingPair>,
    },
    /// Packets of the baseline pass this many chains of packet filters with this many rules in all, and those of the environment none.
    FilteredBaseline { chains: u64, rules: u64 },
    /// Datagrams did not arrive in time, once and in order.
    DatagramsAstray { lost: u64, late: u64, duplicated: u64, reordered: u64 },
}

/// Resources that are limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limited {
    /// Processors that may be used, or as many as a quota amounts to.
    Processors,
    /// Bytes.
    Memory,
    Processes,
}

/// A limit of an environment and of its baseline; none where there is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitPair {
    pub limited: Limited,
    pub here: Option<f64>,
    pub baseline: Option<f64>,
}

/// Settings by which processes share processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Setting {
    Nice,
    /// Scheduling class.
    Class,
    /// Numbers of the processors that may be used.
    Processors,
    /// Weights of the control group and its parents, where they are not the usual ones.
    Weight,
}

impl Setting {
    /// Finds it among facts; none where it is not known.
    pub fn find_value(self, facts: &Facts) -> Option<&str> {
        match self {
            Setting::Nice => facts.get(PROCESS_NICE),
            Setting::Class => facts.get(PROCESS_CLASS).or_else(|| facts.get(PROCESS_POLICY)),
            Setting::Processors => facts.get(CPU_LIST),
            Setting::Weight => facts.get(LIMIT_WEIGHT),
        }
    }
}

/// A setting of an environment and of its baseline, which are known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingPair {
    pub setting: Setting,
    pub here: String,
    pub baseline: String,
}

/// Group of the differences of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Share of the rounds, or of the starts that they share.
    pub share: f64,
    /// Their median cost ratio.
    pub ratio: f64,
}
