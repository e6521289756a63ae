//! Sessions that end while they hold many processes or environments: none of those survives.

use std::borrow::Cow;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use tare_data::batch::{Batch, HELD, Sample};

use crate::faults::kill::wait_until;
use crate::program::Program;

/// Ways to end the session.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    CtrlC,
    Kill,
}

/// Processes, held long enough to catch the session in that state.
const STUDY: &str = r#"
name = "held"
title = "Held processes"
about = "For a test."
budget = "60s"

[[case]]
probe = "proc.fork_hold"
parameters = { n = COUNT, hold_ms = 3000 }
"#;

/// Counts the processes that are held: a sandbox takes a minute for a thousand where other tests run as well.
fn how_many(environment: &str) -> u32 {
    if environment == "native" { 1000 } else { 250 }
}

/// Reads from the record whether all processes are held in this environment right now.
fn holds(program: &Program, environment: &str) -> bool {
    let Ok(recording) = tare_record::read_session(&program.path("held.tare")) else { return false };
    let value = f64::from(how_many(environment));
    recording.session.trials.last().is_some_and(|trial| {
        let are_all = |batch: Cow<'_, Batch>| batch.series == HELD && batch.sample == Sample::Gauge { value };
        trial.target == environment && trial.batches.iter().any(are_all) && trial.failure.is_some()
    })
}

/// Holds many processes in an environment, and ends the session once most of them exist.
fn end_in_the_midst(environment: &str, end: End) {
    let program = Program::new();
    // The control of the native session is native as well.
    let targets = if environment == "native" { "native".to_owned() } else { format!("native,{environment}") };
    let count = how_many(environment);
    std::fs::write(program.path("held.toml"), STUDY.replace("COUNT", &count.to_string())).unwrap();
    let mut command = program.tare_command(&["run", "held.toml", "--in", &targets]);
    command.args(["--rounds", "5", "--record", "held.tare"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("all are held", || holds(&program, environment));
    match end {
        End::CtrlC => kill_process(Pid::from_child(&child), Signal::INT).unwrap(),
        End::Kill => child.kill().unwrap(),
    }
    let status = child.wait().unwrap();
    std::fs::remove_file(program.path("held.toml")).unwrap();
    nothing_is_left(&program, status.code(), environment, end);
}

fn nothing_is_left(program: &Program, code: Option<i32>, environment: &str, end: End) {
    if end == End::CtrlC {
        assert_eq!(code, Some(130), "{environment}");
    } else {
        assert_eq!(program.run_tare(&["clean"]).code, Some(0));
    }
    wait_until(&format!("nothing is left in {environment} after {end:?}"), || {
        program.list_processes().is_empty()
    });
    assert_eq!(program.list_mounts(), Vec::<String>::new(), "{environment} {end:?}");
    assert_eq!(program.list_remains(), Vec::<std::path::PathBuf>::new(), "{environment} {end:?}");
}

#[test]
fn a_thousand_held_processes_end_with_their_session() {
    for end in [End::CtrlC, End::Kill] {
        end_in_the_midst("native", end);
    }
}

fn is_gvisor_ready(test: &str) -> bool {
    let ready = Program::new().run_tare(&["check", "--in", "gvisor", "--json"]).parse_json()["environments"]
        .as_array()
        .unwrap()
        .iter()
        .any(|e| e["environment"] == "gvisor" && e["ready"] == true);
    if !ready {
        println!("SKIPPED {test}: gvisor is not ready");
    }
    ready
}

#[test]
fn fifty_starts_at_once_end_with_their_session() {
    let is_ready = is_gvisor_ready("fifty_starts_at_once_end_with_their_session");
    let both = [("container", End::CtrlC), ("container", End::Kill), ("gvisor", End::Kill)];
    for (environment, end) in both.into_iter().filter(|(environment, _)| is_ready || *environment != "gvisor")
    {
        let program = Program::new();
        let mut command = program.tare_command(&["run", "--at-once", "50", "--in", environment]);
        command.args(["--rounds", "5", "--record", "at-once.tare"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until("most are there", || program.list_processes().len() >= 40);
        match end {
            End::CtrlC => kill_process(Pid::from_child(&child), Signal::INT).unwrap(),
            End::Kill => child.kill().unwrap(),
        }
        let status = child.wait().unwrap();
        nothing_is_left(&program, status.code(), environment, end);
    }
}

#[test]
fn starts_at_once_are_timed_to_the_last_and_each_takes_memory() {
    let program = Program::new();
    let arguments =
        ["run", "--at-once", "1,5", "--in", "container", "--rounds", "2", "--record", "at-once.tare"];
    let said = program.run_tare(&arguments);
    assert!(said.code == Some(0) && said.out.contains("5 starts at once"), "{said:?}");
    let rows = program.run_tare(&["report", "at-once.tare", "--json"]).parse_json()["rows"]
        .as_array()
        .unwrap()
        .clone();
    let of = |label: &str, metric: &str| {
        let row = rows.iter().find(|row| row["label"] == label && row["metric"]["name"] == metric);
        row.and_then(|row| row["baseline"]["median"].as_f64()).unwrap_or(f64::NAN)
    };
    let (alone, several) = ("start of environment", "5 starts at once");
    // The last of five is there no sooner than one of them, whichever machine this is.
    assert!(of(several, "sample") >= of(several, "each"), "{rows:?}");
    // An agent has some hundred kilobytes of its own; the rest of its program is shared by all.
    assert!(of(several, "memory") > 50e3 && of(several, "memory") <= 2.0 * of(alone, "memory"), "{rows:?}");
    assert_eq!(of(alone, "each"), of(alone, "sample"), "{rows:?}");
    let refused = program.run_tare(&["run", "quick", "--at-once", "5"]);
    assert!(refused.code == Some(2) && refused.err.contains("no env.start here"), "{refused:?}");
    assert_eq!(program.run_tare(&["run", "--at-once", "5000"]).code, Some(2));
}

#[test]
fn held_processes_end_with_their_sandbox() {
    if !is_gvisor_ready("held_processes_end_with_their_sandbox") {
        return;
    }
    for end in [End::CtrlC, End::Kill] {
        end_in_the_midst("gvisor", end);
    }
}
