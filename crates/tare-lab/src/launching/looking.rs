//! A look: a launcher is started once to see how its environment can be reached, and what it shares with this machine.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use tare_data::frame::decode_frame;
use tare_probes::agent::launched::Look;

use crate::host::processes;
use crate::platform::until_ready;

/// Time that a launcher has until its command answers. Sandboxes of virtual machines take some seconds.
const LOOK_WAIT: Duration = Duration::from_secs(20);
/// Time that it has to return once its command has answered.
const RETURN_WAIT: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(2);
/// Bytes of the output that are read.
const LONGEST_OUTPUT: usize = 64 << 10;
/// Longest line that an error shows.
const LONGEST_SHOWN: usize = 300;

/// The reason why a look found nothing.
pub(super) struct Unseen {
    pub reason: String,
    /// True where the launcher hung, and another way would only hang as well.
    pub hung: bool,
}

/// Starts a launcher that is to answer a look, with this much more time where the program has to be sent. One that does not return afterwards is ended by whoever ends the start.
pub(super) fn look_inside(command: &mut Command, sending: Duration) -> Result<Look, Unseen> {
    let unseen = |reason: String| Unseen { reason, hung: false };
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    processes::die_with_parent(command);
    let program = command.get_program().display().to_string();
    let child = command.spawn().map_err(|e| unseen(format!("{program}: {e}")))?;
    let mut looking = Looking::listen_to(child);
    let status = looking.await_answer(LOOK_WAIT + sending).map_err(|e| unseen(e.to_string()))?;
    if let Some(look) = looking.find_look() {
        return Ok(look);
    }
    let said = [&looking.errors, &looking.output].into_iter().find_map(|bytes| last_line(bytes));
    Err(match status {
        None => Unseen {
            reason: format!(
                "nothing answered within {} s{}",
                (LOOK_WAIT + sending).as_secs(),
                said.map(|line| format!(" ({line})")).unwrap_or_default()
            ),
            hung: true,
        },
        Some(status) => unseen(said.unwrap_or_else(|| format!("it printed nothing ({status})"))),
    })
}

/// A launcher that was started, and its output so far.
struct Looking {
    child: Child,
    streams: (Option<ChildStdout>, Option<ChildStderr>),
    output: Vec<u8>,
    errors: Vec<u8>,
}

impl Looking {
    fn listen_to(mut child: Child) -> Looking {
        let streams = (child.stdout.take(), child.stderr.take());
        Looking { child, streams, output: Vec::new(), errors: Vec::new() }
    }

    /// Reads until the launcher has ended, or has answered and had its time to end; None where it had to be killed.
    fn await_answer(&mut self, wait: Duration) -> io::Result<Option<ExitStatus>> {
        let mut end = Instant::now() + wait;
        let mut has_answered = false;
        loop {
            if !has_answered && self.find_look().is_some() {
                has_answered = true;
                end = Instant::now() + RETURN_WAIT;
            }
            let (out, err) = &self.streams;
            // Whatever it left behind may hold its streams open.
            let has_ended = self.child.try_wait()?;
            if let Some(status) = has_ended.filter(|_| has_answered || out.is_none() && err.is_none()) {
                return Ok(Some(status));
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.child.kill()?;
                self.child.wait()?;
                return Ok(None);
            }
            let mut streams: Vec<PollFd<'_>> = Vec::with_capacity(2);
            streams.extend(out.iter().map(|out| PollFd::from_borrowed_fd(out.as_fd(), PollFlags::IN)));
            streams.extend(err.iter().map(|err| PollFd::from_borrowed_fd(err.as_fd(), PollFlags::IN)));
            if streams.is_empty() || !until_ready(&mut streams, left.min(LOOK_AGAIN * 10))? {
                thread::sleep(LOOK_AGAIN);
            }
            read_ready(&mut self.streams.0, &mut self.output);
            read_ready(&mut self.streams.1, &mut self.errors);
        }
    }

    fn find_look(&self) -> Option<Look> {
        self.output.split(|&byte| byte == b'\n').find_map(decode_frame::<Look>)
    }
}

/// Reads what a stream has now; at its end it is dropped.
fn read_ready<S: AsFd + Read>(stream: &mut Option<S>, bytes: &mut Vec<u8>) {
    let Some(open) = stream else { return };
    let mut ready = [PollFd::from_borrowed_fd(open.as_fd(), PollFlags::IN)];
    if !until_ready(&mut ready, Duration::ZERO).unwrap_or(false) {
        return;
    }
    let mut piece = [0; 4096];
    match open.read(&mut piece) {
        Ok(0) | Err(_) => *stream = None,
        Ok(read) => bytes.extend_from_slice(&piece[..read.min(LONGEST_OUTPUT.saturating_sub(bytes.len()))]),
    }
}

/// Extracts the last line that says something.
fn last_line(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(LONGEST_SHOWN).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_data::frame::encode_frame;

    fn look(script: &str) -> Result<Look, Unseen> {
        look_inside(Command::new("/bin/sh").args(["-c", script]), Duration::ZERO)
    }

    #[test]
    fn a_look_is_found_among_what_a_launcher_prints() {
        let expected = Look { filters: "7".into(), ..Look::default() };
        let line = encode_frame(&expected);
        let found = look(&format!("echo Welcome; echo '{}'; echo bye", line.trim_end()));
        assert_eq!(found.ok(), Some(expected));
    }

    #[test]
    fn a_launcher_that_does_not_return_has_answered_all_the_same() {
        let line = encode_frame(&Look::default());
        let began = Instant::now();
        assert!(look(&format!("echo '{}'; exec sleep 1000", line.trim_end())).is_ok());
        assert!(began.elapsed() < LOOK_WAIT);
    }

    #[test]
    fn a_launcher_that_fails_is_quoted() {
        let reason = |script: &str| look(script).err().map(|unseen| unseen.reason).unwrap();
        assert_eq!(reason("echo out; echo first >&2; echo no such thing >&2; exit 3"), "no such thing");
        assert!(reason("exit 3").contains("printed nothing"));
    }
}
