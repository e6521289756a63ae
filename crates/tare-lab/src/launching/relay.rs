//! A relay: starts a launcher in a terminal, or sends the agent through its standard input, and passes bytes on from then.

#![allow(
    unsafe_code,
    reason = "a terminal is opened by the C library, and given to a process before it begins"
)]

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use serde::{Deserialize, Serialize};

use crate::host::processes;
use crate::host::programs::{self, Found};
use crate::platform::until_ready;

/// Verb under which tare is the relay; its plan follows.
pub const RELAY: &str = "launcher-relay";
/// Time in which a shell must answer a line, and take the whole program.
const ANSWER_WAIT: Duration = Duration::from_secs(20);
pub(super) const SENDING_WAIT: Duration = Duration::from_secs(90);
/// Time that a launcher in a terminal has to end once its input has ended: a terminal passes no end on.
const HANGUP_WAIT: Duration = Duration::from_millis(1500);
/// Bytes of a line of the coded program: a terminal may hold back a line, and takes no more than 4095 in one.
const CODED_LINE: usize = 720;
/// Longest answer that is kept while a word is awaited.
const LONGEST_ANSWER: usize = 64 << 10;

/// Everything that a relay does.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    pub words: Vec<String>,
    pub terminal: bool,
    pub script: Option<Script>,
}

/// Lines for a shell that receives the program.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Script {
    /// Each line with the word that the shell prints once it has taken it.
    pub lines: Vec<(String, String)>,
    pub program: PathBuf,
    /// True where the program is sent as lines of letters.
    pub coded: bool,
}

/// Counts the bytes of a program of this size as it is sent.
pub(super) fn sent_bytes(size: u64, coded: bool) -> u64 {
    let raw = CODED_LINE as u64 / 4 * 3;
    let line = |bytes: u64| if bytes == 0 { 0 } else { bytes.div_ceil(3) * 4 + 1 };
    if coded { size / raw * line(raw) + line(size % raw) } else { size }
}

/// Carries out a plan; returns the exit code of the launcher.
pub fn relay_main(plan: &str) -> i32 {
    let carried_out = serde_json::from_str(plan).map_err(io::Error::from).and_then(|plan: Plan| {
        // Before the launcher is started: whoever is inside may see the path.
        let program = plan.script.as_ref().map(|script| fs::read(&script.program)).transpose()?;
        Relay::start(&plan)?.carry_out(&plan, &program.unwrap_or_default())
    });
    carried_out.unwrap_or_else(|e| {
        // A launcher that has ended has said why, on standard error.
        let _ = match e.kind() {
            io::ErrorKind::BrokenPipe => writeln!(io::stdout(), "the launcher ended before a shell answered"),
            _ => writeln!(io::stderr(), "{e}"),
        };
        1
    })
}

/// A launcher and the streams that lead to it.
struct Relay {
    child: Child,
    /// None once it was closed.
    input: Option<File>,
    output: File,
    is_terminal: bool,
    /// Bytes that came and were not passed on yet.
    pending: Vec<u8>,
}

