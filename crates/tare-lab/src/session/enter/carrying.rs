//! Carrying: the files that commands need, sent into an environment.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use tare_data::failure::{Failure, FailureKind};
use tare_data::frame::Frame;
use tare_data::request::{LONGEST_PIECE, Piece, Request};

use crate::session::link::Link;
use crate::study::user_command::CarriedFile;

/// A piece is written to a file and answered; an emulated kernel takes some milliseconds.
const PIECE_DEADLINE: Duration = Duration::from_secs(10);

/// Sends files into an environment, piece by piece, each answered. `own` is the path of its own place.
pub fn carry_files(link: &mut Link<'_>, own: Option<&String>, files: &[CarriedFile]) -> Result<(), Failure> {
    let none = || Failure::new(FailureKind::NotSupported, "there is no place 'own' to carry files into");
    for file in files {
        let directory = own.ok_or_else(none)?;
        // A file without a byte has one piece, too.
        let offsets = (0..file.bytes.len().max(1)).step_by(LONGEST_PIECE);
        for offset in offsets {
            let end = file.bytes.len().min(offset + LONGEST_PIECE);
            let piece = Piece {
                directory: directory.clone(),
                command: file.command.clone(),
                name: file.name.clone(),
                offset: offset as u64,
                executable: file.executable,
                bytes: STANDARD_NO_PAD.encode(&file.bytes[offset..end]),
            };
            let deadline = Instant::now() + PIECE_DEADLINE;
            let sent = link.send(&Request::Carry(piece), deadline).and_then(|()| link.receive(deadline));
            match sent.map_err(|e| e.to_failure("answer to a file carried along"))?.frame {
                Frame::Carried { failure: None } => {}
                Frame::Carried { failure: Some(failure) } => return Err(failure),
                _ => return Err(Failure::new(FailureKind::Broken, "the answer was not about a file")),
            }
        }
    }
    Ok(())
}
