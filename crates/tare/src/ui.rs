//! The terminal: its width, whether it takes colour, and the progress line.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use tare_lab::progress::{Event, Observer};
use tare_report::progress::{State, line};

/// Width of a table where nobody says otherwise.
const USUAL_WIDTH: usize = 80;
/// The progress line is drawn at most so often; drawing is work that the next trial may feel.
const REDRAW: Duration = Duration::from_millis(250);
/// Where standard error is no terminal, a line so often shows that the session lives.
const PLAIN_LINE: Duration = Duration::from_secs(15);

/// Width of the terminal on standard output.
pub fn width() -> usize {
    terminal_width().unwrap_or(USUAL_WIDTH).max(40)
}

/// Whether standard output takes colour: a terminal does, unless NO_COLOR is set.
pub fn colour() -> bool {
    anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never
}

/// Prints a whole text. A reader that went away (`| head`) is no error.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// A text in lines of at most so many columns, broken between words.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    tare_report::text::wrap(text, width)
}

fn terminal_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// Draws progress on standard error, between trials only.
pub struct Progress {
    live: bool,
    drawn: Option<Instant>,
    shown: bool,
}

impl Progress {
    pub fn new() -> Self {
        Progress { live: io::stderr().is_terminal(), drawn: None, shown: false }
    }

    /// Takes the line away, so that what follows starts on a clean one.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }

    fn draw(&mut self, state: &State<'_>) {
        let pause = if self.live { REDRAW } else { PLAIN_LINE };
        if self.drawn.is_some_and(|drawn| drawn.elapsed() < pause) {
            return;
        }
        self.drawn = Some(Instant::now());
        let width = terminal_width().unwrap_or(USUAL_WIDTH).saturating_sub(1);
        // Standard error may be closed; the session goes on without an audience.
        if self.live {
            let _ = write!(io::stderr(), "\r\x1b[K{}", line(state, width));
            self.shown = true;
        } else {
            let _ = writeln!(io::stderr(), "{}", line(state, USUAL_WIDTH));
        }
    }
}

impl Observer for Progress {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Note(note) => {
                self.clear();
                let _ = writeln!(io::stderr(), "note: {note}");
            }
            Event::Entering { lane } => self.draw(&State::Entering { lane }),
            Event::Calibrating { done, of } => self.draw(&State::Calibrating { done, of }),
            Event::Planned { .. } => self.drawn = None,
            Event::Trial(standing) => self.draw(&State::Measuring {
                case: standing.case,
                lane: standing.lane,
                round: standing.round,
                rounds: standing.rounds,
                decided: standing.decided,
                cells: standing.cells,
                elapsed_s: standing.elapsed_s,
                left_s: standing.left_s,
            }),
        }
    }
}
