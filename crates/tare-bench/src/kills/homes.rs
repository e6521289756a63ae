//! Two nodes that share a home: a session on each, of which one is killed at a random moment and cleaned up after. Nothing of the
//! other's, which lives, may be taken away.
//!
//! A node is a mount namespace with a view of the home, and a host name. In every other try locks reach from nobody to nobody,
//! as on file systems that keep them to one node.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use tare_data::generator::Generator;
use tare_data::session::Ending;

use crate::kills::{remains, site};

const NODES: [&str; 2] = ["node-a", "node-b"];
/// Moments are drawn from this time in ms, in which a session goes through its first starts and some trials.
const SPAN_MS: u64 = 1_500;
/// Rounds of a session: enough for it to outlive the other and the cleaning.
const ROUNDS: &str = "16";
/// Time in which the other session must end.
const ENDS_WITHIN: Duration = Duration::from_secs(120);

/// Tries on two nodes.
pub struct Homes<'a> {
    pub tare: &'a Path,
    /// An empty folder on a disk.
    pub folder: &'a Path,
    pub environment: &'a str,
    pub tries: u32,
    pub seed: u64,
}

/// Outcome of all tries.
#[derive(Debug, Default)]
pub struct Tally {
    pub tries: u32,
    /// Tries in which the killed session is known to have made something: the owner of a thing follows from
    /// the other's record.
    pub made: u32,
    /// Tries in which the other session still ran when all was cleaned.
    pub lived: u32,
    pub wrong: Vec<String>,
}

/// A node: a process holds its namespaces.
struct Node {
    name: &'static str,
    holder: Child,
}

impl Node {
    fn start(folder: &Path, name: &'static str) -> io::Result<Node> {
        // Another machine has another boot: a name alone may have been changed.
        let script = "hostname \"$1\" && mount --bind home view && echo \"$1\" >\"boot-$1\" && \
                      mount --bind \"boot-$1\" /proc/sys/kernel/random/boot_id && echo ready && exec cat";
        let mut holder = Command::new("unshare");
        holder.args(["--mount", "--uts", "sh", "-c", script, "sh", name]).current_dir(folder);
        let mut holder = holder.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        if let Some(out) = &mut holder.stdout {
            BufReader::new(out).read_line(&mut line)?;
        }
        let node = Node { name, holder };
        if line.trim() == "ready" { Ok(node) } else { Err(io::Error::other("no namespaces: are you root?")) }
    }

    /// Builds the command of the program there, with its home in the view. The process is the program itself.
    fn tare(&self, homes: &Homes<'_>, words: &[&str], has_locks: bool) -> Command {
        let mut command = Command::new("nsenter");
        let target = format!("--target={}", self.holder.id());
        command.args([&target, "--mount", "--uts", "--"]).arg(homes.tare).args(words).stdin(Stdio::null());
        let view = homes.folder.join("view");
        for (variable, folder) in [("HOME", ""), ("XDG_STATE_HOME", "state"), ("XDG_CACHE_HOME", "cache")] {
            command.env(variable, view.join(folder));
        }
        if !has_locks {
            // SAFETY: it makes one system call and allocates nothing.
            unsafe { command.pre_exec(grant_every_lock) };
        }
        command
    }

    fn session(&self, homes: &Homes<'_>, has_locks: bool) -> io::Result<Child> {
        let view = homes.folder.join("view");
        let scratch = view.join("scratch").display().to_string();
        let record = view.join(self.record()).display().to_string();
        let what =
            ["run", "--in", homes.environment, "--only", "sys.getppid,file.sync", "--place", "own", "--json"];
        let words = [&what[..], &["--rounds", ROUNDS, "--scratch", &scratch, "--record", &record]].concat();
        self.tare(homes, &words, has_locks).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()
    }

