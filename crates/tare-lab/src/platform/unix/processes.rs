//! Processes: finding those of a session by what they carry, and ending them and no other.

#![allow(unsafe_code, reason = "the standard library runs code between fork and exec only on promise")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, getppid, kill_process, pidfd_open, pidfd_send_signal,
    set_parent_process_death_signal, setsid,
};

pub(crate) use super::keeping::keep_descendants;
use super::views::Views;
use crate::owned::MARK;

/// Environment variable of programs that are better let finish: they write to a storage that others use too,
/// and leave it damaged when they are killed.
pub(crate) const FINISHES: &str = "TARE_FINISHES";

/// Programs that serve a container or a guest, outlive what started them and clear their environment. Only theirs is a
/// command line, or a folder that they stand in, that shows whose they are: anybody's may mention a session.
const SERVERS: [&str; 13] = [
    "conmon",
    "runsc",
    "runc",
    "crun",
    "youki",
    "slirp4netns",
    "pasta",
    "pasta.avx2",
    "passt",
    "passt.avx2",
    "linux",
    "linux.uml",
    "containerd-shim-runc-v2",
];

/// Time that such a program has: an engine makes an image in less than a second.
const FINISH_WAIT: Duration = Duration::from_secs(10);
/// Time in which a killed process must be gone; longer means that it hangs in the kernel.
const KILL_WAIT: Duration = Duration::from_secs(5);
/// Pause between two looks at dying processes.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// A process that mentions a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    pid: u32,
    started_ticks: u64,
    program: String,
}

impl Mention {
    fn of(pid: u32, started_ticks: u64) -> Mention {
        let program = file_name(&fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default());
        Mention { pid, started_ticks, program }
    }

    pub fn is_alive(&self) -> bool {
        let stat = Stat::of(self.pid);
        stat.is_some_and(|stat| !stat.dead && stat.started_ticks == self.started_ticks)
    }
}

impl fmt::Display for Mention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.pid, self.program)
    }
}

/// Flag of a thread of the kernel, PF_KTHREAD.
const KERNEL_THREAD: u64 = 0x0020_0000;
/// Bytes of a process's stat, which are fewer, and of its environment or mounts, which are rarely more.
const STAT_BYTES: usize = 1 << 10;
const USUAL_BYTES: usize = 16 << 10;

/// A process as /proc/PID/stat has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    parent: u32,
    /// True for a thread of the kernel, which never belongs to a session.
    is_kernel: bool,
    /// `Z` and `X` are dead already: only their parent can remove them.
    dead: bool,
    /// True when it belongs to a terminal, and thus perhaps to a person.
    terminal: bool,
    started_ticks: u64,
    /// Processor time of its own, and of the children that it has waited for.
    used_ticks: [u64; 2],
}

impl Stat {
    fn parse(text: &str) -> Option<Stat> {
        // The name in parentheses may hold anything, parentheses and spaces too.
        let fields: Vec<&str> = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace().collect();
        let number = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
        Some(Stat {
            dead: matches!(*fields.first()?, "Z" | "X"),
            parent: fields.get(1)?.parse().ok()?,
            // A process whose flags cannot be read is treated like any other.
            is_kernel: fields.get(6)?.parse::<u64>().is_ok_and(|flags| flags & KERNEL_THREAD != 0),
            terminal: *fields.get(4)? != "0",
            started_ticks: fields.get(19)?.parse().ok()?,
            used_ticks: [11, 13].map(|user| number(user).saturating_add(number(user + 1))),
        })
    }

    fn of(pid: u32) -> Option<Stat> {
        Stat::parse(&String::from_utf8_lossy(&read_file(pid, "stat", STAT_BYTES)?))
    }
}

/// Reads a file of a process, in one read where it has fewer bytes than are usual: every start of an environment looks at all
/// processes.
fn read_file(pid: u32, name: &str, usual: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usual);
    let mut file = fs::File::open(format!("/proc/{pid}/{name}")).ok()?;
    file.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Reads when a process was started, in ticks since boot; distinguishes it from a later one with the same
