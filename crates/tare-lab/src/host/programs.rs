//! Foreign programs: where they lie, and what they print when run to their end within a deadline.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tare_data::build::{Build, Laid};
use tare_paths::ours::{NotOurs, check_ours};

use crate::host::windows_text;
use crate::platform::{self, Gathered, processes};

/// Limit on each of a program's standard output and errors; the rest is dropped.
const LONGEST_OUTPUT: usize = 64 * 1024;
/// Home of a program that is asked for its version: nobody can make a folder there.
const NO_HOME: &str = "/proc/none";
/// Time that asking a program for its version may take. runsc, 83 MB of Go, takes 0.1 s when cold, and seconds on a disk that others keep busy.
pub(crate) const VERSION_WAIT: Duration = Duration::from_secs(20);
/// The beginning of a program: linkers lay its headers and notes there.
const BEGINNING: u64 = 64 << 10;
/// Longest program for Windows that is looked at.
const LONGEST_PROGRAM: u64 = 256 << 20;

/// Folders in which an environment looks for a command that is named without its path.
const INSIDE: [&str; 6] = ["/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin"];

/// A program with its whole path: all that [`command`] starts. Nothing else in the product makes a `Command`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found(PathBuf);

impl Found {
    /// Takes this program itself, by its own file or by a copy that tare made of it.
    pub fn own(program: &Path) -> Found {
        Found(program.to_owned())
    }

    /// Finds the program of a call as its user names it: by its name, or by a path from the working folder of the call. One that
    /// is missing fails when it is started.
    pub(crate) fn called(word: impl AsRef<Path>, folder: &Path) -> Found {
        let word = word.as_ref();
        let inside = Programs { folders: INSIDE.map(PathBuf::from).into(), ..Programs::default() };
        let named = word.to_str().filter(|word| !word.contains(platform::IN_PATHS));
        named.and_then(|name| inside.find(name)).unwrap_or_else(|| Found(folder.join(word)))
    }

    /// Finds the program of a call that this process turns into.
    pub(crate) fn called_here(word: impl AsRef<Path>) -> Found {
        Found::called(word, &std::env::current_dir().unwrap_or_else(|_| "/".into()))
    }
}

impl Deref for Found {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

/// Begins a command of a program. A bare name is never left to the C library, which also looks in relative folders of PATH.
#[allow(clippy::disallowed_methods, reason = "a program that was found has a whole path")]
pub fn command(program: &Found) -> Command {
    Command::new(&program.0)
}

/// Search path of programs, and the folder of prepared files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Programs {
    /// Folders in which foreign programs are looked for, the first first.
    pub folders: Vec<PathBuf>,
    /// Folders of this user: a program below them is found only where nobody else can change it.
    pub own: Vec<PathBuf>,
    /// tare itself, which answers to inner verbs.
    pub tare: PathBuf,
    /// Folder for results of slow preparations, kept from one session to the next: kernels.
    pub prepared: PathBuf,
}

impl Programs {
    /// Finds a program by its name or whole path.
    pub fn find(&self, name: &str) -> Option<Found> {
        let found = match name.contains(platform::IN_PATHS) {
            true => Some(PathBuf::from(name)).filter(|path| is_runnable(path)),
            false => self.list_named(name).find(|path| self.check_own(path).is_ok()),
        };
        found.map(Found)
    }

    /// Finds the reason why a program that is there is not started.
    pub(crate) fn find_refused(&self, name: &str) -> Option<NotOurs> {
        self.list_named(name).find_map(|path| self.check_own(&path).err())
    }

    fn list_named(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        self.folders.iter().map(move |folder| folder.join(name)).filter(|path| is_runnable(path))
    }

    fn check_own(&self, program: &Path) -> Result<(), NotOurs> {
        if self.own.iter().any(|folder| program.starts_with(folder)) { check_ours(program) } else { Ok(()) }
    }

    /// Finds a program by the first of its names and paths that is there.
    pub(crate) fn find_first(&self, names: &[&str]) -> Option<Found> {
        names.iter().find_map(|name| self.find(name))
    }
}

