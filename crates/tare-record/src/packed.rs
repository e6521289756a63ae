//! The record of a session that is over: packed by gzip it is a fifth as long, and `zcat` shows its lines.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

use crate::platform;

/// Bytes with which a packed file begins (RFC 1952).
const MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Shortest text that is packed: less is quickly read, and sent, as it is...
const SHORTEST_PACKED: u64 = 256 << 10;
/// ...and the longest: so much memory a stranger's file may take.
pub(crate) const LONGEST_PACKED: u64 = 64 << 20;

/// Reads the text of a record from its beginning, packed or not.
pub(crate) fn read_text(file: File) -> io::Result<Box<dyn BufRead>> {
    let mut plain = BufReader::new(file);
    let is_packed = plain.fill_buf()?.starts_with(&MAGIC);
    Ok(if is_packed { Box::new(BufReader::new(MultiGzDecoder::new(plain))) } else { Box::new(plain) })
}

/// Unpacks a record into a file without a name, as far as it can be read; none where it is not packed. An error if it is too long.
pub(crate) fn unpack(file: &File) -> io::Result<Option<File>> {
    unpack_at_most(LONGEST_PACKED, file)
}

fn unpack_at_most(longest: u64, file: &File) -> io::Result<Option<File>> {
    let mut packed = BufReader::new(file.try_clone()?);
    packed.rewind()?;
    if !packed.fill_buf()?.starts_with(&MAGIC) {
        packed.rewind()?;
        return Ok(None);
    }
    let mut text = platform::open_nameless()?;
    match io::copy(&mut MultiGzDecoder::new(packed).take(longest + 1), &mut text) {
        Ok(bytes) if bytes > longest => return Err(ErrorKind::FileTooLarge.into()),
        // Whatever is missing or damaged shows in the lines.
        Err(e) if !is_damage(e.kind()) => return Err(e),
        _ => text.rewind()?,
    }
    Ok(Some(text))
}

/// Tells whether an error is one of the packed bytes, not of their file.
fn is_damage(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::UnexpectedEof | ErrorKind::InvalidInput | ErrorKind::InvalidData)
}

/// Packs a text into a new file.
pub(crate) fn pack(text: &File, into: &mut File) -> io::Result<()> {
    let mut text = text.try_clone()?;
    text.rewind()?;
    let mut packer = GzEncoder::new(into, Compression::default());
    io::copy(&mut text, &mut packer)?;
    packer.finish().map(drop)
}

/// Tells whether a text of this length is packed.
pub(crate) fn is_worthwhile(bytes: u64) -> bool {
    (SHORTEST_PACKED..=LONGEST_PACKED).contains(&bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Unpacks a text of this length at most 1,000 bytes long, after this many packed bytes, and returns what is read.
    fn unpacked(length: usize, cut: usize) -> io::Result<Option<usize>> {
        let (mut text, mut packed) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        let lines: Vec<u8> = (0..length).map(|at| (at * at % 251) as u8).collect();
        text.write_all(&lines).unwrap();
        pack(&text, &mut packed).unwrap();
        packed.set_len(packed.metadata().unwrap().len() - cut as u64).unwrap();
        let unpacked = unpack_at_most(1_000, &packed)?;
        Ok(unpacked.map(|mut text| {
            let mut read = Vec::new();
            text.read_to_end(&mut read).unwrap();
            assert!(lines.starts_with(&read));
            read.len()
        }))
    }

    #[test]
    fn as_much_is_unpacked_as_can_be_read_and_no_more_than_the_limit() {
        assert_eq!(unpacked(1_000, 0).unwrap(), Some(1_000));
        assert_eq!(unpacked(1_001, 0).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert!((1..1_000).contains(&unpacked(1_000, 100).unwrap().unwrap()), "a torn tail");
        assert_eq!(unpacked(1_000, 4).unwrap(), Some(1_000), "without its length");
        let (mut text, mut two) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        text.write_all(b"a line\n").unwrap();
        (0..2).for_each(|_| pack(&text, &mut two).unwrap());
        two.write_all(b"rubbish").unwrap();
        let mut read = String::new();
        unpack(&two).unwrap().unwrap().read_to_string(&mut read).unwrap();
        assert_eq!(read, "a line\na line\n", "packed in two parts");
        let mut plain = tempfile::tempfile().unwrap();
        plain.write_all(b"6d03af43 {}\n").unwrap();
        assert!(unpack(&plain).unwrap().is_none());
    }
}
