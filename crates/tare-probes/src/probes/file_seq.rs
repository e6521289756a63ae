//! Loop of `file.seq`: see its description.

use std::ops::Range;
use tare_paths::door::Door;

use crate::harness::syscall;
use crate::harness::trial::DiskWatch;
use crate::probe::prelude::*;
use crate::probe::size_words;

pub(super) fn measure_file_seq(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let job = SequentialSettings::from_parameters(trial.parameters())?;
    let folder = trial.folder()?;
    files::check_room(folder, job.size)?;
    match job.operation {
        Operation::Write(sync) => write_file(trial, &job, sync),
        Operation::Read(cache) => read_file(trial, &job, cache),
    }
}

/// Bytes that are moved in one turn of a pair.
const PIECE: u64 = 1 << 20;
/// Incompressible data repeat only after this much: more than any file system compresses at once.
const POOL: usize = 1 << 20;
/// Room for files that a trial has written and keeps until its end.
const FILES: u64 = 1 << 26;
/// Largest block: a slip of the pen beyond, and memory that must be there.
const LARGEST_BLOCK: u64 = 1 << 28;

struct SequentialSettings {
    block: usize,
    size: u64,
    operation: Operation,
    zero: bool,
    /// A read call and a write call a block.
    both: bool,
}

#[derive(Clone, Copy)]
enum Operation {
    Write(Sync),
    Read(Cache),
}

#[derive(Clone, Copy, PartialEq)]
enum Sync {
    None,
    Fdatasync,
    Fsync,
    Dsync,
    Direct,
}

#[derive(Clone, Copy, PartialEq)]
enum Cache {
    Warm,
    Cold,
    Direct,
}

impl SequentialSettings {
    fn from_parameters(parameters: &Parameters) -> Result<SequentialSettings, Failure> {
        let syncs = [
            ("none", Sync::None),
            ("fdatasync", Sync::Fdatasync),
            ("fsync", Sync::Fsync),
            ("dsync", Sync::Dsync),
            ("direct", Sync::Direct),
        ];
        let sync = parameters.one_of("sync", &syncs)?;
        let cache = [("warm", Cache::Warm), ("cold", Cache::Cold), ("direct", Cache::Direct)];
        let cache = parameters.one_of("cache", &cache)?;
        let operations = [("write", Operation::Write(sync)), ("read", Operation::Read(cache))];
        Ok(SequentialSettings {
            block: parameters.get_integer_within("bs", 1..=LARGEST_BLOCK)? as usize,
            size: parameters.get_integer_within("size", 1..=u64::MAX)?,
            operation: parameters.one_of("op", &operations)?,
            zero: parameters.one_of("data", &[("random", false), ("zero", true)])?,
            both: parameters.one_of("loop", &[("plain", false), ("dd", true)])?,
        })
    }

    /// Chooses how much is moved in one turn: a part of a pass that takes about as long as a batch elsewhere, or all of it.
    fn piece(&self, takes_turns: bool) -> u64 {
        if takes_turns { PIECE.next_multiple_of(self.block as u64) } else { self.size }
    }

    /// Counts the files that a trial writes, one for each pass as long as all of them together stay small.
    fn count_files(&self, sync: Sync, passes: u64) -> u64 {
        match sync {
            // Bytes that wait to be written out would pile up.
            Sync::None => 1,
            _ => passes.min(FILES / self.size).max(1),
        }
    }

    /// Builds the content of the file, which repeats in whole blocks.
    fn pool(&self, seed: u64) -> Result<Buffer, Failure> {
        let length = POOL.next_multiple_of(self.block);
        if self.zero { Buffer::new_zeroed(length) } else { Buffer::new_random(length, seed) }
    }
}

fn write_file(trial: &mut Trial<'_>, job: &SequentialSettings, sync: Sync) -> Result<(), Failure> {
    let folder = trial.folder()?;
    let pool = job.pool(trial.seed())?;
    let source = if job.both { Some(Source::open(job, &pool)?) } else { None };
    let mut copy = Buffer::new_zeroed(job.block)?;
    let piece = job.piece(trial.takes_turns());
    let pieces = job.size.div_ceil(piece);
    let wanted = job.count_files(sync, trial.count_passes());
    let has_room = files::check_room(folder, job.size * wanted).is_ok();
    let mut files = EmptyFiles::create(folder, sync, if has_room { wanted } else { 1 })?;
    let mut pass = Written::new(files.take_next()?);
    let mut disks = if sync == Sync::None { DiskWatch::default() } else { trial.watch_disks() };
    trial.run_passes(pieces + 1, true, |number, report| {
        if number == pieces {
            let ended = disks.count(|| end(sync, pass.file.as_fd()));
            pass.ended = ended.map_err(|e| broken_failure("writing out", e))?;
            disks.end_batch(1);
            return pass.report(job, sync, report);
        }
        if number == 0 && pass.blocks > 0 {
            pass = Written::new(files.take_next()?);
        }
        let (from, to) = (number * piece, ((number + 1) * piece).min(job.size));
        let written = disks.count(|| match &source {
            None => write_blocks(pass.file.as_fd(), &pool, job.block, from..to),
            Some(source) => copy_in(pass.file.as_fd(), source, &mut copy, pool.len() as u64, from..to),
        });
        let (of_piece, calls) = written.map_err(|e| refused(e, job, sync == Sync::Direct, "writing"))?;
        pass.stopwatch.add(&of_piece);
        pass.blocks += calls;
        Ok(())
    })?;
    trial.send_disks(disks);
    Ok(())
}

