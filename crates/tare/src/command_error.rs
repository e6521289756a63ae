//! The error of a command: a message for people, and an exit code for scripts.
//!
//! There is a `From` for each source that knows its exit code, and no other. An error without one, such as an
//! I/O error, must be given a kind where it occurs, or the code does not compile.

use std::io::Write;

use tare_lab::error::{ErrorKind, LabError};
use tare_record::RecordError;
use tare_report::text::{plain_line, plain_lines};

use crate::exit::Exit;
use crate::ui;

/// The reason why a command did not end well.
#[derive(Debug)]
pub struct CommandError {
    exit: Exit,
    what: String,
    /// The nearest cause first.
    causes: Vec<String>,
    hint: Option<String>,
}

impl From<LabError> for CommandError {
    fn from(error: LabError) -> CommandError {
        let exit = match error.kind {
            ErrorKind::Usage => Exit::Usage,
            ErrorKind::Environment => Exit::Environment,
            ErrorKind::Storage => Exit::Storage,
            ErrorKind::Record => Exit::Record,
            ErrorKind::Host => Exit::Internal,
            ErrorKind::Interrupted => Exit::Interrupted,
        };
        let causes = error.causes().collect();
        CommandError { exit, what: error.what, causes, hint: error.hint }
    }
}

impl From<RecordError> for CommandError {
    fn from(error: RecordError) -> CommandError {
        LabError::from(error).into()
    }
}

impl CommandError {
    /// Tells whether the user ended the command.
    pub fn is_interruption(&self) -> bool {
        self.exit == Exit::Interrupted
    }

    /// Writes thing, cause and next step to standard error, and returns the exit code.
    pub fn print(&self) -> Exit {
        let mut out = anstream::stderr().lock();
        let red = anstyle::AnsiColor::Red.on_default().bold();
        let dim = anstyle::Style::new().dimmed();
        let language = ui::find_language();
        let line = |heading: &'static str, text: &str| {
            format!("{dim}{heading}{dim:#} {}\n", indented(&language.translate_text(text)))
        };
        let what = plain_line(&language.translate_text(&self.what));
        let causes: String =
            self.causes.iter().map(|cause| line(language.word("caused by:"), cause)).collect();
        let hint: String = self.hint.iter().map(|hint| line(language.word("hint:"), hint)).collect();
        // Standard error may be closed; then there is nowhere to report that.
        let _ = write!(out, "{red}{}{red:#} {what}\n{causes}{hint}", language.word("error:"));
        self.exit
    }
}

/// Indents the further lines of a text, such as a place in a TOML file, so that it keeps its shape under its heading. It may
/// hold the output of a runtime or an environment.
fn indented(text: &str) -> String {
    plain_lines(text).replace('\n', "\n  ")
}
