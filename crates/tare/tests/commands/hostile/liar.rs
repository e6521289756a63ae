//! A liar: a runtime in the middle that makes up its messages. None is believed or reaches a terminal.

use std::fs::{self, Permissions};
use std::io::{BufRead, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

use tare_data::batch::{Batch, CALIBRATION, ENDED, Phase, Sample};
use tare_data::build::Build;
use tare_data::facts::Facts;
use tare_data::frame::{Frame, PROTOCOL, decode_frame, encode_frame};
use tare_data::request::{Amount, Request, TrialRequest};
use tare_data::session::Interference;
use tare_data::session::outcome::{self, Captured, MOST_OUTPUT, Part, Written};

use crate::program::{Program, Said};
use crate::refusals::find_tare;

/// Environment variable that turns this program into a liar, and selects its lie.
const LIE: &str = "TARE_TEST_LIE";
/// Sequences that no terminal may receive: a title, a cleared screen, a C1 control, and right-to-left text.
const ESCAPES: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}2J\u{202e}txt\u{2066}";
/// Claimed duration of an operation.
const EACH_NS: u64 = 1_000;
/// Trials that are answered before they are requested.
const AHEAD: u64 = 400;
/// Operations of such an answer, and nanoseconds.
const EARLY: u64 = 10_007;

fn send(frame: &Frame) {
    let mut out = std::io::stdout().lock();
    out.write_all(encode_frame(frame).as_bytes()).and_then(|()| out.flush()).unwrap();
}

fn batch(series: &str, phase: Phase, operations: u64, elapsed_ns: u64) -> Batch {
    let sample = Sample::Throughput { operations, bytes: 0, elapsed_ns };
    Batch { series: series.into(), phase, started_ns: 0, sample }
}

/// Answers like an agent that tells the chosen lie, after waiting as long as it claims to have worked.
fn answer(request: &TrialRequest, lie: &str, began: Instant) {
    let clock_ns = || began.elapsed().as_nanos() as u64;
    let trial = request.trial;
    send(&Frame::Begun { trial, nonce: request.nonce, clock_ns: clock_ns() });
    match request.amount {
        Amount::Operations { batch: operations, batches } => {
            for (phase, operations) in
                std::iter::once((Phase::Cold, 1)).chain((0..batches).map(|_| (Phase::Warm, operations)))
            {
                let elapsed_ns = operations * EACH_NS;
                std::thread::sleep(Duration::from_nanos(elapsed_ns));
                let (operations, elapsed_ns) = match (lie, phase) {
                    ("count", Phase::Warm) => (operations * 1000, elapsed_ns),
                    ("ages", Phase::Warm) => (operations, u64::MAX / 4),
                    _ => (operations, elapsed_ns),
                };
                send(&Frame::Batch { trial, batch: batch("call", phase, operations, elapsed_ns) });
            }
        }
        Amount::Outcome => {
            let sample = Sample::Gauge { value: 0.0 };
            let ended = Batch { series: ENDED.into(), phase: Phase::Warm, started_ns: 0, sample };
            send(&Frame::Batch { trial, batch: ended });
            // More than an agent may say.
            let output = Captured { lines: vec!["x".repeat(MOST_OUTPUT / 8); 100], is_cut: false };
            let files = vec![Written { path: "x".into(), size: None, hash: None }; 1_000];
            let said = outcome::Said { output, files: Some(files), ..Default::default() };
            send(&Frame::Said { trial, said });
        }
        _ => {
            for operations in [1000, 2000] {
                let elapsed_ns = operations * EACH_NS;
                std::thread::sleep(Duration::from_nanos(elapsed_ns));
                for series in ["call", CALIBRATION] {
                    send(&Frame::Batch { trial, batch: batch(series, Phase::Warm, operations, elapsed_ns) });
                }
            }
        }
    }
    send(&Frame::Done { trial, interference: Interference::default(), clock_ns: clock_ns() });
}

