//! The vDSO: a page of the kernel in every process, with a note of the release that uname(2) cannot change.

#![allow(unsafe_code, reason = "the vDSO is read where the kernel mapped it")]

/// Bytes at the beginning of the vDSO in which its notes lie: a page, which always is there whole.
const VDSO_BYTES: usize = 4096;
/// Sizes and offsets of an ELF file of 64 bits, and of a note in it; see elf(5).
const PROGRAM_HEADERS_AT: usize = 32;
const PROGRAM_HEADER_BYTES: usize = 56;
const PROGRAM_HEADER_COUNT_AT: usize = 56;
const MOST_PROGRAM_HEADERS: usize = 16;
const NOTE: u32 = 4;

/// Gives the first page of the vDSO; None where the kernel mapped none.
pub(crate) fn map_vdso() -> Option<&'static [u8]> {
    // SAFETY: asks for a number.
    let address = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } as usize;
    // SAFETY: the kernel maps the vDSO there for the life of the process, in whole pages.
    (address != 0).then(|| unsafe { std::slice::from_raw_parts(address as *const u8, VDSO_BYTES) })
}

/// Reads the release of Linux that the vDSO of this process states, if it does.
pub(crate) fn read_release() -> Option<String> {
    find_release(map_vdso()?)
}

/// Finds the release of Linux in the notes of a vDSO, which uname(2) cannot change: `6.18.44`.
pub(crate) fn find_release(vdso: &[u8]) -> Option<String> {
    if !vdso.starts_with(b"\x7fELF\x02") {
        return None;
    }
    let headers_at = usize::try_from(number::<8>(vdso, PROGRAM_HEADERS_AT)?).ok()?;
    let count = number::<2>(vdso, PROGRAM_HEADER_COUNT_AT)? as usize;
    (0..count.min(MOST_PROGRAM_HEADERS)).find_map(|index| {
        let header = vdso.get(headers_at.checked_add(index * PROGRAM_HEADER_BYTES)?..)?;
        if number::<4>(header, 0)? as u32 != NOTE {
            return None;
        }
        let (from, size) = (number::<8>(header, 8)? as usize, number::<8>(header, 32)? as usize);
        release_in_notes(vdso.get(from..from.checked_add(size)?)?)
    })
}

fn release_in_notes(mut notes: &[u8]) -> Option<String> {
    let padded = |length: u64| (length as usize).checked_next_multiple_of(4);
    loop {
        let (name, about, kind) = (number::<4>(notes, 0)?, number::<4>(notes, 4)?, number::<4>(notes, 8)?);
        let about_at = 12usize.checked_add(padded(name)?)?;
        if kind == 0 && notes.get(12..18)? == b"Linux\0" {
            let code = number::<4>(notes, about_at)?;
            return Some(format!("{}.{}.{}", code >> 16, code >> 8 & 0xff, code & 0xff));
        }
        notes = notes.get(about_at.checked_add(padded(about)?)?..)?;
    }
}

/// Reads a number of as many bytes.
fn number<const BYTES: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes: &[u8; BYTES] = bytes.get(at..)?.first_chunk()?;
    let mut whole = [0; 8];
    whole[..BYTES].copy_from_slice(bytes);
    Some(u64::from_le_bytes(whole))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_found_among_notes() {
        let note = |name: &[u8], kind: u32, about: &[u8]| {
            let mut bytes = [(name.len() as u32).to_le_bytes(), (about.len() as u32).to_le_bytes()].concat();
            bytes.extend(kind.to_le_bytes());
            bytes.extend(name);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes.extend(about);
            bytes
        };
        let release = (6u32 << 16 | 1 << 8 | 147).to_le_bytes();
        let notes = [note(b"GNU\0", 3, &[1; 20]), note(b"Linux\0", 0, &release)].concat();
        assert_eq!(release_in_notes(&notes).as_deref(), Some("6.1.147"));
        assert_eq!(release_in_notes(&notes[..40]), None);
        assert_eq!(release_in_notes(&[0xff; 64]), None);
        assert_eq!(find_release(b"\x7fELF\x02 too short"), None);
    }

    #[test]
    fn this_kernel_names_itself_twice() {
        let names = rustix::system::uname();
        let release = names.release().to_string_lossy().into_owned();
        if let Some(found) = map_vdso().and_then(find_release) {
            assert!(release.starts_with(found.rsplit_once('.').unwrap().0), "{found} {release}");
        }
    }
}
