//! The test of inodes: a program inside changes every file that it reaches, and the host neither changes with it nor starts or opens
//! one of them afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::mem::{MaybeUninit, size_of};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use tare_bench::programs::copy_program;

use crate::bench::{Bench, Spoken, parse_if_ready};

/// Name under which this test's own program acts as the attacker, and of the list of folders next to it.
const ATTACKER: &str = "attacker";
const FOLDERS: &str = "attacker-folders";
/// Folders of the kernel's, in which the attacker changes nothing.
const OF_THE_KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];
/// Places of an environment's own files, in the folder of its start.
const OWN: [&str; 3] = ["own", "root/own", "base/own"];

/// Acts as the attacker where this program has its name, and does nothing in an ordinary test run.
#[test]
fn attack() {
    let program = PathBuf::from(std::env::args_os().next().unwrap());
    if program.file_name().is_none_or(|name| name != ATTACKER) {
        return;
    }
    let folders = fs::read_to_string(program.with_file_name(FOLDERS)).unwrap();
    let (mut files, mut open) = (Vec::new(), folders.lines().map(PathBuf::from).collect::<Vec<_>>());
    while let Some(folder) = open.pop() {
        if OF_THE_KERNEL.iter().any(|kernels| folder.starts_with(kernels)) {
            continue;
        }
        for path in fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let Ok(about) = path.symlink_metadata() else { continue };
            match about.is_dir() {
                true => open.push(path),
                false if about.is_file() && path != program => files.push(path),
                false => {}
            }
        }
        let _ = symlink("/etc/shadow", folder.join("planted-link"));
        let _ = fs::write(folder.join("planted-file"), "planted");
    }
    for path in &files {
        let _ = File::options().append(true).open(path).and_then(|mut file| file.write_all(b"#"));
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o4777));
    }
    // The last: what runs inside does not start again.
    for path in &files {
        let evil = path.with_extension("evil");
        let _ = fs::write(&evil, "#!/bin/sh\necho evil\n").and_then(|()| fs::rename(&evil, path));
    }
}

/// A file or a folder as the host sees it: everything that an attacker can change.
#[derive(Debug, PartialEq, Eq)]
struct State {
    inode: (u64, u64),
    mode: u32,
    changed: (i64, i64),
    bytes: u64,
}

/// Looks at everything below these folders.
fn look_at(folders: &[&Path]) -> BTreeMap<PathBuf, State> {
    let (mut seen, mut open) =
        (BTreeMap::new(), folders.iter().map(|path| path.to_path_buf()).collect::<Vec<_>>());
    while let Some(path) = open.pop() {
        let Ok(about) = path.symlink_metadata() else { continue };
        if about.is_dir() {
            open.extend(fs::read_dir(&path).into_iter().flatten().flatten().map(|entry| entry.path()));
        }
        let state = State {
            inode: (about.dev(), about.ino()),
            mode: about.mode(),
            changed: (about.ctime(), about.ctime_nsec()),
            bytes: about.len(),
        };
        seen.insert(path, state);
    }
    seen
}

/// Watches files: no process of this machine's own mount namespace may start or open one.
struct Watch {
    group: OwnedFd,
    ended: AtomicBool,
}

impl Watch {
    /// Watches these files alone, or tells why not.
    fn start(paths: impl Iterator<Item = PathBuf>) -> std::io::Result<Watch> {
        // SAFETY: a system call that takes flags.
        let group = unsafe {
            libc::fanotify_init(
                libc::FAN_CLASS_CONTENT | libc::FAN_CLOEXEC | libc::FAN_NONBLOCK,
                libc::O_RDONLY as u32,
            )
        };
        if group < 0 {
            return Err(std::io::Error::last_os_error());
        }
        // SAFETY: just opened, and nobody else's.
        let group = unsafe { OwnedFd::from_raw_fd(group) };
        for path in paths {
            let path = CString::new(path.as_os_str().as_bytes())?;
            let events = libc::FAN_OPEN_PERM | libc::FAN_OPEN_EXEC_PERM;
            let flags = libc::FAN_MARK_ADD | libc::FAN_MARK_DONT_FOLLOW;
            // SAFETY: the path lives through the call.
            let marked = unsafe {
                libc::fanotify_mark(group.as_raw_fd(), flags, events, libc::AT_FDCWD, path.as_ptr())
            };
            if marked != 0 {
                return Err(std::io::Error::last_os_error());
            }
        }
        Ok(Watch { group, ended: AtomicBool::new(false) })
    }

