//! Steps: each in a child with a deadline, so that one that is killed or hangs costs itself alone.

use std::io::Write;
use std::os::fd::{AsFd, AsRawFd};
use std::panic::{AssertUnwindSafe, UnwindSafe};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::{Errno, retry_on_intr};
use rustix::pipe::{PipeFlags, pipe_with};
use tare_data::facts::{Facts, HowLost, Lost};

use crate::harness::child::{Child, Ending};
use crate::harness::stopwatch::now_ns;

/// Bytes that a step may report; a child that was taken over may write anything.
const MOST_REPORTED: usize = 256 << 10;
/// Time that a child gets to end after its last word, after it was asked to end, and after it was killed.
const ENDING_NS: u64 = 100_000_000;

/// Harm that a step can do to the process that runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Risk {
    /// Reads only, from the kernel: where no process can be started, it runs in this one.
    Harmless,
    /// May be killed, hang or change its process.
    NeedsChild,
}

/// Output of a step: facts, each sent as soon as it is known.
pub struct Noting<'a> {
    send: &'a mut dyn FnMut(&str, &str),
}

impl Noting<'_> {
    /// Sends a fact; an empty text is not one.
    pub fn add_fact(&mut self, key: &str, value: impl AsRef<str>) {
        if !value.as_ref().is_empty() {
            (self.send)(key, value.as_ref());
        }
    }
}

