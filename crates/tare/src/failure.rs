//! Failure: what a person reads when something went wrong, and the exit code a script reads.

use std::io::Write;
use std::process::ExitCode;

use tare_lab::error::{ErrorKind, LabError};
use tare_report::text::{plain, plain_lines};

use crate::ui;

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
    let language = ui::language();
    let cause = |text: &str| heading(dim, language.word("caused by:"), &language.text(text));
    let what =
        |text: &str| format!("{red}{}{red:#} {}\n", language.word("error:"), plain(&language.text(text)));
    // Standard error may be closed; then there is nowhere to report that.
    let _ = match error.downcast_ref::<LabError>() {
        Some(lab) => {
            let causes: String = lab.causes().map(|text| cause(&text)).collect();
            let hint = lab.hint.iter().map(|text| heading(dim, language.word("hint:"), &language.text(text)));
            write!(out, "{}{causes}{}", what(&lab.what), hint.collect::<String>())
        }
        None => {
            let causes: String = error.chain().skip(1).map(|text| cause(&text.to_string())).collect();
            write!(out, "{}{causes}", what(&error.to_string()))
        }
    };
    error.downcast_ref::<LabError>().map_or(Exit::Internal, |lab| lab.kind.into()).into()
}

/// A line with a heading.
fn heading(style: anstyle::Style, heading: &str, text: &str) -> String {
    format!("{style}{heading}{style:#} {}\n", indented(text))
}

/// A cause of several lines (a place in a TOML file) keeps its shape under its heading. What a runtime or an
/// environment wrote may stand in it.
fn indented(text: &str) -> String {
    plain_lines(text).replace('\n', "\n  ")
}
