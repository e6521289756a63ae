//! The page of a running session: written between rounds by the measuring thread, never during a trial.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tare_data::session::Session;
use tare_lab::asked::progress::{Event, Observer};
use tare_lab::error::LabError;
use tare_report::progress::{State, log_line};

use crate::args::View;
use crate::show::session::write_page_so_far;
use crate::{outputs, ui};

/// Pause between two pages: a browser that loads the page every ten seconds then finds a new one.
const PAUSE: Duration = Duration::from_secs(5);
/// A pause lasts at least this many times as long as the page before it took, so that at most a tenth of a session's time goes into
/// pages.
const PAUSE_FACTOR: u32 = 9;

/// The progress line, and the page where one was named.
pub struct Watched {
    progress: ui::Progress,
    page: Option<RunningPage>,
}

struct RunningPage {
    file: PathBuf,
    record: PathBuf,
    view: View,
    state: State,
    /// When the next page is written, once there was one.
    next: Option<Instant>,
}

impl Watched {
    pub fn new(view: &View, record: &Path) -> Self {
        let file = view.html.clone().filter(|file| outputs::is_replaceable(file));
        let page = file.map(|file| RunningPage {
            file,
            record: record.to_owned(),
            view: view.clone(),
            state: State::default(),
            next: None,
        });
        Watched { progress: ui::Progress::new(), page }
    }

    /// Takes the progress line away.
    pub fn clear(&mut self) {
        self.progress.clear();
    }

    /// Writes the page of a session that an error ended: it no longer runs.
    pub fn end_page(&mut self) {
        let Some(page) = self.page.take().filter(|page| page.next.is_some()) else { return };
        let written = tare_record::read_session(&page.record).map_err(LabError::from).and_then(|recording| {
            write_page_so_far(&page.file, recording.session, &page.view, &page.record, None)
        });
        if let Err(error) = written {
            self.progress.observe_event(Event::Note(error.to_string()));
        }
    }
}

impl Observer for Watched {
    fn observe_event(&mut self, event: Event<'_>) {
        if let Some(page) = &mut self.page {
            match &event {
                Event::Trial(standing) => page.state = ui::progress_of(standing, ui::find_language()),
                Event::RoundDone(session) => {
                    if let Err(error) = page.write_when_due(session) {
                        self.page = None;
                        self.progress.observe_event(Event::Note(error.to_string()));
                    }
                }
                _ => {}
            }
        }
        self.progress.observe_event(event);
    }
}

impl RunningPage {
    fn write_when_due(&mut self, session: &Session) -> Result<(), LabError> {
        let began = Instant::now();
        if self.next.is_some_and(|next| began < next) {
            return Ok(());
        }
        // The trial that this names is over.
        self.state.label.clear();
        self.state.target.clear();
        let running = log_line(&self.state);
        write_page_so_far(&self.file, session.clone(), &self.view, &self.record, Some(&running))?;
        self.next = Some(Instant::now() + PAUSE.max(began.elapsed() * PAUSE_FACTOR));
        Ok(())
    }
}