/// Empty files for the passes of a trial, whose creation is written out before the first of them.
///
/// Emptying the same file for each pass needs a commit of the journal between two of them, which takes as
/// long as a pass, and nobody times it.
struct EmptyFiles<'a> {
    folder: &'a Door,
    sync: Sync,
    left: Vec<OwnedFd>,
}

impl EmptyFiles<'_> {
    fn create(folder: &Door, sync: Sync, count: u64) -> Result<EmptyFiles<'_>, Failure> {
        let mut files = EmptyFiles { folder, sync, left: Vec::new() };
        let create = |number| files::create_file(folder, &name(number), files.flags());
        files.left = (0..count).map(create).collect::<Result<_, _>>()?;
        files.left.iter().try_for_each(write_out_creation)?;
        Ok(files)
    }

    /// Takes an unused file; empties the first one again where there is none.
    fn take_next(&mut self) -> Result<OwnedFd, Failure> {
        if let Some(file) = self.left.pop() {
            return Ok(file);
        }
        let file = files::open_file(self.folder, &name(0), OFlags::TRUNC | self.flags())?;
        write_out_creation(&file)?;
        Ok(file)
    }

    fn flags(&self) -> OFlags {
        match self.sync {
            Sync::Direct => OFlags::DIRECT,
            Sync::Dsync => OFlags::DSYNC,
            _ => OFlags::empty(),
        }
    }
}

fn name(number: u64) -> String {
    format!("written-{number}")
}

/// Writes out that a file is there and empty: it is not for its first pass to do.
fn write_out_creation(file: &OwnedFd) -> Result<(), Failure> {
    syscall::fsync(file.as_fd()).map_err(|e| broken_failure("writing out an empty file", e))?;
    Ok(())
}

/// A file, and what a pass has written into it.
struct Written {
    file: OwnedFd,
    stopwatch: Stopwatch,
    ended: Stopwatch,
    blocks: u64,
}

impl Written {
    fn new(file: OwnedFd) -> Written {
        Written { file, stopwatch: Stopwatch::default(), ended: Stopwatch::default(), blocks: 0 }
    }

    fn report(&self, job: &SequentialSettings, sync: Sync, report: &mut Report) -> Result<(), Failure> {
        prove_count("bytes in the file", files::find_file_length(self.file.as_fd())?, job.size)?;
        let mut all = self.stopwatch;
        all.add(&self.ended);
        report.add_transfer("block", self.blocks, job.size, &all);
        if matches!(sync, Sync::Fdatasync | Sync::Fsync) {
            report.add_throughput("sync", 1, &self.ended);
        }
        Ok(())
    }
}