/// Builds the identity of an honest agent.
fn identity() -> Build {
    Build::of_elf(&fs::read(env!("CARGO_BIN_EXE_tare")).unwrap()).unwrap()
}

/// Acts as the liar, and does nothing in an ordinary test run.
#[test]
fn act() {
    let Ok(lie) = std::env::var(LIE) else { return };
    let began = Instant::now();
    println!();
    if lie == "escapes at start" {
        eprintln!("{ESCAPES}");
        std::process::exit(1);
    }
    let version = env!("CARGO_PKG_VERSION");
    let version = if lie == "escapes in version" { format!("{version}{ESCAPES}") } else { version.into() };
    let mut agent = identity();
    match lie.as_str() {
        "another build" => agent.digest = "0123abcd".into(),
        "another target" => agent.target = "riscv64-linux".into(),
        _ => {}
    }
    send(&Frame::Hello { protocol: PROTOCOL, version, agent, clock_ns: 0, signs: Default::default() });
    let mut facts = Facts::default();
    facts.add_fact("kernel.release", format!("6{}", if lie == "escapes in facts" { ESCAPES } else { "" }));
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        match decode_frame::<Request>(line.as_bytes()) {
            Some(Request::Describe { places }) => {
                let places = places.into_keys().map(|name| (name, Facts::default())).collect();
                send(&Frame::Description { facts: facts.clone(), places });
            }
            Some(Request::Trial(request)) => {
                answer(&request, &lie, began);
                if lie == "ahead" {
                    // The next ones are answered now, as fast as can be.
                    for number in request.trial + 1..request.trial + AHEAD {
                        ahead(&TrialRequest { trial: number, ..(*request).clone() });
                    }
                }
            }
            Some(Request::Leave) => break,
            _ => {}
        }
    }
    send(&Frame::Bye);
    std::process::exit(0);
}

fn ahead(request: &TrialRequest) {
    let trial = request.trial;
    send(&Frame::Begun { trial, nonce: request.nonce, clock_ns: 0 });
    for number in 0..8 {
        let phase = if number == 0 { Phase::Cold } else { Phase::Warm };
        send(&Frame::Batch { trial, batch: batch("call", phase, EARLY, EARLY) });
    }
    send(&Frame::Done { trial, interference: Interference::default(), clock_ns: 100_000 });
}

/// Runs a command with a lying runtime as one of the environments.
fn lying(program: &Program, lie: &str, arguments: &[&str]) -> Said {
    let runtime = program.path("liar.html");
    let me = std::env::current_exe().unwrap();
    let script = format!(
        "#!/bin/sh\ncase \"$1\" in --version) echo liar 1; exit;; esac\nexec {} --exact hostile::liar::act --nocapture\n",
        me.display()
    );
    fs::write(&runtime, script).unwrap();
    fs::set_permissions(&runtime, Permissions::from_mode(0o755)).unwrap();
    let specification = format!("oci:{}", runtime.display());
    let arguments: Vec<String> = arguments.iter().map(|word| word.replace("LIAR", &specification)).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    Said::from_output(program.tare_command(&arguments).env(LIE, lie).output().unwrap())
}

fn clean(text: &str) -> bool {
    let bidirectional = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !text.chars().any(|c| (c.is_control() && c != '\n') || bidirectional(c))
}

#[test]
fn what_an_environment_writes_reaches_no_terminal_raw() {
    for lie in ["escapes at start", "escapes in version"] {
        let program = Program::new();
        // As the reference it ends the session, as another environment it is a note.
        let only = ["--only", "sys.getppid", "--rounds", "2"];
        let reference =
            lying(&program, lie, &[&["run", "--in", "LIAR", "--against", "LIAR"][..], &only].concat());
        assert_eq!(reference.code, Some(3), "{reference:?}");
        let times = lying(&program, lie, &["check", "--time", "--in", "LIAR"]);
        for said in [reference, times] {
            assert!(clean(&said.err) && clean(&said.out), "{lie}: {said:?}");
            assert!(said.err.contains("owned") || said.out.contains("owned"), "{lie}: {said:?}");
        }
    }
}

