//! Honesty checks of a place: do syncs, O_DIRECT and cache drops do what they promise?
//!
//! Each check makes the thing happen and looks for its trace, since each of these has been seen to succeed
//! without doing anything. The outcome is a fact: `ok`, or the reason, in words that can follow
//! "not comparable:". A check that cannot decide leaves its fact out.

use std::path::Path;
use tare_data::facts::keys::FILE_SYSTEM_TYPE;

use tare_data::facts::Facts;
use tare_data::failure::FailureKind;
use tare_data::session::declared::Promise;
use tare_paths::door::Door;

use crate::harness::buffer::Buffer;
use crate::harness::files;
use crate::harness::folder::Folder;
use crate::harness::stopwatch::now_ns;
use crate::harness::syscall;
use crate::platform::{AsFd, BorrowedFd, Errno, OFlags, OwnedFd};

pub const OK: &str = "ok";
/// Number of writes, and of syncs, of which the shortest count: whatever disturbs them makes them longer.
const SYNCS: usize = 15;
/// Fewest of them, on a disk where each takes long: on a busy machine all of three may be disturbed.
const FEWEST_SYNCS: usize = 8;
/// After this no further sync is begun.
const LONGEST_SYNCS_NS: u64 = 15_000_000;
/// A sync that takes less than this many times the 4 KiB write before it has moved nothing to a device.
///
/// Seen with the bytes in memory: 0.1 (volatile overlay), 0.2 (tmpfs), 0.4 (gVisor), 1.0 (ptrace, where
/// every call costs the same). Seen with a device: 4 under ptrace, 20 natively on a virtual disk.
const SYNC_FACTOR: f64 = 1.5;
/// Bytes of a write.
const BLOCK: usize = 4096;
/// Bytes of the file that O_DIRECT and the cache are tried with.
pub const TRIAL_BYTES: usize = 256 << 10;
/// File systems whose bytes stay in memory, whatever is synced.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

pub fn is_in_memory(name: &str) -> bool {
    IN_MEMORY.contains(&name)
}

/// Notes `honesty.sync`, `honesty.dsync`, `honesty.direct` and `honesty.cache` of a place.
pub fn note_place(facts: &mut Facts, place: &Path) {
    let Ok(folder) = Folder::make_fresh(place) else { return };
    let in_memory = facts.get(FILE_SYSTEM_TYPE).is_some_and(is_in_memory);
    let volatile = facts.get("mount.options").is_some_and(is_volatile);
    let sync = match () {
        () if in_memory => Some("a file system in memory: nothing is made durable".to_owned()),
        () if volatile => Some("an overlay mounted volatile: fdatasync does nothing".to_owned()),
        () => sync(folder.door()),
    };
    let each_write = sync.is_some().then(|| each_write(folder.door())).flatten();
    note_outcome(facts, Promise::Sync.fact_key(), sync);
    note_outcome(facts, Promise::EachWrite.fact_key(), each_write);
    note_outcome(facts, Promise::Direct.fact_key(), direct(folder.door()));
    note_outcome(facts, Promise::CacheControl.fact_key(), cache(folder.door()));
}

/// Recognises overlay options by which nothing is synced. Newer kernels show the longer form.
fn is_volatile(options: &str) -> bool {
    options.split(',').any(|option| matches!(option, "volatile" | "fsync=volatile"))
}

pub fn note_outcome(facts: &mut Facts, key: &str, outcome: Option<String>) {
    if let Some(outcome) = outcome {
        facts.add_fact(key, outcome);
    }
}

/// Is a sync after a write slower than the write?
fn sync(folder: &Door) -> Option<String> {
    let file = files::create_file(folder, "sync", OFlags::empty()).ok()?;
    let (write_ns, sync_ns) = shortest(&file, &file, syscall::fdatasync)?;
    let why = "fdatasync costs no more than a write: the bytes stay in memory";
    Some(judge_sync(write_ns, sync_ns, why))
}

/// Is a write that has to be durable when it returns slower than one that has not?
fn each_write(folder: &Door) -> Option<String> {
    let plain = files::create_file(folder, "dsync", OFlags::empty()).ok()?;
    let durable = files::open_file(folder, "dsync", OFlags::DSYNC).ok()?;
    let data = Buffer::new_random(BLOCK, 5).ok()?;
    let (write_ns, durable_ns) = shortest(&plain, &durable, |file| syscall::pwrite(file, &data, 0))?;
    let why = "a write that must be durable costs no more than another: the bytes stay in memory";
    Some(judge_sync(write_ns, durable_ns, why))
}