fn read_file(trial: &mut Trial<'_>, job: &SequentialSettings, cache: Cache) -> Result<(), Failure> {
    let folder = trial.folder()?;
    let filled = files::create_file(folder, "read", OFlags::empty())?;
    let pool = job.pool(trial.seed())?;
    let fill = if cache == Cache::Warm && files::may_stay_in_cache(job.size) {
        files::fill_cache
    } else {
        files::fill_file
    };
    fill(filled.as_fd(), &pool, pool.len(), job.size)?;
    let flags = if cache == Cache::Direct { OFlags::DIRECT } else { OFlags::empty() };
    let file = files::open_file(folder, "read", flags)?;
    let mut block = Buffer::new_zeroed(job.block)?;
    match cache {
        Cache::Warm => {
            read_blocks(file.as_fd(), &mut block, job.size)
                .map_err(|e| broken_failure("warming the cache", e))?;
            syscall::rewind_file(file.as_fd()).map_err(|e| broken_failure("rewinding", e))?;
        }
        Cache::Cold => files::drop_cache(file.as_fd(), job.size)?,
        // Not needed for the reads, but pages that are there would be taken from the cache on some systems.
        Cache::Direct => drop(files::drop_cache(filled.as_fd(), job.size)),
    }
    let sink = if job.both { Some(files::open_device("/dev/null", OFlags::WRONLY)?) } else { None };
    let piece = job.piece(trial.takes_turns());
    let pieces = job.size.div_ceil(piece);
    let mut read = Done::default();
    trial.run_passes(pieces, cache != Cache::Cold, |number, report| {
        if number == 0 && read.blocks > 0 {
            syscall::rewind_file(file.as_fd()).map_err(|e| broken_failure("rewinding", e))?;
            read = Done::default();
        }
        let bytes = piece.min(job.size - number * piece);
        let of_piece = match &sink {
            None => read_blocks(file.as_fd(), &mut block, bytes),
            Some(sink) => copy_out(file.as_fd(), sink.as_fd(), &mut block, bytes),
        };
        read.add(&of_piece.map_err(|e| refused(e, job, cache == Cache::Direct, "reading"))?);
        if number + 1 < pieces {
            return Ok(());
        }
        prove_count("bytes read", read.bytes, job.size)?;
        let right = count_right_bytes(&block[..read.last], &pool, job.size - read.last as u64);
        prove_count("bytes of the last block that are as written", right, read.last as u64)?;
        report.add_transfer("block", read.blocks, job.size, &read.stopwatch);
        Ok(())
    })
}

/// Counts the bytes of a block, read from this place of the file, that are those of the pool.
///
/// Whole pieces are compared at once: byte by byte takes longer than reading them.
fn count_right_bytes(block: &[u8], pool: &[u8], from: u64) -> u64 {
    let (mut right, mut left, mut at) = (0, block, (from % pool.len() as u64) as usize);
    while !left.is_empty() {
        let (piece, rest) = left.split_at(left.len().min(pool.len() - at));
        let written = &pool[at..at + piece.len()];
        right += if piece == written {
            piece.len()
        } else {
            piece.iter().zip(written).filter(|(read, written)| read == written).count()
        };
        (left, at) = (rest, 0);
    }
    right as u64
}

/// Reports what O_DIRECT refuses as what it is: blocks of that size are not for this file system.
fn refused(e: Errno, job: &SequentialSettings, direct: bool, what: &str) -> Failure {
    if direct && e == Errno::INVAL {
        let reason = format!("O_DIRECT in blocks of {} B", job.block);
        return Failure::new(FailureKind::NotSupported, reason);
    }
    broken_failure(&format!("{what} {}", size_words(job.size)), e)
}

/// Source from which dd would read its input.
struct Source {
    file: OwnedFd,
    /// A device has no place to read from; a file in memory is read around and around.
    endless: bool,
}

impl Source {
    fn open(job: &SequentialSettings, pool: &[u8]) -> Result<Source, Failure> {
        if job.zero {
            return Ok(Source { file: files::open_device("/dev/zero", OFlags::RDONLY)?, endless: true });
        }
        let file = files::in_memory()?;
        files::fill_file(file.as_fd(), pool, pool.len(), pool.len() as u64)?;
        Ok(Source { file, endless: false })
    }
}

impl Done {
    fn add(&mut self, piece: &Done) {
        self.stopwatch.add(&piece.stopwatch);
        self.blocks += piece.blocks;
        self.bytes += piece.bytes;
        self.last = piece.last;
    }
}

#[derive(Default)]
struct Done {
    stopwatch: Stopwatch,
    blocks: u64,
    bytes: u64,
    /// Bytes that the last call read.
    last: usize,
}