/// Asserts that an agent with the session's version and protocol, but another target and digest, is refused.
#[test]
fn an_agent_that_was_built_otherwise_is_refused_and_both_are_named() {
    let identity = identity();
    assert_eq!(identity.digest.len(), 40, "the linker left a digest: {identity}");
    for (lie, inside) in [
        ("another build", format!("for {}, digest 0123abcd", identity.target)),
        ("another target", format!("for riscv64-linux, digest {}", identity.digest)),
    ] {
        let program = Program::new();
        let only = ["--only", "sys.getppid", "--rounds", "2"];
        let said = lying(&program, lie, &[&["run", "--in", "LIAR", "--against", "LIAR"][..], &only].concat());
        assert_eq!(said.code, Some(3), "{said:?}");
        let words = said.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(&inside) && words.contains(&identity.to_string()), "{lie}: {said:?}");
    }
}

#[test]
fn a_failed_environment_is_noted_without_its_escapes() {
    let program = Program::new();
    let only = ["--only", "sys.getppid", "--rounds", "2"];
    let said = lying(&program, "escapes at start", &[&["run", "--in", "native,LIAR"][..], &only].concat());
    assert!(clean(&said.err) && clean(&said.out), "{said:?}");
    assert!(said.err.contains("owned"), "{said:?}");
}

/// Lists the failures of a session that has a liar in it.
fn session(lie: &str) -> (Program, Said, Vec<String>) {
    let program = Program::new();
    let arguments = [
        "run",
        "--json",
        "--in",
        "native,LIAR",
        "--only",
        "sys.getppid",
        "--rounds",
        "30",
        "--record",
        "s.tare",
    ];
    let said = lying(&program, lie, &arguments);
    let recording = tare_record::read_session(&program.path("s.tare"));
    let trials = recording.map(|recording| recording.session.trials).unwrap_or_default();
    let liar = trials.iter().filter(|trial| !trial.target.starts_with("native"));
    let failures = liar.map(|trial| match &trial.failure {
        Some(failure) => format!("{:?}: {}", failure.kind, failure.reason),
        None => String::new(),
    });
    let failures = failures.collect();
    (program, said, failures)
}

#[test]
fn a_count_that_the_plan_did_not_fix_is_wrong_work() {
    let (_program, said, failures) = session("count");
    assert!(!failures.is_empty(), "{said:?}");
    assert!(failures.iter().all(|failure| failure.starts_with("WrongWork")), "{failures:?}");
}

#[test]
fn a_time_that_the_host_did_not_see_pass_is_wrong_work() {
    let (_program, said, failures) = session("ages");
    assert!(!failures.is_empty(), "{said:?}");
    assert!(failures.iter().all(|failure| failure.starts_with("WrongWork")), "{failures:?}");
}

#[test]
fn an_answer_before_its_request_is_not_one() {
    let (program, said, failures) = session("ahead");
    // Frames that came ahead are passed over; the answers that follow their requests count.
    assert!(failures.len() >= 30, "{said:?}");
    let trials = tare_record::read_session(&program.path("s.tare")).unwrap().session.trials;
    let early = Sample::Throughput { operations: EARLY, bytes: 0, elapsed_ns: EARLY };
    let believed = trials.iter().filter(|trial| trial.batches.iter().any(|batch| batch.sample == early));
    assert_eq!(believed.count(), 0);
    assert!(failures.iter().all(String::is_empty), "{failures:?}");
}

#[test]
fn what_a_run_says_is_bounded_where_it_arrives() {
    let program = Program::new();
    let arguments = ["run", "--in", "native,LIAR", "--rounds", "2", "--record", "s.tare", "--", "true"];
    let said = lying(&program, "nothing", &arguments);
    let outcomes = tare_record::read_session(&program.path("s.tare")).unwrap().session.outcomes;
    let of_liar: Vec<_> = outcomes.iter().filter(|run| !run.target.starts_with("native")).collect();
    assert!(!of_liar.is_empty(), "{said:?}");
    for run in of_liar {
        let output = &run.parts[&Part::Output];
        assert!(output.is_cut && output.hashes.len() <= 8, "{} lines", output.hashes.len());
        assert!(!run.parts.contains_key(&Part::Files), "too many to be compared");
    }
}

