//! Remains of sessions, wherever tare or the tools it enters by may have left them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// Beginning of every name that a session gives.
const PREFIX: &str = "tare-";
/// Folders in which runtimes keep the states of containers, one entry each.
const STATES: [&str; 9] = [
    "/run/firejail/name",
    "/run/firejail/profile",
    "/run/runsc",
    "/run/runc",
    "/run/crun",
    "/run/netns",
    "/run/tare-netns",
    "/var/lib/containers/storage/overlay",
    "/var/lib/containers/storage/overlay-containers",
];
/// Folders for temporary files of engines and runtimes.
const MOMENTARY: [&str; 2] = ["/var/tmp", "/tmp"];
const MOMENTARY_NAMES: [&str; 10] = [
    "storage",
    "buildah",
    "libpod",
    "podman",
    "container_images",
    "runsc",
    "srt",
    "claude",
    "codex",
    "firejail",
];
/// Time in which helpers end by themselves, as one of Podman's does that clears up after a container, and the pause between two looks.
const HELPERS_END: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(50);
/// Time after which temporary files of others are gone.
const SETTLES: Duration = Duration::from_secs(1);

/// Lists the sessions that worked in this folder and were not cleaned up after.
pub fn list_uncleaned_sessions(folder: &Path) -> BTreeSet<String> {
    let journals = list_paths(&folder.join("state/tare")).into_iter().filter_map(|path| {
        let id = path.file_name()?.to_str()?.split('.').next()?.to_owned();
        path.extension().is_some_and(|ending| ending == "journal").then(|| format!("{PREFIX}{id}"))
    });
    let folders = list_paths(&folder.join("scratch"));
    let folders = folders.iter().filter_map(|path| Some(path.file_name()?.to_str()?.to_owned()));
    journals.chain(folders.filter(|name| name.starts_with(PREFIX))).collect()
}

/// Lists the remains of these sessions that stay.
pub fn list_remains(folder: &Path, sessions: &BTreeSet<String>) -> Vec<String> {
    let end = Instant::now() + HELPERS_END;
    loop {
        let left = look_for_remains(folder, sessions);
        if left.is_empty() || Instant::now() > end {
            return left;
        }
        thread::sleep(LOOK);
    }
}

fn look_for_remains(folder: &Path, sessions: &BTreeSet<String>) -> Vec<String> {
    let whose = Whose { folder, sessions };
    let mut left: Vec<String> = Vec::new();
    let scratch = list_paths(&folder.join("scratch"));
    // Journals are there when a lock in the usual folder was refused.
    let (apart, scratch): (Vec<_>, Vec<_>) = scratch.into_iter().partition(|path| is_state_folder(path));
    let journals = apart.iter().flat_map(|folder| list_paths(folder));
    let files = list_paths(&folder.join("state/tare")).into_iter().chain(scratch).chain(journals);
    // The list of sessions that began here is kept.
    let files = files.filter(|path| !path.ends_with("begun"));
    left.extend(files.map(|path| format!("file {}", path.display())));
    left.extend(processes().into_iter().filter(|(_, words)| whose.meant(words)).map(|(process, _)| process));
    let named = mounts().into_iter().chain(states()).chain(loop_devices()).chain(control_groups());
    left.extend(named.chain(containers()).filter(|thing| whose.meant(thing)));
    left
}

/// Recognises the folder of journals in a scratch folder.
fn is_state_folder(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("tare-state-"))
}

/// Counts the processes and the mounts of these sessions.
pub fn count_remains(folder: &Path, sessions: &BTreeSet<String>) -> (u64, u64) {
    let whose = Whose { folder, sessions };
    let processes = processes().into_iter().filter(|(_, words)| whose.meant(words)).count();
    (processes as u64, mounts().iter().filter(|mount| whose.meant(mount)).count() as u64)
}

/// Recognises remains of the sessions.
struct Whose<'a> {
    folder: &'a Path,
    sessions: &'a BTreeSet<String>,
}

impl Whose<'_> {
    fn meant(&self, text: &str) -> bool {
        let scratch = self.folder.join("scratch");
        let id = |name: &String| format!("TARE_SESSION={}", name.trim_start_matches(PREFIX));
        text.contains(scratch.to_string_lossy().as_ref())
            || self.sessions.iter().any(|name| text.contains(name.as_str()) || text.contains(&id(name)))
    }
}

