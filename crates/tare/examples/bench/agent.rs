//! tare's side: single trials in the native environment, through the same agent and protocol as a session's.

use std::cell::Cell;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use tare_data::batch::{Batch, Phase, Sample};
use tare_data::metric::Metric;
use tare_data::names::Case;
use tare_data::peer::Peer;
use tare_data::request::{Amount, TrialRequest};
use tare_data::session::{Interference, Role, Target, Trial};
use tare_lab::host::programs::Programs;
use tare_lab::ownership::workspace::{SessionWorkspace, Setting as WorkspaceSetting};
use tare_lab::session::amount::pace;
use tare_lab::session::arena::{Arena, Started};
use tare_lab::session::live::LiveArena;
use tare_lab::session::prepare;
use tare_lab::storage::places::Wanted;
use tare_probes::probe::{Need, Size};

use crate::Setting;

/// A batch takes about this long: clock reads and frames between batches are nothing beside it.
const BATCH_NS: f64 = 250e6;
/// Length of the short run that finds the pace.
const SHORT_S: f64 = 0.3;
/// Longest that a trial may take, in milliseconds.
const DEADLINE_MS: u64 = 300_000;

/// Name of the peer outside the probe's own process.
const FAR: &str = "far";

static QUIET: AtomicBool = AtomicBool::new(false);

/// A trial that ran, and when its figures came.
pub struct Ran {
    pub trial: Trial,
    /// From the request to the first batch and to the last frame, by the host's clock.
    pub first_ns: u64,
    pub whole_ns: u64,
}

impl Ran {
    /// The value of a metric.
    pub fn value(&self, metric: &str) -> Result<f64, String> {
        let probe = self.trial.case.split(['?', '@', '-']).next().unwrap_or_default();
        let probe = tare_probes::find(probe).ok_or("a probe that is not there")?;
        let metrics: Vec<Metric> = probe.metrics().into_iter().filter(|m| m.name == metric).collect();
        let value = tare_analysis::verdicts::summary::values(&self.trial, &metrics).pop().flatten();
        value.map(|v| v.value).ok_or_else(|| format!("{} gave no {metric}", probe.name))
    }
}

/// The native environment, entered.
pub struct Agent<'a> {
    arena: LiveArena<'a>,
    started: Started,
    seed: u64,
    next: Cell<u64>,
}

/// The ground on which agents stand: tare's binary, copied to a scratch folder.
pub struct Workspace {
    workspace: SessionWorkspace,
    /// Kept so that it is removed last.
    _state: tempfile::TempDir,
}

impl Workspace {
    pub fn make(setting: &Setting) -> Result<Workspace, String> {
        let state = tempfile::tempdir().map_err(|e| format!("a temporary folder: {e}"))?;
        let binary = setting.binary()?;
        let programs =
            Programs { folders: Vec::new(), tare: binary.clone(), prepared: state.path().to_owned() };
        let workspace = SessionWorkspace::make(&WorkspaceSetting {
            state: state.path().to_owned(),
            scratch: setting.scratch.clone(),
            binary,
            wanted: Wanted::default(),
            programs,
        });
        Ok(Workspace { workspace: workspace.map_err(|e| e.to_string())?, _state: state })
    }

    /// Enters the native environment. The agent inherits where this process may run.
    pub fn enter(&self, seed: u64) -> Result<Agent<'_>, String> {
        let target = Target { name: "native".into(), specification: "native".into(), role: Role::Baseline };
        let mut arena =
            LiveArena::new(&[target], &self.workspace, &QUIET, Instant::now()).map_err(|e| e.to_string())?;
        let started = arena.start(0).map_err(|failure| failure.to_string())?;
        Ok(Agent { arena, started, seed, next: Cell::new(0) })
    }
}

