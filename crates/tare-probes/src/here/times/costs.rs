//! Contrasts: times of operations here, in blocks that take turns with those that they are compared with.

use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use tare_data::facts::keys::{
    COST_CLOCK, COST_CLOCK_CALL, COST_SYNC_WORK, COST_WRITE_WORK, PLACE_OWN_TYPE, PRICE_MAP_OWN,
    PRICE_OPEN_NEW, PRICE_OPEN_OWN,
};

use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{AtFlags, CWD, FileType, OFlags};
use rustix::io::Errno;
use tare_paths::door::Door;
use tare_paths::marked::MarkedFolder;

use crate::counting::Traced;
use crate::facts::mounts::{file_system_name, format_device_number};
use crate::facts::promises::is_in_memory;
use crate::harness::buffer::Buffer;
use crate::harness::files;
use crate::harness::stopwatch::now_ns;
use crate::harness::syscall;
use crate::here::places::Place;
use crate::here::steps::Noting;
use crate::operations::find_operation;

/// Blocks of each time: their third and tenth are the ends of a 95 % interval of the median.
const BLOCKS: usize = 12;
/// Fewest blocks with such an interval: their extremes. No more are begun once as many took this long.
const FEWEST_BLOCKS: usize = 6;
const LONGEST_NS: u64 = 150_000_000;
/// Operations of a block.
const CALLS: u64 = 50;
const NAMES: usize = 16;
/// Bytes of a write, and of the file that is written.
const WRITTEN: usize = 4096;
const FILE: usize = 256 << 10;

/// A time in blocks, by the name of what takes it.
struct Series<'a> {
    key: &'a str,
    blocks_ns: Vec<String>,
}

impl<'a> Series<'a> {
    fn new(key: &'a str) -> Self {
        Series { key, blocks_ns: Vec::new() }
    }

    /// Adds a block, and notes all blocks so far: the next one may not end.
    fn add_block(&mut self, noting: &mut Noting<'_>, each_ns: f64) {
        self.blocks_ns.push(format!("{each_ns:.1}"));
        noting.add_fact(self.key, self.blocks_ns.join(" "));
    }
}

/// Counts up blocks until there are enough, or until they have taken long and there are as many as an interval needs.
fn number_blocks() -> impl Iterator<Item = usize> {
    let ends_ns = now_ns() + LONGEST_NS;
    (0..BLOCKS).take_while(move |block| *block < FEWEST_BLOCKS || now_ns() < ends_ns)
}

/// Notes times of the clock by the vDSO and by a call.
pub fn note_clock(noting: &mut Noting<'_>) {
    let [mut clock, mut trapped] = [COST_CLOCK, COST_CLOCK_CALL].map(Series::new);
    let timed = |operations: u64, work: &mut dyn FnMut(u64)| {
        let started_ns = now_ns();
        work(operations);
        (now_ns() - started_ns) as f64 / operations as f64
    };
    for _ in number_blocks() {
        clock.add_block(noting, timed(CALLS, &mut |reads| (0..reads).for_each(|_| _ = now_ns())));
        trapped.add_block(noting, timed(CALLS, &mut |reads| (0..reads).for_each(|_| read_clock_by_call())));
    }
}

#[allow(unsafe_code, reason = "the call that the vDSO answers otherwise")]
fn read_clock_by_call() {
    // SAFETY: an all-zero timespec is valid.
    let mut now: libc::timespec = unsafe { std::mem::zeroed() };
    // SAFETY: the struct lives through the call.
    unsafe { libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, &raw mut now) };
}

/// Chooses a place to compare another with: in memory where there is one, and in no case the same file system.
fn choose_reference(work: &Place, candidates: &[PathBuf]) -> Option<PathBuf> {
    let device = format_device_number(&work.path)?;
    let is_other = |path: &&PathBuf| format_device_number(path).is_some_and(|other| other != device);
    let is_memory = |path: &&&PathBuf| file_system_name(path).is_some_and(|name| is_in_memory(&name));
    let others: Vec<&PathBuf> = candidates.iter().filter(is_other).collect();
    others.iter().find(is_memory).or(others.first()).map(|path| path.to_path_buf())
}