    fn record(&self) -> String {
        format!("{}.tare", self.name)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

impl Homes<'_> {
    /// Runs all tries. `report` is given a line for every try, and ends it all with an error.
    pub fn run_tries(&self, report: &mut dyn FnMut(&str) -> io::Result<()>) -> io::Result<Tally> {
        for name in ["home/state", "home/scratch", "view"] {
            fs::create_dir_all(self.folder.join(name))?;
        }
        let nodes = [Node::start(self.folder, NODES[0])?, Node::start(self.folder, NODES[1])?];
        let mut generator = Generator::for_part(self.seed, "homes");
        let mut tally = Tally::default();
        for number in 0..self.tries {
            let (dies, after_ms) = (generator.draw_below(2) as usize, generator.draw_below(SPAN_MS));
            let has_locks = number % 2 == 0;
            let wrong = self.attempt([&nodes[dies], &nodes[1 - dies]], after_ms, has_locks, &mut tally)?;
            tally.tries += 1;
            let locks = if has_locks { "" } else { ", without locks" };
            let what = format!("{} killed after {after_ms} ms{locks}", nodes[dies].name);
            let words = if wrong.is_empty() { "the other's is whole".to_owned() } else { wrong.join("; ") };
            report(&format!("{:3} of {}  {what}: {words}", number + 1, self.tries))?;
            tally.wrong.extend(wrong.iter().map(|wrong| format!("try {}, {what}: {wrong}", number + 1)));
        }
        Ok(tally)
    }

    /// Runs one try and describes its faults.
    fn attempt(
        &self,
        [dies, lives]: [&Node; 2],
        after_ms: u64,
        has_locks: bool,
        tally: &mut Tally,
    ) -> io::Result<Vec<String>> {
        let home = self.folder.join("home");
        [dies, lives].iter().for_each(|node| drop(fs::remove_file(home.join(node.record()))));
        let (mut dying, mut living) = (dies.session(self, has_locks)?, lives.session(self, has_locks)?);
        thread::sleep(Duration::from_millis(after_ms));
        dying.kill()?;
        dying.wait()?;
        let machine = |node: &Node| {
            tare_record::read_header(&home.join(node.record()))
                .and_then(|header| Some(header.identity?.machine))
        };
        let (before, of_living) = (journals(&home), machine(lives));
        let is_living = |journal: &&Journal| Some(&journal.machine) == of_living.as_ref();
        tally.made += u32::from(of_living.is_some() && before.iter().any(|journal| !is_living(&journal)));
        let mut wrong = self.clean(dies, has_locks)?;
        if living.try_wait()?.is_none() {
            tally.lived += u32::from(of_living.is_some());
            let after = journals(&home);
            let scratch = |journal: &Journal| home.join("scratch").join(&journal.session).exists();
            let taken = before.iter().filter(is_living).filter(|own| !after.contains(own) || !scratch(own));
            // A session that has written its end takes its things away itself.
            let taken: Vec<&Journal> = taken.filter(|_| !has_ended(&home.join(lives.record()))).collect();
            wrong.extend(taken.iter().map(|own| format!("{} was taken away", own.session)));
        }
        let ended = site::wait_for_end(&mut living, ENDS_WITHIN)?;
        if !ended.is_some_and(|status| status.success()) {
            let said = living.wait_with_output()?.stderr;
            wrong.push(format!("the other ended with {ended:?}: {}", String::from_utf8_lossy(&said).trim()));
        }
        wrong.extend(damage(&home.join(lives.record())));
        wrong.extend(self.clean(lives, has_locks)?);
        let sessions = before.iter().map(|journal| journal.session.clone()).collect();
        wrong.extend(remains::list_remains(&home, &sessions));
        Ok(wrong)
    }

    /// Cleans on a node, as the next session there would.
    fn clean(&self, node: &Node, has_locks: bool) -> io::Result<Vec<String>> {
        let cleaned = node.tare(self, &["clean"], has_locks).output()?;
        let said = String::from_utf8_lossy(&cleaned.stdout);
        Ok((!cleaned.status.success()).then(|| format!("tare clean: {}", said.trim())).into_iter().collect())
    }
}

/// A journal by its name, which has the session and its machine.
#[derive(Debug, PartialEq, Eq)]
struct Journal {
    /// As its folder is called.
    session: String,
    machine: String,
}

fn journals(home: &Path) -> Vec<Journal> {
    let files = fs::read_dir(home.join("state/tare")).into_iter().flatten().flatten();
    let journal = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.strip_suffix(".journal")?.to_owned();
        let (session, machine) = name.split_once('.')?;
        Some(Journal { session: format!("tare-{session}"), machine: machine.to_owned() })
    };
    files.filter_map(|file| journal(file.path())).collect()
}

/// Tells whether a session has written its end, after which it takes its things away.
fn has_ended(record: &Path) -> bool {
    tare_record::read_session(record).is_ok_and(|recording| recording.session.ending == Ending::Complete)
}

/// Describes the gaps in an undisturbed session's record.
fn damage(record: &Path) -> Option<String> {
    let session = match tare_record::read_session(record) {
        Ok(recording) => recording.session,
        Err(e) => return Some(format!("the other's record: {e}")),
    };
    if session.ending != Ending::Complete {
        return Some(format!("the other's record has its end as {:?}", session.ending));
    }
    let failed = session.trials.iter().find_map(|trial| trial.failure.as_ref());
    failed.map(|failure| format!("a trial of the other's failed: {failure}"))
}

/// Has this process and all that it starts be granted every lock of flock(2), held by others or not.
fn grant_every_lock() -> io::Result<()> {
    const fn statement(code: u32, k: u32) -> libc::sock_filter {
        libc::sock_filter { code: code as u16, jt: 0, jf: 0, k }
    }
    let mut filter = [
        // The number of the call comes first in `struct seccomp_data`.
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0),
        libc::sock_filter {
            jf: 1,
            ..statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, libc::SYS_flock as u32)
        },
        // An error of number 0 is success.
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO),
        statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the program lives until the kernel has copied it.
    match unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
