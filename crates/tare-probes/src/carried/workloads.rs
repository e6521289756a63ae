//! Work of a developer's day that needs no tool of the environment: a tree of small files, a stat of all of
//! them, a copy, and a build of many small processes.
//!
//! They are ordinary programs for `user.command`, which times them from outside. Each proves its work by its exit code.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use rustix::fs::{AtFlags, CWD, Mode};

use crate::variables::inherited_variables;

/// First argument under which the program is one of these.
pub const WORK: &str = "agent-work";
/// Files of a folder; a tree has as many folders as its files need.
const FILES_A_FOLDER: u32 = 32;
const MOST_FILES: u32 = 100_000;
/// Bytes of the shortest file, and what each next one has more until they begin anew: 0.5 to 8 KiB, as sources have.
const SIZES: (usize, usize, u32) = (512, 512, 16);
/// Processes of a build side by side, as `make -j2`.
const SIDE_BY_SIDE: usize = 2;
/// Passes of a compilation over its source: some milliseconds, as a small C file takes.
const PASSES: u32 = 400;
/// Longest file that is read: those of a tree are far shorter.
const LONGEST_FILE: u64 = 1 << 20;

/// Runs a workload, and returns its exit code.
pub fn run_workload(program: &Path, arguments: &[OsString]) -> i32 {
    let arguments: Option<Vec<&str>> = arguments.iter().map(|a| a.to_str()).collect();
    let count = |text: &str| text.parse::<u32>().ok().filter(|n| (1..=MOST_FILES).contains(n));
    let done = match arguments.as_deref() {
        Some(["tree", files]) => count(files).map(tree),
        Some(["status", files]) => count(files).map(status),
        Some(["copy", files]) => count(files).map(copy),
        Some(["build", files]) => count(files).map(|files| build(program, files)),
        Some(["compile", source, object]) => Some(compile(Path::new(source), Path::new(object))),
        _ => None,
    };
    match done {
        Some(Ok(())) => 0,
        Some(Err(error)) => {
            let _ = writeln!(io::stderr(), "{error}");
            1
        }
        None => 2,
    }
}

fn path(root: &str, number: u32, extension: &str) -> PathBuf {
    PathBuf::from(format!("{root}/d{:04}/f{number:06}.{extension}", number / FILES_A_FOLDER))
}

fn size(number: u32) -> usize {
    SIZES.0 + SIZES.1 * (number % SIZES.2) as usize
}

/// Makes the folders of a tree. With mkdir(2) alone: the standard library uses statx(2), which proot 5.1 breaks.
fn folders(root: &str, files: u32) -> io::Result<()> {
    let below = (0..files.div_ceil(FILES_A_FOLDER)).map(|folder| format!("{root}/d{folder:04}"));
    for folder in std::iter::once(root.to_owned()).chain(below) {
        rustix::fs::mkdirat(CWD, folder, Mode::RWXU)?;
    }
    Ok(())
}

/// Makes the tree `tree`.
fn tree(files: u32) -> io::Result<()> {
    folders("tree", files)?;
    let text: Vec<u8> =
        b"int value = 1; /* a line of a source */\n".iter().copied().cycle().take(size(15)).collect();
    (0..files)
        .try_for_each(|number| File::create(path("tree", number, "c"))?.write_all(&text[..size(number)]))
}

/// Stats every file of the tree, as `git status` does with files that it tracks.
fn status(files: u32) -> io::Result<()> {
    for number in 0..files {
        let about = rustix::fs::statat(CWD, path("tree", number, "c"), AtFlags::SYMLINK_NOFOLLOW)?;
        if about.st_size as usize != size(number) {
            return Err(io::Error::other(format!("file {number} has {} bytes", about.st_size)));
        }
    }
    Ok(())
}

/// Copies the tree, as `cp -r` does: a read and a write a file.
fn copy(files: u32) -> io::Result<()> {
    folders("copy", files)?;
    for number in 0..files {
        let bytes = read_file(&path("tree", number, "c"))?;
        File::create(path("copy", number, "c"))?.write_all(&bytes)?;
        if bytes.len() != size(number) {
            return Err(io::Error::other(format!("file {number} has {} bytes", bytes.len())));
        }
    }
    Ok(())
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(size(15));
    File::open(path)?.take(LONGEST_FILE).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Runs a process for every file, two at a time, and joins their results in one file.
fn build(program: &Path, files: u32) -> io::Result<()> {
    folders("objects", files)?;
    let mut running: Vec<Child> = Vec::new();
    for number in 0..files {
        if running.len() == SIDE_BY_SIDE {
            wait(running.remove(0))?;
        }
        running.push(
            crate::starting::command(program)
                .args([WORK, "compile"])
                .args([path("tree", number, "c"), path("objects", number, "o")])
                .env_clear()
                .envs(inherited_variables())
                .stdin(Stdio::piped())
                .spawn()?,
        );
    }
    running.into_iter().try_for_each(wait)?;
    let mut linked = File::create("program")?;
    for number in 0..files {
        let object = read_file(&path("objects", number, "o"))?;
        if object.len() != 2 * size(number) {
            return Err(io::Error::other(format!("object {number} has {} bytes", object.len())));
        }
        linked.write_all(&object)?;
    }
    Ok(())
}

/// Goes over a source again and again, as the passes of a compiler do, and writes twice as much.
fn compile(source: &Path, object: &Path) -> io::Result<()> {
    let source = read_file(source)?;
    let mut sums = vec![0u8; source.len()];
    for pass in 0..PASSES {
        let mut hash = pass;
        for (sum, byte) in sums.iter_mut().zip(&source) {
            hash = (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
            *sum ^= (hash >> 24) as u8;
        }
    }
    let mut file = File::create(object)?;
    file.write_all(&source)?;
    file.write_all(&sums)
}

fn wait(mut child: Child) -> io::Result<()> {
    if child.wait()?.success() { Ok(()) } else { Err(io::Error::other("a compilation failed")) }
}
