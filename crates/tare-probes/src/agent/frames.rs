//! The frames that the agent and its trials write to standard output.

use std::io::{self, Write};

use tare_data::frame::{Frame, encode};

/// Writes a frame at once: the host stamps its arrival.
pub fn send(frame: &Frame) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(encode(frame).as_bytes())?;
    out.flush()
}
