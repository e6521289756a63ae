//! A command in company: several copies of it at once, and a neighbour that keeps the machine busy meanwhile.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Stdio};

use rustix::fs::{Mode, OFlags, open};
use rustix::rand::{GetRandomFlags, getrandom};
use tare_data::encoding::encode_hex;
use tare_data::failure::Failure;

use crate::carried::program::ITSELF;
use crate::harness::trial::broken_failure;
use crate::platform::die_with_parent;

/// Subcommand under which this program starts a command in company: copies, neighbour, the program's path, and its words.
pub(crate) const COMPANY: &str = "agent-company";
/// Subcommand of the neighbour: what it does, and the process with which it ends.
pub(crate) const NEIGHBOUR: &str = "agent-neighbour";

/// Limit on simultaneous copies.
pub(crate) const MOST_COPIES: u64 = 256;
/// Exit code of one that was started wrongly.
const CANNOT: i32 = 126;
const BLOCK: [u8; 4096] = [b'n'; 4096];

/// A process that runs beside a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Neighbour {
    None,
    /// Computes.
    Burn,
    /// Starts programs.
    Fork,
    /// Writes 4 KiB and has them written to the disk, over and over.
    Sync,
}

impl Neighbour {
    pub(crate) const WORDS: [(&str, Neighbour); 4] = [
        ("none", Neighbour::None),
        ("burn", Neighbour::Burn),
        ("fork", Neighbour::Fork),
        ("sync", Neighbour::Sync),
    ];

    pub(crate) fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, neighbour)| *neighbour == self).map_or("", |(word, _)| word)
    }

    fn of(word: &OsString) -> Option<Neighbour> {
        Self::WORDS.iter().find(|(known, _)| word == known).map(|(_, neighbour)| *neighbour)
    }
}

/// Builds the command line that starts a program together with copies and a neighbour.
pub(crate) fn make_command_line(
    copies: u64,
    neighbour: Neighbour,
    program: &Path,
    command: &[String],
) -> Result<Vec<String>, Failure> {
    let program =
        program.to_str().ok_or_else(|| broken_failure("the path of the program", "it is not UTF-8"))?;
    let before = [ITSELF, COMPANY, &copies.to_string(), neighbour.word(), program];
    Ok(before.into_iter().map(str::to_owned).chain(command.iter().cloned()).collect())
}

/// Starts the copies, waits for all of them, and returns the exit code of the first that failed, or 0.
pub(crate) fn run_copies(program: &Path, rest: &[OsString]) -> i32 {
    let [copies, neighbour, command, words @ ..] = rest else { return CANNOT };
    let copies =
        copies.to_str().and_then(|copies| copies.parse().ok()).filter(|n| (1..=MOST_COPIES).contains(n));
    let (Some(copies), Some(neighbour)) = (copies, Neighbour::of(neighbour)) else { return CANNOT };
    let started = || -> io::Result<(Option<Child>, Vec<Child>)> {
        let beside = match neighbour {
            Neighbour::None => None,
            _ => Some(beside(program, neighbour)?),
        };
        let copy = |_| {
            let mut command = crate::starting::command(command);
            if let [name, arguments @ ..] = words {
                command.arg0(name).args(arguments);
            }
            command.spawn()
        };
        Ok((beside, (0..copies).map(copy).collect::<io::Result<_>>()?))
    };
    let (beside, all) = match started() {
        Ok(started) => started,
        Err(e) => {
            eprintln!("starting {}: {e}", Path::new(command).display());
            return CANNOT;
        }
    };
    let ended = |mut copy: Child| match copy.wait() {
        Ok(status) => status.code().unwrap_or(128 + status.signal().unwrap_or_default()),
        Err(_) => CANNOT,
    };
    let codes: Vec<i32> = all.into_iter().map(ended).collect();
    // Not waited for: what it used is not the command's.
    beside.map(|mut neighbour| neighbour.kill());
    codes.into_iter().find(|code| *code != 0).unwrap_or(0)
}

fn beside(program: &Path, neighbour: Neighbour) -> io::Result<Child> {
    let own = std::process::id().to_string();
    let mut command = crate::starting::command(program);
    command.args([NEIGHBOUR, neighbour.word(), &own]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::null()).spawn()?;
    // A short command would be over before its neighbour has begun.
    let at_work = child.stdout.take().map_or(Ok(()), |mut output| output.read_exact(&mut [0]));
    at_work.map(|()| child)
}

/// Runs the neighbour until its parent exits.
pub(crate) fn keep_busy(program: &Path, rest: &[OsString]) -> i32 {
    let [neighbour, parent] = rest else { return CANNOT };
    let parent = parent.to_str().and_then(|pid| pid.parse().ok()).and_then(rustix::process::Pid::from_raw);
    let (Some(neighbour), Some(parent)) = (Neighbour::of(neighbour), parent) else { return CANNOT };
    if neighbour == Neighbour::None {
        return 0;
    }
    die_with_parent(parent);
    if io::stdout().write_all(b".").and_then(|()| io::stdout().flush()).is_err() {
        return CANNOT;
    }
    let worked = match neighbour {
        Neighbour::None => Ok(()),
        Neighbour::Burn => loop {
            std::hint::spin_loop();
        },
        Neighbour::Fork => start_for_ever(program),
        Neighbour::Sync => synchronise_for_ever(),
    };
    worked.map_or(CANNOT, |()| 0)
}

fn start_for_ever(program: &Path) -> io::Result<()> {
    loop {
        // It ends at once.
        crate::starting::command(program).args([NEIGHBOUR, Neighbour::None.word(), "1"]).status()?;
    }
}

/// Makes a file without a name, which is gone with this process. The folder may be the user's own, and no name is known to be free.
fn nameless_file(folder: &Path) -> io::Result<File> {
    let (flags, mode) = (OFlags::WRONLY | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
    if let Ok(file) = open(folder, flags | OFlags::TMPFILE, mode) {
        return Ok(file.into());
    }
    // Not every file system has such files.
    let mut random = [0; 16];
    getrandom(&mut random, GetRandomFlags::empty())?;
    let name = folder.join(format!(".tare-{}", encode_hex(&random)));
    let file = open(&name, flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW, mode)?;
    std::fs::remove_file(&name)?;
    Ok(file.into())
}

fn synchronise_for_ever() -> io::Result<()> {
    let file = nameless_file(Path::new("."))?;
    loop {
        file.write_all_at(&BLOCK, 0)?;
        file.sync_data()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbour_leaves_the_files_of_a_folder_alone() {
        let place = tempfile::tempdir().unwrap();
        let (mine, link) = (place.path().join("mine"), place.path().join(".tare-neighbour"));
        std::fs::write(&mine, "mine").unwrap();
        std::os::unix::fs::symlink(&mine, &link).unwrap();
        nameless_file(place.path()).unwrap().write_all_at(&BLOCK, 0).unwrap();
        assert_eq!(std::fs::read(&mine).unwrap(), b"mine");
        assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 2);
    }
}
