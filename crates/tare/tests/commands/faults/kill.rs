//! Ctrl-C and kill -9 in the middle: no data is lost, and nothing is left behind.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::program::{Program, Said};

/// A condition that does not come true in this time never will: a thousand processes in a sandbox take a minute on two processors
/// that build something as well.
const WAIT: Duration = Duration::from_secs(240);

pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + WAIT;
    while !condition() {
        assert!(Instant::now() < end, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Starts a long session, and waits until it has begun its rounds.
pub fn under_way(program: &Program, arguments: &[&str]) -> Child {
    let mut command = program.tare_command(&["run", "--rounds", "100", "--record", "s.tare"]);
    let mut child = command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let trials =
        || tare_record::read_session(&program.path("s.tare")).is_ok_and(|r| r.session.trials.len() > 8);
    wait_until("there are trials", || trials() || child.try_wait().unwrap().is_some());
    assert!(trials(), "it ended before there were trials: {:?}", child.wait_with_output());
    child
}

/// Resumes a session, and interrupts it once it has more trials than before: a budget would be over on a slow machine. One that is
/// refused ends by itself.
pub fn resume_for_a_while(mut command: Command, record: &Path) -> Said {
    let count_trials = || tare_record::read_session(record).map_or(0, |read| read.session.trials.len());
    let before = count_trials();
    let mut resumed = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("there are more trials", || count_trials() > before || resumed.try_wait().unwrap().is_some());
    if resumed.try_wait().unwrap().is_none() {
        kill_process(Pid::from_child(&resumed), Signal::INT).unwrap();
    }
    Said::from_output(resumed.wait_with_output().unwrap())
}

fn targets(program: &Program, test: &str) -> String {
    let environments =
        program.run_tare(&["check", "--in", "container,gvisor,oci:runc", "--json"]).parse_json();
    let ready = |name: &str| {
        let all = environments["environments"].as_array().unwrap();
        all.iter().any(|e| e["environment"] == name && e["ready"] == true)
    };
    let mut targets = vec!["native"];
    for name in ["container", "gvisor", "oci:runc"] {
        if ready(name) {
            targets.push(name);
        } else {
            println!("SKIPPED {test} in {name}: not ready");
        }
    }
    targets.join(",")
}

#[test]
fn a_killed_session_is_reported_cleaned_and_resumed() {
    let program = Program::new();
    let targets = targets(&program, "a_killed_session");
    let mut child = under_way(&program, &["--in", &targets, "--only", "sys.getppid,proc.spawn"]);
    child.kill().unwrap();
    child.wait().unwrap();

    let said = program.run_tare(&["report", "s.tare"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("broke off") || said.out.contains("broken off"), "{}", said.out);

    assert_eq!(program.run_tare(&["clean"]).code, Some(0));
    wait_until("its processes are gone", || program.list_processes().is_empty());
    assert_eq!(program.list_mounts(), Vec::<String>::new());
    assert_eq!(program.list_remains(), Vec::<PathBuf>::new());

    let said =
        resume_for_a_while(program.tare_command(&["run", "--resume", "s.tare"]), &program.path("s.tare"));
    assert_eq!(said.code, Some(130), "{said:?}");
    assert_eq!(program.list_remains(), Vec::<PathBuf>::new());
}

#[test]
fn the_first_interrupt_ends_a_session_in_order() {
    let program = Program::new();
    let arguments = ["--in", "native,container", "--only", "sys.getppid,proc.spawn"];
    let child = under_way(&program, &arguments);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let said = Said::from_output(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130), "{said:?}");
    assert!(said.out.contains("system call"), "the table of what was measured: {}", said.out);
    assert_eq!(program.list_processes(), Vec::<String>::new());
    assert_eq!(program.list_mounts(), Vec::<String>::new());
    assert_eq!(program.list_remains(), Vec::<PathBuf>::new());
}

#[test]
fn an_interrupt_ends_the_second_session_of_a_command_in_order() {
    let program = Program::new();
    let prices = ["--in", "native,container", "--rounds", "100", "--only", "sys.operation?operation=fstat@*"];
    let mut command = program.tare_command(&["explain", "--forecast", "--check", "--record", "s.tare"]);
    let command = command.args(prices).args(["--", "sleep", "0.2"]).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let trials =
        || tare_record::read_session(&program.path("s.tare")).is_ok_and(|r| r.session.trials.len() > 4);
    wait_until("the second session has trials", || trials() || child.try_wait().unwrap().is_some());
    assert!(trials(), "it ended before: {:?}", child.wait_with_output());
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let said = Said::from_output(child.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130), "{said:?}");
    assert_eq!(program.list_processes(), Vec::<String>::new());
    assert_eq!(program.list_mounts(), Vec::<String>::new());
    assert_eq!(program.list_remains(), Vec::<PathBuf>::new());
}
