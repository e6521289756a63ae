//! Loop of `proc.exec`: see its description.

#![allow(unsafe_code, reason = "execve is what is measured")]

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fd::AsRawFd;
use rustix::fs::{Access, CWD, Mode};

use crate::harness::child::Child;
use crate::probe::prelude::*;
use crate::tiny;

pub(super) fn measure_proc_exec(trial: &mut Trial<'_>) -> Result<(), Failure> {
    type Find<'a> = fn(&Trial<'a>) -> Result<ExecTarget, Failure>;
    let targets: [(&str, Find<'_>); 3] = [
        ("tiny", ExecTarget::tiny),
        ("static", |_| Ok(ExecTarget::Static)),
        ("dynamic", |_| ExecTarget::dynamic()),
    ];
    let target = trial.parameters().one_of("target", &targets)?(trial)?;
    let program = trial.program();
    trial.repeat(|operations, report| {
        let mut stopwatch = Stopwatch::default();
        let mut done = 0;
        while done < operations {
            let links = target.links(operations - done);
            stopwatch.add(&chain(program, &target, links)?);
            done += links;
        }
        report.add_throughput("exec", operations, &stopwatch);
        Ok(())
    })
}

/// First argument under which the program is a link of the chain: `agent-exec TOTAL DONE PIPE`.
pub const EXEC: &str = "agent-exec";
/// Limit on the links of a dynamic chain: all of them are in the arguments, which each exec copies.
const LONGEST_DYNAMIC: u64 = 64;
/// Candidates for env(1): the first is POSIX's usual path.
const ENV_PATHS: [&str; 2] = ["/usr/bin/env", "/bin/env"];

enum ExecTarget {
    /// Path of the tiny program.
    Tiny(PathBuf),
    Static,
    /// Path of a dynamically linked env(1).
    Dynamic(&'static str),
}

impl ExecTarget {
    fn tiny(trial: &Trial<'_>) -> Result<ExecTarget, Failure> {
        let path = trial.folder()?.path().join(tiny::FILE);
        tiny::write_program(&path).map_err(|e| broken_failure("writing the tiny program", e))?;
        // A file system may refuse to run any: the trial names that as its own.
        let refused = |e| {
            Failure::new(FailureKind::NotSupported, format!("no program runs in {}: {e}", path.display()))
        };
        rustix::fs::access(&path, Access::EXEC_OK).map_err(refused)?;
        Ok(ExecTarget::Tiny(path))
    }

    fn dynamic() -> Result<ExecTarget, Failure> {
        let env = ENV_PATHS.into_iter().find(|path| is_dynamic(path)).map(ExecTarget::Dynamic);
        env.ok_or_else(|| Failure::new(FailureKind::NotSupported, "no dynamically linked env here"))
    }

