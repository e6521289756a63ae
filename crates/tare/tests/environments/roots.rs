//! This machine's programs inside environments: they run, and their changes are discarded.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tare_bench::programs::copy_program;
use tare_data::failure::FailureKind;
use tare_lab::environments;
use tare_lab::host::programs::Programs;
use tare_lab::ownership::clean::{Outcome, remove_leftovers, remove_unnamed};
use tare_lab::ownership::workspace::{SessionWorkspace, Setting};
use tare_lab::provider::root::{Inside, RootFolder, Work};
use tare_lab::storage::places::Wanted;

use crate::bench::actor::Actor;
use crate::bench::{Bench, Spoken, find_programs, parse_if_ready};

/// Script that tries to change files in ways that would be visible on the host. `@` is the work folder. It
/// runs twice.
const PAYLOAD: &str = "set -e; cd @; ls / >/dev/null; test -e seen; rm -f /etc/debian_version; \
    echo x >/etc/hostname; test $(cat /etc/hostname) = x; touch /root/tare-trap /usr/bin/tare-trap /tare-trap; \
    echo z >w; test $(cat w) = z; mkdir -p folder; rm -rf moved; mv folder moved; \
    echo y >/tmp/tare-trap; echo s >/dev/shm/tare-trap; echo n >/dev/null; head -c 8 /dev/urandom >/dev/null; \
    test -d /proc/self/fd; test -e /dev/stdin; test -e /dev/ptmx; test -d /sys/class; \
    test ! -e /etc/debian_version; ls -l w /usr/bin/tare-trap >/dev/null; test -x /usr/bin/env";

/// Folders and files of `/run` that tools and tests make when they first run on a machine, beside these.
const OF_TOOLS: [&str; 13] = [
    "containers",
    "crun",
    "firejail",
    "libpod",
    "lxc",
    "mount",
    "netns",
    "runc",
    "runsc",
    "sshd",
    "systemd",
    "tare-netns",
    "xtables.lock",
];

/// State of the host that must not change.
#[derive(Debug, PartialEq)]
struct Host {
    files: BTreeMap<&'static str, Option<Vec<u8>>>,
    traps: BTreeMap<&'static str, bool>,
    folders: BTreeMap<&'static str, Vec<PathBuf>>,
}

impl Host {
    fn look() -> Host {
        let traps = ["/dev/shm/tare-trap", "/tmp/tare-trap", "/var/tmp/tare-trap", "/tmp/closed"];
        let list = |folder| {
            let mut names: Vec<PathBuf> =
                fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
            names.retain(|path| OF_TOOLS.iter().all(|name| *path != Path::new("/run").join(name)));
            names.sort();
            names
        };
        Host {
            files: ["/etc/hostname", "/etc/debian_version"].map(|file| (file, fs::read(file).ok())).into(),
            traps: traps.map(|path| (path, Path::new(path).exists())).into(),
            folders: ["/", "/root", "/usr/bin", "/run"].map(|folder| (folder, list(folder))).into(),
        }
    }
}

/// Creates a work folder with a file that must be visible inside.
fn work_folder(bench: &Bench) -> PathBuf {
    let folder = bench.folder.path().join("work");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("seen"), "").unwrap();
    folder
}

