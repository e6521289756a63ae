//! An actor: this test program started as another process, to be killed or to act as another user.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tare_lab::ownership::workspace::SessionWorkspace;

use crate::bench::{Bench, Spoken, parse_if_ready};

/// Environment variables that turn this program into an actor: the folder of its bench, and the environments
/// to enter.
const FOLDER: &str = "TARE_TEST_FOLDER";
const ENTERS: &str = "TARE_TEST_ENTERS";
/// Line that an actor prints when all its environments have answered.
const READY: &str = "the actor is ready";

/// Command that an actor runs in environments that have programs. The folder that it locks must be removed
/// anyway.
const PROGRAMS: &str = "command = ['/bin/sh', '-c', 'touch /tmp/tare-trap /var/tmp/tare-trap && ls /usr/bin >/dev/null && mkdir -p \
                        /tmp/closed/in && chmod 0 /tmp/closed; id -u']";

/// Another process that enters environments and holds on to them until its standard input ends.
pub struct Actor(Child);

impl Actor {
    pub fn start(bench: &Bench, enters: &[&str]) -> Actor {
        Actor::command(&std::env::current_exe().unwrap(), bench, enters).spawn().map(Actor).unwrap()
    }

    /// Starts an actor that searches this folder for programs first.
    pub fn start_with(bench: &Bench, enters: &[&str], folder: &Path) -> Actor {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(folder.to_owned()).chain(std::env::split_paths(&path));
        let mut command = Actor::command(&std::env::current_exe().unwrap(), bench, enters);
        command.env("PATH", std::env::join_paths(folders).unwrap()).spawn().map(Actor).unwrap()
    }

    /// Starts an actor in these control groups.
    pub fn start_in<'a>(bench: &Bench, enters: &[&str], groups: impl Iterator<Item = &'a PathBuf>) -> Actor {
        let lists: Vec<PathBuf> = groups.map(|group| group.join("cgroup.procs")).collect();
        let mut shell = Actor::words(Path::new("/bin/sh"), bench, enters);
        let (words, program) = (
            "program=$1; shift; for list; do echo $$ >\"$list\" || exit; done; exec \"$program\" --exact bench::actor::act --nocapture",
            std::env::current_exe().unwrap(),
        );
        Actor(shell.args(["-c", words, "sh"]).arg(program).args(lists).spawn().unwrap())
    }

    /// Starts an actor as another user, who must be able to read the program and to write to the bench.
    pub fn start_as(user: u32, program: &Path, bench: &Bench, enters: &[&str]) -> Actor {
        Actor::command(program, bench, enters).uid(user).gid(user).spawn().map(Actor).unwrap()
    }

    fn command(program: &Path, bench: &Bench, enters: &[&str]) -> Command {
        let mut command = Actor::words(program, bench, enters);
        command.args(["--exact", "bench::actor::act", "--nocapture"]);
        command
    }

    fn words(program: &Path, bench: &Bench, enters: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .env(FOLDER, bench.folder.path())
            .env(ENTERS, enters.join(" "))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        command
    }

    /// Waits until everything was entered.
    pub fn wait_until_ready(&mut self) {
        let lines = BufReader::new(self.0.stdout.as_mut().unwrap()).lines();
        let mut lines = lines.map_while(Result::ok);
        assert!(lines.any(|line| line.contains(READY)), "the actor died");
    }

    /// Kills the actor without warning, like a power cut or the kernel's OOM killer.
    pub fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// Lets the actor leave its environments, and asserts that it succeeds.
    pub fn dismiss(mut self) {
        drop(self.0.stdin.take());
        let mut rest = String::new();
        self.0.stdout.take().unwrap().read_to_string(&mut rest).unwrap();
        assert!(self.0.wait().unwrap().success(), "{rest}");
    }
}

/// Acts as an actor, and does nothing in an ordinary test run.
#[test]
fn act() {
    let (Some(folder), Ok(enters)) = (std::env::var_os(FOLDER), std::env::var(ENTERS)) else { return };
    let bench = Bench::from_folder(PathBuf::from(folder));
    let session = SessionWorkspace::make_workspace(&bench.make_setting()).unwrap();
    let entered: Vec<Spoken> = enters
        .split_whitespace()
        .filter_map(|text| parse_if_ready("act", text))
        .enumerate()
        .map(|(side, specification)| Spoken::enter_side(&session, side, &specification))
        .collect();
    println!("\n{READY}");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    for mut spoken in entered {
        spoken.run_null_trial(1, Some("own"));
        spoken.run_null_trial(2, Some("share"));
        if spoken.entered.outside.get("root") == Some("host") {
            assert_eq!(spoken.run_command(3, PROGRAMS, &bench.folder.path().join("share")), None);
        }
        assert!(spoken.leave_environment().iter().all(|outcome| outcome.left_because.is_none()));
    }
    assert!(session.close().iter().all(|outcome| outcome.left_because.is_none()));
}
