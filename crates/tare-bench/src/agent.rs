//! tare's side: single trials on this machine, through the same agent and protocol as a session's.

use std::collections::{BTreeMap, VecDeque};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tare_bench::programs::copy_program;
use tare_data::batch::{Batch, CALIBRATION, Phase, Timed};
use tare_data::facts::Facts;
use tare_data::frame::{Frame, PROTOCOL, Received, Splitter, encode_frame};
use tare_data::metric::Metric;
use tare_data::names::Case;
use tare_data::peer::{LOOPBACK, Peer};
use tare_data::request::{Amount, Request, TrialRequest};
use tare_data::session::Interference;
use tare_data::session::Trial;
use tare_probes::agent::AGENT;
use tare_probes::probe::Size;

use crate::setting::Setting;

/// A batch takes about this long: clock reads and frames between batches are negligible.
const BATCH_NS: f64 = 250e6;
/// Length of the short run that finds the pace.
const SHORT_S: f64 = 0.3;
/// Longest that a trial may take, in milliseconds.
const DEADLINE_MS: u64 = 300_000;

/// The trial ends itself at its deadline; its last frame may take this long to arrive.
const NEWS_GRACE: Duration = Duration::from_secs(3);
/// Longest that the agent may take to its first frame, to describe the machine, and to end.
const STARTING: Duration = Duration::from_secs(60);
const DESCRIBING: Duration = Duration::from_secs(30);
const LEAVING: Duration = Duration::from_secs(2);

/// Name of the place in which file probes work.
const OWN: &str = "own";
/// Name of the peer outside the probe's own process.
const FAR: &str = "far";

/// A trial that ran, and when its figures came.
pub struct Ran {
    pub trial: Trial,
    /// From the request to the first batch and to the last frame, by the host's clock.
    pub first_ns: u64,
    pub whole_ns: u64,
}

impl Ran {
    pub fn metric_value(&self, metric: &str) -> Result<f64, String> {
        let probe = self.trial.case.split(['?', '@', '-']).next().unwrap_or_default();
        let probe = tare_probes::find_probe(probe).ok_or("a probe that is not there")?;
        let metrics: Vec<Metric> = probe.metrics().into_iter().filter(|m| m.name == metric).collect();
        let value = tare_analysis::verdicts::summary::read_values(&self.trial, &metrics).pop().flatten();
        // A tool that prints one value prints that of its whole run.
        value.map(|v| v.total.unwrap_or(v.value)).ok_or_else(|| format!("{} gave no {metric}", probe.name))
    }
}

/// A folder on a disk in which agents work, with a copy of tare's binary as a session makes one.
pub struct Workspace {
    folder: tempfile::TempDir,
}

impl Workspace {
    pub fn from_setting(setting: &Setting) -> Result<Workspace, String> {
        let folder = tempfile::Builder::new().prefix("bench-").tempdir_in(&setting.scratch);
        let workspace =
            Workspace { folder: folder.map_err(|e| format!("{}: {e}", setting.scratch.display()))? };
        copy_program(&setting.find_binary()?, &workspace.binary())
            .map_err(|e| format!("copying tare: {e}"))?;
        Ok(workspace)
    }

    fn binary(&self) -> PathBuf {
        self.folder.path().join("tare")
    }

    /// Starts an agent in a fresh folder. It inherits the processors of this process.
    pub fn start_agent(&self, seed: u64) -> Result<Agent, String> {
        let own = tempfile::Builder::new().prefix("own-").tempdir_in(self.folder.path());
        let own = own.map_err(|e| format!("a folder for the agent: {e}"))?;
        let (mut stream, _) = Stream::open(&self.binary())?;
        let places = BTreeMap::from([(OWN.to_owned(), own.path().display().to_string())]);
        stream.send(&Request::Describe { places })?;
        let Frame::Description { facts, mut places } = stream.receive(Instant::now() + DESCRIBING)? else {
            return Err("the agent's answer is not a description".into());
        };
        let place = places.remove(OWN).unwrap_or_default();
        let (binary, peers) = (self.binary(), BTreeMap::new());
        Ok(Agent { binary, stream, own, facts, place, peers, seed, slower: 0.0, next: 0 })
    }
}

/// The agent's process, which is asked and answers in frames. Dropped, it ends at the end of its input.
struct Stream {
    process: Child,
    splitter: Splitter,
    waiting: VecDeque<Frame>,
}

