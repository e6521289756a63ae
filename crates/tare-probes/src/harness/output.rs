//! The end of a command and its output: one thread waits for all, so that nothing runs beside what is timed.

#![allow(unsafe_code, reason = "a process is ended by its number, and signalfd gives a number")]

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::str::Utf8Chunk;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use tare_data::foreign::plain::plain_line;
use tare_data::session::outcome::Captured;

use crate::harness::readiness::wait_ready;

/// Bytes that are kept: some screens, from which a person sees why a command failed.
const MOST_KEPT: usize = 16 * 1024;
/// A wait is cut into pieces of this length: where no signal arrives, as in a process with other threads, the end is
/// seen then.
const PIECE: Duration = Duration::from_millis(100);

/// The end of an output, and as much of its beginning as is wanted.
#[derive(Debug, Default)]
pub struct Output {
    tail: VecDeque<u8>,
    head: Vec<u8>,
    most_head: usize,
    is_cut: bool,
}

impl Output {
    /// Keeps this many bytes of the beginning as well.
    fn with_head(most_head: usize) -> Output {
        Output { most_head, ..Output::default() }
    }

    fn add(&mut self, bytes: &[u8]) {
        self.tail.extend(bytes);
        let over = self.tail.len().saturating_sub(MOST_KEPT);
        self.tail.drain(..over);
        let room = bytes.len().min(self.most_head - self.head.len());
        self.head.extend(&bytes[..room]);
        self.is_cut |= room < bytes.len();
    }

    /// Returns the lines of its beginning in plain text. Bytes other than text have their numbers, by which they are told apart. Of a line
    /// that was cut there is as much as was kept, if that is half of all: a shorter piece depends on the length of what is before it.
    pub(crate) fn capture(&self) -> Captured {
        let number = |byte: &u8| format!("\\x{byte:02x}");
        let part = |chunk: Utf8Chunk<'_>| {
            chunk.valid().to_owned() + &chunk.invalid().iter().map(number).collect::<String>()
        };
        let text: String = self.head.utf8_chunks().map(part).collect();
        let mut lines: Vec<String> = text.lines().map(plain_line).collect();
        let torn = if self.is_cut { lines.pop() } else { None };
        let is_long = |torn: &String| torn.len() >= self.most_head / 2;
        lines.extend(torn.filter(is_long).map(|torn| torn.chars().take(self.most_head).collect::<String>()));
        Captured { lines, is_cut: self.is_cut }
    }

    /// Returns its lines that are not empty; the first may be torn.
    pub fn lines(&self) -> Vec<String> {
        let bytes: Vec<u8> = self.tail.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        text.lines().map(str::trim_end).filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    pub fn last_line(&self) -> Option<String> {
        self.lines().pop()
    }
}

/// Bytes that are read at a time: what a pipe holds.
const READ: usize = 64 * 1024;

/// Limit on the pieces that are read after the end: a process that stays behind may write for ever.
const MOST_DRAINED: usize = 64;

/// Descriptor that is signalled when a child ends.
#[derive(Debug)]
pub(crate) struct Children(OwnedFd);