crate::timed! {
    fn write_blocks(
        file: BorrowedFd<'_>,
        pool: &[u8],
        block: usize,
        bytes: Range<u64>,
    ) -> Result<(Stopwatch, u64), Errno> {
        let mut from = (bytes.start % pool.len() as u64) as usize;
        let (mut calls, mut done, mut stopwatch) = (0, bytes.start, Stopwatch::start_new());
        while done < bytes.end {
            let length = (bytes.end - done).min((block - from % block) as u64) as usize;
            let written = syscall::write(file, &pool[from..from + length])?;
            done += written as u64;
            from = if from + written == pool.len() { 0 } else { from + written };
            calls += 1;
        }
        stopwatch.stop();
        Ok((stopwatch, calls))
    }

    fn copy_in(
        file: BorrowedFd<'_>,
        source: &Source,
        block: &mut [u8],
        pool: u64,
        bytes: Range<u64>,
    ) -> Result<(Stopwatch, u64), Errno> {
        let (mut stopwatch, mut calls, mut done) = (Stopwatch::default(), 0, bytes.start);
        let input = source.file.as_fd();
        stopwatch.start();
        while done < bytes.end {
            let length = (bytes.end - done).min(block.len() as u64) as usize;
            let piece = &mut block[..length];
            let read = if source.endless {
                syscall::read(input, piece)?
            } else {
                syscall::pread(input, piece, done % pool)?
            };
            if read == 0 {
                return Err(Errno::IO);
            }
            done += syscall::write(file, &piece[..read])? as u64;
            calls += 1;
        }
        stopwatch.stop();
        Ok((stopwatch, calls))
    }

    /// Makes the call that ends a write, timed by itself.
    fn end(sync: Sync, file: BorrowedFd<'_>) -> Result<Stopwatch, Errno> {
        let started_ns = now_ns();
        match sync {
            Sync::Fdatasync => drop(syscall::fdatasync(file)?),
            Sync::Fsync => drop(syscall::fsync(file)?),
            Sync::None | Sync::Dsync | Sync::Direct => return Ok(Stopwatch::default()),
        }
        Ok(Stopwatch::from_stretch(started_ns, now_ns()))
    }

    fn read_blocks(file: BorrowedFd<'_>, block: &mut [u8], size: u64) -> Result<Done, Errno> {
        let mut done = Done::default();
        done.stopwatch.start();
        while done.bytes < size {
            done.last = syscall::read(file, block)?;
            done.bytes += done.last as u64;
            done.blocks += 1;
            if done.last == 0 {
                break;
            }
        }
        done.stopwatch.stop();
        Ok(done)
    }

    fn copy_out(
        file: BorrowedFd<'_>,
        sink: BorrowedFd<'_>,
        block: &mut [u8],
        size: u64,
    ) -> Result<Done, Errno> {
        let mut done = Done::default();
        done.stopwatch.start();
        while done.bytes < size {
            done.last = syscall::read(file, block)?;
            if syscall::write(sink, &block[..done.last])? != done.last || done.last == 0 {
                break;
            }
            done.bytes += done.last as u64;
            done.blocks += 1;
        }
        done.stopwatch.stop();
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{make_trial_request, run_trial};
    use super::count_right_bytes;
    use crate::descriptions::file_seq::PROBE;
    use tare_data::batch::Sample;

    #[test]
    fn every_mode_moves_every_byte() {
        // A size that is not a multiple of the block: the last call is short.
        let modes: [&[(&str, &str)]; 7] = [
            &[("op", "write"), ("sync", "none")],
            &[("op", "write"), ("sync", "fsync"), ("data", "zero")],
            &[("op", "write"), ("sync", "dsync"), ("loop", "dd"), ("data", "zero")],
            &[("op", "write"), ("loop", "dd")],
            &[("op", "read"), ("cache", "warm")],
            &[("op", "read"), ("cache", "warm"), ("loop", "dd")],
            &[("op", "write"), ("bs", "1234567")],
        ];
        for mode in modes {
            let mut all = vec![("size", "300001")];
            if !mode.iter().any(|(key, _)| *key == "bs") {
                all.push(("bs", "4KiB"));
            }
            all.extend(mode);
            let batches =
                run_trial(&make_trial_request(&PROBE, &all)).unwrap_or_else(|e| panic!("{all:?}: {e}"));
            let Sample::Throughput { operations, bytes, .. } = batches[0].sample else { panic!("{mode:?}") };
            let blocks = if mode.len() == 2 && mode[1].0 == "bs" { 1 } else { 74 };
            assert_eq!((operations, bytes), (blocks, 300_001), "{mode:?}");
        }
    }

    #[test]
    fn wrong_bytes_of_a_block_are_counted() {
        let pool: Vec<u8> = (0..100).collect();
        let mut block: Vec<u8> = (0..250).map(|at| pool[(30 + at) % 100]).collect();
        assert_eq!(count_right_bytes(&block, &pool, 1030), 250);
        block[200] = 255;
        assert_eq!(count_right_bytes(&block, &pool, 1030), 249);
        assert_eq!(count_right_bytes(&block, &pool, 1031), 0);
    }

    #[test]
    fn a_file_larger_than_the_place_fails_early() {
        let failure = run_trial(&make_trial_request(&PROBE, &[("size", "1000000G")])).unwrap_err();
        assert!(failure.reason.ends_with("No space left on device"), "{failure}");
    }

    #[test]
    fn rows_are_headed_by_what_differs() {
        let label = |parameters: &[(&str, &str)]| {
            (PROBE.label)(&make_trial_request(&PROBE, parameters).case.parameters)
        };
        assert_eq!(label(&[]), "write 1M + fdatasync");
        assert_eq!(label(&[("op", "read"), ("cache", "cold"), ("bs", "512")]), "read 512B, cold");
        assert_eq!(label(&[("sync", "direct"), ("bs", "4KiB")]), "write 4K, direct");
    }
}