/// Notes times of names and writes in the working folder, next to those in another file system.
pub fn note_files(noting: &mut Noting<'_>, work: &Place, candidates: &[PathBuf], name: &str) {
    let own = choose_reference(work, candidates);
    let folder = |place: &Path| MarkedFolder::make(place, name).ok();
    let work_folder = folder(&work.path);
    if work_folder.is_none() {
        noting.add_fact("place.work.written", "no");
    }
    let work_itself = Door::open(&work.path).ok();
    let own_folder = own.as_deref().and_then(folder);
    let memory = own.as_deref().and_then(file_system_name).unwrap_or_default();
    noting.add_fact(PLACE_OWN_TYPE, memory);
    // If nothing can be written, names that are not there can still be looked up.
    let operation = if work_folder.is_some() { "stat" } else { "stat-missing" };
    let places = [
        ("work", work_folder.as_ref().map(MarkedFolder::door).or(work_itself.as_ref())),
        ("own", own_folder.as_ref().map(MarkedFolder::door)),
    ];
    note_names(noting, operation, places);
    note_new_names(noting, places);
    if let Some(folder) = &work_folder {
        note_syncs(noting, folder.door());
    }
}

/// Notes times of a name that was just looked up.
fn note_names(noting: &mut Noting<'_>, operation: &str, places: [(&str, Option<&Door>); 2]) {
    let Some(prepare) = find_operation(operation) else { return };
    let keys = places.map(|(role, _)| format!("cost.name.{role}"));
    let mut sides: Vec<_> = places
        .iter()
        .zip(&keys)
        .filter_map(|((_, path), key)| Some((prepare((*path)?).ok()?, Series::new(key))))
        .collect();
    for _ in number_blocks() {
        for (look_up, series) in &mut sides {
            if let Ok((stopwatch, _)) = look_up(NAMES as u64) {
                series.add_block(noting, stopwatch.elapsed_ns() as f64 / NAMES as f64);
            }
        }
    }
}

/// Notes times of names that nobody has looked up, and of the same names again.
fn note_new_names(noting: &mut Noting<'_>, places: [(&str, Option<&Door>); 2]) {
    let keys = places.map(|(role, _)| [format!("cost.new_name.{role}"), format!("cost.known_name.{role}")]);
    let mut sides: Vec<_> = places
        .iter()
        .zip(&keys)
        .filter_map(|((_, path), [new, known])| Some(((*path)?, [Series::new(new), Series::new(known)])))
        .collect();
    for block in number_blocks() {
        let names: Vec<CString> =
            (0..NAMES).filter_map(|name| CString::new(format!("tare-none-{block}-{name}")).ok()).collect();
        for (folder, series) in &mut sides {
            for series in series {
                series.add_block(noting, look_up_all(folder.as_fd(), &names));
            }
        }
    }
}

fn look_up_all(folder: BorrowedFd<'_>, names: &[CString]) -> f64 {
    let mut about = syscall::empty_stat();
    let started_ns = now_ns();
    for name in names {
        let _ = syscall::fstatat(folder, name, &mut about);
    }
    (now_ns() - started_ns) as f64 / names.len() as f64
}

/// Notes times of writes, and of making each durable.
fn note_syncs(noting: &mut Noting<'_>, folder: &Door) {
    let Ok(file) = files::create_file(folder, "sync", OFlags::empty()) else { return };
    let Ok(data) = Buffer::new_random(WRITTEN, 1) else { return };
    if files::fill_file(file.as_fd(), &data, FILE, FILE as u64).is_err()
        || syscall::fdatasync(file.as_fd()).is_err()
    {
        return;
    }
    let [mut write, mut sync] = [COST_WRITE_WORK, COST_SYNC_WORK].map(Series::new);
    for block in number_blocks() {
        let started_ns = now_ns();
        if syscall::pwrite(file.as_fd(), &data, (block * WRITTEN % FILE) as u64) != Ok(WRITTEN) {
            return;
        }
        let written_ns = now_ns();
        if syscall::fdatasync(file.as_fd()).is_err() {
            return;
        }
        write.add_block(noting, (written_ns - started_ns) as f64);
        sync.add_block(noting, (now_ns() - written_ns) as f64);
    }
}

