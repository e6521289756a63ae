//! Who is connected: as many as may be, and whoever has not shown the token makes room for the next.

use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::{Mutex, PoisonError};

/// Connections at once: several windows of one reader. Each has a thread.
const MOST_CONNECTIONS: usize = 16;

/// A connection among the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number(u64);

/// The connections, the oldest first.
#[derive(Default)]
pub struct Readers(Mutex<All>);

#[derive(Default)]
struct All {
    next: u64,
    open: Vec<Reader>,
}

struct Reader {
    number: Number,
    stream: TcpStream,
    /// Whether it has shown the token.
    is_known: bool,
}

impl Readers {
    /// Takes a connection in. Where there are as many as may be, the oldest that has not shown the token is closed; None
    /// where all have.
    pub fn admit(&self, stream: &TcpStream) -> io::Result<Option<Number>> {
        let stream = stream.try_clone()?;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.open.len() >= MOST_CONNECTIONS {
            let Some(oldest) = all.open.iter().position(|reader| !reader.is_known) else { return Ok(None) };
            // Its thread reads the end and goes.
            let _ = all.open.remove(oldest).stream.shutdown(Shutdown::Both);
        }
        let number = Number(all.next);
        all.next += 1;
        all.open.push(Reader { number, stream, is_known: false });
        Ok(Some(number))
    }

    /// This one has shown the token.
    pub fn knows(&self, number: Number) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.open
            .iter_mut()
            .filter(|reader| reader.number == number)
            .for_each(|reader| reader.is_known = true);
    }

    /// This one has gone.
    pub fn leaves(&self, number: Number) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.open.retain(|reader| reader.number != number);
    }
}
