//! A step of a command of one's own: setup, prepare, the command itself or conclude; and the words for a run that failed.

use std::path::Path;

use tare_data::batch::RunEnd;
use tare_data::failure::{Failure, FailureKind};

use crate::carried::program::ITSELF;
use crate::facts::environment::read_memory_limit;

/// Characters of a step's words that are shown.
const MOST_WORDS: usize = 50;
/// Characters of the last line of output that are shown.
const MOST_LINE: usize = 70;
/// Memory limits from here on are none: version 1 of control groups writes the greatest number.
const NO_LIMIT: u64 = 1 << 60;

/// Step of a case, each of which may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Setup,
    Prepare,
    Command,
    Conclude,
}

/// Exit code of a run that did its work.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Expected {
    Code(i32),
    Any,
}

impl Expected {
    pub(crate) fn accepts(self, end: RunEnd) -> bool {
        match self {
            Expected::Any => true,
            Expected::Code(code) => end == RunEnd::ExitCode(code),
        }
    }
}

impl Step {
    /// Describes the step by its option and words, the command by its program alone.
    pub(crate) fn describe(self, words: &[String]) -> String {
        let option = match self {
            Step::Command => return clip(words.first().map_or("", String::as_str), MOST_WORDS),
            Step::Setup => "--setup",
            Step::Prepare => "--prepare",
            Step::Conclude => "--conclude",
        };
        let text = match words {
            [shell, flag, text] if shell == "sh" && flag == "-c" => text.clone(),
            words => words.join(" "),
        };
        format!("{option} '{}'", clip(&text, MOST_WORDS))
    }

    /// Describes a run that did not end as expected; `last` is the last line that it wrote.
    pub(crate) fn describe_end(
        self,
        words: &[String],
        end: RunEnd,
        expected: Expected,
        last: Option<&str>,
    ) -> Failure {
        let step = self.describe(words);
        let ended = match (end, expected) {
            (RunEnd::ExitCode(code), Expected::Code(expected)) if self == Step::Command => {
                format!("{step} ended with exit code {code}, expected {expected}")
            }
            (RunEnd::ExitCode(code), _) => format!("{step} ended with exit code {code}"),
            (RunEnd::Signal(signal), _) => {
                let limit = find_limit(signal).map(|limit| format!(" ({limit})")).unwrap_or_default();
                format!("{step} was killed by signal {signal}{limit}")
            }
            (RunEnd::TimedOut, _) => {
                let reason = format!("{step} took too long (--timeout gives it more time)");
                return Failure::new(FailureKind::Deadline, reason);
            }
        };
        let last = last.map(|line| format!(": {}", clip(line, MOST_LINE))).unwrap_or_default();
        Failure::new(FailureKind::WrongWork, format!("{ended}{last}"))
    }

    /// Describes a program that is not there, or may not be executed. `path` is none where it was searched for.
    pub(crate) fn describe_missing(self, words: &[String], path: Option<&Path>) -> Failure {
        let program = clip(words.first().map_or("", String::as_str), MOST_WORDS);
        let step =
            if self == Step::Command { program } else { format!("{program} of {}", self.describe(words)) };
        let (kind, why) = match path {
            None => (FailureKind::NotSupported, "not found in PATH"),
            Some(path) if path.exists() => (FailureKind::NotPermitted, "not executable (chmod +x)"),
            Some(_) => (FailureKind::NotSupported, "not found"),
        };
        Failure::new(kind, format!("{step}: {why}"))
    }
}

/// Finds the limit that ends a process by this signal, where one is set.
fn find_limit(signal: i32) -> Option<String> {
    match signal {
        libc::SIGKILL => {
            let limit = read_memory_limit().filter(|bytes| *bytes < NO_LIMIT)?;
            Some(format!("memory is limited to {} MB", limit / 1_000_000))
        }
        libc::SIGXCPU => Some("processor time is limited by ulimit -t".into()),
        libc::SIGXFSZ => Some("the size of files is limited by ulimit -f".into()),
        _ => None,
    }
}

/// Cuts a text to this length, with a sign that it was longer.
fn clip(text: &str, most: usize) -> String {
    let text = if text == ITSELF { "tare" } else { text };
    match text.chars().count() > most {
        false => text.to_owned(),
        true => text.chars().take(most - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn a_failure_names_its_step_and_stays_short() {
        let code = |step: Step, text: &str| {
            step.describe_end(&words(text), RunEnd::ExitCode(1), Expected::Code(0), None).reason
        };
        assert_eq!(code(Step::Command, "false"), "false ended with exit code 1, expected 0");
        assert_eq!(code(Step::Prepare, "false"), "--prepare 'false' ended with exit code 1");
        let by_shell = ["sh", "-c", "ls | wc"].map(str::to_owned);
        assert_eq!(Step::Conclude.describe(&by_shell), "--conclude 'ls | wc'");
        let missing = Step::Setup.describe_missing(&words("nosuch -x"), None);
        assert_eq!(missing.reason, "nosuch of --setup 'nosuch -x': not found in PATH");
        let (long, line) = (words(&"x".repeat(5_000)), "y".repeat(5_000));
        for step in [Step::Setup, Step::Prepare, Step::Command, Step::Conclude] {
            let end = RunEnd::ExitCode(255);
            let failure = step.describe_end(&long, end, Expected::Code(0), Some(&line));
            assert!(failure.reason.chars().count() <= 180, "{failure}");
        }
    }

    #[test]
    fn a_signal_that_a_limit_sends_names_the_limit() {
        let killed = |signal| {
            Step::Command.describe_end(&words("x"), RunEnd::Signal(signal), Expected::Any, None).reason
        };
        assert_eq!(killed(libc::SIGSEGV), "x was killed by signal 11");
        assert!(killed(libc::SIGXCPU).contains("ulimit -t"));
        assert!(killed(libc::SIGXFSZ).contains("ulimit -f"));
    }
}
