//! `user.command`: a command that the user chooses, from its start until wait(2) returns.
//!
//! As hyperfine and time(1) do, with the same command in every environment. Each run has a fresh folder with the
//! files that were carried along, or a folder that is there; an environment of stated variables alone, nothing on
//! standard input, and its output in a pipe of which the end is kept. The exit code is the proof of the work. A case of
//! a command is called `user.` and the command's name. posix_spawn(3), wait4(2), getrusage(2).

pub use tare_data::names::USER;

use crate::probe::describing::*;

/// The name of the probe, which all commands share.
pub const USER_COMMAND: &str = "user.command";

/// Maximum time limit of a run, in seconds.
pub const LONGEST_TIMEOUT_S: u64 = 3600;

/// Maximum length of a name: a row's heading has 22 characters.
const LONGEST_NAME: usize = 22;

/// Parameters of a command.
pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter::same("name", "command", "its name in the study"),
    Parameter::same("title", "", "name in reports; the name of the command unless given"),
    Parameter::same(
        "command",
        "[\"@tare\",\"agent-applet\",\"rm\"]",
        "its words; @tare as the first word is this program",
    ),
    Parameter::same("folder", "", "the folder that it runs in; a fresh one unless given"),
    Parameter::same("setup", "[]", "run once in each start of an environment, before anything else"),
    Parameter::same("prepare", "[]", "run before it, in the same folder"),
    Parameter::same("clean", "[]", "run after it"),
    Parameter::same("warmup", "1", "runs of each trial that come first; only the first of them is reported"),
    Parameter::same("output", "pipe", "where its output goes: pipe, read and discarded; null, to /dev/null"),
    Parameter::same("environment", "{}", "its variables"),
    Parameter::same("carry", "0:", "number and hash of the files that it needs"),
    Parameter::same(
        "copies",
        "",
        "copies that run at once in the same folder, until the last has ended; a single one unless given",
    ),
    Parameter::same("neighbour", "none", "neighbour that runs next to it: none, burn, fork or sync"),
    Parameter::same("timeout_s", "60", "seconds that a run may take"),
    Parameter::same("expect_exit", "0", "the exit code of a successful run, or any"),
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
        time("time", "run"),
        gauge("user", "user", Unit::Nanoseconds),
        gauge("system", "system", Unit::Nanoseconds),
        gauge("memory", "memory", Unit::Bytes),
        first("run"),
    ],
    family: Family::Command,
    revision: 3,
    label: |parameters| {
        let given = |key| parameters.text(key).ok().filter(|text| !text.is_empty());
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

/// Tells whether a name is valid for a command: it becomes a row heading and the name of a folder.
pub fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(plain)
}
