//! The agent as the host meets it: a process that is spoken to in frames.

#![allow(clippy::disallowed_methods, reason = "tests are told where they run, and start what they look for")]

mod release;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tare_data::batch::{Batch, HELD, Phase};
use tare_data::build::Build;
use tare_data::failure::{Failure, FailureKind};
use tare_data::frame::{Frame, PROTOCOL, Received, Splitter, encode_frame};
use tare_data::names::Case;
use tare_data::peer::Peer;
use tare_data::request::{Amount, Request, TrialRequest};
use tare_data::session::Interference;
use tare_probes::probe::Size;

/// Finds the agent, which cargo builds next to this test: deps/../examples/agent.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().join("examples/agent")
}

struct Agent {
    process: Child,
    splitter: Splitter,
    waiting: Vec<Received<Frame>>,
}

impl Agent {
    fn start() -> Agent {
        Agent::at(&program())
    }

    fn at(file: &Path) -> Agent {
        Agent::of(Command::new(file).arg("agent"), file)
    }

    /// Starts an agent by a command, which ends up in the program in this file.
    fn of(command: &mut Command, file: &Path) -> Agent {
        let process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut agent = Agent { process, splitter: Splitter::default(), waiting: Vec::new() };
        match agent.next() {
            Some(Frame::Hello { protocol, agent, .. }) => {
                assert_eq!(protocol, PROTOCOL);
                let file = Build::of_elf(&std::fs::read(file).unwrap()).unwrap();
                assert_eq!((agent.digest.len(), agent), (40, file), "the same in memory and in the file");
            }
            other => panic!("{other:?} is no greeting"),
        }
        agent
    }

    fn say(&mut self, bytes: &[u8]) {
        self.process.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    }

    fn ask(&mut self, request: &Request) {
        self.say(encode_frame(request).as_bytes());
    }

    /// Reads the next frame; none at the end of the stream.
    fn next(&mut self) -> Option<Frame> {
        loop {
            while !self.waiting.is_empty() {
                if let Received::Frame(frame) = self.waiting.remove(0) {
                    return Some(frame);
                }
            }
            let mut bytes = [0; 4096];
            match self.process.stdout.as_mut().unwrap().read(&mut bytes).unwrap() {
                0 => return None,
                read => self.waiting = self.splitter.push(&bytes[..read]),
            }
        }
    }

    fn trial(&mut self, request: TrialRequest) -> Result<(Vec<Batch>, Interference), Failure> {
        let number = request.trial;
        self.ask(&Request::Trial(Box::new(request)));
        let mut batches = Vec::new();
        loop {
            match self.next().expect("the agent lives on") {
                Frame::Begun { trial, .. } if trial == number => {}
                Frame::Batch { trial, batch } if trial == number => batches.push(batch),
                Frame::Done { trial, interference, .. } if trial == number => {
                    return Ok((batches, interference));
                }
                Frame::Failed { trial, failure, .. } if trial == number => return Err(failure),
                other => panic!("{other:?} is not about trial {number}"),
            }
        }
    }

    fn leave(mut self) {
        self.ask(&Request::Leave);
        assert_eq!(self.next(), Some(Frame::Bye));
        assert_eq!(self.next(), None);
        assert!(self.process.wait().unwrap().success());
    }
}

fn request(name: &str, place: Option<&Path>) -> TrialRequest {
    let probe = tare_probes::find_probe(name);
    TrialRequest {
        turn: None,
        trial: 41,
        case: Case {
            probe: name.into(),
            parameters: probe.map(|p| p.default_parameters(Size::Short)).unwrap_or_default(),
            place: place.map(|_| "own".into()),
            peer: probe.filter(|p| p.needs_peer()).map(|_| "loopback".into()),
        },
        amount: Amount::Operations { batch: 23, batches: 2 },
        directory: place.map(|path| path.to_str().unwrap().to_owned()),
        peer: probe.filter(|p| p.needs_peer()).map(|_| Peer::Loopback),
        seed: 7,
        // Emulation takes its time, and so does a disk that others keep busy.
        deadline_ms: 60_000,
        slower: 0.0,
        settling_ms: 0,
        nonce: 0,
    }
}

