//! A look: a launcher is started once to see how its environment can be reached, and what it shares with this machine.

use std::io;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::PollFd;
use tare_data::frame::decode_frame;
use tare_probes::agent::launched::Look;

use crate::host::heard::Heard;
use crate::host::processes::{self, Signs};
use crate::platform::until_ready;

/// Time that a launcher has until its command answers. Sandboxes of virtual machines take some seconds.
const LOOK_WAIT: Duration = Duration::from_secs(20);
/// Time that it has to return once its command has answered.
const RETURN_WAIT: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(2);

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
    let program = command.get_program().display().to_string();
    let child = processes::spawn_program(command).map_err(|e| unseen(format!("{program}: {e}")))?;
    let mut looking = Looking::listen_to(child);
    let status = looking.await_answer(LOOK_WAIT + sending).map_err(|e| unseen(e.to_string()))?;
    if let Some(look) = looking.find_look() {
        return Ok(look);
    }
    let said = looking.errors.last_line().or_else(|| looking.output.last_line());
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
    output: Heard<ChildStdout>,
    errors: Heard<ChildStderr>,
}

impl Looking {
    fn listen_to(mut child: Child) -> Looking {
        let (output, errors) =
            (Heard::from_stream(child.stdout.take()), Heard::from_stream(child.stderr.take()));
        Looking { child, output, errors }
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
            // Whatever it left behind may hold its streams open.
            let has_ended = self.child.try_wait()?;
            let are_over = self.output.has_ended() && self.errors.has_ended();
            if let Some(status) = has_ended.filter(|_| has_answered || are_over) {
                return Ok(Some(status));
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                Signs::from_descent(self.child.id()).kill_processes();
                self.child.wait()?;
                return Ok(None);
            }
            let mut streams: Vec<PollFd<'_>> =
                self.output.as_polled().into_iter().chain(self.errors.as_polled()).collect();
            if streams.is_empty() || !until_ready(&mut streams, left.min(LOOK_AGAIN * 10))? {
                thread::sleep(LOOK_AGAIN);
            }
            self.output.read_ready();
            self.errors.read_ready();
        }
    }

    fn find_look(&self) -> Option<Look> {
        self.output.bytes.split(|&byte| byte == b'\n').find_map(decode_frame::<Look>)
    }
}

/// Lists the reasons of ways, each once, after the ways that it is of.
pub(super) fn list_refusals(refusals: &[(String, String)]) -> String {
    let mut reasons: Vec<(Vec<&str>, &str)> = Vec::new();
    for (way, reason) in refusals {
        match reasons.iter_mut().find(|(_, known)| known == reason) {
            Some((ways, _)) => ways.push(way),
            None => reasons.push((vec![way], reason)),
        }
    }
    let listed: Vec<String> =
        reasons.iter().map(|(ways, reason)| format!("{}: {reason}", ways.join(", "))).collect();
    listed.join("; ")
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
        assert_eq!(reason(r"printf '\033[0;1;31mHost is down\033[0m\n' >&2; exit 1"), "Host is down");
    }
}