impl Relay {
    fn start(plan: &Plan) -> io::Result<Relay> {
        let (first, others) = plan.words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = programs::command(&Found::called(first, Path::new("/")));
        command.args(others);
        processes::die_with_parent(&mut command);
        if !plan.terminal {
            let mut child = processes::spawn_program(command.stdin(Stdio::piped()).stdout(Stdio::piped()))?;
            let none = || io::Error::other("the launcher has no streams");
            let input = File::from(OwnedFd::from(child.stdin.take().ok_or_else(none)?));
            let output = File::from(OwnedFd::from(child.stdout.take().ok_or_else(none)?));
            return Ok(Relay { child, input: Some(input), output, is_terminal: false, pending: Vec::new() });
        }
        let (ours, theirs) = open_terminal()?;
        command.stdin(theirs.try_clone()?).stdout(theirs.try_clone()?).stderr(theirs);
        // SAFETY: one system call between fork and exec, on standard input, which is the terminal by then.
        unsafe {
            command.pre_exec(|| match libc::ioctl(0, libc::TIOCSCTTY, 0) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            });
        }
        let child = processes::spawn_program(&mut command)?;
        // The command holds the terminal's other end: with it open here, its end would never be seen.
        drop(command);
        Ok(Relay {
            child,
            input: Some(ours.try_clone()?),
            output: ours,
            is_terminal: true,
            pending: Vec::new(),
        })
    }

    fn carry_out(mut self, plan: &Plan, program: &[u8]) -> io::Result<i32> {
        if let Some(script) = &plan.script {
            self.send_program(script, program)?;
        }
        self.pass_on()?;
        if self.is_terminal {
            // Its end hangs up on whoever still has it.
            drop((self.input.take(), self.output));
            let _ = self.child.kill();
        }
        Ok(self.child.wait()?.code().unwrap_or(1))
    }

    fn send_program(&mut self, script: &Script, program: &[u8]) -> io::Result<()> {
        for (line, awaited) in &script.lines {
            let end = Instant::now() + ANSWER_WAIT;
            self.write(format!("{line}\n").as_bytes(), end)?;
            self.await_word(awaited, end)?;
        }
        let end = Instant::now() + SENDING_WAIT;
        match script.coded {
            false => self.write(program, end),
            true => program
                .chunks(CODED_LINE / 4 * 3)
                .try_for_each(|bytes| self.write(format!("{}\n", STANDARD.encode(bytes)).as_bytes(), end)),
        }
    }

    /// Writes all of this, and takes in what comes meanwhile: a launcher that echoes would else wait for its reader.
    fn write(&mut self, mut bytes: &[u8], end: Instant) -> io::Result<()> {
        let late = || io::Error::new(io::ErrorKind::TimedOut, "the shell inside takes no bytes");
        let Some(input) = self.input.as_ref().map(File::try_clone).transpose()? else { return Ok(()) };
        fcntl_setfl(&input, fcntl_getfl(&input)? | OFlags::NONBLOCK)?;
        while !bytes.is_empty() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(late());
            }
            let mut both = [
                PollFd::from_borrowed_fd(input.as_fd(), PollFlags::OUT),
                PollFd::from_borrowed_fd(self.output.as_fd(), PollFlags::IN),
            ];
            until_ready(&mut both, left)?;
            let (can_write, has_come) = (!both[0].revents().is_empty(), !both[1].revents().is_empty());
            if has_come {
                self.take()?;
                // Nobody asks for an echo of the program.
                let over = self.pending.len().saturating_sub(LONGEST_ANSWER);
                self.pending.drain(..over);
            }
            if can_write {
                match (&input).write(bytes) {
                    Ok(written) => bytes = &bytes[written..],
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                    Err(e) => return Err(e),
                }
            }
        }
        Ok(fcntl_setfl(&input, fcntl_getfl(&input)? - OFlags::NONBLOCK)?)
    }

    /// Waits until a line of the output holds a word. Everything before is the launcher's own.
    fn await_word(&mut self, word: &str, end: Instant) -> io::Result<()> {
        loop {
            while let Some(at) = self.pending.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.pending.drain(..=at).collect();
                let line = String::from_utf8_lossy(&line);
                if line.contains(word) {
                    return Ok(());
                }
                if line.contains("@tare-fail") {
                    return Err(io::Error::other("no folder inside can be written and hold a program"));
                }
                io::stderr().write_all(line.as_bytes())?;
            }
            let left = end.saturating_duration_since(Instant::now());
            let mut one = [PollFd::from_borrowed_fd(self.output.as_fd(), PollFlags::IN)];
            if left.is_zero() || !until_ready(&mut one, left)? {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "no shell answered inside"));
            }
            if !self.take()? || self.pending.len() > LONGEST_ANSWER {
                io::stderr().write_all(&self.pending)?;
                return Err(io::ErrorKind::BrokenPipe.into());
            }
        }
    }

    /// Takes in what has come; false at the end.
    fn take(&mut self) -> io::Result<bool> {
        let mut bytes = [0; 16384];
        match self.output.read(&mut bytes) {
            Ok(0) => Ok(false),
            Ok(read) => {
                self.pending.extend_from_slice(&bytes[..read]);
                Ok(true)
            }
            Err(e) if matches!(e.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => Ok(true),
            // So a terminal says that nobody has it any more.
            Err(e) if e.raw_os_error() == Some(libc::EIO) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// Passes bytes on in both directions until the launcher's output ends.
    fn pass_on(&mut self) -> io::Result<()> {
        let (own_input, mut own_output) = (io::stdin(), io::stdout());
        let mut is_open = true;
        let mut end = None;
        loop {
            own_output.write_all(&self.pending)?;
            own_output.flush()?;
            self.pending.clear();
            let left = end.map_or(Duration::from_secs(3600), |end: Instant| {
                end.saturating_duration_since(Instant::now())
            });
            if left.is_zero() {
                return Ok(());
            }
            let mut streams = vec![PollFd::from_borrowed_fd(self.output.as_fd(), PollFlags::IN)];
            if is_open {
                streams.push(PollFd::from_borrowed_fd(own_input.as_fd(), PollFlags::IN));
            }
            until_ready(&mut streams, left)?;
            let ready: Vec<bool> = streams.iter().map(|stream| !stream.revents().is_empty()).collect();
            if ready[0] && !self.take()? {
                return Ok(());
            }
            if ready.get(1) == Some(&true) {
                let mut bytes = [0; 4096];
                let read = rustix::io::read(&own_input, &mut bytes)?;
                match &mut self.input {
                    Some(input) if read > 0 => input.write_all(&bytes[..read])?,
                    _ => {
                        is_open = false;
                        if self.is_terminal {
                            end = Some(Instant::now() + HANGUP_WAIT);
                        } else {
                            self.input = None;
                        }
                    }
                }
            }
        }
    }
}

/// Opens a terminal that echoes nothing and passes bytes on as they are, unless somebody changes that.
fn open_terminal() -> io::Result<(File, File)> {
    let (mut ours, mut theirs) = (-1, -1);
    // SAFETY: all zeroes are valid modes, and are made those of a raw terminal.
    let mut modes: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: the struct lives through the call.
    unsafe { libc::cfmakeraw(&mut modes) };
    modes.c_cflag |= libc::CREAD;
    let size = libc::winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: all pointers live through the call; no name is asked for.
    let opened = unsafe { libc::openpty(&mut ours, &mut theirs, std::ptr::null_mut(), &modes, &size) };
    if opened != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both were just opened, and nobody else has them.
    let (ours, theirs) = unsafe { (OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
    // The launcher must not inherit this end: it would keep its own terminal open.
    rustix::io::fcntl_setfd(&ours, rustix::io::FdFlags::CLOEXEC)?;
    rustix::io::fcntl_setfd(&theirs, rustix::io::FdFlags::CLOEXEC)?;
    Ok((ours.into(), theirs.into()))
}

/// Returns the command that carries out a plan. The plan is a word of it: in a file, whoever is inside might change it. The launcher
/// has this process's variables, as one that needs no relay.
#[allow(clippy::disallowed_methods, reason = "they are passed on unread, from process to process")]
pub(super) fn relay_command(tare: &Path, plan: &Plan) -> io::Result<Command> {
    let mut command = programs::command(&Found::own(tare));
    command.arg(RELAY).arg(serde_json::to_string(plan)?).env_clear().envs(std::env::vars_os());
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coded_program_has_the_bytes_that_are_announced() {
        for size in [0, 1, 539, 540, 541, 100_000] {
            let program = vec![7u8; size];
            let lines = program.chunks(CODED_LINE / 4 * 3).map(|bytes| STANDARD.encode(bytes).len() + 1);
            assert_eq!(sent_bytes(size as u64, true), lines.sum::<usize>() as u64, "{size}");
            assert_eq!(sent_bytes(size as u64, false), size as u64);
        }
    }

    #[test]
    fn a_terminal_shows_bytes_as_they_are() {
        let (mut ours, mut theirs) = open_terminal().unwrap();
        theirs.write_all(b"a\nb\x03").unwrap();
        let mut bytes = [0; 4];
        ours.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"a\nb\x03");
    }
}