/// Notes facts of this process, and nothing else.
pub fn note_facts(note: impl FnOnce(&mut Noting<'_>)) -> Facts {
    let mut facts = Facts::default();
    note(&mut Noting { send: &mut |key, value| facts.add_fact(key, value) });
    facts
}

/// Runs steps one after the other until all time is used up, and keeps their facts.
pub struct Steps {
    pub facts: Facts,
    pub lost: Vec<Lost>,
    ends_ns: u64,
}

impl Steps {
    pub fn until(ends_ns: u64) -> Steps {
        Steps { facts: Facts::default(), lost: Vec::new(), ends_ns }
    }

    /// Allows further steps, which leave nothing behind by what they do.
    pub fn extend(&mut self, more_ms: u64) {
        self.ends_ns = self.ends_ns.max(now_ns()) + more_ms * 1_000_000;
    }

    /// Notes facts of this process itself, which needs no step.
    pub fn note_here(&mut self, note: impl FnOnce(&mut Noting<'_>)) {
        self.facts.0.extend(note_facts(note).0);
    }

    /// Runs a step for at most this long.
    pub fn run_step(
        &mut self,
        step: &'static str,
        longest_ms: u64,
        risk: Risk,
        work: impl FnOnce(&mut Noting<'_>) + UnwindSafe,
    ) {
        let began_ns = now_ns();
        if began_ns >= self.ends_ns {
            return self.lose(step, HowLost::NotReached);
        }
        let ends_ns = self.ends_ns.min(began_ns + longest_ms * 1_000_000);
        let mut work = Some(work);
        match self.in_child(ends_ns, &mut work) {
            Ok(None) => {}
            Ok(Some(how)) => self.lose(step, how),
            Err(_) => match (risk, work) {
                (Risk::Harmless, Some(work)) => self.note_here(work),
                _ => self.lose(step, HowLost::NoProcess),
            },
        }
    }

    fn lose(&mut self, step: &'static str, how: HowLost) {
        self.lost.push(Lost { step, how });
    }

    fn in_child<F>(&mut self, ends_ns: u64, work: &mut Option<F>) -> Result<Option<HowLost>, Errno>
    where
        F: FnOnce(&mut Noting<'_>) + UnwindSafe,
    {
        let (reads, writes) = pipe_with(PipeFlags::CLOEXEC)?;
        let shared = AssertUnwindSafe((work, &writes));
        let child = Child::fork(&[reads.as_fd()], move || {
            let whole = shared;
            let (work, writes) = whole.0;
            release_streams(writes);
            let mut out = PipeEnd(writes);
            let mut send = |key: &str, value: &str| {
                // A parent that has gone away needs no answer.
                let _ = out.write_all(encode_line(key, value).as_bytes());
            };
            if let Some(work) = work.take() {
                work(&mut Noting { send: &mut send });
            }
            0
        });
        let child = child.map_err(|_| Errno::AGAIN)?;
        drop(writes);
        let is_whole = self.hear(reads, ends_ns);
        let ending = match is_whole {
            true => child.wait_until(now_ns() + ENDING_NS),
            false => child.end_within(ENDING_NS),
        };
        Ok(match (ending, is_whole) {
            (Ending::Running, _) => Some(HowLost::Stuck),
            (Ending::Signal(signal), true) => Some(HowLost::Signal(signal)),
            (Ending::Code(_), true) => None,
            (_, false) => Some(HowLost::Late),
        })
    }

    /// Reads facts until the pipe closes; false where the deadline came first, or there was too much.
    fn hear(&mut self, reads: OwnedFd, ends_ns: u64) -> bool {
        let (mut bytes, mut all, mut piece) = (Vec::new(), 0, [0; 4096]);
        loop {
            let left_ns = ends_ns.saturating_sub(now_ns());
            let timeout = Timespec {
                tv_sec: (left_ns / 1_000_000_000) as i64,
                tv_nsec: (left_ns % 1_000_000_000) as i64,
            };
            let mut waiting = [PollFd::new(&reads, PollFlags::IN)];
            match poll(&mut waiting, Some(&timeout)) {
                Ok(0) => return false,
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(_) => return false,
            }
            match retry_on_intr(|| rustix::io::read(&reads, &mut piece)) {
                Ok(0) | Err(_) => return true,
                Ok(read) => bytes.extend_from_slice(&piece[..read]),
            }
            while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
                if let Some((key, value)) = decode_line(&bytes[..end]) {
                    self.facts.add_fact(key, value);
                }
                all += end + 1;
                bytes.drain(..=end);
            }
            if all + bytes.len() > MOST_REPORTED {
                return false;
            }
        }
    }
}

/// Puts the pipe in place of this process's streams: one that cannot be ended would hold them open, and their reader would wait for it.
#[allow(unsafe_code, reason = "numbers of descriptors")]
fn release_streams(pipe: &OwnedFd) {
    for stream in 0..=2 {
        // SAFETY: the pipe is open, and nobody owns the streams of a child that ends after its step.
        unsafe { libc::dup2(pipe.as_raw_fd(), stream) };
    }
}

/// Writing end of a step's pipe.
struct PipeEnd<'a>(&'a OwnedFd);

impl Write for PipeEnd<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(rustix::io::write(self.0, bytes)?)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn encode_line(key: &str, value: &str) -> String {
    serde_json::to_string(&(key, value)).unwrap_or_default() + "\n"
}

pub(super) fn decode_line(line: &[u8]) -> Option<(String, String)> {
    serde_json::from_slice(line).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probes::tests::take_turn;

    fn steps() -> Steps {
        Steps::until(now_ns() + 20_000_000_000)
    }

    #[test]
    fn a_step_answers_by_facts_of_any_text() {
        let _turn = take_turn();
        let mut steps = steps();
        steps.run_step("one", 10_000, Risk::Harmless, |noting| {
            noting.add_fact("a.b", "line\n\"quoted\"\u{1b}")
        });
        assert_eq!(steps.facts.get("a.b"), Some("line\n\"quoted\"\u{1b}"));
        steps.note_here(|noting| noting.add_fact("marks", ""));
        assert_eq!(steps.facts.get("marks"), None, "an empty text is not a fact");
        assert_eq!(steps.lost, []);
    }

    #[test]
    fn a_step_that_is_killed_costs_what_it_had_not_said_yet() {
        let _turn = take_turn();
        let mut steps = steps();
        steps.run_step("killed", 10_000, Risk::NeedsChild, |noting| {
            noting.add_fact("said", "before");
            let own = rustix::process::getpid();
            let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
            noting.add_fact("unsaid", "after");
        });
        steps.run_step("next", 10_000, Risk::NeedsChild, |noting| noting.add_fact("next", "done"));
        assert_eq!(steps.facts.get("said"), Some("before"));
        assert_eq!(steps.facts.get("unsaid"), None);
        assert_eq!(steps.facts.get("next"), Some("done"));
        assert_eq!(steps.lost, [Lost { step: "killed", how: HowLost::Signal(9) }]);
    }

    #[test]
    fn a_step_that_hangs_ends_at_its_deadline_and_the_next_ones_are_named() {
        let _turn = take_turn();
        let mut steps = Steps::until(now_ns() + 2_000_000_000);
        steps.run_step("hangs", 10_000, Risk::NeedsChild, |noting| {
            noting.add_fact("said", "before");
            std::thread::sleep(std::time::Duration::from_secs(600));
        });
        steps.run_step("next", 10_000, Risk::Harmless, |noting| noting.add_fact("next", "done"));
        assert_eq!(steps.facts.get("said"), Some("before"));
        let how: Vec<HowLost> = steps.lost.iter().map(|lost| lost.how).collect();
        assert_eq!(how, [HowLost::Late, HowLost::NotReached]);
    }

    #[test]
    fn a_step_that_floods_is_cut_off() {
        let _turn = take_turn();
        let mut steps = steps();
        steps.run_step("floods", 10_000, Risk::NeedsChild, |noting| {
            let long = "x".repeat(4096);
            (0..200).for_each(|at| noting.add_fact(&format!("key.{at}"), &long));
        });
        assert_eq!(steps.lost, [Lost { step: "floods", how: HowLost::Late }]);
        assert!(steps.facts.0.len() < 100);
    }
}