fn place(name: &str) -> PathBuf {
    let path = program().with_file_name(format!("agent-test-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn every_probe_runs_in_a_process_of_its_own() {
    runs_every_probe("all", Agent::start());
}

#[test]
fn every_probe_runs_as_it_is_released() {
    // A build that is optimised as a whole links other things than this one.
    runs_every_probe("released", Agent::at(&release::build_agent()));
}

fn is_emulated() -> bool {
    std::env::var_os("TARE_EMULATED").is_some()
}

fn runs_every_probe(name: &str, mut agent: Agent) {
    let place = place(name);
    for probe in tare_probes::PROBES {
        let directory = (probe.needs_place() || probe.writes_program()).then_some(place.as_path());
        let (batches, interference) = match agent.trial(request(probe.name, directory)) {
            Ok(done) => done,
            // Some emulators lack a call that a probe needs. A program that is counted ends with its own
            // reason.
            Err(_) if probe.name == "demand.command" && is_emulated() => continue,
            Err(e) if e.kind == FailureKind::NotSupported && is_emulated() => continue,
            Err(e) => panic!("{}: {e}", probe.name),
        };
        assert!(batches.iter().any(|b| b.phase == Phase::Warm), "{}", probe.name);
        assert!(interference.canary_ns.is_some_and(|ns| ns > 0));
    }
    agent.leave();
    // The trials took their folders away, but for one that stays empty.
    let left: Vec<_> = std::fs::read_dir(&place).unwrap().map(|entry| entry.unwrap().path()).collect();
    left.iter().for_each(|folder| std::fs::remove_dir(folder).unwrap());
    assert_eq!(left.len(), 1, "{left:?}");
    std::fs::remove_dir(&place).unwrap();
}

#[test]
fn junk_and_bad_requests_are_survived() {
    let mut agent = Agent::start();
    agent.say(b"login: root\n@tare1 00000000 {}\n\xff\xfe\0\n");
    agent.say(&[b'x'; 100_000]);
    agent.say(b"\n");
    let unknown = agent.trial(request("no.such", None)).unwrap_err();
    assert_eq!(unknown.kind, FailureKind::NotSupported);
    let mut bad = request("cpu.primes", None);
    bad.case.parameters.0.insert("max_prime".into(), "many".into());
    let bad = agent.trial(bad).unwrap_err();
    assert_eq!(bad.reason, "parameter max_prime=many is not a whole number such as 20000 or 4KiB");
    let missing = agent.trial(request("file.sync", Some(Path::new("/no/such/place")))).unwrap_err();
    assert_eq!(missing.kind, FailureKind::Broken);
    assert!(missing.reason.contains("/no/such/place"), "{missing}");
    agent.trial(request("null", None)).unwrap();
    agent.leave();
}

#[test]
fn a_trial_beyond_its_deadline_is_ended_and_said_so() {
    let mut agent = Agent::start();
    let mut long = request("null", None);
    long.amount = Amount::Duration { batch: 1_000, seconds: 3_600.0 };
    long.deadline_ms = 100;
    long.trial = 5;
    // Its batches do not matter; the pipe would fill with them, were they not read.
    let failure = agent.trial(long).unwrap_err();
    assert_eq!((failure.kind, failure.reason.as_str()), (FailureKind::Deadline, "100 ms"));
    agent.trial(request("null", None)).unwrap();
    agent.leave();
}

#[test]
fn facts_come_with_their_places() {
    let place = place("facts");
    let mut agent = Agent::start();
    let path = place.to_str().unwrap().to_owned();
    let places = [("own".to_owned(), path), ("gone".to_owned(), "/no/such/place".to_owned())];
    agent.ask(&Request::Describe { places: places.into() });
    let Some(Frame::Description { facts, places }) = agent.next() else { panic!("no description") };
    assert!(facts.get("kernel.release").is_some());
    assert!(places["own"].get("file_system.type").is_some());
    assert!(places["own"].get("honesty.cache").is_some());
    assert!(places["gone"].0.is_empty(), "{:?}", places["gone"]);
    agent.leave();
    std::fs::remove_dir(&place).unwrap();
}

#[test]
fn a_full_place_fails_with_its_reason() {
    let place = place("full");
    let script = r#"mount -t tmpfs -o size=2m none "$1" && exec "$0" agent"#;
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]).arg(program()).arg(&place);
    let allowed = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", "mount -t tmpfs none \"$0\""])
        .arg(&place)
        .stderr(Stdio::null())
        .status();
    if !allowed.is_ok_and(|status| status.success()) {
        println!("SKIPPED a_full_place_fails_with_its_reason: no mounts in a user namespace");
        return;
    }
    let mut agent = Agent::of(&mut command, &program());
    let failure = agent.trial(request("file.seq", Some(&place))).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Broken);
    assert!(failure.reason.starts_with("writing 32M"), "{failure}");
    assert!(failure.reason.ends_with("No space left on device"), "{failure}");
    agent.leave();
    std::fs::remove_dir(&place).unwrap();
}

/// Processes whose parent, or parent's parent, is this one. Empty where there is no /proc.
fn descendants(of: u32) -> Vec<u32> {
    let parent = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // After the name, which ends with the last bracket: state, then parent.
        stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse::<u32>().ok()
    };
    let all = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|&pid| {
            let first = parent(pid);
            first == Some(of) || first.and_then(parent) == Some(of)
        })
        .collect()
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    // A minute at most: the kernel does this as soon as it can.
    for _ in 0..6_000 {
        if holds() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("still waiting for: {what}");
}

#[test]
fn a_killed_agent_leaves_no_process_behind() {
    let mut agent = Agent::start();
    let mut holding = request("proc.fork_hold", None);
    holding.case.parameters.0.insert("n".into(), "50".into());
    holding.case.parameters.0.insert("hold_ms".into(), "60000".into());
    holding.deadline_ms = 100_000;
    agent.ask(&Request::Trial(Box::new(holding)));
    let batch = loop {
        match agent.next() {
            Some(Frame::Batch { batch, .. }) if batch.series == HELD => {}
            Some(Frame::Batch { batch, .. }) => break batch,
            Some(Frame::Begun { .. }) => {}
            other => panic!("{other:?} comes before the first fork"),
        }
    };
    assert_eq!(batch.series, "process");
    let held = descendants(agent.process.id());
    if held.is_empty() {
        println!("SKIPPED a_killed_agent_leaves_no_process_behind: no /proc");
        return;
    }
    assert_eq!(held.len(), 51, "the trial's process and its 50 children");
    agent.process.kill().unwrap();
    agent.process.wait().unwrap();
    let gone = |pid: &u32| !Path::new(&format!("/proc/{pid}")).exists();
    until("the processes of the trial to end", || held.iter().all(gone));
}

#[test]
fn a_killed_trial_takes_its_children_along_and_the_agent_goes_on() {
    let mut agent = Agent::start();
    let mut holding = request("proc.fork_hold", None);
    holding.case.parameters.0.insert("n".into(), "20".into());
    holding.case.parameters.0.insert("hold_ms".into(), "60000".into());
    holding.deadline_ms = 500;
    let failure = agent.trial(holding).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Deadline);
    let own = agent.process.id();
    until("the children of the trial to end", || descendants(own).is_empty());
    agent.trial(request("null", None)).unwrap();
    agent.leave();
}