/// Notes times of files that a command has read, each with its size, as most programs ask for it: to open them, and to map and touch their
/// first page. Where others beside them can be met for the first time, it is these, with their share of folders that are met then. A share
/// serves them, or another kernel's server of files, whose prices no folder in memory shows. Every other of the new ones is taken, from
/// `half` on, which is 0 or 1.
pub fn note_own_files(noting: &mut Noting<'_>, ran: &Traced, half: usize) {
    let name = |path: &String| CString::new(path.as_str()).ok();
    let [new, folders] = ran.unmet.each_ref().map(|all| all.iter().skip(half).step_by(2));
    let folders: Vec<u64> = folders.filter_map(|path| time_folder(&name(path)?).ok()).collect();
    let share = ran.folders as f64 / ran.read.max(1) as f64;
    let folder_ns = share * average(folders.iter()).unwrap_or_default();
    let mut new: Vec<_> = new.filter_map(|path| time_own_file(&name(path)?).ok()).collect();
    if new.len() < FEWEST_BLOCKS {
        new.clear();
    }
    let [mut firsts, mut opens, mut maps] = [PRICE_OPEN_NEW, PRICE_OPEN_OWN, PRICE_MAP_OWN].map(Series::new);
    for files in new.chunks(new.len().div_ceil(BLOCKS).max(1)) {
        let each = |time: fn(&(u64, u64)) -> &u64| average(files.iter().map(time)).unwrap_or_default();
        firsts.add_block(noting, folder_ns + each(|times| &times.0));
        maps.add_block(noting, each(|times| &times.1));
    }
    // A pipe or a device may not be opened.
    let is_plain = |path: &CString| {
        let about = rustix::fs::statat(CWD, path.as_c_str(), AtFlags::empty());
        about.is_ok_and(|about| FileType::from_raw_mode(about.st_mode).is_file())
    };
    let files: Vec<CString> = ran.files.iter().filter_map(|path| name(path).filter(is_plain)).collect();
    for _ in number_blocks() {
        let times: Vec<(u64, u64)> = files.iter().filter_map(|file| time_own_file(file).ok()).collect();
        let each = |time: fn(&(u64, u64)) -> &u64| average(times.iter().map(time));
        if let Some((open_ns, map_ns)) = each(|times| &times.0).zip(each(|times| &times.1)) {
            opens.add_block(noting, open_ns);
            if new.is_empty() {
                maps.add_block(noting, map_ns);
            }
        }
    }
}

fn average<'a>(times_ns: impl ExactSizeIterator<Item = &'a u64>) -> Option<f64> {
    let count = times_ns.len();
    (count > 0).then(|| times_ns.sum::<u64>() as f64 / count as f64)
}

/// Measures how long a folder takes to open, without its entries, and to close, in ns.
#[allow(unsafe_code, reason = "a descriptor of its own")]
fn time_folder(path: &CStr) -> Result<u64, Errno> {
    let began_ns = now_ns();
    let number = syscall::openat(CWD, path, libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC, 0)?;
    // SAFETY: nobody else knows the number that was just given to us.
    unsafe { syscall::close(number)? };
    Ok(now_ns() - began_ns)
}