fn session(bench: &Bench, root: RootFolder, work: &Path, shared: bool) -> SessionWorkspace {
    let inside = Inside { root, work: Some(Work { folder: work.to_owned(), shared }) };
    let wanted = Wanted { inside, folders: bench.shares.clone(), ..Default::default() };
    SessionWorkspace::make_workspace(&Setting { wanted, ..bench.make_setting() }).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Enters an environment with this machine's programs, once with its own work folder and once with the
/// user's.
fn visit(test: &str, text: &str) {
    let Some(specification) = parse_if_ready(test, text) else { return };
    println!("{text}");
    let before = Host::look();
    for shared in [false, true] {
        let bench = Bench::new();
        let work = work_folder(&bench);
        let session = session(&bench, RootFolder::Empty, &work, shared);
        let mut inside = Spoken::enter_environment(&session, &specification);
        inside.request_description();
        inside.run_null_trial(1, Some("own"));
        inside.run_null_trial(2, Some("share"));
        let script = PAYLOAD.replace('@', work.to_str().unwrap());
        let command = format!("command = ['/bin/sh', '-c', '''{script}''']");
        assert_eq!(inside.run_command(3, &command, &work), None, "{text}");
        if Path::new("/usr/bin/git").exists() {
            let command = "command = ['/usr/bin/git', '--version']";
            assert_eq!(inside.run_command(4, command, &work), None, "{text}");
        }
        let facts = inside.entered.outside.clone();
        assert_eq!(facts.get("root"), Some("host"));
        assert!(facts.get("root.upper").is_some_and(|upper| !upper.is_empty()));
        assert!(inside.leave_environment().iter().all(|outcome| outcome.left_because.is_none()));
        let left = if shared { &["moved", "seen", "w"][..] } else { &["seen"] };
        assert_eq!(names(&work), left, "{text}");
        assert_eq!(Host::look(), before, "{text}");
        assert!(session.close().iter().all(|outcome| outcome.left_because.is_none()));
        assert_eq!(bench.list_remains(), [""; 0]);
    }
}

/// The folder of another session, with an image mounted in it.
struct OtherSession(PathBuf);

impl OtherSession {
    fn make(test: &str, bench: &Bench, name: &str) -> Option<OtherSession> {
        let other = OtherSession(bench.folder.path().join(name));
        fs::create_dir_all(other.0.join("images")).unwrap();
        fs::create_dir(other.0.join("place")).unwrap();
        let made = other.run_shell(
            "truncate -s 16M images/x.image && /sbin/mkfs.ext4 -q images/x.image && mount -o loop images/x.image place",
        );
        if !made {
            println!("SKIPPED {test}: only root can mount an image, with mkfs.ext4");
        }
        made.then_some(other)
    }

    fn run_shell(&self, script: &str) -> bool {
        Command::new("sh").args(["-c", script]).current_dir(&self.0).status().unwrap().success()
    }

    /// Tells whether a loop device has its image still, after longer than the kernel needs to let go of one on a busy disk.
    fn is_busy(&self) -> bool {
        let name = self.0.file_name().unwrap().to_str().unwrap();
        let has = |device: fs::DirEntry| {
            fs::read_to_string(device.path().join("loop/backing_file"))
                .is_ok_and(|image| image.contains(name))
        };
        let is_busy = || fs::read_dir("/sys/block").unwrap().flatten().any(has);
        let end = Instant::now() + Duration::from_secs(60);
        while is_busy() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
        }
        is_busy()
    }
}

#[test]
fn a_view_keeps_no_image_of_another_session_busy() {
    let test = "a_view_keeps_no_image_of_another_session_busy";
    let specifications = ["native?root=host", "container?root=host"].map(|text| parse_if_ready(test, text));
    let bench = Bench::new();
    let Some(other) = OtherSession::make(test, &bench, "tare-fedcba9876543210") else { return };
    let session = session(&bench, RootFolder::Host, Path::new("/usr"), false);
    let entered = specifications.iter().flatten().map(|text| Spoken::enter_environment(&session, text));
    let entered: Vec<Spoken> = entered.collect();
    assert!(other.run_shell("umount place"));
    assert!(!other.is_busy());
    entered.into_iter().for_each(|one| drop(one.leave_environment()));
}

