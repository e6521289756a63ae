//! The terminal: its width, language and colours, and the progress line.

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use anstream::AutoStream;
use tare_lab::asked::progress::{Event, Observer, Standing};
use tare_lab::error::{ErrorKind, LabError};
use tare_report::language::{Language, is_limited_to_ascii};
use tare_report::progress::{self, State};
use tare_report::text::ascii::replace_signs_by_ascii;
use tare_report::text::plain_line;
pub use tare_report::text::wrap_text;

use crate::platform::{had_no_output, no_output, terminal_width};

/// Width of a table where standard output is not a terminal.
const USUAL_WIDTH: usize = 80;
/// The progress line is drawn at most this often: drawing is work that could disturb the next trial.
const REDRAW: Duration = Duration::from_millis(250);
/// Interval between progress lines if standard error is not a terminal: who waits there has nothing else to see.
const PLAIN_LINE: Duration = Duration::from_secs(5);

/// Measures the terminal on standard output, in columns.
pub fn measure_width() -> usize {
    terminal_width().unwrap_or(USUAL_WIDTH).max(40)
}

/// Tells whether to print colours: on a terminal, unless NO_COLOR is set.
pub fn has_colour() -> bool {
    AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// Finds the user's language from the locale.
pub fn find_language() -> Language {
    Language::of_environment(|name| std::env::var(name).ok())
}

/// Prints a text for people in signs that the locale's character set has, or a document, which is UTF-8 always.
pub fn print_text(text: &str, is_document: bool) -> Result<(), LabError> {
    if is_document { print_output(text) } else { print_output(write_in_locale(text).as_ref()) }
}

/// Prints a line for people on standard error, in signs that the locale's character set has. It may be closed or full.
pub fn print_note(line: &str) {
    let _ = writeln!(anstream::stderr(), "{}", write_in_locale(line));
}

/// Replaces signs that the locale's character set does not have.
fn write_in_locale(text: &str) -> Cow<'_, str> {
    match is_limited_to_ascii(|name| std::env::var(name).ok()) {
        true => Cow::Owned(replace_signs_by_ascii(text)),
        false => Cow::Borrowed(text),
    }
}

/// Prints to standard output. A reader that went away (`| head`) is not an error.
pub fn print_output(text: impl AsRef<[u8]>) -> Result<(), LabError> {
    let mut out = io::stdout().lock();
    let written = match had_no_output() {
        true => Err(no_output()),
        false => out.write_all(text.as_ref()).and_then(|()| out.flush()),
    };
    match written {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|e| {
            let error = LabError::new(ErrorKind::Storage, "cannot write to standard output").with_cause(e);
            error.with_hint("make room where it goes; a record can be shown again with tare report FILE")
        }),
    }
}

/// Draws progress on standard error, between trials only.
pub struct Progress {
    /// A terminal has one line that changes; a log has a line now and then.
    live: bool,
    drawn: Option<Instant>,
    shown: bool,
    language: Language,
}

impl Progress {
    pub fn new() -> Self {
        Progress { live: io::stderr().is_terminal(), drawn: None, shown: false, language: find_language() }
    }

    /// Clears the line, so that other output starts on an empty one.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(line(), "\r\x1b[K");
        }
    }

    /// Shows a line, unless the last one was drawn just now. `long` is the fuller one, for a log.
    fn draw(&mut self, short: impl FnOnce(usize) -> String, long: impl FnOnce() -> String) {
        let pause = if self.live { REDRAW } else { PLAIN_LINE };
        if self.drawn.is_some_and(|drawn| drawn.elapsed() < pause) {
            return;
        }
        self.drawn = Some(Instant::now());
        // Standard error may be closed; the session continues.
        if self.live {
            let width = terminal_width().unwrap_or(USUAL_WIDTH).saturating_sub(1);
            let _ = write!(line(), "\r\x1b[K{}", write_in_locale(&short(width)));
            self.shown = true;
        } else {
            let _ = writeln!(io::stderr(), "{}", write_in_locale(&long()));
        }
    }
}

/// Opens standard error for output that moves the cursor, which Windows consoles must be told to interpret.
fn line() -> AutoStream<io::Stderr> {
    AutoStream::always_ansi(io::stderr())
}

impl Observer for Progress {
    fn observe_event(&mut self, event: Event<'_>) {
        match event {
            Event::Note(note) => {
                self.clear();
                let note = self.language.translate_text(&note);
                let note = format!("{} {}", self.language.word("note:"), plain_line(&note));
                let _ = writeln!(io::stderr(), "{}", write_in_locale(&note));
            }
            Event::Entering { target } => {
                let text = progress::entering_line(target, self.language);
                self.draw(|_| text.clone(), || text.clone());
            }
            Event::Calibrating { done, of } => {
                let text = progress::calibrating_line(done, of, self.language);
                self.draw(|_| text.clone(), || text.clone());
            }
            Event::Lasting { target } => {
                let text = progress::lasting_line(target, self.language);
                self.draw(|_| text.clone(), || text.clone());
            }
            Event::Outcome { target } => {
                let text = progress::outcome_line(target, self.language);
                self.draw(|_| text.clone(), || text.clone());
            }
            Event::Planned { .. } => self.drawn = None,
            Event::RoundDone(_) => {}
            Event::Trial(standing) => {
                let state = progress_of(&standing, self.language);
                self.draw(|width| progress::terminal_line(&state, width), || progress::log_line(&state));
            }
        }
    }
}

/// Converts the progress of a session into the text to show.
pub fn progress_of(standing: &Standing<'_>, language: Language) -> State {
    State {
        label: standing.case.to_owned(),
        target: standing.target.to_owned(),
        rounds: standing.round - 1,
        rounds_planned: standing.rounds,
        decided: standing.decided,
        verdicts: standing.cells,
        open: standing.open.iter().map(|(case, target)| ((*case).to_owned(), (*target).to_owned())).collect(),
        decided_in_s: standing.decided_in_s,
        failures: standing.failures,
        repeated: standing.repeated,
        elapsed_s: standing.elapsed_s,
        left_s: standing.left_s,
        language,
    }
}