impl Children {
    /// Makes this thread learn of the ends of its children only through the descriptor.
    pub(crate) fn watch_ends() -> io::Result<Children> {
        // SAFETY: an all-zero set is valid, and all that is pointed to lives through the calls.
        let descriptor = unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigaddset(&mut set, libc::SIGCHLD);
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
            libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
        };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the number was just given to us, and nobody else has it.
        Ok(Children(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }
}

/// A command that ended, or was ended.
#[derive(Debug)]
pub struct Ended {
    /// As wait(2) gives it.
    pub status: i32,
    pub used: libc::rusage,
    /// True where it took too long and was killed for it.
    pub overdue: bool,
    /// Outputs by reader, in their order.
    pub outputs: Vec<Output>,
}

/// Waits for a child, reading its output meanwhile so that it never waits for a reader; what has not ended after
/// `timeout` is killed. `reached` is called at once when the end is known. Of each output `most_head` bytes are kept besides its end.
pub(crate) fn wait_for(
    pid: libc::pid_t,
    children: &Children,
    (readers, most_head): (Vec<OwnedFd>, usize),
    timeout: Duration,
    reached: impl FnOnce(),
) -> io::Result<Ended> {
    let until = Instant::now() + timeout;
    let mut overdue = false;
    let mut readers: Vec<(Option<OwnedFd>, Output)> =
        readers.into_iter().map(|reader| (Some(reader), Output::with_head(most_head))).collect();
    // Room is made when there is something to read, and not while a short command runs.
    let mut bytes = Vec::new();
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let mut waited = vec![PollFd::new(&children.0, PollFlags::IN)];
        let open = readers.iter().filter_map(|(reader, _)| reader.as_ref());
        waited.extend(open.map(|reader| PollFd::new(reader, PollFlags::IN)));
        let wait = if overdue { PIECE } else { PIECE.min(left) };
        let ready = wait_ready(&mut waited, wait)?;
        let mut events = waited.iter().map(|polled| !polled.revents().is_empty());
        let ends = events.next() == Some(true);
        let writes: Vec<bool> = events.collect();
        if ends || ready == 0 {
            if let Some((status, used)) = ended(pid)? {
                reached();
                for (reader, output) in &mut readers {
                    reader.iter().for_each(|reader| drain(reader, output, &mut bytes));
                }
                let outputs = readers.into_iter().map(|(_, output)| output).collect();
                return Ok(Ended { status, used, overdue, outputs });
            }
            // The end of another: one that the command left behind.
            forget(children);
        }
        let open = readers.iter_mut().filter(|(reader, _)| reader.is_some());
        for ((reader, output), _) in open.zip(writes).filter(|(_, writes)| *writes) {
            if !reader.as_ref().is_some_and(|reader| read_once(reader, output, &mut bytes)) {
                *reader = None;
            }
        }
        if !overdue && Instant::now() >= until {
            overdue = true;
            // SAFETY: kill touches no memory, and nobody has waited for the child yet.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    }
}

/// Takes what is signalled, so that the next end is seen.
fn forget(children: &Children) {
    let mut signals = [0_u8; 16 * size_of::<libc::signalfd_siginfo>()];
    let _ = rustix::io::read(&children.0, &mut signals);
}

/// Waits without blocking; none while the child runs.
fn ended(pid: libc::pid_t) -> io::Result<Option<(i32, libc::rusage)>> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is valid.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both live through the call; the child is ours and nobody else waits for it.
    match unsafe { libc::wait4(pid, &mut status, libc::WNOHANG, &mut used) } {
        0 => Ok(None),
        waited if waited == pid => Ok(Some((status, used))),
        _ => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            error => Err(error),
        },
    }
}

/// Reads a piece; whether more may come.
fn read_once(reader: &OwnedFd, output: &mut Output, bytes: &mut Vec<u8>) -> bool {
    bytes.resize(READ, 0);
    match rustix::io::read(reader, &mut bytes[..]) {
        Ok(0) | Err(_) => false,
        Ok(read) => {
            output.add(&bytes[..read]);
            true
        }
    }
}

/// Reads what is there and no more: a process that the command left behind may hold the other end.
fn drain(reader: &OwnedFd, output: &mut Output, bytes: &mut Vec<u8>) {
    for _ in 0..MOST_DRAINED {
        let mut waited = [PollFd::from_borrowed_fd(reader.as_fd(), PollFlags::IN)];
        let is_there = wait_ready(&mut waited, Duration::ZERO).is_ok_and(|ready| ready > 0);
        if !is_there || !read_once(reader, output, bytes) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_end_is_kept_as_far_as_there_is_room() {
        let lines = |bytes: &[u8]| {
            let mut output = Output::with_head(100);
            output.add(bytes);
            output.capture().lines
        };
        assert_eq!(lines(&[b'a'; 150]), ["a".repeat(100)]);
        assert_eq!(lines(&[&b"head\n"[..], &[b'a'; 150]].concat()), ["head".to_owned(), "a".repeat(95)]);
        let most = ["b".repeat(60), "a".repeat(150)].join("\n");
        assert_eq!(lines(most.as_bytes()), ["b".repeat(60)], "too little of it is there");
        assert_eq!(lines(&[0xff; 150])[0].len(), 100, "numbers are longer than their bytes");
    }

    #[test]
    fn bytes_that_are_no_text_are_told_apart() {
        let lines = |bytes: &[u8]| {
            let mut output = Output::with_head(100);
            output.add(bytes);
            output.capture().lines
        };
        assert_eq!(lines(b"caf\xe9\nna\xc3\xaff\r\n"), ["caf\\xe9", "naïf"]);
        assert_ne!(lines(b"\xff\n"), lines(b"\xfe\n"));
    }
}