impl Stream {
    /// Starts the agent, and times it to its first frame, in nanoseconds.
    fn open(binary: &Path) -> Result<(Stream, u64), String> {
        let mut command = Command::new(binary);
        command.arg(AGENT).env_clear().current_dir("/").process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let began = Instant::now();
        let process = command.spawn().map_err(|e| format!("starting the agent: {e}"))?;
        let mut stream = Stream { process, splitter: Splitter::default(), waiting: VecDeque::new() };
        match stream.receive(began + STARTING)? {
            Frame::Hello { protocol: PROTOCOL, .. } => Ok((stream, began.elapsed().as_nanos() as u64)),
            _ => Err(format!("the agent does not open with protocol {PROTOCOL}: is it this tare?")),
        }
    }

    fn send(&mut self, request: &Request) -> Result<(), String> {
        let input = self.process.stdin.as_mut().ok_or("the agent has no input")?;
        input.write_all(encode_frame(request).as_bytes()).map_err(|e| format!("asking the agent: {e}"))
    }

    fn receive(&mut self, deadline: Instant) -> Result<Frame, String> {
        let mut bytes = [0; 64 << 10];
        loop {
            if let Some(frame) = self.waiting.pop_front() {
                return Ok(frame);
            }
            let output = self.process.stdout.as_mut().ok_or("the agent has no output")?;
            let left = deadline.saturating_duration_since(Instant::now());
            let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
            match poll(&mut [PollFd::new(output, PollFlags::IN)], Some(&left)) {
                Ok(0) => return Err("the agent gave no answer in time".into()),
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(e) => return Err(format!("waiting for the agent: {e}")),
            }
            let read = output.read(&mut bytes).map_err(|e| format!("reading the agent: {e}"))?;
            if read == 0 {
                return Err("the agent ended".into());
            }
            for line in self.splitter.push(&bytes[..read]) {
                match line {
                    Received::Frame(frame) => self.waiting.push_back(frame),
                    Received::Note(note) => eprintln!("agent: {note}"),
                }
            }
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        drop(self.process.stdout.take());
        let end = Instant::now() + LEAVING;
        while matches!(self.process.try_wait(), Ok(None)) {
            if Instant::now() > end {
                let _ = self.process.kill();
                let _ = self.process.wait();
                return;
            }
            sleep(Duration::from_millis(1));
        }
    }
}

/// tare's agent on this machine, with nothing in between.
pub struct Agent {
    binary: PathBuf,
    stream: Stream,
    own: tempfile::TempDir,
    facts: Facts,
    /// Facts of the folder.
    place: Facts,
    peers: BTreeMap<String, Peer>,
    seed: u64,
    /// Share by which trials work longer, on purpose.
    pub slower: f64,
    next: u64,
}

impl Agent {
    /// Starts the agent afresh, and times it to its first frame, in nanoseconds.
    pub fn restart(&mut self) -> Result<u64, String> {
        let (stream, elapsed_ns) = Stream::open(&self.binary)?;
        self.stream = stream;
        Ok(elapsed_ns)
    }

    /// Makes the agent reach a netserver, stock or tare's own, and returns the name by which a case refers to it.
    pub fn add_netserver_peer(&mut self, address: std::net::SocketAddr) -> String {
        self.peers.insert(FAR.to_owned(), Peer::Netperf { address: address.to_string() });
        FAR.to_owned()
    }

    /// Returns the folder in which file probes work.
    pub fn probe_folder(&self) -> &Path {
        self.own.path()
    }

    /// Finds a fact of that folder.
    pub fn own_fact(&self, key: &str) -> Option<String> {
        self.place.get(key).map(str::to_owned)
    }

    /// Finds a fact of the machine as the agent sees it.
    pub fn fact(&self, key: &str) -> Option<String> {
        self.facts.get(key).map(str::to_owned)
    }

    /// Runs one trial; a failure is the reason why there is no figure.
    pub fn run_trial(&mut self, case: &Case, amount: Amount) -> Result<Ran, String> {
        let number = self.next;
        self.next += 1;
        let peer = match case.peer.as_deref() {
            None => None,
            Some(LOOPBACK) => Some(Peer::Loopback),
            Some(name) => Some(self.peers.get(name).cloned().ok_or("a peer that nobody has named")?),
        };
        let request = TrialRequest {
            turn: None,
            trial: number,
            case: case.clone(),
            amount,
            directory: case.place.as_ref().map(|_| self.own.path().display().to_string()),
            peer,
            seed: self.seed.wrapping_add(number),
            deadline_ms: DEADLINE_MS,
            slower: self.slower,
            settling_ms: 0,
            nonce: 0,
        };
        let ran = self.answer(request);
        if ran.is_err() {
            self.restart()?;
        }
        ran.map_err(|reason| format!("{case}: {reason}"))
    }

