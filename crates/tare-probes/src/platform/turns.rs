//! Turns: two processes of a pair alternate by a word in a file that both map, so that whatever the machine does meanwhile
//! hits both.
//!
//! The file carries the turn and nothing else: each side's times go to the host by its own pipe. Nothing in it is trusted:
//! a word that moves backwards or too far, or does not move in time, ends the pair for this side, and is not its failure.

#![allow(unsafe_code, reason = "maps a file, and waits for a word in it")]

use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::thread::futex;
use tare_data::failure::{Failure, FailureKind};
use tare_data::generator::Generator;
use tare_data::request::{GIVEN_UP, Turn};

/// Length of the file that is mapped.
const LENGTH: usize = 4096;
/// Longest wait in one piece: the host writes [`GIVEN_UP`] into the file of a side that died, and wakes nobody.
const PIECE: Duration = Duration::from_millis(20);

/// Side of a pair, between its steps.
///
/// In each step both sides work once, in an order that both draw from the seed of the pair for every other step of a kind: the next one
/// of that kind has the reverse. So each side is first equally often, and what a batch gains or loses by its place cancels. Beside a
/// busy program it is much: one of the two gets the rest of a scheduler's tick. The word counts the sides that have had their turn, over
/// all steps.
pub(crate) struct Turns {
    word: NonNull<AtomicU32>,
    side: u32,
    order: Generator,
    /// Order of the next step of each kind, where it is the reverse of the one before.
    reversed: Vec<Option<u32>>,
    /// Position of the step's first side.
    position: u32,
    patience: Duration,
    settle: u64,
    deadline: Instant,
}

impl Turns {
    /// Maps the file of a pair. `deadline` bounds the wait for the other side to get ready, which may have files to make.
    pub fn open(turn: &Turn, seed: u64, deadline: Duration) -> Result<Turns, Failure> {
        let refused = |what: &str, e: Errno| {
            Failure::new(FailureKind::NotSupported, format!("{what} the file of the turns: {e}"))
        };
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = match turn.descriptor {
            // SAFETY: inherited for this alone, and closed once it is mapped.
            Some(descriptor) => unsafe { OwnedFd::from_raw_fd(descriptor) },
            None => {
                openat(CWD, turn.path.as_str(), flags, Mode::empty()).map_err(|e| refused("opening", e))?
            }
        };
        let (access, shared) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping, whose address the kernel chooses.
        let start = unsafe { mmap(std::ptr::null_mut(), LENGTH, access, shared, &file, 0) };
        let start = start.map_err(|e| refused("mapping", e))?;
        let word = NonNull::new(start.cast()).ok_or_else(|| refused("mapping", Errno::NOMEM))?;
        let patience = Duration::from_millis(turn.patience_ms);
        let order = Generator::for_part(seed, "turns");
        let (side, settle) = (u32::from(turn.is_second), turn.settle);
        let deadline = Instant::now() + deadline;
        Ok(Turns { word, side, order, reversed: Vec::new(), position: 0, patience, settle, deadline })
    }

    /// Returns the time that a step may take.
    pub fn patience(&self) -> Duration {
        self.patience
    }

    /// Returns the operations after each hand-over that are not timed.
    pub fn settle(&self) -> u64 {
        self.settle
    }

    /// Waits until the other side is as far.
    pub fn meet(&mut self) -> Result<(), Failure> {
        let until = self.deadline;
        let first = self.side;
        self.take_turn(first, until, || Ok(()))
    }

    /// Works when it is this side's turn in a step of this kind, and hands over. A side that fails gives up later: see
    /// [`Turns::give_up`].
    pub fn step(&mut self, kind: usize, work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
        let until = Instant::now() + 2 * self.patience;
        let place = self.draw_order(kind) ^ self.side;
        self.take_turn(place, until, work)
    }

    /// Draws which side is first in a step of a kind, or reverses the order of the step of that kind before.
    fn draw_order(&mut self, kind: usize) -> u32 {
        if self.reversed.len() <= kind {
            self.reversed.resize(kind + 1, None);
        }
        if let Some(reversed) = self.reversed[kind].take() {
            return reversed;
        }
        let drawn = self.order.draw_below(2) as u32;
        self.reversed[kind] = Some(drawn ^ 1);
        drawn
    }

    /// Works in this place of a step, 0 or 1.
    fn take_turn(
        &mut self,
        place: u32,
        until: Instant,
        work: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let ours = self.position + place;
        self.wait_for(ours, until)?;
        work()?;
        self.position += 2;
        self.hand_over(ours + 1);
        Ok(())
    }

    fn wait_for(&self, ours: u32, until: Instant) -> Result<(), Failure> {
        loop {
            let now = self.word().load(Ordering::Acquire);
            if now == ours {
                return Ok(());
            }
            // The other side's turn is the only other place where the word can be.
            if now == GIVEN_UP || now.wrapping_add(2) < ours || now > ours {
                return Err(Failure::new(FailureKind::Partner, "the other side of the pair gave up"));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.give_up();
                return Err(Failure::new(FailureKind::Partner, "the other side of the pair was silent"));
            }
            let left = futex::Timespec { tv_sec: 0, tv_nsec: left.min(PIECE).subsec_nanos().into() };
            match futex::wait(self.word(), futex::Flags::empty(), now, Some(&left)) {
                Ok(()) | Err(Errno::AGAIN | Errno::INTR | Errno::TIMEDOUT) => {}
                Err(e) => {
                    let reason = format!("waiting for a turn: {e}");
                    return Err(Failure::new(FailureKind::NotSupported, reason));
                }
            }
        }
    }