#[test]
fn an_honest_runtime_of_another_make_is_believed() {
    let (_program, said, failures) = session("nothing");
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(!failures.is_empty() && failures.iter().all(String::is_empty), "{failures:?}");
}

#[test]
fn facts_in_json_hold_no_control_or_direction_raw() {
    let program = Program::new();
    let arguments =
        ["run", "--facts", "--json", "--in", "native,LIAR", "--only", "sys.getppid", "--rounds", "2"];
    let said = lying(&program, "escapes in facts", &arguments);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(clean(&said.out), "{said:?}");
    assert!(said.out.contains("\\u009b") && said.out.contains("\\u202e"), "{said:?}");
}

/// Path answered by an environment in place of a folder of its own.
const NO_FOLDERS: [&str; 4] = ["--help", "../../../..", "relative", "/var/tmp/../../etc"];

#[test]
fn a_folder_that_cannot_be_one_is_the_environments_lie() {
    let program = Program::new();
    let looked = Command::new(find_tare()).args(["agent-look", "mark"]).output().unwrap().stdout;
    let first = looked.split(|byte| *byte == b'\n').next().unwrap();
    let mut look: serde_json::Value = decode_frame(first).unwrap();
    // A launcher that answers a look with files, and does everything else.
    let launcher = program.path("launcher");
    let text = "#!/bin/sh\ncase \" $* \" in *' agent-look '*) cat \"$0.look\"; read word; exec cat \"$0.answer\";; esac\nexec \"$@\"\n";
    let answer = serde_json::json!({ "word": "tare-word", "waited_ms": 1 });
    fs::write(program.path("launcher.answer"), encode_frame(&answer)).unwrap();
    fs::write(&launcher, text).unwrap();
    fs::set_permissions(&launcher, Permissions::from_mode(0o755)).unwrap();
    let mut run = |base: &str| {
        look["base"] = base.into();
        fs::write(program.path("launcher.look"), encode_frame(&look)).unwrap();
        let enter = format!("box={}", launcher.display());
        let words = ["run", "--in", "native", "--enter", &enter, "--only", "sys.getppid", "--rounds", "1"];
        program.run_tare(&words)
    };
    let said = run(&program.path("").display().to_string());
    assert_eq!(said.code, Some(0), "the honest form: {said:?}");
    assert_eq!(program.run_tare(&["clean"]).code, Some(0));
    for base in NO_FOLDERS {
        let said = run(base);
        assert!(said.err.contains("it answers with a folder that cannot be one"), "{base}: {said:?}");
        let said = program.run_tare(&["clean"]);
        assert_eq!((said.code, said.out.contains("LEFT")), (Some(0), false), "{base}: {said:?}");
    }
}

#[test]
fn entries_of_a_journal_that_no_session_makes_are_dropped() {
    let program = Program::new();
    let state = program.path("state/tare");
    fs::create_dir_all(&state).unwrap();
    let id = "00000000deadbeef";
    let scratch = program.path(&format!("tare-{id}"));
    let mut lines =
        vec![serde_json::json!({ "session": { "scratch": scratch, "pid": 1, "started_ticks": 1 } })];
    for (number, base) in NO_FOLDERS.iter().enumerate() {
        let folder = format!("{base}/tare-{id}");
        lines.push(serde_json::json!({ "owned": { "number": number, "thing": { "folder": folder } } }));
    }
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let journal = state.join(format!("{id}.journal"));
    fs::write(&journal, text).unwrap();
    let said = program.run_tare(&["clean"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    for base in NO_FOLDERS {
        assert!(said.out.contains(&format!("its path is not whole: folder {base}/tare-{id}")), "{said:?}");
    }
    assert!(!journal.exists());
    program.clean_nothing();
}