#[test]
fn an_image_that_a_program_keeps_busy_is_named_until_that_ends() {
    let test = "an_image_that_a_program_keeps_busy_is_named_until_that_ends";
    let bench = Bench::new();
    let Some(other) = OtherSession::make(test, &bench, "tare-fedcba9876543211") else { return };
    let place = other.0.join("place");
    let mut user = Command::new("sleep").arg("1000").current_dir(place).spawn().unwrap();
    assert!(other.run_shell("umount --lazy place"));
    fs::remove_dir_all(&other.0).unwrap();
    let named = remove_unnamed(&find_programs());
    user.kill().unwrap();
    user.wait().unwrap();
    let is_device =
        |outcome: &Outcome| outcome.what.starts_with("loop device") && outcome.left_because.is_some();
    assert!(named.iter().any(is_device), "{named:?}");
    assert!(!other.is_busy());
}

#[test]
fn native_with_layers() {
    visit("native_with_layers", "native?root=host");
    visit("native_with_layers", "traced?root=host");
}

#[test]
fn container_with_programs() {
    visit("container_with_programs", "container?root=host");
    visit("container_with_programs", "container?root=host&net=host");
}

#[test]
fn bwrap_with_programs() {
    visit("bwrap_with_programs", "bwrap?root=host");
}

#[test]
fn proot_with_programs() {
    visit("proot_with_programs", "proot?root=host");
    visit("proot_with_programs", "proot?root=host&seccomp=off");
}

#[test]
fn oci_with_programs() {
    visit("oci_with_programs", "oci:runc?root=host");
    visit("oci_with_programs", "oci:crun?root=host");
}

#[test]
fn nspawn_with_programs() {
    visit("nspawn_with_programs", "nspawn?root=host");
}

#[test]
fn podman_with_programs() {
    visit("podman_with_programs", "podman?root=host");
}

#[test]
fn gvisor_with_programs() {
    visit("gvisor_with_programs", "gvisor?root=host");
    visit("gvisor_with_programs", "gvisor?root=host&directfs=off&platform=ptrace");
    visit("gvisor_with_programs", "gvisor?root=host&overlay=memory");
}

#[test]
fn uml_with_programs() {
    visit("uml_with_programs", "uml?root=host");
    visit("uml_with_programs", "uml?root=host&own=hostfs");
}

#[test]
fn qemu_with_programs() {
    visit("qemu_with_programs", "qemu?acceleration=tcg&root=host");
    visit("qemu_with_programs", "qemu?acceleration=tcg&root=host&machine=microvm");
}

/// Asserts that a folder with one program can be a root, because tare itself needs no library.
#[test]
fn a_folder_is_a_root() {
    let test = "a_folder_is_a_root";
    for provider in ["native", "container", "bwrap", "oci:runc", "gvisor", "uml"] {
        let bench = Bench::new();
        let folder = bench.folder.path().join("root");
        fs::create_dir_all(folder.join("bin")).unwrap();
        copy_program(&bench.binary, &folder.join("bin/tare")).unwrap();
        let work = work_folder(&bench);
        let Some(specification) = parse_if_ready(test, &format!("{provider}?root={}", folder.display()))
        else {
            continue;
        };
        for shared in [false, true] {
            let session = session(&bench, RootFolder::Empty, &work, shared);
            let mut inside = Spoken::enter_environment(&session, &specification);
            let removed = work.join("seen");
            let command = format!("command = ['/bin/tare', 'agent-applet', 'rm', '{}']", removed.display());
            // It runs twice, and the second time there is nothing left.
            let failure = inside.run_command(1, &command, &work).expect("it was removed");
            assert_eq!(failure.kind, FailureKind::WrongWork, "{provider}: {failure}");
            inside.leave_environment();
            session.close();
            assert_eq!(removed.exists(), !shared, "{provider}");
        }
        assert_eq!(names(&folder), ["bin"], "{provider}");
        fs::remove_dir_all(&folder).unwrap();
        fs::remove_dir_all(&work).unwrap();
        assert_eq!(bench.list_remains(), [""; 0]);
    }
}