    fn answer(&mut self, request: TrialRequest) -> Result<Ran, String> {
        let (number, case) = (request.trial, request.case.to_string());
        let began = Instant::now();
        let deadline = began + Duration::from_millis(DEADLINE_MS) + NEWS_GRACE;
        self.stream.send(&Request::Trial(Box::new(request)))?;
        let (mut batches, mut first_ns, mut begun_ns) = (Vec::new(), None, None);
        let (inside, ended_ns) = loop {
            match self.stream.receive(deadline)? {
                Frame::Begun { trial, clock_ns, .. } if trial == number => begun_ns = Some(clock_ns),
                Frame::Batch { trial, batch } if trial == number => {
                    first_ns.get_or_insert_with(|| began.elapsed().as_nanos() as u64);
                    batches.push(batch);
                }
                Frame::Done { trial, interference, clock_ns } if trial == number => {
                    break (interference, clock_ns);
                }
                Frame::Failed { trial, failure, .. } if trial == number => return Err(failure.to_string()),
                other => return Err(format!("the agent answered with {other:?}")),
            }
        };
        let whole_ns = began.elapsed().as_nanos() as u64;
        let trial = Trial {
            partner: None,
            number,
            case,
            target: "native".into(),
            round: 0,
            attempt: 0,
            position: 0,
            start: 0,
            started_ns: 0,
            host_elapsed_ns: whole_ns,
            agent_elapsed_ns: begun_ns.map(|begun_ns| ended_ns.saturating_sub(begun_ns)),
            batches: batches.into(),
            inside,
            outside: Interference::default(),
            failure: None,
            notes: Vec::new(),
        };
        Ok(Ran { trial, first_ns: first_ns.unwrap_or(whole_ns), whole_ns })
    }

    /// Finds the amount that runs a case for this many seconds: from a calibration, and then from a short run
    /// at that pace, since a calibration never fills a queue.
    pub fn for_seconds(&mut self, case: &Case, seconds: f64) -> Result<Amount, String> {
        let batch_ns = BATCH_NS.min(seconds * 1e9 / 4.0);
        let batch = |operation_ns: f64| (batch_ns / operation_ns.max(0.1)).max(1.0) as u64;
        let ran = self.run_trial(case, Amount::Calibrate)?;
        let calibrated_ns =
            operation_ns(&ran.trial.batches.to_vec()).ok_or("a calibration without batches")?;
        let asked = batch(calibrated_ns);
        let ran = self.run_trial(case, Amount::Duration { batch: asked, seconds: SHORT_S })?;
        // By the headline: the first batch may be of work that happens once, like connecting.
        let series = tare_probes::find_probe(&case.probe).map_or("", |probe| probe.metrics[0].series);
        let headline = |batch: &&Batch| batch.phase == Phase::Warm && batch.series == series;
        let batches = ran.trial.batches.to_vec();
        let last = batches.iter().rev().find(headline);
        let last = last.ok_or("a short run without a batch of the headline's series")?;
        // By the number asked for: an operation may be several samples, as one that fills a queue is.
        let last = last.sample.iter_timed().last().map(|timed| timed.elapsed_ns as f64 / asked as f64);
        let operation_ns = last.unwrap_or(calibrated_ns);
        Ok(Amount::Duration { batch: batch(operation_ns), seconds })
    }
}

/// Estimates the time of an operation in a calibration: it doubles its operations, so that its last two
/// batches are the longest, of which the quicker met no hiccup. A probe that does a fixed amount of work has
/// no such batches.
fn operation_ns(batches: &[Batch]) -> Option<f64> {
    let timed = |batch: &Batch| -> Vec<Timed> { batch.sample.iter_timed().collect() };
    let last = batches.iter().rev().filter(|batch| batch.series == CALIBRATION).flat_map(timed).take(2);
    let each_ns = |timed: Timed| timed.elapsed_ns as f64 / timed.operations.max(1) as f64;
    let quicker_ns = last.map(each_ns).reduce(f64::min);
    let all_ns = || batches.iter().flat_map(timed).map(|timed| timed.elapsed_ns as f64).sum();
    batches.first().map(|_| quicker_ns.unwrap_or_else(all_ns))
}

/// Builds a case of a probe in its baseline size, but for these parameters.
pub fn make_case(probe: &str, parameters: &[(&str, &str)]) -> Result<Case, String> {
    let found = tare_probes::find_probe(probe).ok_or_else(|| format!("this tare has no probe {probe}"))?;
    let mut all = found.default_parameters(Size::Reference);
    for (key, value) in parameters {
        if !all.0.contains_key(*key) {
            return Err(format!("this tare's {probe} has no parameter {key}"));
        }
        all.0.insert((*key).to_owned(), (*value).to_owned());
    }
    Ok(Case {
        probe: probe.to_owned(),
        parameters: all,
        place: found.needs_place().then(|| OWN.to_owned()),
        peer: found.needs_peer().then(|| LOOPBACK.to_owned()),
    })
}
