//! Failure: what a person reads when something went wrong, and the exit code a script reads.

use std::io::Write;
use std::process::ExitCode;

use tare_lab::error::{ErrorKind, LabError};
use tare_report::text::{plain, plain_lines};

/// Exit codes of tare. 0 is success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// A defect of tare, or a failure that has no code of its own.
    Internal = 1,
    /// Arguments, a study, a name or a parameter cannot be understood.
    Usage = 2,
    /// An environment cannot be used here and now.
    Environment = 3,
    /// A file cannot be read or written, or the disk is full.
    Storage = 4,
    /// A record, or a file to import, cannot be read.
    Record = 5,
    /// A condition of `--fail-if` is met, or nothing that it chose could be compared.
    Gate = 6,
    /// The user stopped the session; what was measured is in the record.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

impl From<ErrorKind> for Exit {
    fn from(kind: ErrorKind) -> Exit {
        match kind {
            ErrorKind::Usage => Exit::Usage,
            ErrorKind::Environment => Exit::Environment,
            ErrorKind::Storage => Exit::Storage,
            ErrorKind::Record => Exit::Record,
            ErrorKind::Host => Exit::Internal,
            ErrorKind::Interrupted => Exit::Interrupted,
        }
    }
}

/// Shows an error as thing, cause and next step, and gives its exit code.
pub fn show(error: &anyhow::Error) -> ExitCode {
    let mut out = anstream::stderr().lock();
    let red = anstyle::AnsiColor::Red.on_default().bold();
    let dim = anstyle::Style::new().dimmed();
    // Standard error may be closed; then there is nowhere to report that.
    let _ = match error.downcast_ref::<LabError>() {
        Some(lab) => {
            let causes: String =
                lab.causes().map(|c| format!("{dim}caused by:{dim:#} {}\n", indented(&c))).collect();
            let hint = lab.hint.iter().map(|h| format!("{dim}hint:{dim:#} {}\n", indented(h)));
            write!(out, "{red}error:{red:#} {}\n{causes}{}", plain(&lab.what), hint.collect::<String>())
        }
        None => {
            let causes = error
                .chain()
                .skip(1)
                .map(|c| format!("{dim}caused by:{dim:#} {}\n", indented(&c.to_string())));
            write!(out, "{red}error:{red:#} {}\n{}", plain(&error.to_string()), causes.collect::<String>())
        }
    };
    error.downcast_ref::<LabError>().map_or(Exit::Internal, |lab| lab.kind.into()).into()
}

/// A cause of several lines (a place in a TOML file) keeps its shape under its heading. What a runtime or an
/// environment wrote may stand in it.
fn indented(text: &str) -> String {
    plain_lines(text).replace('\n', "\n  ")
}
