//! A warning: a reason to doubt a figure, with advice; it travels with the figure and is shown beside it.

use serde::{Deserialize, Serialize};

/// A reason to doubt a figure or a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Warning {
    /// The control environment, which is the baseline entered twice, shows more colour than chance allows.
    ControlColoured { coloured: usize, cells: usize },
    /// Hodges-Lehmann and the median disagree by more than the margin.
    SkewedTail { hodges_lehmann: f64, median: f64 },
    /// Trial values fall into separate groups.
    Modal { modes: usize },
    /// The processor canary of this environment differs from the baseline's by more than the margin.
    CanaryOutside { ratio: f64 },
    /// The environment's clock and the host's disagree over the same trials.
    ClockDisagrees { parts_per_million: f64 },
    /// The environment's clock moves in steps too coarse for what is timed.
    CoarseClock { step_ns: u64 },
    /// Rounds were run again because a noise limit fixed beforehand was broken.
    RoundsRepeated { repeated: u32, kept: u32 },
    /// Trials failed and are missing from the comparison.
    TrialsFailed { failed: u32, of: u32 },
    /// Rounds share starts of the environment, so the differences between starts are less well known.
    SharedStarts { starts: u32, rounds: u32 },
    /// The session ended before its plan did.
    BrokenOff { rounds: u32, planned: u32 },
    /// The processor is emulated: processor figures say nothing of real hardware.
    EmulatedProcessor,
    /// Datagrams did not arrive in time, once and in order.
    DatagramsAstray { lost: u64, late: u64, duplicated: u64, reordered: u64 },
}

impl Warning {
    /// What is doubtful, in one sentence.
    pub fn words(&self) -> String {
        match self {
            Warning::ControlColoured { coloured, cells } => format!(
                "the baseline differs from itself in {coloured} of {cells} cells: this session's noise is above its margin"
            ),
            Warning::SkewedTail { hodges_lehmann, median } => format!(
                "differences are skewed: centre {:.3}x by Hodges-Lehmann, {:.3}x by the median",
                hodges_lehmann.exp(),
                median.exp()
            ),
            Warning::Modal { modes } => format!("rounds fall into {modes} groups"),
            Warning::CanaryOutside { ratio } => {
                format!(
                    "a fixed piece of arithmetic took {ratio:.2}x the baseline's time just before the trials"
                )
            }
            Warning::ClockDisagrees { parts_per_million } => {
                format!("its clock and the host's disagree by {parts_per_million:.0} parts per million")
            }
            Warning::CoarseClock { step_ns } => format!("its clock moves in steps of {step_ns} ns"),
            Warning::RoundsRepeated { repeated, kept } => {
                let rounds = if *repeated == 1 { "round was" } else { "rounds were" };
                format!("{repeated} {rounds} disturbed and repeated ({kept} kept)")
            }
            Warning::TrialsFailed { failed, of } => format!("{failed} of {of} trials failed"),
            Warning::SharedStarts { starts, rounds } => {
                let starts = if *starts == 1 { "1 start".into() } else { format!("{starts} starts") };
                format!("{rounds} rounds share {starts} of the environment")
            }
            Warning::BrokenOff { rounds, planned } => {
                format!("the session broke off after {rounds} of {planned} rounds")
            }
            Warning::EmulatedProcessor => "the CPU is emulated".into(),
            Warning::DatagramsAstray { lost, late, duplicated, reordered } => {
                format!(
                    "datagrams: {lost} lost, {late} late, {duplicated} duplicated, {reordered} out of order"
                )
            }
        }
    }

    /// What to do about it, in one sentence.
    pub fn advice(&self) -> &'static str {
        match self {
            Warning::ControlColoured { .. } => {
                "reduce background load ('tare check' lists sources of noise) and run again"
            }
            Warning::SkewedTail { .. } => "read the interval of the median, which is the one shown",
            Warning::Modal { .. } => {
                "inspect the raw rounds; pinning or a longer budget may separate the groups"
            }
            Warning::CanaryOutside { .. } => "do not take CPU results of this environment for its overhead",
            Warning::ClockDisagrees { .. } => "trust only differences above that size",
            Warning::CoarseClock { .. } => {
                "choose another clock source in the environment, e.g. tsc=reliable"
            }
            Warning::RoundsRepeated { .. } => "run when the machine is idle",
            Warning::TrialsFailed { .. } => "tare report --json names each failure",
            Warning::SharedStarts { .. } => "a longer budget allows more starts",
            Warning::BrokenOff { .. } => "tare run --resume FILE continues it",
            Warning::EmulatedProcessor => "compare only the shape of its results, or use a machine with KVM",
            Warning::DatagramsAstray { .. } => {
                "the rate is that of the answered ones; the route to the peer loses or duplicates datagrams"
            }
        }
    }
}
