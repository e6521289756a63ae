//! `user.command`: a command that the user chooses, from its start until wait(2) returns.
//!
//! As hyperfine and time(1) do, with the same command in every environment. Each run has a fresh folder with the
//! files that were carried along, or a folder that is there; an environment of stated variables alone, nothing on
//! standard input, and its output in a pipe of which the end is kept. The exit code is the proof of the work. A case of
//! a command is called `user.` and the command's name. posix_spawn(3), wait4(2), getrusage(2).

pub use tare_data::names::USER;
use tare_data::names::{BadParameter, Parameters};

use crate::probe::describing::*;

/// The name of the probe, which all commands share.
pub const USER_COMMAND: &str = "user.command";

/// Maximum time limit of a run, in seconds.
pub const LONGEST_TIMEOUT_S: u64 = 3600;

/// Seconds that a run may take until it is known how long the baseline takes: builds take minutes.
const FIRST_LIMIT_S: u64 = 300;

/// Maximum length of a name: a row's heading has 22 characters.
const LONGEST_NAME: usize = 22;

/// Parameters of a command.
pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter::from_one_value("name", "command", "its name in the study"),
    Parameter::from_one_value("title", "", "name in reports; the name of the command unless given"),
    Parameter::from_one_value(
        "command",
        "[\"@tare\",\"agent-applet\",\"rm\"]",
        "its words; @tare as the first word is this program",
    ),
    Parameter::from_one_value("folder", "", "the folder that it runs in; a fresh one unless given"),
    Parameter::from_one_value(
        "setup",
        "[]",
        "run once in each start of an environment, before anything else",
    ),
    Parameter::from_one_value("prepare", "[]", "run before it, in the same folder"),
    Parameter::from_one_value("clean", "[]", "run after it"),
    Parameter::from_one_value(
        "warmup",
        "1",
        "runs of each trial that come first; only the first of them is reported",
    ),
    Parameter::from_one_value(
        "output",
        "pipe",
        "where its output goes: pipe, read and discarded; null, to /dev/null",
    ),
    Parameter::from_one_value("environment", "{}", "its variables"),
    Parameter::from_one_value("carry", "0:", "number and hash of the files that it needs"),
    Parameter::from_one_value(
        "copies",
        "",
        "copies that run at once in the same folder, until the last has ended; a single one unless given",
    ),
    Parameter::from_one_value(
        "neighbour",
        "none",
        "neighbour that runs next to it: none, burn, fork or sync",
    ),
    Parameter::from_one_value(
        "timeout_s",
        "60",
        "seconds that a run may take; 0 is ten times the baseline's slowest run, at least 10",
    ),
    Parameter::from_one_value("expect_exit", "0", "the exit code of a successful run, or any"),
];

pub static PROBE: Probe = Probe {
    name: USER_COMMAND,
    title: "a command",
    summary: "A command that you choose, the same in every environment.",
    timed: "from the start of its process until wait() returns",
    not_timed: "creating the folder, copying carried files, setup, prepare and clean",
    distorted_by: "the environment's version of the program: another version is another program",
    parameters: PARAMETERS,
    metrics: &[
        time_metric("time", "run"),
        gauge_metric("user", "user", Unit::Nanoseconds),
        gauge_metric("system", "system", Unit::Nanoseconds),
        gauge_metric("memory", "memory", Unit::Bytes),
        first_call_metric("run"),
    ],
    family: Family::Command,
    alternates: |parameters| {
        let has = |key| parameters.get_text(key).is_ok_and(|value| !matches!(value, "" | "[]"));
        match ["setup", "prepare", "clean"].into_iter().any(has) {
            true => Alternates::Alone("preparing or cleaning for one side would do so for the other"),
            false => Alternates::Anywhere,
        }
    },
    revision: 3,
    label: |parameters| {
        let given = |key| parameters.get_text(key).ok().filter(|text| !text.is_empty());
        let mut label = given("title").or_else(|| given("name")).unwrap_or("a command").to_owned();
        if let Some(copies) = given("copies") {
            label.push_str(&format!(" x{copies}"));
        }
        if let Some(neighbour) = given("neighbour").filter(|neighbour| *neighbour != "none") {
            label.push_str(&format!(" beside {neighbour}"));
        }
        label
    },
};

/// Reads the seconds that a run may take, as far as the case alone tells.
pub fn run_limit_s(parameters: &Parameters) -> Result<u64, BadParameter> {
    Ok(match parameters.get_integer("timeout_s")? {
        0 => FIRST_LIMIT_S,
        seconds => seconds,
    })
}

/// Tells whether a name is valid for a command: it becomes a row heading and the name of a folder.
pub fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(plain)
}