    fn links(&self, wanted: u64) -> u64 {
        match self {
            ExecTarget::Tiny(_) | ExecTarget::Static => wanted,
            ExecTarget::Dynamic(_) => wanted.min(LONGEST_DYNAMIC),
        }
    }
}

/// Runs one chain of `links` execs, and returns its time.
fn chain(program: &Path, target: &ExecTarget, links: u64) -> Result<Stopwatch, Failure> {
    let (result, into) = rustix::pipe::pipe().map_err(|e| broken_failure("pipe", e))?;
    let pipe = into.as_raw_fd().to_string();
    let (first, arguments) = match target {
        ExecTarget::Tiny(tiny) => {
            let digits = |number: u64| OsString::from(format!("{number:016x}"));
            let into = digits(into.as_raw_fd() as u64);
            (tiny.as_os_str(), vec![tiny.into(), tiny::CHAIN.into(), digits(1), digits(links), into])
        }
        ExecTarget::Static => (program.as_os_str(), self_arguments(program, &links.to_string(), 1, &pipe)),
        ExecTarget::Dynamic(env) => {
            let mut arguments = vec![OsString::from(*env); links as usize];
            // After as many starts of env, this binary reports the full count.
            arguments.extend(self_arguments(program, &links.to_string(), links, &pipe));
            (OsStr::new(*env), arguments)
        }
    };
    let exec = Exec::new(first, &arguments)?;
    let child = Child::fork(
        &[result.as_fd()],
        std::panic::AssertUnwindSafe(|| {
            let started_ns = now_ns();
            // A pipe holds 8 bytes at once, so this neither blocks nor is cut.
            match rustix::io::write(&into, &started_ns.to_le_bytes()) {
                Ok(8) => exec.run(),
                _ => EXIT_BAD_PIPE,
            }
        }),
    )?;
    drop(into);
    let words = read_words(&result)?;
    match child.wait() {
        Some(0) => {}
        Some(code) => {
            return Err(broken_failure("exec", format!("a program of the chain ended with code {code}")));
        }
        None => return Err(broken_failure("exec", "a program of the chain was killed")),
    }
    let [started_ns, counted, ended_ns] = words;
    prove_count("programs started", counted, links)?;
    Ok(Stopwatch::from_stretch(started_ns, ended_ns))
}

/// Reads start, count and end.
fn read_words(result: &OwnedFd) -> Result<[u64; 3], Failure> {
    let mut bytes = [0u8; 24];
    let mut filled = 0;
    while filled < bytes.len() {
        match rustix::io::read(result, &mut bytes[filled..])
            .map_err(|e| broken_failure("reading the result", e))?
        {
            0 => return Err(broken_failure("exec", "the chain ended without a result")),
            read => filled += read,
        }
    }
    let word = |i: usize| u64::from_le_bytes(bytes[i * 8..i * 8 + 8].try_into().expect("eight bytes"));
    Ok([word(0), word(1), word(2)])
}

const EXIT_BAD_ARGUMENTS: i32 = 120;
const EXIT_BAD_PIPE: i32 = 121;
const EXIT_NO_EXEC: i32 = 122;

fn self_arguments(program: &Path, total: &str, done: u64, pipe: &str) -> Vec<OsString> {
    let done = done.to_string();
    vec![program.into(), EXEC.into(), total.into(), done.into(), pipe.into()]
}

/// Runs a link of the chain: the next exec, or the end. Returns only an exit code.
pub fn run_chain_link(program: &Path, rest: &[OsString]) -> i32 {
    let now = now_ns();
    let [total, done, pipe] = rest else { return EXIT_BAD_ARGUMENTS };
    let number = |text: &OsString| text.to_str().and_then(|t| t.parse::<u64>().ok());
    let (Some(total_links), Some(done)) = (number(total), number(done)) else { return EXIT_BAD_ARGUMENTS };
    let (Some(total), Some(pipe)) = (total.to_str(), pipe.to_str()) else { return EXIT_BAD_ARGUMENTS };
    if done < total_links {
        let arguments = self_arguments(program, total, done + 1, pipe);
        return Exec::new(program.as_os_str(), &arguments).map_or(EXIT_BAD_ARGUMENTS, |exec| exec.run());
    }
    let Ok(fd) = pipe.parse::<i32>() else { return EXIT_BAD_ARGUMENTS };
    let mut words = [0; 16];
    words[..8].copy_from_slice(&done.to_le_bytes());
    words[8..].copy_from_slice(&now.to_le_bytes());
    // SAFETY: the bytes live through the call; a wrong number is an error of write's.
    let written = unsafe { libc::write(fd, words.as_ptr().cast(), words.len()) };
    if written == 16 { 0 } else { EXIT_BAD_PIPE }
}

struct Exec {
    path: CString,
    arguments: Vec<CString>,
}

impl Exec {
    fn new(path: &OsStr, arguments: &[OsString]) -> Result<Exec, Failure> {
        let text = |text: &OsStr| CString::new(text.as_bytes()).map_err(|e| broken_failure("an argument", e));
        let arguments = arguments.iter().map(|a| text(a)).collect::<Result<_, _>>()?;
        Ok(Exec { path: text(path)?, arguments })
    }

    /// Becomes the program, and returns an exit code when that fails.
    fn run(&self) -> i32 {
        let mut pointers: Vec<_> = self.arguments.iter().map(|a| a.as_ptr()).collect();
        pointers.push(std::ptr::null());
        // SAFETY: the list ends with null and points to strings that live through the call; nothing in a
        // trial changes the environment.
        unsafe { libc::execv(self.path.as_ptr(), pointers.as_ptr()) };
        EXIT_NO_EXEC
    }
}

/// Recognises an ELF file that names an interpreter, which is a dynamic linker (elf(5)).
fn is_dynamic(path: &str) -> bool {
    const INTERPRETER: u32 = 3;
    let mut head = [0u8; 4096];
    let Ok(file) = rustix::fs::openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) else {
        return false;
    };
    let Ok(length) = rustix::io::read(&file, &mut head) else { return false };
    let head = &head[..length];
    let number = |at: usize, bytes: usize| {
        let bytes = head.get(at..at + bytes)?;
        Some(bytes.iter().rev().fold(0usize, |sum, &byte| sum << 8 | usize::from(byte)))
    };
    if !head.starts_with(b"\x7fELF\x02\x01") {
        return false;
    }
    let (Some(table), Some(size), Some(count)) = (number(32, 8), number(54, 2), number(56, 2)) else {
        return false;
    };
    (0..count).any(|i| number(table.saturating_add(i * size), 4) == Some(INTERPRETER as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probes::tests::take_turn;

    #[test]
    fn a_link_with_wrong_arguments_ends() {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        let program = Path::new("/no/such/program");
        assert_eq!(run_chain_link(program, &words(&["3"])), EXIT_BAD_ARGUMENTS);
        assert_eq!(run_chain_link(program, &words(&["3", "x", "9"])), EXIT_BAD_ARGUMENTS);
        assert_eq!(run_chain_link(program, &words(&["3", "1", "9"])), EXIT_NO_EXEC);
        assert_eq!(run_chain_link(program, &words(&["3", "3", "9999"])), EXIT_BAD_PIPE);
    }

    #[test]
    fn a_program_that_is_missing_fails_with_its_code() {
        let _turn = take_turn();
        let failure = chain(Path::new("/no/such/program"), &ExecTarget::Static, 2).unwrap_err();
        assert_eq!(failure.reason, "exec: the chain ended without a result");
    }
}