/// number.
pub(crate) fn started_ticks(pid: u32) -> Option<u64> {
    Stat::of(pid).map(|stat| stat.started_ticks)
}

/// Reads when a process was started, and the processor time of its own and of the children that it has waited for, in ticks.
pub(crate) fn read_ticks(pid: u32) -> Option<(u64, [u64; 2])> {
    Stat::of(pid).map(|stat| (stat.started_ticks, stat.used_ticks))
}

/// By what the processes of a session, or of one start in it, are known.
#[derive(Clone, Debug)]
pub struct Signs {
    /// Value of `MARK`: equal to it, or going on with `/`.
    pub mark: String,
    /// The scratch folder: a process whose program or root is there, that sees files through layers there, or one of `SERVERS` that
    /// stands in it or was started with it.
    pub folder: PathBuf,
    /// The name that is given to containers and the like: one of `SERVERS` that was started with it, or with a name
    /// that begins with it and `-`.
    pub name: String,
    /// Programs whose processes are none of those.
    pub spared: Vec<PathBuf>,
    /// Processes by number and start time; their descendants count too.
    pub roots: Vec<(u32, u64)>,
}

impl Signs {
    /// Knows a process and its descendants, and nothing else.
    pub fn from_descent(pid: u32) -> Signs {
        let roots = started_ticks(pid).map(|started_ticks| (pid, started_ticks)).into_iter().collect();
        Signs {
            mark: "no session".to_owned(),
            folder: "/no/session".into(),
            name: String::new(),
            spared: Vec::new(),
            roots,
        }
    }

    /// Finds living processes that carry a sign, and their descendants; never this one nor its ancestors.
    pub fn find_processes(&self) -> BTreeMap<u32, u64> {
        let mut found = self.find_signed();
        found.retain(|pid, _| !runs_one_of(*pid, &self.spared));
        found
    }

    /// Finds those that carry a sign, and are spared.
    pub fn find_spared(&self) -> Vec<Mention> {
        let found = if self.spared.is_empty() { BTreeMap::new() } else { self.find_signed() };
        let spared = found.iter().filter(|(pid, _)| runs_one_of(**pid, &self.spared));
        spared.map(|(pid, started_ticks)| Mention::of(*pid, *started_ticks)).collect()
    }

    fn find_signed(&self) -> BTreeMap<u32, u64> {
        let mut all = all();
        // Taken out before descendants are looked for: the other children of this process are not meant.
        lineage(&all).iter().for_each(|pid| {
            all.remove(pid);
        });
        let mut views = Views::new(&self.folder);
        let mut found: BTreeSet<u32> = all
            .iter()
            .filter(|(pid, stat)| self.fits(**pid, stat, &mut views))
            .map(|(pid, _)| *pid)
            .collect();
        // Descendants: as many passes as the tree is deep, and it cannot be deeper than it has members.
        loop {
            let before = found.len();
            found.extend(
                all.iter().filter(|(_, s)| found.contains(&s.parent)).map(|(p, _)| *p).collect::<Vec<_>>(),
            );
            if found.len() == before {
                break;
            }
        }
        found
            .into_iter()
            .filter_map(|pid| all.get(&pid).filter(|s| !s.dead).map(|s| (pid, s.started_ticks)))
            .collect()
    }

