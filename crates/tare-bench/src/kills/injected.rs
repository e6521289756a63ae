//! Injected faults: the n-th call of one kind fails, in the session's own process or in every process that it starts.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use tare_data::session::Ending;
use tare_record::read_session;

use crate::kills::count::Count;
use crate::kills::site::Site;

/// A session under a tracer is over by then.
const ENDS: Duration = Duration::from_secs(180);
/// Up to this every call fails once; later ones in steps that grow.
const EVERY: u32 = 12;
/// Calls of each process that are counted at most.
const LAST: u32 = 4_000;

/// System calls by strace's names, and the error that they end with.
pub const CALLS: [(&str, &str); 17] = [
    ("write", "ENOSPC"),
    ("write", "EIO"),
    ("write", "EINTR"),
    ("fdatasync", "EIO"),
    ("fsync", "EIO"),
    ("openat", "EMFILE"),
    ("openat", "ENOENT"),
    ("rename,renameat,renameat2", "EIO"),
    ("mkdir,mkdirat", "ENOSPC"),
    ("unlink,unlinkat,rmdir", "EIO"),
    ("clone,clone3,fork,vfork", "EAGAIN"),
    ("pipe2", "EMFILE"),
    ("execve", "ENOMEM"),
    ("connect", "ECONNREFUSED"),
    ("read", "EIO"),
    ("poll,ppoll", "EINTR"),
    ("flock", "ENOLCK"),
];

/// Whose calls fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The session's own process alone.
    Host,
    /// Every process: the session's, the agent's, the trials'.
    Everybody,
}

impl Whose {
    pub fn words(self) -> &'static str {
        match self {
            Whose::Host => "session",
            Whose::Everybody => "every process",
        }
    }
}

/// Checks that strace is installed.
pub fn is_possible() -> bool {
    let strace = Command::new("strace").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
    strace.is_ok_and(|status| status.success())
}

/// Has every `step`-th call fail, in one session each, until no process makes as many.
pub fn inject_failures(
    site: &Site<'_>,
    (calls, error): (&str, &str),
    whose: Whose,
    step: u32,
    count: &mut Count,
    report: &mut dyn FnMut(&str) -> io::Result<()>,
) -> io::Result<()> {
    let mut number = 1;
    while number <= LAST {
        let before = count.wrong.len();
        if !one(site, calls, error, whose, number, count)? {
            break;
        }
        count.tried += 1;
        let wrong = count.wrong[before..].join("; ");
        let words = if wrong.is_empty() { "nothing is wrong" } else { &wrong };
        report(&format!("{whose:?}: {calls} number {number} ends with {error}: {words}"))?;
        number += step * if number < EVERY { 1 } else { (number / 4).max(1) };
    }
    Ok(())
}

/// Runs one session; false where no process made as many calls.
fn one(
    site: &Site<'_>,
    calls: &str,
    error: &str,
    whose: Whose,
    number: u32,
    count: &mut Count,
) -> io::Result<bool> {
    let record = site.folder.join("injected.tare");
    let log = site.folder.join("strace.log");
    let said = site.folder.join("said");
    let page = site.folder.join("injected.html");
    for file in [&record, &log, &page] {
        let _ = fs::remove_file(file);
    }
    let mut command = Command::new("strace");
    command.args((whose == Whose::Everybody).then_some("-f")).args(["--seccomp-bpf", "-q"]);
    // Without -f there is nothing to filter by.
    if whose == Whose::Host {
        command = Command::new("strace");
        command.arg("-q");
    }
    command.args(["-e", &format!("trace=?{}", calls.replace(',', ",?"))]);
    let inject = calls.split(',').map(|call| format!("inject=?{call}:error={error}:when={number}"));
    inject.for_each(|inject| {
        command.args(["-e", &inject]);
    });
    command.arg("-o").arg(&log).arg(site.tare);
    command.args(["run", "--in", "native", "--place", "own", "--peer", "loopback", "--only", probes(calls)]);
    command.args(["--rounds", "2", "--json", "--scratch"]).arg(site.folder.join("scratch"));
    command.arg("--record").arg(&record).arg("--html").arg(&page);
    site.prepare_command(&mut command);
    let out = fs::File::create(&said)?;
    command.stdout(Stdio::null()).stderr(Stdio::from(out));
    let mut session = command.spawn()?;
    let status = site.finish_session(&mut session, None, ENDS, count)?;
    site.check_record(&record, count);
    if status.is_some_and(|status| status.success()) {
        count.wrong.extend(untrue(&record));
    }
    Ok(String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()).contains("(INJECTED)"))
}

/// Chooses the smallest session that makes such calls in more than its own process.
fn probes(calls: &str) -> &'static str {
    match calls {
        "connect" => "sys.getppid,net.rr",
        calls if calls.starts_with("rename") => "sys.getppid,file.meta",
        _ => "sys.getppid,file.sync",
    }
}

/// Explains why a session that seemed to end well did not.
fn untrue(record: &Path) -> Option<String> {
    let session = match read_session(record) {
        Ok(recording) => recording.session,
        Err(e) => return Some(format!("it ended well, but {e}")),
    };
    (session.ending != Ending::Complete).then(|| format!("it ended well, but {:?}", session.ending))
}