    /// Lets every opening pass until the watch ends; returns those by processes of this machine itself.
    fn take_events(&self) -> BTreeSet<String> {
        let own = fs::read_link("/proc/self/ns/mnt").unwrap();
        let mut seen = BTreeSet::new();
        while !self.ended.load(Ordering::Relaxed) {
            let mut waiting = libc::pollfd { fd: self.group.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one struct, which lives through the call.
            if unsafe { libc::poll(&mut waiting, 1, 20) } < 1 {
                continue;
            }
            let mut event = MaybeUninit::<libc::fanotify_event_metadata>::zeroed();
            // SAFETY: any bytes are valid in the struct, and no more are read than it has.
            let bytes = unsafe {
                std::slice::from_raw_parts_mut(
                    event.as_mut_ptr().cast::<u8>(),
                    size_of::<libc::fanotify_event_metadata>(),
                )
            };
            // SAFETY: the descriptor is open as long as the watch.
            let mut group = std::mem::ManuallyDrop::new(unsafe { File::from_raw_fd(self.group.as_raw_fd()) });
            if group.read(bytes).is_err() {
                continue;
            }
            // SAFETY: the kernel has filled it in.
            let event = unsafe { event.assume_init() };
            let namespace = fs::read_link(format!("/proc/{}/ns/mnt", event.pid));
            if namespace.is_ok_and(|namespace| namespace == own) {
                let path = fs::read_link(format!("/proc/self/fd/{}", event.fd)).unwrap_or_default();
                let program = fs::read_to_string(format!("/proc/{}/comm", event.pid)).unwrap_or_default();
                seen.insert(format!("{} by {}", path.display(), program.trim()));
            }
            self.allow(&mut group, event.fd);
        }
        seen
    }

    fn allow(&self, group: &mut File, file: RawFd) {
        let answer = libc::fanotify_response { fd: file, response: libc::FAN_ALLOW };
        // SAFETY: the struct is plain numbers.
        let bytes = unsafe {
            std::slice::from_raw_parts((&raw const answer).cast::<u8>(), size_of::<libc::fanotify_response>())
        };
        group.write_all(bytes).unwrap();
        // SAFETY: the event's own descriptor, which nobody else has.
        drop(unsafe { OwnedFd::from_raw_fd(file) });
    }
}

/// Attacks from inside an environment that promises files of its own. `everything` is true where all that is inside is the session's;
/// otherwise the attacker is told the folders of this session.
fn visit(test: &str, text: &str, everything: bool) {
    if !rustix::process::geteuid().is_root() {
        return println!("SKIPPED {test}: only root may watch what other processes open");
    }
    let (Some(specification), Some(native)) = (parse_if_ready(test, text), parse_if_ready(test, "native"))
    else {
        return;
    };
    // The path of a socket, which some make in the start's folder, is short.
    let bench = Bench::new_in(Path::new("/var/tmp"));
    let session = bench.make_session();
    let mut host = Spoken::enter_side(&session, 0, &native);
    host.run_null_trial(1, Some("share"));
    let of_trial = Path::new(&host.entered.places["share"]).join("of-a-trial");
    fs::write(&of_trial, "of a trial of the host's own").unwrap();
    let mut inside = Spoken::enter_side(&session, 1, &specification);
    let place = inside.entered.places.contains_key("share").then_some("share");
    inside.run_null_trial(1, place);
    let own = OWN.map(|own| inside.entered.folder().join(own)).into_iter().find(|own| own.is_dir()).unwrap();
    let own_inside = inside.entered.places["own"].clone();
    let share = bench.shares["share"].join(format!("tare-{}", session.id()));
    let folders = [session.folder(), share.as_path()];
    let text = match everything {
        true => "/".to_owned(),
        false => folders.map(|folder| folder.display().to_string()).join("\n"),
    };
    fs::write(own.join(FOLDERS), text).unwrap();
    copy_program(&std::env::current_exe().unwrap(), &own.join(ATTACKER)).unwrap();
    let before = look_at(&folders);
    let attacker =
        format!("command = ['{own_inside}/{ATTACKER}', '--exact', 'inodes::attack', '--test-threads=1']");
    let failure = inside.run_command(2, &attacker, bench.folder.path());
    let after = look_at(&folders);
    let changed: Vec<&PathBuf> = after.keys().filter(|path| before.get(*path) != after.get(*path)).collect();
    let gone = before.keys().filter(|path| !after.contains_key(*path));
    let of_side = [session.folder().join("01"), bench.find_share(session.id(), 1)];
    let others: Vec<_> = changed
        .iter()
        .copied()
        .chain(gone)
        .filter(|path| !of_side.iter().any(|side| path.starts_with(side)))
        .collect();
    assert_eq!(others, Vec::<&PathBuf>::new(), "{test}: changed from inside, and another's ({failure:?})");
    let written = changed.into_iter().filter(|path| path.is_file() && !path.is_symlink());
    let written: Vec<PathBuf> = written.cloned().collect();
    let is_planted = |path: &PathBuf| path.ends_with("planted-file");
    assert!(written.iter().any(is_planted), "{test}: the attacker reached nothing ({failure:?})");
    let watch = match Watch::start(written.into_iter()) {
        Ok(watch) => watch,
        Err(e) => return println!("SKIPPED {test}: fanotify: {e}"),
    };
    let seen = thread::scope(|scope| {
        let watching = scope.spawn(|| watch.take_events());
        for (number, (probe, place)) in (3..).zip([("proc.exec", None), ("file.sync", Some("share"))]) {
            host.run_trial(number, probe, place, None);
        }
        let started = Spoken::enter_side(&session, 0, &native);
        started.leave_environment();
        inside.leave_environment();
        watch.ended.store(true, Ordering::Relaxed);
        watching.join().unwrap()
    });
    assert_eq!(seen, BTreeSet::new(), "{test}: the host started or opened a file that was written inside");
    host.leave_environment();
    assert!(session.close().iter().all(|outcome| outcome.left_because.is_none()));
    assert_eq!(bench.list_remains(), [""; 0]);
}

#[test]
fn containers_change_only_their_own() {
    visit("container", "container", true);
}

#[test]
fn bubblewrap_changes_only_its_own() {
    visit("bwrap", "bwrap", true);
}

#[test]
fn oci_runtimes_change_only_their_own() {
    visit("oci_runc", "oci:runc", true);
    visit("oci_crun", "oci:crun", true);
}

#[test]
fn nspawn_changes_only_its_own() {
    visit("nspawn", "nspawn", true);
}

#[test]
fn podman_changes_only_its_own() {
    visit("podman", "podman", true);
}

#[test]
fn gvisor_changes_only_its_own() {
    visit("gvisor", "gvisor", true);
    visit("gvisor", "gvisor?platform=ptrace&directfs=off", true);
}

#[test]
fn user_mode_linux_changes_only_its_own() {
    visit("user_mode_linux", "uml?own=hostfs", true);
}

/// Gives a sandbox what the guide says, and nothing else to write.
#[test]
fn sandboxes_by_their_words_change_only_their_own() {
    let words = "exec:bwrap --ro-bind / / --dev /dev --proc /proc --bind {own} {own} --bind {turns} {turns} --unshare-all --";
    if parse_if_ready("sandboxes_by_their_words", "bwrap").is_some() {
        visit("sandboxes_by_their_words", words, false);
    }
    for launcher in ["srt", "codex"] {
        visit(launcher, launcher, false);
    }
}

/// Replaces the program at every path under which a launcher is given it: this machine's own starts are of the file that it holds.
#[test]
fn what_a_launcher_puts_in_the_place_of_its_agent_runs_nowhere_else() {
    let bench = Bench::new();
    let (launcher, ran) = (bench.folder.path().join("launch"), bench.folder.path().join("ran"));
    let script = format!(
        "#!/bin/sh\na=$1; shift\nif ! test -e \"$a.real\"; then\nmv \"$a\" \"$a.real\"; cat >\"$a\" <<END\n#!/bin/sh\n\
         echo \"\\$1\" >>{}\nexec \"$a.real\" \"\\$@\"\nEND\nchmod 755 \"$a\"\nfi\nexec \"$a.real\" \"$@\"\n",
        ran.display()
    );
    fs::write(&launcher, script).unwrap();
    fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755)).unwrap();
    let session = bench.make_session();
    let specification = format!("exec:{}?name=box", launcher.display()).parse().unwrap();
    let inside = Spoken::enter_side(&session, 1, &specification);
    let mut host = Spoken::enter_side(&session, 0, &"native".parse().unwrap());
    host.run_null_trial(1, None);
    host.run_trial(2, "proc.exec", None, None);
    assert!(!ran.exists(), "ran on this machine: {:?}", fs::read_to_string(&ran));
    inside.leave_environment();
    host.leave_environment();
    drop(session);
    for file in [&launcher, &ran] {
        let _ = fs::remove_file(file);
    }
    assert_eq!(bench.list_remains(), [""; 0]);
}

/// Environments that share this user's files say so, and no other.
#[test]
fn environments_without_files_of_their_own_say_so() {
    let bench = Bench::new();
    let session = bench.make_session();
    let said = |text: &str| {
        let specification = parse_if_ready("environments_without_files_of_their_own", text)?;
        let inside = Spoken::enter_environment(&session, &specification);
        let shares = inside.entered.outside.get("files.shared").is_some();
        inside.leave_environment();
        Some(shares)
    };
    for text in ["native", "landlock", "traced", "proot", "exec:env", "firejail", "unshare"] {
        assert!(said(text).is_none_or(|shares| shares), "{text}");
    }
    for text in [
        "container",
        "bwrap",
        "oci:runc",
        "oci:crun",
        "podman",
        "nspawn",
        "gvisor",
        "native?root=host",
        "proot?root=host",
    ] {
        assert!(said(text).is_none_or(|shares| !shares), "{text}");
    }
}
