//! Many processes held at once, and a session that ends in their midst: none of them outlives it.

use std::borrow::Cow;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use tare_data::batch::{Batch, HELD, Sample};

use crate::faults::kill::wait_until;
use crate::program::Program;

/// How the session ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    CtrlC,
    Kill,
}

/// A thousand, kept long enough to be met.
const STUDY: &str = r#"
name = "held"
title = "A thousand held processes"
about = "For a test."
budget = "60s"

[[case]]
probe = "proc.fork_hold"
parameters = { n = 1000, hold_ms = 3000 }
"#;

/// Whether a thousand are held in this environment right now, as the record tells.
fn holds(program: &Program, environment: &str) -> bool {
    let Ok(recording) = tare_record::read(&program.path("held.tare")) else { return false };
    recording.session.trials.last().is_some_and(|trial| {
        let thousand =
            |batch: Cow<'_, Batch>| batch.series == HELD && batch.sample == Sample::Gauge { value: 1000.0 };
        trial.target == environment && trial.batches.iter().any(thousand) && trial.failure.is_some()
    })
}

/// Starts holding a thousand in one environment, and ends the session once most are there.
fn end_in_the_midst(environment: &str, end: End) {
    let program = Program::new();
    // The control of the native session is native as well.
    let targets = if environment == "native" { "native".to_owned() } else { format!("native,{environment}") };
    std::fs::write(program.path("held.toml"), STUDY).unwrap();
    let mut command = program.command(&["run", "held.toml", "--in", &targets]);
    command.args(["--rounds", "5", "--record", "held.tare"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_until("a thousand are held", || holds(&program, environment));
    match end {
        End::CtrlC => kill_process(Pid::from_child(&child), Signal::INT).unwrap(),
        End::Kill => child.kill().unwrap(),
    }
    let status = child.wait().unwrap();
    std::fs::remove_file(program.path("held.toml")).unwrap();
    if end == End::CtrlC {
        assert_eq!(status.code(), Some(130), "{environment}");
    } else {
        assert_eq!(program.run(&["clean"]).code, Some(0));
    }
    wait_until(&format!("nothing is left in {environment} after {end:?}"), || program.processes().is_empty());
    assert_eq!(program.mounts(), Vec::<String>::new(), "{environment} {end:?}");
    assert_eq!(program.remains(), Vec::<std::path::PathBuf>::new(), "{environment} {end:?}");
}

#[test]
fn a_thousand_held_processes_end_with_their_session() {
    for end in [End::CtrlC, End::Kill] {
        end_in_the_midst("native", end);
    }
}

#[test]
fn a_thousand_held_processes_end_with_their_sandbox() {
    let ready = Program::new().run(&["check", "--json"]).json()["environments"]
        .as_array()
        .unwrap()
        .iter()
        .any(|e| e["environment"] == "gvisor" && e["ready"] == true);
    if !ready {
        println!("SKIPPED a_thousand_held_processes_end_with_their_sandbox: gvisor is not ready");
        return;
    }
    for end in [End::CtrlC, End::Kill] {
        end_in_the_midst("gvisor", end);
    }
}