    fn fits(&self, pid: u32, stat: &Stat, views: &mut Views) -> bool {
        if stat.is_kernel {
            return false;
        }
        if self.roots.contains(&(pid, stat.started_ticks)) {
            return true;
        }
        if read_file(pid, "environ", USUAL_BYTES).is_some_and(|environment| self.marked(&environment)) {
            return true;
        }
        let link = |name: &str| fs::read_link(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let (program, lives) = (link("exe"), |path: &Path| path.starts_with(&self.folder));
        lives(&program)
            || lives(&link("root"))
            || views.has(pid)
            || SERVERS.contains(&file_name(&program).as_str()) && self.mentioned(pid, stat)
    }

    /// Recognises a process in the folder, or one started with its path or name. Processes that tare starts
    /// have no terminal, as a person's shell and pager have.
    fn mentioned(&self, pid: u32, stat: &Stat) -> bool {
        let stands =
            || fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|path| path.starts_with(&self.folder));
        let line = || fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| self.called(&line));
        !stat.terminal && (stands() || line())
    }

    /// Finds living processes that mention the session and carry no sign of it.
    pub fn find_mentions(&self) -> Vec<Mention> {
        let (mut all, found) = (all(), self.find_signed());
        lineage(&all).iter().for_each(|pid| {
            all.remove(pid);
        });
        let others = all.iter().filter(|(pid, stat)| !stat.dead && !found.contains_key(pid));
        let mentioned = others.filter(|(pid, stat)| self.mentioned(**pid, stat));
        mentioned.map(|(pid, stat)| Mention::of(*pid, stat.started_ticks)).collect()
    }

    /// Checks a command line for the session's name.
    fn called(&self, line: &[u8]) -> bool {
        let folder = self.folder.as_os_str().as_bytes();
        contains(line, folder, b"-_.") || contains(line, self.name.as_bytes(), b"")
    }

    fn marked(&self, environment: &[u8]) -> bool {
        environment.split(|&b| b == 0).any(|variable| {
            variable
                .strip_prefix(MARK.as_bytes())
                .and_then(|rest| rest.strip_prefix(b"="))
                .and_then(|value| value.strip_prefix(self.mark.as_bytes()))
                .is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
        })
    }

    /// Kills what carries a sign until nothing does. Returns the numbers of those killed, and of those left.
    pub fn kill_processes(&self) -> (Vec<u32>, Vec<u32>) {
        let began = Instant::now();
        let mut killed = BTreeSet::new();
        loop {
            let found = self.find_processes();
            if found.is_empty() {
                return (killed.into_iter().collect(), Vec::new());
            }
            let waits = began.elapsed() < FINISH_WAIT;
            // A root is the last: its children would go on unseen once it is dead.
            let is_root = |(pid, started): (&u32, &u64)| self.roots.contains(&(*pid, *started));
            let spares_roots = began.elapsed() < KILL_WAIT / 2 && !found.iter().all(is_root);
            let (patient, doomed): (Vec<_>, Vec<_>) =
                found.iter().partition(|(pid, _)| waits && finishes(**pid));
            for (&pid, &started_ticks) in doomed.into_iter().filter(|one| !spares_roots || !is_root(*one)) {
                // A process that is gone by now, or not ours to kill, shows in the next look.
                if kill_same_process(pid, started_ticks).is_ok() {
                    killed.insert(pid);
                }
            }
            if patient.is_empty() && began.elapsed() > if waits { KILL_WAIT } else { FINISH_WAIT + KILL_WAIT }
            {
                return (killed.into_iter().collect(), found.into_keys().collect());
            }
            thread::sleep(LOOK_AGAIN);
        }
    }
}

/// Tells whether a process runs one of these files: not another one of its name, nor a copy of it in a layer.
pub(crate) fn runs_one_of(pid: u32, programs: &[PathBuf]) -> bool {
    let file = |path: &Path| fs::metadata(path).ok().map(|about| (about.dev(), about.ino()));
    let runs = |own: (u64, u64)| programs.iter().any(|program| file(program) == Some(own));
    !programs.is_empty() && file(Path::new(&format!("/proc/{pid}/exe"))).is_some_and(runs)
}

