//! Which program an agent is: the target that it was built for, and the digest that its linker left in it.
//!
//! Host and agent are one file, or two of one build. Two that were built from different sources have different digests,
//! whatever version they report.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::encoding::hex;

/// Processors by their numbers in ELF files, named as in [`std::env::consts::ARCH`].
const PROCESSORS: [(u16, &str); 3] = [(62, "x86_64"), (183, "aarch64"), (243, "riscv64")];
/// What opens a 64-bit little-endian ELF file.
const MAGIC: &[u8] = b"\x7fELF\x02\x01";
/// Kind of a program header that leads to notes.
pub const NOTES: u32 = 4;
/// Kind of a note that holds the digest, which linkers call the build ID.
const BUILD_ID: u32 = 3;

/// A program, distinguished from every other that is built differently.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// Processor and system, e.g. `x86_64-linux`.
    pub target: String,
    /// In hex; empty where the linker left none.
    pub digest: String,
}

impl Build {
    /// That of a Linux program, from its bytes; None when they are not one.
    pub fn of_elf(bytes: &[u8]) -> Option<Build> {
        if !bytes.starts_with(MAGIC) {
            return None;
        }
        let machine = u16::from_le_bytes(piece(bytes, 18)?);
        let (_, processor) = PROCESSORS.into_iter().find(|(number, _)| *number == machine)?;
        let headers = u64::from_le_bytes(piece(bytes, 32)?);
        let (size, count) = (u16::from_le_bytes(piece(bytes, 54)?), u16::from_le_bytes(piece(bytes, 56)?));
        let notes = (0..u64::from(count)).filter_map(|number| {
            let at = usize::try_from(headers.checked_add(number * u64::from(size))?).ok()?;
            let header = bytes.get(at..)?;
            let (from, length) =
                (u64::from_le_bytes(piece(header, 8)?), u64::from_le_bytes(piece(header, 32)?));
            let range = usize::try_from(from).ok()?..usize::try_from(from.checked_add(length)?).ok()?;
            (u32::from_le_bytes(piece(header, 0)?) == NOTES).then(|| bytes.get(range))?
        });
        let digest = notes.filter_map(build_id).next().unwrap_or_default();
        Some(Build { target: format!("{processor}-linux"), digest })
    }
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_unknown = |text: &'_ str| if text.is_empty() { "unknown".to_owned() } else { text.to_owned() };
        write!(f, "for {}, digest {}", or_unknown(&self.target), or_unknown(&self.digest))
    }
}

/// The digest among the notes of a program, in hex.
pub fn build_id(mut notes: &[u8]) -> Option<String> {
    loop {
        let length = |at| Some(u32::from_le_bytes(piece(notes, at)?) as usize);
        let (name, text, kind) = (length(0)?, length(4)?, u32::from_le_bytes(piece(notes, 8)?));
        let from = 12_usize.checked_add(name.checked_next_multiple_of(4)?)?;
        let to = from.checked_add(text)?;
        let content = notes.get(from..to)?;
        if kind == BUILD_ID && notes.get(12..16)? == b"GNU\0" {
            return Some(hex(content));
        }
        notes = notes.get(to.checked_next_multiple_of(4)?..)?;
    }
}

/// `N` bytes from there on.
fn piece<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A note as linkers lay it out.
    fn note(name: &[u8], kind: u32, content: &[u8]) -> Vec<u8> {
        let padded = |bytes: &[u8]| [bytes, &vec![0; bytes.len().next_multiple_of(4) - bytes.len()]].concat();
        let numbers = [name.len() as u32, content.len() as u32, kind].map(u32::to_le_bytes).concat();
        [numbers, padded(name), padded(content)].concat()
    }

    /// A program for a processor with these notes, and nothing else.
    fn program(machine: u16, notes: &[u8]) -> Vec<u8> {
        let mut bytes = [MAGIC, &[0; 58]].concat();
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = 1;
        let mut header = [0; 56];
        header[0] = NOTES as u8;
        header[8] = 120;
        header[32..40].copy_from_slice(&(notes.len() as u64).to_le_bytes());
        bytes.extend(header);
        bytes.extend(notes);
        bytes
    }

    #[test]
    fn the_digest_is_found_behind_other_notes() {
        let notes = [
            note(b"GNU\0", 1, &[0; 16]),
            note(b"odd", BUILD_ID, b"x"),
            note(b"GNU\0", BUILD_ID, &[0xab, 1, 2]),
        ];
        let identity = Build::of_elf(&program(183, &notes.concat())).unwrap();
        assert_eq!(identity, Build { target: "aarch64-linux".into(), digest: "ab0102".into() });
        assert_eq!(identity.to_string(), "for aarch64-linux, digest ab0102");
    }

    #[test]
    fn a_program_without_a_digest_has_a_target() {
        let identity = Build::of_elf(&program(62, &note(b"GNU\0", 1, &[]))).unwrap();
        assert_eq!(identity.to_string(), "for x86_64-linux, digest unknown");
    }

    #[test]
    fn damaged_bytes_are_not_a_program_and_nothing_panics() {
        let whole = program(62, &note(b"GNU\0", BUILD_ID, &[7; 20]));
        for length in 0..58 {
            assert_eq!(Build::of_elf(&whole[..length]), None, "{length} bytes");
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] = 0xff;
            Build::of_elf(&bytes);
        }
        assert_eq!(Build::of_elf(&program(3, &[])), None, "a processor that tare does not know");
    }
}
