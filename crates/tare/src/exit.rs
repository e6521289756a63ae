//! Exit codes: the outcome of a command, for scripts.

use std::process::ExitCode;

/// An exit code. Declared in order of precedence: where several apply, the first one counts, which is their minimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    Interrupted,
    Internal,
    Record,
    Storage,
    Usage,
    Environment,
    Gate,
    Undecided,
    Done,
}

impl Exit {
    /// Every code, in order of precedence.
    pub const ALL: [Exit; 9] = [
        Exit::Interrupted,
        Exit::Internal,
        Exit::Record,
        Exit::Storage,
        Exit::Usage,
        Exit::Environment,
        Exit::Gate,
        Exit::Undecided,
        Exit::Done,
    ];

    /// Returns the number that the process ends with.
    pub fn code(self) -> u8 {
        match self {
            Exit::Interrupted => 130,
            Exit::Internal => 1,
            Exit::Record => 5,
            Exit::Storage => 4,
            Exit::Usage => 2,
            Exit::Environment => 3,
            Exit::Gate => 6,
            Exit::Undecided => 7,
            Exit::Done => 0,
        }
    }

    /// Returns the word for a list in one line.
    pub fn word(self) -> &'static str {
        match self {
            Exit::Interrupted => "interrupted",
            Exit::Internal => "internal error",
            Exit::Record => "record",
            Exit::Storage => "storage",
            Exit::Usage => "usage",
            Exit::Environment => "environment",
            Exit::Gate => "a --fail-if condition",
            Exit::Undecided => "nothing decided",
            Exit::Done => "success",
        }
    }

    /// Describes when a command ends with this code.
    pub fn meaning(self) -> &'static str {
        match self {
            Exit::Interrupted => "you stopped it; everything measured until then is in the record",
            Exit::Internal => "tare has a defect, or this machine lacks descriptors, memory or processes",
            Exit::Record => "a record, or a file to import, cannot be read",
            Exit::Storage => "a file cannot be written, or the disk is full",
            Exit::Usage => "an option, a name, a study or a command cannot be understood or found",
            Exit::Environment => {
                "an environment cannot be used: the baseline failed, every other environment failed, or the command \
                 failed where nothing is compared"
            }
            Exit::Gate => {
                "a condition of `--fail-if` is met, cannot be decided (unless `--allow-undecided`), or had nothing to \
                 check"
            }
            Exit::Undecided => {
                "the session decided none of its comparisons (never with fixed rounds, nor where `--fail-if` passes); or too many runs \
                 of commands failed to compare any, and no side is told apart; of older and newer records, nothing could be compared"
            }
            Exit::Done => "done",
        }
    }

    /// Lists all codes in one sentence, for `--help`.
    pub fn list_codes() -> String {
        let all: Vec<String> =
            Exit::ALL.iter().map(|exit| format!("{} {}", exit.code(), exit.word())).collect();
        format!("Exit codes, the first that applies: {}.", all.join(", "))
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_several_codes_counts() {
        let codes: Vec<u8> = Exit::ALL.iter().map(|exit| exit.code()).collect();
        assert_eq!(codes, [130, 1, 5, 4, 2, 3, 6, 7, 0]);
        assert!(Exit::ALL.is_sorted(), "declared in order of precedence");
        assert_eq!(Exit::Undecided.min(Exit::Environment).min(Exit::Gate), Exit::Environment);
        assert_eq!(Exit::Done.min(Exit::Undecided), Exit::Undecided);
    }
}