impl Agent<'_> {
    /// Starts the agent afresh; from entering to its first word, in nanoseconds.
    pub fn restart(&mut self) -> Result<u64, String> {
        self.started = self.arena.start(0).map_err(|failure| failure.to_string())?;
        Ok(self.started.elapsed_ns)
    }

    /// Makes the agent reach a netserver, stock or tare's own; gives the peer's name in a case.
    pub fn reach(&mut self, address: std::net::SocketAddr) -> String {
        let peer = Peer::Netperf { address: address.to_string() };
        self.started.peers.insert(FAR.to_owned(), peer);
        FAR.to_owned()
    }

    /// The folder in which file probes work, on the host.
    pub fn own(&self) -> PathBuf {
        PathBuf::from(self.started.paths.get("own").map_or(".", String::as_str))
    }

    /// Facts of that folder.
    pub fn own_fact(&self, key: &str) -> Option<String> {
        self.started.places.get("own")?.get(key).map(str::to_owned)
    }

    /// A fact of the machine as the agent sees it.
    pub fn fact(&self, key: &str) -> Option<String> {
        self.started.inside.get(key).map(str::to_owned)
    }

    /// Runs one trial; a failure is the reason why there is no figure.
    pub fn trial(&mut self, case: &Case, amount: Amount) -> Result<Ran, String> {
        let number = self.next.replace(self.next.get() + 1);
        let seed = self.seed.wrapping_add(number);
        let request = prepare::request(number, case, amount, &self.started, seed, DEADLINE_MS);
        let request: TrialRequest = request.map_err(|failure| failure.to_string())?;
        let began = Instant::now();
        let (mut batches, mut first_ns) = (Vec::new(), None);
        let outcome = self.arena.trial(0, &request, &mut |batch| {
            first_ns.get_or_insert_with(|| began.elapsed().as_nanos() as u64);
            batches.push(batch.clone());
        });
        let whole_ns = began.elapsed().as_nanos() as u64;
        if outcome.lost {
            self.restart()?;
        }
        if let Some(failure) = outcome.failure {
            return Err(format!("{case}: {failure}"));
        }
        let trial = Trial {
            number,
            case: case.to_string(),
            target: "native".into(),
            round: 0,
            attempt: 0,
            position: 0,
            start: 0,
            started_ns: 0,
            host_elapsed_ns: outcome.host_elapsed_ns,
            agent_elapsed_ns: outcome.agent_elapsed_ns,
            batches,
            inside: outcome.inside,
            outside: Interference::default(),
            failure: None,
            notes: outcome.notes,
        };
        Ok(Ran { trial, first_ns: first_ns.unwrap_or(whole_ns), whole_ns })
    }

    /// The amount that runs a case for so many seconds: from a calibration, and then from a short run at that pace,
    /// since a calibration never fills a queue.
    pub fn for_seconds(&mut self, case: &Case, seconds: f64) -> Result<Amount, String> {
        let batch_ns = BATCH_NS.min(seconds * 1e9 / 4.0);
        let batch = |operation_ns: f64| (batch_ns / operation_ns.max(0.1)).max(1.0) as u64;
        let ran = self.trial(case, Amount::Calibrate)?;
        let first =
            pace(&ran.trial.batches, ran.trial.host_elapsed_ns).ok_or("a calibration without batches")?;
        let asked = batch(first.operation_ns);
        let ran = self.trial(case, Amount::Duration { batch: asked, seconds: SHORT_S })?;
        // By the headline: the first batch may be of what happens once, as connecting does.
        let series = tare_probes::find(&case.probe).map_or("", |probe| probe.metrics[0].series);
        let headline = |batch: &&Batch| batch.phase == Phase::Warm && batch.series == series;
        let last = ran.trial.batches.iter().rev().find(headline);
        let last = last.ok_or("a short run without a batch of the headline's series")?;
        let operation_ns = match last.sample {
            // By what was asked for: an operation may be several samples, as one that fills a queue is.
            Sample::Throughput { elapsed_ns, .. } | Sample::Latency { elapsed_ns, .. } => {
                elapsed_ns as f64 / asked as f64
            }
            Sample::Gauge { .. } => first.operation_ns,
        };
        Ok(Amount::Duration { batch: batch(operation_ns), seconds })
    }
}

impl Drop for Agent<'_> {
    fn drop(&mut self) {
        drop(self.arena.leave_all());
    }
}

/// A case of a probe in its baseline size, but for these parameters.
pub fn case(probe: &str, parameters: &[(&str, &str)]) -> Result<Case, String> {
    let found = tare_probes::find(probe).ok_or_else(|| format!("this tare has no probe {probe}"))?;
    let mut all = found.defaults(Size::Reference);
    for (key, value) in parameters {
        if !all.0.contains_key(*key) {
            return Err(format!("this tare's {probe} has no parameter {key}"));
        }
        all.0.insert((*key).to_owned(), (*value).to_owned());
    }
    let somewhere = |need, name: &str| found.needs(need).then(|| name.to_owned());
    Ok(Case {
        probe: probe.to_owned(),
        parameters: all,
        place: somewhere(Need::Place, "own"),
        peer: somewhere(Need::Peer, "loopback"),
    })
}