/// Everything on the machine that sessions could have made, no matter by whom.
pub struct Machine(BTreeSet<String>);

impl Machine {
    pub fn now() -> Machine {
        let all = mounts().into_iter().chain(states()).chain(loop_devices()).chain(control_groups());
        Machine(all.chain(interfaces()).chain(containers()).chain(momentary()).collect())
    }

    /// Lists everything that has come since, and stays.
    pub fn new_since(&self, sessions: &BTreeSet<String>) -> Vec<String> {
        // Remains with another session's name have been looked for by that name, or are somebody else's.
        let named =
            |thing: &String| thing.contains(PREFIX) && !sessions.iter().any(|name| thing.contains(name));
        let new = |now: &Machine| now.0.difference(&self.0).cloned().collect::<BTreeSet<String>>();
        let first = new(&Machine::now());
        if first.is_empty() {
            return Vec::new();
        }
        thread::sleep(SETTLES);
        new(&Machine::now())
            .intersection(&first)
            .filter(|thing| !named(thing))
            .map(|thing| format!("new: {thing}"))
            .collect()
    }
}

/// Lists living processes by number and command line, each with everything that could identify its owner.
fn processes() -> Vec<(String, String)> {
    let pids = list_paths(Path::new("/proc")).into_iter();
    pids.filter_map(|path| {
        let pid: u32 = path.file_name()?.to_str()?.parse().ok()?;
        let text = |file: &str| {
            let bytes = fs::read(path.join(file)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).replace('\0', "\n")
        };
        let link = |file: &str| fs::read_link(path.join(file)).unwrap_or_default().display().to_string();
        let line = text("cmdline");
        let named = format!("process {pid}: {}", line.replace('\n', " ").trim());
        let words = [text("environ"), line, link("exe"), link("cwd"), link("root")];
        (pid != std::process::id()).then(|| (named, words.join("\n")))
    })
    .collect()
}

fn mounts() -> Vec<String> {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    // The numbers in front are another's next time.
    table.lines().map(|line| format!("mount {}", line.splitn(5, ' ').last().unwrap_or_default())).collect()
}

fn states() -> Vec<String> {
    let all = STATES.iter().flat_map(|folder| list_paths(Path::new(folder)));
    all.map(|path| format!("state {}", path.display())).collect()
}

fn interfaces() -> Vec<String> {
    list_paths(Path::new("/sys/class/net"))
        .iter()
        .map(|path| format!("network device {}", path.display()))
        .collect()
}

fn loop_devices() -> Vec<String> {
    let devices = list_paths(Path::new("/sys/block")).into_iter();
    let files = devices.filter_map(|device| {
        let file = fs::read_to_string(device.join("loop/backing_file")).ok()?;
        Some(format!("loop device {} on {}", device.display(), file.trim()))
    });
    files.collect()
}

/// Lists control groups to a depth of two below each hierarchy, where runtimes make theirs.
fn control_groups() -> Vec<String> {
    let mut all: Vec<PathBuf> = Vec::new();
    let mut level = vec![PathBuf::from("/sys/fs/cgroup")];
    for _ in 0..4 {
        let below = level
            .iter()
            .flat_map(|folder| list_paths(folder))
            .filter(|path| path.is_dir() && !path.is_symlink());
        level = below.collect();
        all.extend(level.iter().cloned());
    }
    all.iter().map(|path| format!("control group {}", path.display())).collect()
}

/// Lists the containers and images that podman knows.
fn containers() -> Vec<String> {
    let ask = |what: &str, words: &[&str]| -> Vec<String> {
        let said =
            Command::new("podman").args(words).output().map(|output| output.stdout).unwrap_or_default();
        String::from_utf8_lossy(&said).lines().map(|line| format!("{what} {line}")).collect()
    };
    let mut all = ask("container", &["ps", "--all", "--external", "--format", "{{.Names}}"]);
    all.extend(ask("image", &["images", "--all", "--format", "{{.Repository}} {{.Id}}"]));
    all
}

fn momentary() -> Vec<String> {
    let all = MOMENTARY.iter().flat_map(|folder| list_paths(Path::new(folder)));
    let named = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        MOMENTARY_NAMES.iter().any(|beginning| name.starts_with(beginning))
    };
    all.filter(named).map(|path| format!("file {}", path.display())).collect()
}

/// Lists the paths in a folder; none where there is no such folder.
pub fn list_paths(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}
