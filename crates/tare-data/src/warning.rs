//! A warning: a reason to doubt a result, with advice; it travels with the result and is shown beside it.

use serde::{Deserialize, Serialize};

/// Trials that are named one by one; more are counted.
const MOST_NUMBERED: usize = 5;

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
    /// Differences fall into separate groups.
    Modal { groups: Vec<Group> },
    /// Rounds that follow each other are alike: blocks of them are compared.
    RoundsAlike { rounds: u32, blocks: u32 },
    /// The processor canary of this environment differs from the baseline's by more than the margin.
    CanaryOutside { ratio: f64 },
    /// The environment's clock and the host's disagree over the same trials.
    ClockDisagrees { parts_per_million: f64 },
    /// The environment's clock moves in steps that are too coarse for what is timed.
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
    /// Datagrams did not arrive in time, once and in order.
    DatagramsAstray { lost: u64, late: u64, duplicated: u64, reordered: u64 },
}

/// One of the groups into which the differences of a cell fall.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Share of the rounds, or of the starts that they share.
    pub share: f64,
    /// Their median cost ratio.
    pub ratio: f64,
}

impl Warning {
    /// What is doubtful, in one sentence.
    pub fn words(&self) -> String {
        match self {
            Warning::ControlColoured { coloured, cells } => format!(
                "the control differs from the baseline in {coloured} of {}: this session's noise is above its margin",
                counted(*cells as u64, "cell")
            ),
            Warning::SkewedTail { hodges_lehmann, median } => format!(
                "differences are skewed: {:.3}x by Hodges-Lehmann, {:.3}x by the median",
                hodges_lehmann.exp(),
                median.exp()
            ),
            Warning::Stalls { one_in, factor } => {
                format!("typically the same, but one round in {one_in} takes {factor:.1} times as long")
            }
            Warning::Modal { groups } => fallen_into(groups),
            Warning::RoundsAlike { rounds, blocks } => {
                let blocks = counted(u64::from(*blocks), "block");
                format!("rounds that follow each other are alike: judged by {blocks} of {rounds} rounds")
            }
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
                let were = if *repeated == 1 { "was" } else { "were" };
                let rounds = counted(u64::from(*repeated), "round");
                format!("{rounds} {were} disturbed and run again ({kept} kept)")
            }
            Warning::TrialsFailed { failed, of } => {
                format!("{failed} of {} failed", counted(u64::from(*of), "trial"))
            }
            Warning::SessionFailed { failed, of, mostly } => {
                format!("{failed} of {} failed ({mostly})", counted(*of as u64, "trial"))
            }
            Warning::SharedStarts { starts, rounds } => {
                let rounds = counted(u64::from(*rounds), "round");
                format!("{rounds} share {}", counted(u64::from(*starts), "start"))
            }
            Warning::OwnControlDiffers { ratio } => {
                format!("entered once more, it takes {ratio:.3}x its own time")
            }
            Warning::BrokenOff { rounds, planned } => {
                let rounds = match planned {
                    Some(planned) => format!("{rounds} of {}", counted(u64::from(*planned), "round")),
                    None => counted(u64::from(*rounds), "round"),
                };
                format!("the session broke off after {rounds}")
            }
            Warning::EmulatedProcessor => "the CPU is emulated".into(),
            Warning::DamagedLines { lines, trials } => damaged(*lines, trials),
            Warning::StrayLines { lines } => {
                let lines = counted(*lines, "line");
                format!("{lines} in the record outside any open trial: left out")
            }
            Warning::SessionsAtOnce { others } => {
                format!("{} of tare ran on this machine meanwhile", counted(*others, "other session"))
            }
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
                "stop what else runs on the machine (tare check names it) and run again"
            }
            Warning::SkewedTail { .. } => "the interval shown is that of the median",
            Warning::Stalls { .. } => "compare the mean costs, and look at the rounds one by one",
            Warning::Modal { .. } => "look at the rounds one by one; pinning may separate the groups",
            Warning::RoundsAlike { .. } => {
                "look for what changes now and then; a longer --budget has more blocks"
            }
            Warning::CanaryOutside { .. } => "do not read its processor times as its own cost",
            Warning::ClockDisagrees { .. } => "trust ratios above that size only",
            Warning::CoarseClock { .. } => {
                "choose another clock source in the environment, e.g. tsc=reliable"
            }
            Warning::RoundsRepeated { .. } => "run when the machine is idle",
            Warning::TrialsFailed { .. } | Warning::SessionFailed { .. } => {
                "tare report --json names each failure"
            }
            Warning::SharedStarts { .. } => "a longer --budget has room for more starts",
            Warning::OwnControlDiffers { .. } => {
                "its verdict allows for that much; more starts make it smaller"
            }
            Warning::BrokenOff { .. } => "tare run --resume FILE continues it",
            Warning::EmulatedProcessor => "read only its shape, or use a machine with KVM",
            Warning::DamagedLines { .. } => {
                "find the file as it was written; the disk or a program changed it"
            }
            Warning::StrayLines { .. } => "two programs may have written it at once: run again",
            Warning::SessionsAtOnce { .. } => "they disturb each other: run one at a time",
            Warning::DatagramsAstray { .. } => {
                "the rate counts answered datagrams only; the path to the peer loses or duplicates some"
            }
        }
    }
}

fn fallen_into(groups: &[Group]) -> String {
    let of_group = |group: &Group| format!("{:.2}x in {:.0} %", group.ratio, 100.0 * group.share);
    let each: Vec<String> = groups.iter().map(of_group).collect();
    format!("rounds fall into {} groups: {}", groups.len(), each.join(", "))
}

/// How many lines are damaged, and which trials are left out with them.
fn damaged(lines: u64, trials: &[u64]) -> String {
    let lines = counted(lines, "damaged line");
    let shown: Vec<String> = trials.iter().take(MOST_NUMBERED).map(u64::to_string).collect();
    let more = trials.len() - shown.len();
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    match shown.as_slice() {
        [] => format!("{lines} in the record: no trial is left out"),
        [one] => format!("{lines} in the record: trial {one} is left out"),
        _ => format!("{lines} in the record: trials {}{more} are left out", shown.join(", ")),
    }
}

/// "1 start", "3 starts".
fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_several() {
        let shared = |starts, rounds| Warning::SharedStarts { starts, rounds }.words();
        assert_eq!(shared(1, 18), "18 rounds share 1 start");
        assert_eq!(shared(3, 18), "18 rounds share 3 starts");
        let repeated = |repeated| Warning::RoundsRepeated { repeated, kept: 9 }.words();
        assert_eq!(repeated(1), "1 round was disturbed and run again (9 kept)");
        assert_eq!(repeated(2), "2 rounds were disturbed and run again (9 kept)");
    }
}
