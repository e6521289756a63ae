//! The tiny program as a file, and the words by which it tells whoever started it that a command ran: see `tiny/program.rs`.
//!
//! It is the command that does nothing, and it stands between whoever enters an environment and the command of a call: a launcher that
//! never runs its command, or returns before that has ended, is known by the words that are missing.

#[cfg(unix)]
use std::fs::{OpenOptions, Permissions};
#[cfg(unix)]
use std::io::{self, Write};
#[cfg(unix)]
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
#[cfg(unix)]
use std::path::Path;
use std::time::Duration;

/// First word of a command that is the tiny program.
pub const TINY: &str = "@tiny";
/// Name of its file, which lies beside the agent's.
pub const FILE: &str = "tiny";
/// First argument under which it executes itself as often as is asked.
#[cfg(unix)]
pub(crate) const CHAIN: &str = "chain";
#[cfg(unix)]
static PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tiny"));
/// Words before and after a command; the token follows, and after the second the nanoseconds of the command and its exit code in hex.
pub const BEGAN: &str = "@tare-began ";
pub const ENDED: &str = "@tare-ended ";
/// Exit code of a command that told none.
const UNKNOWN_CODE: u64 = 255;
/// Bytes that may follow a word: a token, digits, and the end of a line through a terminal.
const LONGEST_REST: usize = 64;

/// Writes the program to a path at which there is nothing, for all to run.
#[cfg(unix)]
pub fn write_program(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o755).open(path)?;
    file.write_all(PROGRAM)?;
    // Whatever the umask: whoever is inside may be another user.
    file.set_permissions(Permissions::from_mode(0o755))
}

/// A command's output: its length, and its hash (FNV-1a). Ends of lines count as one byte, also through a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    pub bytes: u64,
    hash: u64,
}

impl Output {
    const NONE: Output = Output { bytes: 0, hash: 0xcbf2_9ce4_8422_2325 };

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.iter().filter(|byte| **byte != b'\r') {
            self.bytes += 1;
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// State of a command, by the words around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    Nothing,
    Began,
    /// It ended after this time, which is none where a shell spoke in the program's place, with this exit code.
    Ended(Option<Duration>, u64),
}

/// A stream in which a command is awaited, read piece by piece in bounded memory.
#[derive(Debug)]
pub struct Listening {
    token: String,
    pub heard: Heard,
    /// Output between the words.
    pub output: Output,
    pending: Vec<u8>,
}

impl Listening {
    pub fn for_token(token: String) -> Listening {
        Listening { token, heard: Heard::Nothing, output: Output::NONE, pending: Vec::new() }
    }

    pub fn token(&self) -> &str {
        &self.token
    }

    /// Takes in what has come.
    pub fn push(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        if self.heard == Heard::Nothing {
            match self.find(BEGAN) {
                Some((_, _, end)) => {
                    self.pending.drain(..end);
                    self.heard = Heard::Began;
                }
                None => drop(self.pending.drain(..self.count_settled(BEGAN))),
            }
        }
        if self.heard == Heard::Began {
            let found = self.find(ENDED);
            let end = found.as_ref().map_or_else(|| self.count_settled(ENDED), |(at, ..)| *at);
            self.output.add(&self.pending[..end]);
            self.pending.drain(..end);
            if let Some((_, numbers, _)) = found {
                let mut numbers = numbers.split(' ').map(|digits| u64::from_str_radix(digits, 16).ok());
                let taken = numbers.next().flatten().map(Duration::from_nanos);
                self.heard = Heard::Ended(taken, numbers.next().flatten().unwrap_or(UNKNOWN_CODE));
            }
        }
        if matches!(self.heard, Heard::Ended(..)) {
            self.pending.clear();
        }
    }

    /// Finds a word with the token and the rest of its line: where it begins, what follows the token, and where its line ends.
    fn find(&self, word: &str) -> Option<(usize, String, usize)> {
        let whole = [word.as_bytes(), self.token.as_bytes()].concat();
        let at = self.pending.windows(whole.len()).position(|bytes| bytes == whole)?;
        let rest = &self.pending[at + whole.len()..];
        let length = rest.iter().position(|byte| *byte == b'\n')?;
        let text = String::from_utf8_lossy(&rest[..length]).trim().to_owned();
        Some((at, text, at + whole.len() + length + 1))
    }

    /// Counts the pending bytes in which no word can begin any more.
    fn count_settled(&self, word: &str) -> usize {
        self.pending.len().saturating_sub(word.len() + self.token.len() + LONGEST_REST)
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use crate::probes::tests::take_turn;

    fn listen(pieces: &[&[u8]]) -> Listening {
        let mut listening = Listening::for_token("77".into());
        pieces.iter().for_each(|piece| listening.push(piece));
        listening
    }

    #[test]
    fn a_command_is_heard_among_what_a_launcher_prints_however_it_comes() {
        let text =
            b"box: run tiny 77 ls\n@tare-began 77\r\nhello\r\nyou\n@tare-ended 77 00000000000004e2 3\r\nbye\n";
        let whole = listen(&[text]);
        assert_eq!(whole.heard, Heard::Ended(Some(Duration::from_nanos(1250)), 3));
        assert_eq!(whole.output.bytes, 10);
        let by_bytes: Vec<&[u8]> = text.chunks(1).collect();
        let slowly = listen(&by_bytes);
        assert_eq!((slowly.heard, slowly.output), (whole.heard, whole.output));
    }

    #[test]
    fn a_command_whose_words_are_missing_or_anothers_did_not_run() {
        assert_eq!(listen(&[b"tiny 77 true\n@tare-began 78\n"]).heard, Heard::Nothing);
        assert_eq!(listen(&[b"@tare-began 77\nhello\n"]).heard, Heard::Began);
        assert_eq!(listen(&[b"@tare-ended 77 1\n"]).heard, Heard::Nothing);
        assert_eq!(listen(&[b"@tare-began 77\n@tare-ended 77 - 0\n"]).heard, Heard::Ended(None, 0));
    }

    #[test]
    fn endless_output_takes_bounded_memory() {
        let mut listening = listen(&[b"@tare-began 77\n"]);
        (0..1000).for_each(|_| listening.push(&[b'y'; 4096]));
        assert!(listening.pending.len() < 8192);
        assert!(listening.output.bytes > 4_000_000);
    }

    #[test]
    fn the_program_is_tiny_and_says_that_a_command_ran() {
        let _turn = take_turn();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        write_program(&path).unwrap();
        assert!(PROGRAM.len() <= 16 << 10, "{} bytes", PROGRAM.len());
        let run = |words: &[&str]| {
            let done = Command::new(&path).args(words).stderr(Stdio::piped()).output().unwrap();
            let mut listening = Listening::for_token("77".into());
            listening.push(&done.stdout);
            (done.status.code(), listening.heard, listening.output.bytes)
        };
        assert_eq!(run(&[]), (Some(0), Heard::Nothing, 0));
        let (code, heard, bytes) = run(&["77", "sh", "-c", "echo one; sleep 0.01; exit 3"]);
        assert_eq!((code, bytes), (Some(3), 4));
        assert!(
            matches!(heard, Heard::Ended(Some(taken), 3) if taken >= Duration::from_millis(10)),
            "{heard:?}"
        );
        assert_eq!(run(&["77", "sh", "-c", "kill -9 $$"]).0, Some(137));
        assert_eq!(run(&["77", path.to_str().unwrap()]).0, Some(0));
        assert_eq!(run(&["77", "/no/such/command"]).0, Some(127));
        assert_eq!(run(&["77", "no-such-command"]).0, Some(127));
    }
}
