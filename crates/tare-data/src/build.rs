//! Which program an agent is: the target that it was built for, and the digest that its linker left in it.
//!
//! Host and agent are one file, or two of one build. Two that were built from different sources have different digests,
//! whatever version they report.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::encoding::encode_hex;

/// Processors by their numbers in ELF files, named as in [`std::env::consts::ARCH`].
const PROCESSORS: [(u16, &str); 3] = [(62, "x86_64"), (183, "aarch64"), (243, "riscv64")];
/// Opening of a 64-bit little-endian ELF file.
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
    /// Reads the identity of a Linux program from its bytes; None when they are not one.
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

/// Layout of a program: as in its file, or as a loader has laid it into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Laid {
    InFile,
    InMemory,
}

/// Opening of a program for Windows, the headers that it leads to, and the kind of header of 64-bit programs.
const DOS_MAGIC: &[u8] = b"MZ";
const PE_MAGIC: &[u8] = b"PE\0\0";
const PE64: u16 = 0x20b;
/// Processors by their numbers in those headers.
const PE_PROCESSORS: [(u16, &str); 2] = [(0x8664, "x86_64"), (0xaa64, "aarch64")];
/// Position of the table of debugging information in the optional header, and its kind that holds a digest.
const DEBUG_TABLE: usize = 112 + 6 * 8;
const CODE_VIEW: u32 = 2;
/// Bytes of an entry of that table, and of a section's header.
const DEBUG_ENTRY: usize = 28;
const SECTION_HEADER: usize = 40;

impl Build {
    /// Reads the identity of a 64-bit program for Windows from its bytes; None when they are not one.
    pub fn of_pe(bytes: &[u8], laid: Laid) -> Option<Build> {
        if !bytes.starts_with(DOS_MAGIC) {
            return None;
        }
        let headers = u32::from_le_bytes(piece(bytes, 60)?) as usize;
        let optional = headers.checked_add(24)?;
        if !bytes.get(headers..)?.starts_with(PE_MAGIC) || u16::from_le_bytes(piece(bytes, optional)?) != PE64
        {
            return None;
        }
        let machine = u16::from_le_bytes(piece(bytes, headers + 4)?);
        let (_, processor) = PE_PROCESSORS.into_iter().find(|(number, _)| *number == machine)?;
        let digest = code_view(bytes, headers, laid).unwrap_or_default();
        Some(Build { target: format!("{processor}-windows"), digest })
    }
}

/// Reads the digest that a linker left in the debugging information of a program for Windows, in hex.
fn code_view(bytes: &[u8], headers: usize, laid: Laid) -> Option<String> {
    let number = |at| Some(u32::from_le_bytes(piece(bytes, at)?) as usize);
    let optional = headers + 24;
    let (table, size) = (number(optional + DEBUG_TABLE)?, number(optional + DEBUG_TABLE + 4)?);
    let table = match laid {
        Laid::InMemory => table,
        Laid::InFile => in_file(bytes, headers, table)?,
    };
    let entries = (0..size / DEBUG_ENTRY).map_while(|entry| table.checked_add(entry * DEBUG_ENTRY));
    let mut views = entries.filter(|at| number(at + 12) == Some(CODE_VIEW as usize));
    views.find_map(|at| {
        let from = number(if laid == Laid::InMemory { at + 20 } else { at + 24 })?;
        let content = bytes.get(from..from.checked_add(20)?)?;
        content.starts_with(b"RSDS").then(|| encode_hex(&content[4..]))
    })
}

/// Maps a load address to its offset in the file.
fn in_file(bytes: &[u8], headers: usize, address: usize) -> Option<usize> {
    let number = |at| Some(u32::from_le_bytes(piece(bytes, at)?) as usize);
    let count = u16::from_le_bytes(piece(bytes, headers + 6)?);
    let first = headers + 24 + usize::from(u16::from_le_bytes(piece(bytes, headers + 20)?));
    (0..usize::from(count)).find_map(|section| {
        let at = first + section * SECTION_HEADER;
        let (length, start, from) = (number(at + 8)?, number(at + 12)?, number(at + 20)?);
        let within = address.checked_sub(start).filter(|within| *within < length)?;
        from.checked_add(within)
    })
}

impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_unknown = |text: &'_ str| if text.is_empty() { "unknown".to_owned() } else { text.to_owned() };
        write!(f, "for {}, digest {}", or_unknown(&self.target), or_unknown(&self.digest))
    }
}

/// Finds the digest among the notes of a program, in hex.
pub fn build_id(mut notes: &[u8]) -> Option<String> {
    loop {
        let length = |at| Some(u32::from_le_bytes(piece(notes, at)?) as usize);
        let (name, text, kind) = (length(0)?, length(4)?, u32::from_le_bytes(piece(notes, 8)?));
        let from = 12_usize.checked_add(name.checked_next_multiple_of(4)?)?;
        let to = from.checked_add(text)?;
        let content = notes.get(from..to)?;
        if kind == BUILD_ID && notes.get(12..16)? == b"GNU\0" {
            return Some(encode_hex(content));
        }
        notes = notes.get(to.checked_next_multiple_of(4)?..)?;
    }
}

fn piece<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a note as linkers lay it out.
    fn note(name: &[u8], kind: u32, content: &[u8]) -> Vec<u8> {
        let padded = |bytes: &[u8]| [bytes, &vec![0; bytes.len().next_multiple_of(4) - bytes.len()]].concat();
        let numbers = [name.len() as u32, content.len() as u32, kind].map(u32::to_le_bytes).concat();
        [numbers, padded(name), padded(content)].concat()
    }

    /// Builds a program for a processor with these notes, and nothing else.
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

    /// Builds a program for Windows with one section, which holds the table of debugging information and the
    /// digest.
    fn windows_program() -> Vec<u8> {
        let mut bytes = vec![0; 0x400];
        let mut put = |at: usize, piece: &[u8]| bytes[at..at + piece.len()].copy_from_slice(piece);
        put(0, DOS_MAGIC);
        put(60, &0x80_u32.to_le_bytes());
        put(0x80, PE_MAGIC);
        put(0x84, &0x8664_u16.to_le_bytes());
        put(0x86, &1_u16.to_le_bytes());
        put(0x94, &240_u16.to_le_bytes());
        put(0x98, &PE64.to_le_bytes());
        let pair = |one: u32, two: u32| [one.to_le_bytes(), two.to_le_bytes()].concat();
        put(0x98 + DEBUG_TABLE, &pair(0x2000, DEBUG_ENTRY as u32));
        put(0x98 + 240 + 8, &pair(0x100, 0x2000));
        put(0x98 + 240 + 20, &0x300_u32.to_le_bytes());
        put(0x300 + 12, &CODE_VIEW.to_le_bytes());
        put(0x300 + 20, &pair(0x2040, 0x340));
        put(0x340, b"RSDS");
        put(0x344, &[0xab; 16]);
        bytes
    }

    #[test]
    fn the_digest_of_a_program_for_windows_is_the_same_in_its_file_and_in_memory() {
        let file = windows_program();
        let mut memory = vec![0; 0x2100];
        memory[..0x300].copy_from_slice(&file[..0x300]);
        memory[0x2000..].copy_from_slice(&file[0x300..]);
        let wanted = Build { target: "x86_64-windows".into(), digest: "ab".repeat(16) };
        assert_eq!(Build::of_pe(&file, Laid::InFile), Some(wanted.clone()));
        assert_eq!(Build::of_pe(&memory, Laid::InMemory), Some(wanted));
        assert_eq!(Build::of_elf(&file), None);
        for length in 0..file.len() {
            Build::of_pe(&file[..length], Laid::InFile);
        }
        for at in 0..file.len() {
            let mut damaged = file.clone();
            damaged[at] = 0xff;
            Build::of_pe(&damaged, Laid::InFile);
        }
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
