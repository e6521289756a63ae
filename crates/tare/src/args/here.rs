//! Arguments of `tare here`.

use std::path::PathBuf;

use clap::ValueEnum;
use tare_analysis::here::costs::Operation;

/// Name the layers around this shell (container, sandbox, virtual machine), its limits, and what to change.
///
/// Needs no root and no other environment, ends within three seconds, and leaves nothing behind. A layer
/// is sure unless (likely) or (may be) follows its name.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = "Examples:
  tare here                          name the layers and limits of this shell
  tare here --wide                   show the evidence for each layer, every cost, and every step without an answer
  tare here --only where             name layers and limits, and time nothing
  tare here --thorough               take ten seconds for narrower intervals
  tare here --json | jq .where       use the result in a program
  tare here --save here.json         outside, and then inside:
  tare here --against here.json      compare the times of both
  tare here --fail-if in:gvisor      exit with 6 inside gVisor
  tare here --fail-if slower:calls   exit with 6 if a system call is slower than on any known Linux
  tare here --fail-if fsync:none     exit with 6 if an fsync in this folder reaches no disk
  tare here --yes -- git status      run a command twice, and split its time by the costs measured here

Exit codes: 0 if anything was found out, 3 if nothing was, 6 if a --fail-if condition is met.")]
pub struct Here {
    /// Show the evidence for each layer, every cost, and every step that gave no answer.
    #[arg(long)]
    pub wide: bool,
    /// Leave out everything that takes time to measure.
    #[arg(long, value_name = "PART", conflicts_with_all = ["thorough", "words"])]
    pub only: Option<Part>,
    /// Measure three times in turn, for up to ten seconds.
    #[arg(long)]
    pub thorough: bool,
    /// Run the command twice without asking.
    #[arg(long, requires = "words")]
    pub yes: bool,
    /// Exit with 6 in this layer, named as in the JSON document, e.g. in:docker; with slower:calls, or slower:OPERATION
    /// by its name there, where it is slower than on any known Linux; with steal or quota where others or a quota take
    /// CPU time; with fsync:none where an fsync reaches no disk (repeatable).
    #[arg(long, value_name = "CONDITION", value_parser = parse_condition)]
    pub fail_if: Vec<Condition>,
    /// Write the result as JSON into a file, for --against in another place of this machine.
    #[arg(long, value_name = "FILE", conflicts_with = "only")]
    pub save: Option<PathBuf>,
    /// Compare the times with those of a file that --save wrote in another place, best within the hour: factors, and what
    /// is the same.
    #[arg(long, value_name = "FILE", conflicts_with = "only")]
    pub against: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    pub json: bool,
    /// Print a block to paste into an issue, without names of this machine, its user and files.
    #[arg(long, conflicts_with = "json")]
    pub paste: bool,
    /// Run this command twice, once as it is and once counted, and split its time by the costs measured here.
    #[arg(last = true, value_name = "COMMAND")]
    pub words: Vec<String>,
}

/// The part of an answer that is asked for alone.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Part {
    /// Layers and limits.
    Where,
}

#[derive(Clone, Debug)]
pub enum Condition {
    /// A layer of this name is told.
    In(String),
    /// Operations are slower than on any Linux that is known, or than in the other place.
    Slower(Operations),
    /// Others take so much of the processors' time that it is felt.
    Steal,
    /// A quota of processors is in force.
    Quota,
    /// An fsync in the working folder reaches no disk.
    NoSync,
}

/// Operations that a condition is about.
#[derive(Clone, Debug)]
pub enum Operations {
    /// Single system calls.
    Calls,
    /// A single one, by its name in the document.
    Named(String),
}

impl Operations {
    pub fn includes(&self, operation: Operation) -> bool {
        match self {
            Operations::Calls => operation.is_call(),
            Operations::Named(name) => operation.name() == name,
        }
    }
}

fn parse_condition(text: &str) -> Result<Condition, String> {
    match text.split_once(':') {
        Some(("in", layer)) if !layer.is_empty() => Ok(Condition::In(layer.to_owned())),
        Some(("fsync", "none")) => Ok(Condition::NoSync),
        Some(("slower", "calls")) => Ok(Condition::Slower(Operations::Calls)),
        Some(("slower", name)) if !name.is_empty() => {
            Ok(Condition::Slower(Operations::Named(name.to_owned())))
        }
        None if text == "steal" => Ok(Condition::Steal),
        None if text == "quota" => Ok(Condition::Quota),
        _ => Err("give in:LAYER, slower:calls, slower:OPERATION, steal, quota or fsync:none".into()),
    }
}
