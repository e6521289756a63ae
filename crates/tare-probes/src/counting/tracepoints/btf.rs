//! Offset of a task's number in the kernel, by its description of its own types (Documentation/bpf/btf.rst).

use std::fs::File;
use std::io::{self, Read};

const TYPES: &str = "/sys/kernel/btf/vmlinux";
/// Kernels have five to ten MB of it.
const LONGEST: u64 = 64 << 20;
const MAGIC: u16 = 0xeb9f;
/// Bytes of what every type begins with.
const HEAD: usize = 12;
/// The kind of type that a struct is.
const STRUCT: u32 = 4;

/// Finds the offset of `pid` in `struct task_struct`, in bytes.
pub(super) fn offset_of_task_number() -> io::Result<i32> {
    let mut types = Vec::new();
    File::open(TYPES)?.take(LONGEST).read_to_end(&mut types)?;
    let missing = || io::Error::other("the kernel does not say where a task's number is");
    offset_of(&types, b"task_struct", b"pid").ok_or_else(missing)
}

fn offset_of(all: &[u8], name: &[u8], member: &[u8]) -> Option<i32> {
    if u16::from_le_bytes(*all.first_chunk()?) != MAGIC {
        return None;
    }
    let section = |at: usize| {
        let header = number(all, 4)? as usize;
        let (from, length) = (header + number(all, at)? as usize, number(all, at + 4)? as usize);
        all.get(from..from.checked_add(length)?)
    };
    let (types, strings) = (section(8)?, section(16)?);
    let is = |at: u32, word: &[u8]| {
        strings
            .get(at as usize..)
            .is_some_and(|rest| rest.starts_with(word) && rest.get(word.len()) == Some(&0))
    };
    let mut at = 0;
    while at < types.len() {
        let (name_at, about) = (number(types, at)?, number(types, at + 4)?);
        let (kind, count) = (about >> 24 & 0x1f, (about & 0xffff) as usize);
        if kind == STRUCT && is(name_at, name) {
            let members = (0..count).map(|i| at + HEAD + i * 12);
            let mut found = members.filter(|at| number(types, *at).is_some_and(|name| is(name, member)));
            // In bits; where a struct has members of a few bits, their number stands in the upper byte.
            let bits =
                number(types, found.next()? + 8)? & if about >> 31 == 1 { 0xff_ffff } else { u32::MAX };
            return i32::try_from(bits / 8).ok();
        }
        at += HEAD + beyond_head(kind, count)?;
    }
    None
}

/// Computes the length of a type after its head.
fn beyond_head(kind: u32, count: usize) -> Option<usize> {
    Some(match kind {
        // Integers, variables, tags of declarations.
        1 | 14 | 17 => 4,
        // Arrays.
        3 => 12,
        // Structs, unions, sections, wide enumerations.
        4 | 5 | 15 | 19 => count * 12,
        // Enumerations, parameters of functions.
        6 | 13 => count * 8,
        // Pointers, forward declarations, other names, qualifiers, functions, floats, tags of types.
        2 | 7..=12 | 16 | 18 => 0,
        _ => return None,
    })
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds an integer, a forward declaration, and a struct with two members, the second of which is at byte
    /// 12.
    fn specimen() -> Vec<u8> {
        let strings = b"\0task_struct\0state\0pid\0";
        let types: Vec<u32> =
            [&[0, 1 << 24, 4, 32][..], &[1, 7 << 24, 0], &[1, STRUCT << 24 | 2, 16, 13, 1, 0, 19, 1, 96]]
                .concat();
        let header =
            [0x0001_eb9f, 24, 0, types.len() as u32 * 4, types.len() as u32 * 4, strings.len() as u32];
        let words = header.iter().chain(&types).flat_map(|word| word.to_le_bytes());
        words.chain(strings.iter().copied()).collect()
    }

    #[test]
    fn a_member_is_found_where_it_is() {
        assert_eq!(offset_of(&specimen(), b"task_struct", b"pid"), Some(12));
        assert_eq!(offset_of(&specimen(), b"task_struct", b"state"), Some(0));
        assert_eq!(offset_of(&specimen(), b"task_struct", b"tgid"), None);
        assert_eq!(offset_of(&specimen(), b"task", b"pid"), None);
    }

    #[test]
    fn what_is_cut_off_or_of_another_kind_is_not_found() {
        let whole = specimen();
        for length in 0..whole.len() {
            offset_of(&whole[..length], b"task_struct", b"pid");
        }
        let mut strange = whole;
        strange[31] = 31;
        assert_eq!(offset_of(&strange, b"task_struct", b"pid"), None);
    }
}