    /// Tells the other side that nothing more comes.
    pub fn give_up(&self) {
        self.hand_over(GIVEN_UP);
    }

    fn hand_over(&self, to: u32) {
        self.word().store(to, Ordering::Release);
        // Nobody may be waiting, and a call that is refused shows as silence on the other side.
        let _ = futex::wake(self.word(), futex::Flags::empty(), 1);
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: the mapping lasts as long as `self`, and whoever else has it changes the word by atomic stores, or ends
        // this process by a truncation.
        unsafe { self.word.as_ref() }
    }
}

impl Drop for Turns {
    fn drop(&mut self) {
        // SAFETY: what `open` mapped, which nothing else refers to.
        let _ = unsafe { munmap(self.word.as_ptr().cast(), LENGTH) };
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::IntoRawFd;
    use std::path::PathBuf;

    use super::*;

    fn file(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("tare-turns-{}-{name}", std::process::id()));
        std::fs::write(&path, [0; LENGTH]).unwrap();
        path
    }

    /// Patience with a side that answers, which only a defect uses up, and with one that does not.
    const ANSWERS_MS: u64 = 60_000;
    const SILENT_MS: u64 = 50;

    fn side(path: &std::path::Path, is_second: bool, patience_ms: u64) -> Turns {
        let path = path.to_str().unwrap().to_owned();
        let turn = Turn { path, descriptor: None, is_second, patience_ms, settle: 0, processor: None };
        Turns::open(&turn, 7, Duration::from_secs(5)).unwrap()
    }

    #[test]
    fn sides_work_in_turn_and_each_is_first_in_one_of_two_steps() {
        let path = file("in-turn");
        let log = std::sync::Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for is_second in [false, true] {
                let (path, log) = (&path, &log);
                scope.spawn(move || {
                    let mut turns = side(path, is_second, ANSWERS_MS);
                    for step in 0..64 {
                        turns
                            .step(step % 2, || {
                                log.lock().unwrap().push((step, is_second));
                                Ok(())
                            })
                            .unwrap();
                    }
                });
            }
        });
        std::fs::remove_file(path).unwrap();
        let log = log.into_inner().unwrap();
        assert!(
            log.chunks(2)
                .zip(0..)
                .all(|(pair, step)| pair[0].0 == step && pair[1].0 == step && pair[0].1 != pair[1].1)
        );
        let first: Vec<bool> = log.iter().step_by(2).map(|(_, is_second)| *is_second).collect();
        // Steps of two kinds come by turns.
        assert!(first.chunks(4).all(|steps| steps[0] != steps[2] && steps[1] != steps[3]), "{first:?}");
        let drawn = first.chunks(4).flat_map(|steps| &steps[..2]).filter(|is_second| **is_second).count();
        assert!((6..=26).contains(&drawn), "{drawn}");
    }

    #[test]
    fn a_silent_side_a_side_that_fails_and_a_word_out_of_place_are_not_this_sides_failure() {
        let path = file("silent");
        let kind = |turns: &mut Turns| {
            turns.step(0, || Ok(())).and_then(|()| turns.step(0, || Ok(()))).unwrap_err().kind
        };
        let mut alone = side(&path, false, SILENT_MS);
        assert_eq!(kind(&mut alone), FailureKind::Partner, "nobody else is there");
        for out_of_place in [GIVEN_UP, 77] {
            std::fs::write(&path, [0; LENGTH]).unwrap();
            let mut turns = side(&path, true, ANSWERS_MS);
            turns.word().store(out_of_place, Ordering::Release);
            assert_eq!(kind(&mut turns), FailureKind::Partner, "{out_of_place}");
        }
        std::fs::write(&path, [0; LENGTH]).unwrap();
        let failed = std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let mut turns = side(&path, false, ANSWERS_MS);
                let failed = turns.step(0, || Err(Failure::new(FailureKind::Broken, "own"))).err();
                turns.give_up();
                failed
            });
            let mut turns = side(&path, true, ANSWERS_MS);
            let ours = (0..3).find_map(|_| turns.step(0, || Ok(())).err());
            (other.join().unwrap().unwrap().kind, ours.unwrap().kind)
        });
        assert_eq!(failed, (FailureKind::Broken, FailureKind::Partner));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn an_inherited_file_is_mapped_wherever_the_path_leads() {
        let (path, precious) = (file("inherited"), file("precious"));
        let inherited = std::fs::File::options().read(true).write(true).open(&path).unwrap();
        let turn = Turn {
            path: precious.to_str().unwrap().to_owned(),
            descriptor: Some(inherited.into_raw_fd()),
            is_second: false,
            patience_ms: 1,
            settle: 0,
            processor: None,
        };
        Turns::open(&turn, 0, Duration::from_secs(1)).unwrap().give_up();
        assert_eq!(std::fs::read(&path).unwrap()[..4], GIVEN_UP.to_ne_bytes());
        assert_eq!(std::fs::read(&precious).unwrap(), [0; LENGTH]);
        for path in [path, precious] {
            std::fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn a_file_that_cannot_be_mapped_is_a_reason_to_measure_alone() {
        let turn = |path: &str| Turn {
            path: path.into(),
            descriptor: None,
            is_second: false,
            patience_ms: 1,
            settle: 0,
            processor: None,
        };
        let open = |path: &str| {
            Turns::open(&turn(path), 0, Duration::from_secs(1)).err().map(|failure| failure.kind)
        };
        assert_eq!(open("/nowhere/at/all"), Some(FailureKind::NotSupported));
        assert_eq!(open("/"), Some(FailureKind::NotSupported), "a folder");
    }
}
