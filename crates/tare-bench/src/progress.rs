//! Progress of a run, and the time that remains.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Time of a round besides the measuring of both sides: starting, preparing, cleaning up.
const OVERHEAD: Duration = Duration::from_millis(700);

pub struct Progress {
    rows: usize,
    row: usize,
    rounds: u32,
    /// A round, until one has been seen.
    expected_round: Duration,
    row_began: Instant,
    /// Time spent on completed rows.
    spent: Duration,
    run: u32,
    draws: bool,
}

impl Progress {
    pub fn new(rows: usize, rounds: u32, seconds: u32) -> Progress {
        Progress {
            rows,
            row: 0,
            rounds,
            expected_round: Duration::from_secs(2 * u64::from(seconds)) + OVERHEAD,
            row_began: Instant::now(),
            spent: Duration::ZERO,
            run: 0,
            draws: std::io::stderr().is_terminal(),
        }
    }

    /// Begins a row; returns its number and the time left, for its line.
    pub fn start_row(&mut self) -> String {
        self.row += 1;
        self.row_began = Instant::now();
        format!("[{}/{}, {} left]", self.row, self.rows, minutes(self.left(0, Duration::ZERO)))
    }

    /// Draws the number of rounds done of the row, over the last such line, on a terminal.
    pub fn draw_round(&self, name: &str, done: u32) {
        if self.draws {
            let left = minutes(self.left(done, self.row_began.elapsed()));
            eprint!("\r\x1b[K{name}: round {done} of {}, {left} left", self.rounds);
        }
    }

    /// Ends a row; one that could not be run does not predict the time of the others.
    pub fn end_row(&mut self, was_run: bool) {
        if self.draws {
            eprint!("\r\x1b[K");
        }
        if was_run {
            self.spent += self.row_began.elapsed();
            self.run += 1;
        }
    }

    /// Estimates the time left when `done` rounds of this row took `elapsed`.
    fn left(&self, done: u32, elapsed: Duration) -> Duration {
        let row = match self.run {
            0 => self.expected_round * self.rounds,
            run => self.spent / run,
        };
        let round = if done == 0 { row / self.rounds } else { elapsed / done };
        let rows_after = u32::try_from(self.rows.saturating_sub(self.row)).unwrap_or(u32::MAX);
        round * self.rounds.saturating_sub(done) + row * rows_after
    }
}

fn minutes(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..90 => format!("{seconds} s"),
        seconds => format!("{} min", (seconds + 30) / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_follows_what_was_seen() {
        let mut progress = Progress::new(3, 10, 1);
        let round = Duration::from_secs(2) + OVERHEAD;
        progress.row = 1;
        assert_eq!(progress.left(0, Duration::ZERO), round * 30);
        assert_eq!(progress.left(5, Duration::from_secs(5)), Duration::from_secs(5) + round * 20);
        (progress.spent, progress.run, progress.row) = (Duration::from_secs(20), 1, 2);
        assert_eq!(progress.left(5, Duration::from_secs(10)), Duration::from_secs(10 + 20));
        assert_eq!(minutes(Duration::from_secs(89)) + &minutes(Duration::from_secs(91)), "89 s2 min");
    }
}
