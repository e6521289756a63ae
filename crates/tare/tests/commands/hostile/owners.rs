//! Owners: files and processes of other users are not believed, run or ended.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::fs::Mode;

use crate::faults::kill::wait_until;
use crate::program::{Program, Said};

/// A session's id, as a journal's name has it.
const ID: &str = "00000000deadbeef";

/// Lists a folder with two levels of subfolders. Those below belong to trials, and environments make them.
fn folders(top: &Path) -> Vec<PathBuf> {
    let within = |path: &PathBuf| {
        let entries = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter(|path| path.symlink_metadata().is_ok_and(|about| about.is_dir())).collect::<Vec<_>>()
    };
    let first = within(&top.to_owned());
    let second = first.iter().flat_map(within).collect::<Vec<_>>();
    [vec![top.to_owned()], first, second].concat()
}

fn mode(path: &Path) -> Option<u32> {
    Some(path.symlink_metadata().ok()?.permissions().mode() & 0o777)
}

#[test]
fn a_sessions_folder_is_its_owners_whatever_the_umask() {
    let program = Program::new();
    let mut command =
        program.tare_command(&["run", "--rounds", "100", "--record", "s.tare", "--in", "native"]);
    command.args(["--only", "sys.getppid,file.sync", "--place", "own"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: umask is one system call, which allocates nothing.
    unsafe {
        command.pre_exec(|| {
            rustix::process::umask(Mode::empty());
            Ok(())
        })
    };
    let mut child = command.spawn().unwrap();
    let trials =
        || tare_record::read_session(&program.path("s.tare")).is_ok_and(|r| r.session.trials.len() > 2);
    wait_until("there are trials", trials);
    let mut session = program.list_remains();
    session.retain(|path| path.file_name().unwrap().to_string_lossy().starts_with("tare-"));
    let open: Vec<_> = session
        .iter()
        .flat_map(|top| folders(top))
        .filter(|path| mode(path).is_some_and(|mode| mode & 0o077 != 0))
        .collect();
    let state = mode(&program.path("state/tare"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(program.run_tare(&["clean"]).code, Some(0));
    assert_eq!(session.len(), 1, "{session:?}");
    assert_eq!(open, Vec::<PathBuf>::new());
    assert_eq!(state, Some(0o700));
}

/// Plants the journal of a dead session that names a program, which leaves a file if it is called.
fn plant(program: &Program, state: &Path) -> PathBuf {
    fs::create_dir_all(state).unwrap();
    let (proof, scratch) = (program.path("called"), program.path(&format!("tare-{ID}")));
    let first = serde_json::json!({ "session": { "scratch": scratch, "pid": 1, "started_ticks": 1 } });
    let script = format!("#!/bin/sh\ntouch {}\n", proof.display());
    let runtime = program.path("evil.html");
    fs::write(&runtime, script).unwrap();
    fs::set_permissions(&runtime, Permissions::from_mode(0o755)).unwrap();
    let foreign = serde_json::json!({ "what": "it", "program": runtime, "words": ["rm"] });
    let container = serde_json::json!({ "runtime": runtime, "arguments": [], "id": "x", "known_by": null });
    let owned = |number, thing| serde_json::json!({ "owned": { "number": number, "thing": thing } });
    let lines = [
        first,
        owned(0, serde_json::json!({ "foreign": foreign })),
        owned(1, serde_json::json!({ "container": container })),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let journal = state.join(format!("{ID}.journal"));
    fs::write(&journal, text).unwrap();
    journal
}

#[test]
fn a_planted_journal_runs_no_program() {
    let program = Program::new();
    let journal = plant(&program, &program.path("state/tare"));
    let said = program.run_tare(&["clean"]);
    assert!(!program.path("called").exists(), "{said:?}");
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.out.contains("2 of its lines are unknown"), "{said:?}");
    assert!(journal.exists());
}

/// User who is not root.
const OTHER: u32 = 65534;

/// Tells whether this process may give files away, and says that a test is skipped where it may not.
fn may_give_away(test: &str) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        println!("SKIPPED {test}: only root can give files away");
    }
    is_root
}

fn give_away(path: &Path) {
    std::os::unix::fs::chown(path, Some(OTHER), Some(OTHER)).unwrap();
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_scratch_folder_that_others_can_change_is_refused() {
    if !may_give_away("a_scratch_folder_that_others_can_change_is_refused") {
        return;
    }
    let program = Program::new();
    let path = |name: &str| program.path(name);
    for (name, mode) in
        [("theirs", 0o755), ("all", 0o777), ("sticky", 0o1777), ("below", 0o755), ("links", 0o777)]
    {
        fs::create_dir(path(name)).unwrap();
        set_mode(&path(name), mode);
    }
    give_away(&path("theirs"));
    fs::create_dir(path("theirs/mine")).unwrap();
    symlink(path("below"), path("links/link")).unwrap();
    let run = |scratch: &str, words: &[&str]| {
        let mut command = program.tare_command(&[]);
        command.args(["run", "--in", "native", "--rounds", "1", "--scratch", scratch]).args(words);
        Said::from_output(command.output().unwrap())
    };
    for (scratch, guilty) in
        [("theirs", "theirs"), ("theirs/mine", "theirs"), ("all", "all"), ("links/link", "links")]
    {
        let said = run(scratch, &["--only", "sys.getppid"]);
        assert_eq!(said.code, Some(4), "{scratch}: {said:?}");
        let named = path(guilty).display().to_string();
        assert!(said.err.contains("cannot use the scratch folder") && said.err.contains(&named), "{said:?}");
        assert!(said.err.contains("--scratch"), "{said:?}");
        assert_eq!(
            fs::read_dir(path(scratch))
                .unwrap()
                .filter(|entry| entry.as_ref().unwrap().file_name() != "mine")
                .count(),
            0
        );
    }
    let said = run("sticky", &["--only", "sys.getppid"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    // A place is such a folder wherever a group works in it: that is said, and no more.
    for (place, told) in [("all", true), ("theirs/mine", true), ("sticky", false)] {
        let said = run("sticky", &["--only", "file.meta", "--place", path(place).to_str().unwrap()]);
        assert_eq!(said.code, Some(0), "{said:?}");
        assert_eq!(said.err.contains("what is measured there is not safe from others"), told, "{said:?}");
    }
}

#[test]
fn launchers_of_a_configuration_that_others_can_change_are_not_used() {
    if !may_give_away("launchers_of_a_configuration_that_others_can_change_are_not_used") {
        return;
    }
    let program = Program::new();
    let kept = program.path("config/tare/launchers");
    fs::create_dir_all(&kept).unwrap();
    let text =
        "name = 'mine'\ntitle = 't'\nsummary = 's'\nstands_for = 'x'\ninstall = 'i'\nenter = ['env']\n";
    fs::write(kept.join("mine.toml"), text).unwrap();
    let dry_run = || {
        let mut command =
            program.tare_command(&["run", "--dry-run", "--only", "null", "--in", "native,mine"]);
        Said::from_output(command.env("XDG_CONFIG_HOME", program.path("config")).output().unwrap())
    };
    // Lines are broken anywhere in a path.
    let names_it = |said: &Said| said.out.replace("\n    ", "").contains("mine.toml");
    assert!(names_it(&dry_run()), "{:?}", dry_run());
    let refused = |guilty: &Path| {
        let said = dry_run();
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(
            said.err.contains("is not used") && said.err.contains(&guilty.display().to_string()),
            "{said:?}"
        );
    };
    for folder in [kept.as_path(), &program.path("config")] {
        set_mode(folder, 0o777);
        refused(folder);
        set_mode(folder, 0o755);
        give_away(folder);
        refused(folder);
        std::os::unix::fs::chown(folder, Some(0), Some(0)).unwrap();
    }
    fs::create_dir(program.path("theirs")).unwrap();
    fs::rename(kept.join("mine.toml"), program.path("theirs/mine.toml")).unwrap();
    symlink(program.path("theirs/mine.toml"), kept.join("mine.toml")).unwrap();
    assert!(names_it(&dry_run()), "{:?}", dry_run());
    give_away(&program.path("theirs"));
    refused(&program.path("theirs"));
}

#[test]
fn programs_below_the_home_of_another_user_are_not_run() {
    if !may_give_away("programs_below_the_home_of_another_user_are_not_run") {
        return;
    }
    let program = Program::new();
    let (home, ran) = (program.path("home"), program.path("ran"));
    for folder in ["go/bin", "bin"] {
        fs::create_dir_all(home.join(folder)).unwrap();
        let planted = home.join(folder).join("runsc");
        fs::write(&planted, format!("#!/bin/sh\n: >'{}'\nexit 1\n", ran.display())).unwrap();
        set_mode(&planted, 0o755);
    }
    let check = |variables: &[(&str, PathBuf)]| {
        let mut command = program.tare_command(&["check", "--in", "gvisor"]);
        command.env("PATH", "/usr/bin:/bin").envs(variables.iter().cloned());
        let said = Said::from_output(command.output().unwrap());
        (fs::remove_file(&ran).is_ok(), said)
    };
    let nowhere = program.path("nowhere");
    let ways = [
        vec![("HOME", home.clone())],
        vec![("HOME", nowhere), ("GOBIN", home.join("bin"))],
        vec![("HOME", home.clone()), ("PATH", home.join("bin"))],
    ];
    for way in &ways {
        assert!(check(way).0, "one's own is run: {way:?}");
    }
    give_away(&home);
    for way in &ways {
        let (has_run, said) = check(way);
        assert!(!has_run, "{way:?}: {said:?}");
        let why = format!("{} belongs to another user", home.display());
        assert!(said.out.contains(&why) || said.err.contains(&why), "{said:?}");
    }
}

#[test]
fn state_of_others_is_not_believed() {
    if !may_give_away("state_of_others_is_not_believed") {
        return;
    }
    let program = Program::new();
    let state = program.path("state/tare");
    let journal = plant(&program, &state);
    // A folder that is removed where the journal is believed.
    let scratch = program.path(&format!("tare-{ID}"));
    let folder = serde_json::json!({ "owned": { "number": 0, "thing": { "folder": scratch } } });
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, format!("{}\n{folder}\n", text.lines().next().unwrap())).unwrap();
    fs::create_dir(&scratch).unwrap();
    let refused = |what: &str, prepare: &dyn Fn(), undo: &dyn Fn()| {
        prepare();
        let said = program.run_tare(&["clean"]);
        assert!(scratch.exists(), "{what}: {said:?}");
        assert!(matches!(said.code, Some(3 | 4)), "{what}: {said:?}");
        undo();
    };
    let chown = |path: &Path, user| std::os::unix::fs::chown(path, Some(user), Some(user)).unwrap();
    let chmod = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    refused("another's folder", &|| chown(&state, 65534), &|| chown(&state, 0));
    refused("a folder for all", &|| chmod(&state, 0o777), &|| chmod(&state, 0o755));
    let give = |path: &Path, group| std::os::unix::fs::chown(path, None, Some(group)).unwrap();
    let of_others = || {
        give(&state, 65534);
        chmod(&state, 0o775);
    };
    let back = || {
        give(&state, 0);
        chmod(&state, 0o755);
    };
    refused("a folder for a group", &of_others, &back);
    refused("another's journal", &|| chown(&journal, 65534), &|| chown(&journal, 0));
    refused("a journal for all", &|| chmod(&journal, 0o666), &|| chmod(&journal, 0o644));
    let elsewhere = program.path("elsewhere.html");
    let link = || {
        fs::rename(&journal, &elsewhere).unwrap();
        symlink(&elsewhere, &journal).unwrap();
    };
    let back = || fs::rename(&elsewhere, &journal).unwrap();
    refused("a link", &link, &back);
    // Nor does a session begin in such a folder.
    chown(&state, 65534);
    let said = program.run_tare(&["run", "--in", "native", "--only", "sys.getppid", "--rounds", "2"]);
    assert_eq!(said.code, Some(4), "{said:?}");
    assert!(said.err.contains("belongs to another user"), "{said:?}");
    chown(&state, 0);
    assert_eq!(program.run_tare(&["clean"]).code, Some(0));
    assert!(!scratch.exists());
}

/// Tells whether sessions without a home have, or had, journals in the usual scratch folder.
pub fn has_journals_in_scratch() -> bool {
    let user = rustix::process::geteuid().as_raw();
    std::path::Path::new("/var/tmp").join(format!("tare-state-{user}")).exists()
}

#[test]
fn a_home_that_is_not_absolute_is_none() {
    let program = Program::new();
    plant(&program, &program.path(".local/state/tare"));
    for home in ["", "."] {
        let was_elsewhere = has_journals_in_scratch();
        let mut command = program.tare_command(&["clean"]);
        let said =
            Said::from_output(command.env_remove("XDG_STATE_HOME").env("HOME", home).output().unwrap());
        assert!(!program.path("called").exists(), "{said:?}");
        // A session without a home has its journals there meanwhile, or had when it was killed.
        if !was_elsewhere && !has_journals_in_scratch() {
            assert_eq!(said.code, Some(4), "{home:?} {said:?}");
            assert!(said.err.contains("HOME"), "{said:?}");
        }
    }
    fs::remove_dir_all(program.path(".local")).unwrap();
}

/// A foreign process that has nothing to do with a session; ended when dropped.
struct Decoy(Child);

impl Decoy {
    fn start(command: &mut Command) -> Decoy {
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // Without a terminal, as a log collector or a server of an editor is.
        // SAFETY: setsid is one system call, which allocates nothing.
        unsafe { command.pre_exec(|| Ok(rustix::process::setsid().map(|_| ())?)) };
        Decoy(command.spawn().unwrap())
    }

    fn lives(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Decoy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_process_that_only_mentions_a_session_is_named_and_left() {
    let program = Program::new();
    let folder = program.path(&format!("tare-{ID}"));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("x.log"), "").unwrap();
    let state = program.path("state/tare");
    fs::create_dir_all(&state).unwrap();
    let first = serde_json::json!({ "session": { "scratch": folder, "pid": 1, "started_ticks": 1 } });
    let thing = serde_json::json!({ "owned": { "number": 0, "thing": { "folder": folder } } });
    fs::write(state.join(format!("{ID}.journal")), format!("{first}\n{thing}\n")).unwrap();
    let mut tail = Decoy::start(Command::new("tail").arg("-F").arg(folder.join("x.log")));
    let mut named = Decoy::start(Command::new("sleep").arg("600").arg0(format!("tare-{ID}-00001")));
    let mut stands = Decoy::start(Command::new("sleep").arg("600").current_dir(&folder));
    let mut marked = Decoy::start(Command::new("sleep").arg("600").env("TARE_SESSION", ID));
    // As an engine's helper does, which clears up after a container: it ends by itself, and is not left.
    let brief = Decoy::start(Command::new("sleep").arg("0.7").arg0(format!("tare-{ID}-00002")));
    let said = program.run_tare(&["clean"]);
    assert!(!said.out.contains(&format!("process {} (", brief.0.id())), "{said:?}");
    assert!(tail.lives() && named.lives() && stands.lives(), "{said:?}");
    assert!(!marked.lives(), "{said:?}");
    for decoy in [&tail, &named, &stands] {
        assert!(said.out.contains(&format!("LEFT     process {} (", decoy.0.id())), "{said:?}");
    }
    assert!(!folder.exists());
    // Named once: nothing of the session is there any more.
    program.clean_nothing();
}