/// Kills a process if it is still the one that was started then.
pub fn kill_same_process(pid: u32, started: u64) -> io::Result<()> {
    let number = Pid::from_raw(pid as i32).ok_or(io::ErrorKind::InvalidInput)?;
    let same = || started_ticks(pid) == Some(started);
    match pidfd_open(number, PidfdFlags::empty()) {
        // The descriptor holds on to the process: after the check the number cannot change its owner.
        Ok(process) if same() => Ok(pidfd_send_signal(process, Signal::KILL)?),
        // Kernels before 5.3, and WSL1, have no such descriptors.
        Err(rustix::io::Errno::NOSYS) if same() => Ok(kill_process(number, Signal::KILL)?),
        _ => Ok(()),
    }
}

/// Gives a command a session of its own (no terminal, no Ctrl-C) and lets it die with the thread that
/// starts it.
pub fn die_with_parent(command: &mut Command) {
    let begin = || {
        setsid()?;
        prefer_to_kill();
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
    unsafe { command.pre_exec(begin) };
    end_with_parent(command);
}

/// Lets a command die with the thread that starts it.
pub(crate) fn end_with_parent(command: &mut Command) {
    let parent = getpid();
    let prepare = move || -> io::Result<()> {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // A parent that died before that call sends no signal.
        if getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
    };
    // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
    unsafe { command.pre_exec(prepare) };
}

/// Has the kernel, where memory runs out, kill this process before the one that started it and tells of it.
fn prefer_to_kill() {
    const BEFORE_OTHERS: &[u8] = b"500";
    // If /proc does not allow it, the kernel ends the largest process.
    if let Ok(file) =
        rustix::fs::open(c"/proc/self/oom_score_adj", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
    {
        let _ = rustix::io::write(&file, BEFORE_OTHERS);
    }
}

/// Lets a command inherit these descriptors, under their numbers.
pub(crate) fn pass_on(command: &mut Command, descriptors: &[i32]) {
    let descriptors = descriptors.to_vec();
    let prepare = move || {
        descriptors.iter().try_for_each(|descriptor| {
            // SAFETY: whoever starts the command has it open until then.
            let descriptor = unsafe { BorrowedFd::borrow_raw(*descriptor) };
            Ok(fcntl_setfd(descriptor, FdFlags::empty())?)
        })
    };
    // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
    unsafe { command.pre_exec(prepare) };
}

/// Guarantee that a process ends with this one: here by the kernel, as [`die_with_parent`] asked it to.
#[derive(Debug)]
pub(crate) struct Kept;

impl Kept {
    /// Does nothing: remaining processes are found by their signs.
    pub(crate) fn end_remaining(&self) {}
}

/// Longest wait for a program that was just written: what another thread forked meanwhile holds it open until its own exec, which a busy
/// machine puts off.
const BUSY: Duration = Duration::from_secs(2);

/// Starts a command that ends with this process.
pub(crate) fn start_command(command: &mut Command) -> io::Result<(Child, Kept)> {
    Ok((spawn_program(command)?, Kept))
}

/// Spawns a program, also one that was written a moment ago.
pub(crate) fn spawn_program(command: &mut Command) -> io::Result<Child> {
    let end = Instant::now() + BUSY;
    loop {
        match command.spawn() {
            Err(e) if e.kind() == io::ErrorKind::ExecutableFileBusy && Instant::now() < end => {
                thread::sleep(LOOK_AGAIN);
            }
            started => return started,
        }
    }
}

fn all() -> BTreeMap<u32, Stat> {
    let Ok(entries) = fs::read_dir("/proc") else { return BTreeMap::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid: u32| Some((pid, Stat::of(pid)?)))
        .collect()
}

/// Collects this process and its ancestors.
fn lineage(all: &BTreeMap<u32, Stat>) -> BTreeSet<u32> {
    let mut line = BTreeSet::new();
    let mut pid = std::process::id();
    // A number that comes again ends the walk, whatever /proc holds.
    while line.insert(pid) {
        match all.get(&pid) {
            Some(stat) => pid = stat.parent,
            None => break,
        }
    }
    line
}

/// Finds a whole word in this text: no letter, digit or one of `more` follows it.
fn contains(text: &[u8], word: &[u8], more: &[u8]) -> bool {
    let ends = |next: &u8| !next.is_ascii_alphanumeric() && !more.contains(next);
    !word.is_empty()
        && text
            .windows(word.len())
            .enumerate()
            .any(|(at, window)| window == word && text.get(at + word.len()).is_none_or(ends))
}

/// Returns the file name of a process's program; empty where it could not be read.
fn file_name(program: &Path) -> String {
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // So the kernel names a file that was replaced since.
    name.strip_suffix(" (deleted)").unwrap_or(&name).to_owned()
}

/// Recognises processes that should be left to finish.
fn finishes(pid: u32) -> bool {
    let variable = [FINISHES.as_bytes(), b"="].concat();
    read_file(pid, "environ", USUAL_BYTES)
        .is_some_and(|environment| environment.split(|&b| b == 0).any(|each| each.starts_with(&variable)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signs(mark: &str) -> Signs {
        Signs {
            mark: mark.to_owned(),
            folder: "/var/tmp/tare-a1".into(),
            name: "tare-a1".into(),
            spared: Vec::new(),
            roots: Vec::new(),
        }
    }

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let text = |flags: u64| {
            format!("7 (a) b (c)) S 1 7 7 34816 7 {flags} 0 0 0 0 1 20 300 4000{} 4242 0 0", " 0".repeat(4))
        };
        let stat = Stat {
            parent: 1,
            is_kernel: false,
            dead: false,
            terminal: true,
            started_ticks: 4242,
            used_ticks: [21, 4300],
        };
        assert_eq!(Stat::parse(&text(4_194_560)), Some(stat));
        assert_eq!(Stat::parse(&text(69_238_880)), Some(Stat { is_kernel: true, ..stat }));
        let unread = text(0).replace(" 34816 7 0", " 34816 7 -");
        assert_eq!(Stat::parse(&unread), Some(stat));
        assert_eq!(Stat::parse("7 (a"), None);
        assert_eq!(Stat::parse("7 (a) S 1"), None);
    }

    #[test]
    fn a_mark_is_the_whole_session_or_one_start_of_it() {
        let environment = b"PATH=/bin\0TARE_SESSION=a1/00002\0";
        assert!(signs("a1").marked(environment));
        assert!(signs("a1/00002").marked(environment));
        assert!(!signs("a1/0000").marked(environment));
        assert!(!signs("a").marked(environment));
        assert!(!signs("a1").marked(b"NOT_TARE_SESSION=a1\0"));
    }

    #[test]
    fn a_command_speaks_of_the_session_by_its_folder_or_name() {
        let called = |line: &[u8]| signs("a1").called(line);
        assert!(called(b"runsc\0--root=/var/tmp/tare-a1/1\0"));
        assert!(called(b"root=/var/tmp/tare-a1"));
        assert!(called(b"conmon\0-n\0tare-a1-00000\0"));
        assert!(!called(b"/var/tmp/tare-a11/x"));
        assert!(!called(b"conmon\0-n\0tare-a11-00000\0"));
        assert!(!called(b"a1"));
        let start = Signs { name: "tare-a1-00001".into(), folder: "/s/tare-a1/00001".into(), ..signs("") };
        assert!(start.called(b"-n tare-a1-00001") && !start.called(b"-n tare-a1-00002"));
        assert!(start.called(b"/s/tare-a1/00001/x") && !start.called(b"/s/tare-a1/00001.x"));
    }

    #[test]
    fn this_process_and_its_ancestors_are_never_found() {
        let own = std::process::id();
        let parent = Stat::of(own).unwrap().parent;
        let roots = vec![(own, started_ticks(own).unwrap()), (parent, started_ticks(parent).unwrap())];
        let found = Signs { roots, ..signs("no such session") }.find_processes();
        assert!(!found.contains_key(&own) && !found.contains_key(&parent));
    }
}