#[test]
fn the_root_of_a_request_is_every_environment_s_unless_its_specification_names_another() {
    let bench = Bench::new();
    let work = work_folder(&bench);
    let session = session(&bench, RootFolder::Host, &work, false);
    for (text, root) in [("container", "empty"), ("container?root=host", "host")] {
        let named = environments::parse_environment(text).unwrap();
        let name = named.specification.clone();
        let mut inside = Spoken::enter_environment(&session, &name);
        assert_eq!(inside.entered.outside.get("root"), Some(root));
        inside.run_null_trial(1, Some("own"));
        inside.leave_environment();
    }
}

#[test]
fn an_environment_with_programs_of_its_own_refuses_those_of_this_machine() {
    for text in ["ssh:host", "wsl", "nerdctl"] {
        let named = environments::parse_environment(&format!("{text}?root=host")).unwrap();
        let not_ready = named.check_ready(&Programs::default()).unwrap_err();
        assert!(!not_ready.reason.contains("not installed"), "{text}: {not_ready:?}");
        let named = environments::parse_environment(text).unwrap().with_root(&RootFolder::Host);
        assert_eq!(named.check_ready(&Programs::default()).unwrap_err(), not_ready);
    }
    for text in ["native?root=etc", "native?root="] {
        assert!(environments::parse_environment(text).is_err(), "{text}");
    }
    let nowhere = environments::parse_environment("native?root=/no/such/folder").unwrap();
    let not_ready = nowhere.check_ready(&Programs::default()).unwrap_err();
    assert_eq!(not_ready.reason, "the folder /no/such/folder does not exist");
}

#[test]
fn nothing_is_left_of_a_view_whenever_its_session_is_killed() {
    let test = "nothing_is_left_of_a_view_whenever_its_session_is_killed";
    let all = ["native", "container", "bwrap", "proot", "oci:crun", "gvisor", "podman"];
    let all: Vec<String> = all.iter().map(|text| format!("{text}?root=host")).collect();
    let enters: Vec<&str> =
        all.iter().map(String::as_str).filter(|text| parse_if_ready(test, text).is_some()).collect();
    let (before, bench) = (Host::look(), Bench::new());
    let mut actor = Actor::start(&bench, &enters);
    actor.wait_until_ready();
    actor.kill();
    let clean_all = || {
        for outcome in remove_leftovers(&bench.state_folder(), &bench.make_setting().programs).unwrap() {
            assert_eq!(outcome.left_because, None, "{}", outcome.what);
        }
        assert_eq!(bench.list_remains(), [""; 0]);
    };
    clean_all();
    for wait_ms in [10, 40, 80, 150, 300] {
        let actor = Actor::start(&bench, &enters);
        std::thread::sleep(std::time::Duration::from_millis(wait_ms));
        actor.kill();
        clean_all();
    }
    assert_eq!(Host::look(), before);
}

/// Debian's user without files.
const NOBODY: u32 = 65534;

#[test]
fn an_unprivileged_user_has_programs_inside_as_well() {
    let test = "an_unprivileged_user_has_programs_inside_as_well";
    if !rustix::process::geteuid().is_root() {
        return println!("SKIPPED {test}: only root can become another user");
    }
    let (before, bench) = (Host::look(), Bench::new_in(Path::new("/var/tmp")));
    let program = bench.folder.path().join("actor");
    copy_program(&std::env::current_exe().unwrap(), &program).unwrap();
    copy_program(&bench.binary, &bench.folder.path().join("tare")).unwrap();
    for path in ["", "state", "scratch", "share"] {
        std::os::unix::fs::chown(bench.folder.path().join(path), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let enters =
        ["native", "container", "bwrap", "proot", "oci:runc"].map(|text| format!("{text}?root=host"));
    for text in &enters {
        println!("{text}");
        let mut actor = Actor::start_as(NOBODY, &program, &bench, &[text]);
        actor.wait_until_ready();
        actor.dismiss();
        assert_eq!(bench.list_remains(), [""; 0], "{text}");
    }
    assert_eq!(Host::look(), before);
}