/// Measures how long a file takes to open, ask for its size and close, and how long its first page takes to map and touch, in ns.
#[allow(unsafe_code, reason = "a descriptor and a mapping of its own")]
fn time_own_file(path: &CStr) -> Result<(u64, u64), Errno> {
    let flags = libc::O_RDONLY | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
    let began_ns = now_ns();
    let number = syscall::openat(CWD, path, flags, 0)?;
    // SAFETY: the number was just given to us, and is closed once, below.
    let file = unsafe { BorrowedFd::borrow_raw(number as i32) };
    let mut about = syscall::empty_stat();
    let _ = syscall::fstat(file, &mut about);
    let opened_ns = now_ns() - began_ns;
    let began_ns = now_ns();
    // Nothing of an empty file can be mapped.
    let length = rustix::param::page_size().min(about.st_size as usize);
    let mapped = syscall::map_file(file, length);
    if let Ok(address) = mapped {
        // SAFETY: within the mapping that was just made; a file that has become empty ends this child alone.
        unsafe { (address as *const u8).read_volatile() };
        // SAFETY: the mapping is whole and ours; no reference to it exists.
        unsafe { syscall::unmap_memory(address, length)? };
    }
    let unmapped_ns = now_ns();
    // SAFETY: as above.
    unsafe { syscall::close(number)? };
    mapped.map(|_| (opened_ns + now_ns() - unmapped_ns, unmapped_ns - began_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::here::steps::Steps;
    use rustix::fs::Mode;
    use tare_data::facts::Facts;

    fn note(work: impl FnOnce(&mut Noting<'_>)) -> Facts {
        let mut steps = Steps::until(u64::MAX);
        steps.note_here(work);
        steps.facts
    }

    fn count_blocks(facts: &Facts, key: &str) -> usize {
        let blocks = facts.get(key).unwrap_or_else(|| panic!("{key} is absent")).split(' ');
        blocks.map(|block| block.parse::<f64>().unwrap()).filter(|ns| *ns >= 0.0).count()
    }

    #[test]
    fn every_time_has_as_many_blocks_as_its_interval_needs() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place { role: "work", path: folder.path().to_owned() };
        let facts = note(|noting| note_files(noting, &place, &[PathBuf::from("/dev/shm")], "tare-here-test"));
        for key in ["cost.name.work", "cost.new_name.work", "cost.known_name.work"] {
            assert_eq!(count_blocks(&facts, key), BLOCKS, "{key}");
        }
        // A disk that others keep busy has time for fewer.
        for key in ["cost.write.work", "cost.sync.work"] {
            assert!((FEWEST_BLOCKS..=BLOCKS).contains(&count_blocks(&facts, key)), "{key}");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "something is left");
        std::fs::write(folder.path().join("own"), "text").unwrap();
        rustix::fs::mknodat(CWD, folder.path().join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        let own: Vec<String> = ["own", "pipe", "gone", ".", "empty"]
            .map(|name| folder.path().join(name).to_str().unwrap().to_owned())
            .to_vec();
        std::fs::write(folder.path().join("empty"), "").unwrap();
        let mut ran: Traced = serde_json::from_value(serde_json::json!({
            "amounts": {}, "calls": 0.0, "slowdown": 0.0, "read": 1, "folders": 1, "files": own, "unmet": [vec![&own[0]; 2 * FEWEST_BLOCKS], [folder.path()]]
        }))
        .unwrap();
        let facts = note(|noting| note_own_files(noting, &ran, 0));
        for (key, blocks) in
            [(PRICE_OPEN_OWN, BLOCKS), (PRICE_MAP_OWN, FEWEST_BLOCKS), (PRICE_OPEN_NEW, FEWEST_BLOCKS)]
        {
            assert_eq!(count_blocks(&facts, key), blocks, "{key}");
        }
        ran.files.remove(0);
        ran.unmet = [own[2..].to_vec(), own.clone()];
        assert_eq!(note(|noting| note_own_files(noting, &ran, 0)), Facts::default());
        let facts = note(note_clock);
        for key in ["cost.clock", "cost.clock_call"] {
            assert_eq!(count_blocks(&facts, key), BLOCKS, "{key}");
        }
    }

    #[test]
    fn a_place_is_not_compared_with_itself() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place { role: "work", path: folder.path().to_owned() };
        assert_eq!(choose_reference(&place, &[folder.path().to_owned()]), None);
        assert_eq!(choose_reference(&place, &[PathBuf::from("/no/such/place")]), None);
    }
}