fn is_runnable(path: &Path) -> bool {
    path.is_absolute() && path.metadata().is_ok_and(|about| platform::is_program(&about))
}

/// Result of a program that ran to its end.
#[derive(Clone, Debug)]
pub struct Ended {
    pub status: ExitStatus,
    pub output: String,
    pub errors: String,
}

impl Ended {
    /// Returns the first line that it printed, on either stream.
    pub(crate) fn first_line(&self) -> &str {
        [&self.output, &self.errors]
            .into_iter()
            .flat_map(|text| text.lines())
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or_default()
    }

    /// Returns the output, or the reason of the failure.
    fn output(self) -> io::Result<String> {
        if self.status.success() {
            return Ok(self.output);
        }
        Err(io::Error::other(match (pick_reason(self.errors.lines()), self.first_line()) {
            (Some(reason), _) => reason.to_owned(),
            (None, "") => format!("it failed and printed nothing ({})", self.status),
            (None, printed) => printed.to_owned(),
        }))
    }
}

/// Beginnings of the lines that say why a program of Go crashed, before its stack.
const CRASHES: [&str; 3] = ["panic: ", "[signal ", "fatal error: "];

/// Picks the line that says why a program failed: the last one of its errors, before which come banners and warnings, or the one
/// before the stack of a program of Go.
pub(crate) fn pick_reason<'l>(lines: impl DoubleEndedIterator<Item = &'l str> + Clone) -> Option<&'l str> {
    let mut lines = lines.map(str::trim).filter(|line| !line.is_empty());
    let crash = CRASHES.iter().find_map(|begin| lines.clone().find(|line| line.starts_with(begin)));
    crash.or_else(|| lines.next_back())
}

/// Runs a program to its end with nothing on its standard input; kills it when the time is up.
pub fn run_program(command: &mut Command, wait: Duration) -> io::Result<Ended> {
    run_with(command, Stdio::null(), wait)
}

/// Runs a command with a file, say, on its standard input.
pub(crate) fn run_with(command: &mut Command, input: Stdio, wait: Duration) -> io::Result<Ended> {
    run_between(command, input, Stdio::piped(), wait)
}

/// Runs a command from a file to a file, say: only output to a pipe is kept.
///
/// Its messages are shown with tare's own, and some are parsed: whatever the locale, they are in English.
pub(crate) fn run_between(
    command: &mut Command,
    input: Stdio,
    output: Stdio,
    wait: Duration,
) -> io::Result<Ended> {
    let end = Instant::now() + wait;
    command.stdin(input).stdout(output).stderr(Stdio::piped());
    platform::set_process_group(command);
    // Messages that are read are in one language, unless the caller chose another.
    if !command.get_envs().any(|(name, _)| name == "LC_ALL") {
        command.env("LC_ALL", "C");
    }
    let Gathered { status, output, errors } =
        platform::gather_output(&mut processes::spawn_program(command)?, end, LONGEST_OUTPUT)?;
    let text = |bytes: Vec<u8>| windows_text::decode_output(&bytes);
    match status {
        Some(status) => Ok(Ended { status, output: text(output), errors: text(errors) }),
        None => Err(io::Error::new(
            io::ErrorKind::TimedOut,
            format!("gave no answer in {} s", wait.as_secs_f64()),
        )),
    }
}

/// Runs a program that must succeed; returns what it printed on standard output.
pub(crate) fn run_for_output(command: &mut Command, wait: Duration) -> io::Result<String> {
    ask_with(command, Stdio::null(), wait)
}

/// Runs a command with a file, say, on its standard input, and returns its output.
pub(crate) fn ask_with(command: &mut Command, input: Stdio, wait: Duration) -> io::Result<String> {
    run_with(command, input, wait)?.output()
}

/// Runs a program that must succeed; returns the first line that it printed on standard output.
pub(crate) fn read_first_line(command: &mut Command, wait: Duration) -> io::Result<String> {
    let answer = run_for_output(command, wait)?;
    Ok(answer.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned())
}