/// Measures writes to a file, and an operation on another one after each, and returns the shortest of both in
/// ns.
fn shortest(
    file: &OwnedFd,
    other: &OwnedFd,
    then: impl Fn(BorrowedFd<'_>) -> Result<usize, Errno>,
) -> Option<(u64, u64)> {
    let data = Buffer::new_random(BLOCK, 1).ok()?;
    files::fill_file(file.as_fd(), &data, TRIAL_BYTES, TRIAL_BYTES as u64).ok()?;
    let (mut writes_ns, mut others_ns) = (Vec::new(), Vec::new());
    let end_ns = now_ns() + LONGEST_SYNCS_NS;
    for i in 0..SYNCS {
        if i >= FEWEST_SYNCS && now_ns() > end_ns {
            break;
        }
        let at = (i * data.len() % TRIAL_BYTES) as u64;
        let started_ns = now_ns();
        syscall::pwrite(file.as_fd(), &data, at).ok()?;
        let written_ns = now_ns();
        then(other.as_fd()).ok()?;
        writes_ns.push(written_ns - started_ns);
        others_ns.push(now_ns() - written_ns);
    }
    Some((writes_ns.into_iter().min()?, others_ns.into_iter().min()?))
}

fn judge_sync(write_ns: u64, sync_ns: u64, why: &str) -> String {
    if sync_ns as f64 >= SYNC_FACTOR * write_ns as f64 { OK.to_owned() } else { why.to_owned() }
}

/// Does a write with O_DIRECT go around the cache?
fn direct(folder: &Door) -> Option<String> {
    let file = match files::create_file(folder, "direct", OFlags::DIRECT) {
        Ok(file) => file,
        Err(e) if e.kind == FailureKind::NotSupported => return Some(e.reason),
        Err(_) => return None,
    };
    let data = Buffer::new_random(TRIAL_BYTES, 2).ok()?;
    match syscall::pwrite(file.as_fd(), &data, 0) {
        Ok(written) if written == data.len() => {}
        Err(Errno::INVAL) => return Some("O_DIRECT is refused for aligned writes".into()),
        _ => return None,
    }
    #[cfg(unix)]
    if let Some(outcome) = seen_in_cache(folder, file.as_fd()) {
        return Some(outcome);
    }
    // Without a view of the cache: a device takes whole blocks only, a cache takes anything.
    match syscall::pwrite(file.as_fd(), &data[1..101], 0) {
        Err(Errno::INVAL) => Some(OK.into()),
        Ok(_) => Some("O_DIRECT takes 100 bytes at an odd address: a cache serves it".into()),
        Err(_) => None,
    }
}

/// Reports whether data just written past the cache are in it; None where that cannot be seen.
#[cfg(unix)]
fn seen_in_cache(folder: &Door, file: BorrowedFd<'_>) -> Option<String> {
    let cached = cache_is_visible(folder).then(|| files::cached_share(file, TRIAL_BYTES as u64)).flatten()?;
    Some(if cached == 0.0 { OK.into() } else { "O_DIRECT is accepted and served from the cache".into() })
}

/// Checks that mincore distinguishes a file just written (cached) from a hole that was never read (not
/// cached).
#[cfg(unix)]
fn cache_is_visible(folder: &Door) -> bool {
    let Ok(file) = files::create_file(folder, "visible", OFlags::empty()) else { return false };
    let Ok(data) = Buffer::new_random(TRIAL_BYTES, 3) else { return false };
    let size = TRIAL_BYTES as u64;
    let hole = rustix::fs::ftruncate(&file, 2 * size).is_ok();
    let written = syscall::pwrite(file.as_fd(), &data, 0) == Ok(data.len());
    let share = files::cached_share(file.as_fd(), 2 * size);
    hole && written && share.is_some_and(|share| (0.4..0.6).contains(&share))
}

/// Is a file gone from the cache after it was dropped?
fn cache(folder: &Door) -> Option<String> {
    let file = files::create_file(folder, "cache", OFlags::empty()).ok()?;
    let data = Buffer::new_random(TRIAL_BYTES, 4).ok()?;
    files::fill_file(file.as_fd(), &data, TRIAL_BYTES, TRIAL_BYTES as u64).ok()?;
    Some(match files::drop_cache(file.as_fd(), TRIAL_BYTES as u64) {
        Ok(()) => OK.to_owned(),
        Err(failure) => failure.reason,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sync_that_takes_no_longer_than_its_write_is_not_one() {
        // Medians seen, write and sync in ns: native virtual disk, proot on it, gVisor's overlay, ptrace in memory.
        assert_eq!(judge_sync(1_500, 36_000, "it is not"), OK);
        assert_eq!(judge_sync(12_000, 50_000, "it is not"), OK);
        assert_ne!(judge_sync(9_000, 3_600, "it is not"), OK);
        assert_ne!(judge_sync(26_000, 26_500, "it is not"), OK);
    }

    #[test]
    fn a_place_that_is_missing_has_no_facts() {
        let mut facts = Facts::default();
        note_place(&mut facts, Path::new("/no/such/place"));
        assert_eq!(facts, Facts::default());
    }

    #[test]
    fn memory_is_not_called_durable() {
        let mut facts = Facts::default();
        facts.add_fact("file_system.type", "tmpfs");
        note_place(&mut facts, &std::env::temp_dir());
        assert_eq!(facts.get("honesty.sync"), Some("a file system in memory: nothing is made durable"));
        assert!(facts.get("honesty.cache").is_some());
    }
}
