//! Streams of an agent, and the wait for any of them: pipes of Windows cannot be waited for together, so that each has a thread,
//! which waits in the system as long as nothing comes.

use std::io::{self, Read, Write};
use std::os::windows::io::OwnedHandle;
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread;
use std::time::Duration;

/// Pipe to a process that the standard library started, which reads and writes it in its own way.
pub type Stream = OwnedHandle;

/// Limit on a single read.
const PIECE: usize = 64 << 10;
/// Pieces that were read and not taken: where there are more, the agent waits.
const MOST_PIECES: usize = 16;
/// Bytes that were handed to the writer and are not in the pipe yet; more are not taken.
const ROOM: usize = 64 << 10;

/// Message of a reading thread.
enum Came {
    /// Bytes that were read; none at the end.
    Output(Vec<u8>),
    Errors(Vec<u8>),
    /// Bytes that are in the pipe now.
    Written(usize),
}

/// Streams of an agent: its input, its output, and its errors.
#[derive(Debug)]
pub(crate) struct Streams {
    requests: Sender<Vec<u8>>,
    came: Receiver<Came>,
    unwritten: usize,
    /// Bytes that were read and not asked for yet.
    output: Option<Vec<u8>>,
    errors: Option<Vec<u8>>,
}

/// Streams that can be used now without waiting.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ready {
    pub(crate) room: bool,
    pub(crate) output: bool,
    pub(crate) errors: bool,
}

impl Streams {
    pub(crate) fn new(input: Stream, output: Stream, errors: Option<Stream>) -> Streams {
        let (requests, to_write) = mpsc::channel();
        let (news, came) = mpsc::sync_channel(MOST_PIECES);
        let start = |stream: Stream, is: fn(Vec<u8>) -> Came| {
            let news = news.clone();
            thread::spawn(move || read(stream.into(), &news, is));
        };
        start(output, Came::Output);
        errors.into_iter().for_each(|errors| start(errors, Came::Errors));
        thread::spawn(move || write(input.into(), &to_write, &news));
        Streams { requests, came, unwritten: 0, output: None, errors: None }
    }

    /// Waits until something can be read, or written where that is asked for; none where nothing could in this time.
    pub(crate) fn wait_until_ready(&mut self, to_write: bool, wait: Duration) -> io::Result<Option<Ready>> {
        if let Some(ready) = self.ready(to_write) {
            return Ok(Some(ready));
        }
        match self.came.recv_timeout(wait) {
            Ok(Came::Output(bytes)) => self.output = Some(bytes),
            Ok(Came::Errors(bytes)) => self.errors = Some(bytes).filter(|bytes| !bytes.is_empty()),
            Ok(Came::Written(count)) => self.unwritten -= count,
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            // All have ended.
            Err(RecvTimeoutError::Disconnected) => self.output = Some(Vec::new()),
        }
        Ok(Some(self.ready(to_write).unwrap_or_default()))
    }

    fn ready(&self, to_write: bool) -> Option<Ready> {
        let room = to_write && self.unwritten < ROOM;
        let ready = Ready { room, output: self.output.is_some(), errors: self.errors.is_some() };
        (ready.room || ready.output || ready.errors).then_some(ready)
    }

    /// Hands all of it to the writer.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.requests.send(bytes.to_owned()).map_err(|_| io::ErrorKind::BrokenPipe)?;
        self.unwritten += bytes.len();
        Ok(bytes.len())
    }

    /// Reads the agent's output; nothing at its end.
    pub(crate) fn read_output(&mut self, into: &mut [u8]) -> io::Result<usize> {
        Ok(take(&mut self.output, into))
    }

    /// Reads the agent's errors.
    pub(crate) fn read_errors(&mut self, into: &mut [u8]) -> io::Result<usize> {
        Ok(take(&mut self.errors, into))
    }
}

/// Takes as much as there is room for; the rest stays.
fn take(piece: &mut Option<Vec<u8>>, into: &mut [u8]) -> usize {
    let Some(mut bytes) = piece.take() else { return 0 };
    let count = bytes.len().min(into.len());
    into[..count].copy_from_slice(&bytes[..count]);
    if count < bytes.len() {
        bytes.drain(..count);
        *piece = Some(bytes);
    }
    count
}

fn read(mut stream: ChildStdout, news: &SyncSender<Came>, is: fn(Vec<u8>) -> Came) {
    let mut bytes = vec![0; PIECE];
    loop {
        // A pipe whose other end is gone has ended.
        let count = stream.read(&mut bytes).unwrap_or(0);
        if news.send(is(bytes[..count].to_owned())).is_err() || count == 0 {
            return;
        }
    }
}

fn write(mut stream: ChildStdin, requests: &Receiver<Vec<u8>>, news: &SyncSender<Came>) {
    for bytes in requests {
        if stream.write_all(&bytes).is_err() || news.send(Came::Written(bytes.len())).is_err() {
            return;
        }
    }
}