/// Asks a program for its version: the first line that it prints, wherever. It has no home: some make folders there before they
/// answer, and a question changes nothing.
pub(crate) fn read_program_version(program: &Found, question: &[&str]) -> io::Result<String> {
    let ended = run_program(command(program).args(question).env("HOME", NO_HOME), VERSION_WAIT)?;
    Ok(ended.first_line().to_owned())
}

/// Identifies a program file for Linux or Windows; empty for any other.
pub(crate) fn identify_program(program: &Path) -> io::Result<Build> {
    let mut bytes = Vec::new();
    let mut file = File::open(program)?;
    file.by_ref().take(BEGINNING).read_to_end(&mut bytes)?;
    if let Some(build) = Build::of_elf(&bytes) {
        return Ok(build);
    }
    // Linkers lay the digest of a program for Windows at its end.
    file.take(LONGEST_PROGRAM).read_to_end(&mut bytes)?;
    Ok(Build::of_pe(&bytes, Laid::InFile).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn system() -> Programs {
        let folders = vec!["/no/such".into(), "/usr/bin".into(), "/bin".into()];
        Programs { folders, ..Programs::default() }
    }

    #[test]
    fn the_reason_is_the_last_line_or_the_one_before_a_stack() {
        assert_eq!(pick_reason("banner\nno such thing\n\n".lines()), Some("no such thing"));
        let stack = "warning\npanic: no room [recovered]\n\ngoroutine 1 [running]:\nmain.go:7 +0x1d";
        assert_eq!(pick_reason(stack.lines()), Some("panic: no room [recovered]"));
        let signal = "warning\nfatal error: unexpected signal during runtime execution\n[signal SIGBUS: bus error]\n\nmain.go:7 +0x1d";
        assert_eq!(pick_reason(signal.lines()), Some("[signal SIGBUS: bus error]"));
        assert_eq!(pick_reason(" \n".lines()), None);
    }

    #[test]
    fn a_program_is_found_by_name_or_by_whole_path() {
        let found = system().find("sh").unwrap();
        assert_eq!(system().find(found.to_str().unwrap()), Some(found));
        assert_eq!(system().find("no-such-program"), None);
        assert_eq!(system().find("./sh"), None);
    }

    #[test]
    fn no_program_is_found_in_a_relative_or_empty_folder() {
        // Cargo runs tests in the folder of their crate.
        let folder = tempfile::tempdir_in(".").unwrap();
        let name = folder.path().file_name().unwrap();
        let relative = Path::new(name).join("planted");
        std::fs::copy("/bin/true", &relative).unwrap();
        assert!(relative.is_file());
        let folders = vec![name.into(), ".".into(), "".into()];
        let programs = Programs { folders, ..Programs::default() };
        assert_eq!((programs.find("planted"), programs.find(relative.to_str().unwrap())), (None, None));
    }

    #[test]
    fn a_call_names_its_program_from_its_own_folder() {
        let called = |word: &str| Found::called(word, Path::new("/folder")).to_path_buf();
        assert_eq!(called("sh"), *system().find("sh").unwrap());
        assert_eq!(called("./build.sh"), Path::new("/folder/./build.sh"));
        assert_eq!(called("/no/such"), Path::new("/no/such"));
        assert_eq!(called("no-such-program"), Path::new("/folder/no-such-program"));
    }

    #[test]
    fn output_and_errors_are_kept_apart_and_bounded() {
        let ended = run_program(
            Command::new("/bin/sh").args(["-c", "echo out; echo err >&2; head -c 200000 /dev/zero; exit 3"]),
            Duration::from_secs(20),
        )
        .unwrap();
        assert_eq!(
            (ended.status.code(), ended.first_line(), ended.errors.as_str()),
            (Some(3), "out", "err\n")
        );
        assert_eq!(ended.output.len(), LONGEST_OUTPUT);
    }

    #[test]
    fn one_that_hangs_is_ended() {
        let late =
            run_program(Command::new("/bin/sleep").arg("1000"), Duration::from_millis(50)).unwrap_err();
        assert_eq!(late.kind(), io::ErrorKind::TimedOut);
        let closed = run_program(
            Command::new("/bin/sh").args(["-c", "exec >&- 2>&-; sleep 1000"]),
            Duration::from_millis(50),
        );
        assert_eq!(closed.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
