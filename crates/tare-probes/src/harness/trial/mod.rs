//! A trial as the probe sees it: its parameters, its folder, and how samples leave it.

mod disks;
mod report;

use std::path::Path;
use std::time::Duration;

use tare_data::batch::{Batch, CALIBRATION, HELD, Phase, Sample};
use tare_data::failure::{Failure, FailureKind};
use tare_data::names::Parameters;
use tare_data::peer::Peer;
use tare_data::request::{Amount, TrialRequest};
use tare_data::session::outcome::Said;
use tare_paths::door::Door;

pub(crate) use self::disks::DiskWatch;
pub use self::report::Report;
use self::report::Waiting;
use crate::harness::interference::{count_forced_switches, count_interrupted};
use crate::harness::stopwatch::now_ns;
use crate::platform::run_within;
use crate::platform::turns::Turns;

/// A calibration doubles its operations until they take this long: long against a clock read and a timer
/// interrupt, short against a trial.
const CALIBRATION_NS: u64 = 1_000_000;
/// A calibration goes on until an operation takes as long as in the batch before, but for this share: the first ones in
/// an emulated processor or a fresh sandbox take ten times as long, and a hypervisor may take the processor away.
const STEADY: f64 = 0.75;
/// Longest that all batches of a calibration go on for becoming steady.
const STEADY_MOST_NS: u64 = 40_000_000;
/// Limit on the operations of a calibration: stops a probe whose operations take no time.
const CALIBRATION_MOST: u64 = 1 << 30;
/// Passes of a calibration at most, and the time after which none begins.
const CALIBRATED_PASSES: u32 = 4;
const CALIBRATED_PASSES_NS: u64 = 100_000_000;
/// Operations of the cold batch: the very first call.
const COLD_OPERATIONS: u64 = 1;
/// Kinds of steps of a pair that makes batches; where passes have pieces, each piece is a kind.
const BATCH: usize = 0;
const WARM_UP: usize = 1;
/// The first step of a pair may take this many times as long as others.
const FIRST_PATIENCE: u32 = 5;
/// Short batches are sent together after this long, or at the end: while one is timed, nobody reads or records another.
const SENT_AFTER_NS: u64 = 20_000_000;

pub struct Trial<'a> {
    request: &'a TrialRequest,
    program: &'a Path,
    folder: Option<&'a Door>,
    carried: Option<&'a Path>,
    waiting: Waiting,
    /// This side's turns, where the trial is one of a pair.
    turns: Option<Turns>,
    /// Context switches that were forced on each batch of a pair.
    forced: Vec<u64>,
    said: Option<Said>,
    sink: &'a mut dyn FnMut(Batch),
}

impl<'a> Trial<'a> {
    /// Creates a trial that works in `folder`, which is fresh and not shared, and passes its batches to
    /// `sink`.
    ///
    /// `program` is the path of a binary that answers to the agent's subcommands.
    pub fn new(
        request: &'a TrialRequest,
        program: &'a Path,
        folder: Option<&'a Door>,
        sink: &'a mut dyn FnMut(Batch),
    ) -> Self {
        let (waiting, forced, said) = Default::default();
        Trial { request, program, folder, carried: None, waiting, turns: None, forced, said, sink }
    }

    /// Adds the turns of a pair.
    pub(crate) fn with_turns(mut self, turns: Option<Turns>) -> Self {
        self.turns = turns;
        self
    }

    /// Tells the other side of a pair that nothing more comes.
    pub(crate) fn give_up(&self) {
        self.turns.iter().for_each(Turns::give_up);
    }

    /// Adds a folder that holds the files of user commands.
    pub(crate) fn with_carried(mut self, carried: Option<&'a Path>) -> Self {
        self.carried = carried;
        self
    }

    /// Returns the folder of the carried files, with one folder per command; None where nothing was carried.
    pub(crate) fn carried_folder(&self) -> Option<&'a Path> {
        self.carried
    }

    pub fn parameters(&self) -> &'a Parameters {
        &self.request.case.parameters
    }

    /// Returns the seed, which is the same in every environment of a round.
    pub fn seed(&self) -> u64 {
        self.request.seed
    }

    /// Returns the path under which this binary can be started again.
    pub fn program(&self) -> &'a Path {
        self.program
    }

    pub fn peer(&self) -> Result<&'a Peer, Failure> {
        self.request.peer.as_ref().ok_or_else(|| Failure::new(FailureKind::Broken, "the case names no peer"))
    }

    /// Returns the time after which the trial's process ends itself.
    pub fn deadline(&self) -> Duration {
        Duration::from_millis(self.request.deadline_ms)
    }

    /// Returns a fresh folder for this trial in its place, held open; removed after the trial.
    pub fn folder(&self) -> Result<&'a Door, Failure> {
        self.folder.ok_or_else(|| Failure::new(FailureKind::Broken, "the case names no place"))
    }

    /// Runs `work` as often as the request demands: once cold with one operation, then warm in batches.
    ///
    /// `work` does the given number of operations, times them, proves them, and adds its samples to the [`Report`].
    /// For probes whose single operation is short enough to be counted out.
    pub fn repeat<F>(&mut self, work: F) -> Result<(), Failure>
    where
        F: FnMut(u64, &mut Report) -> Result<(), Failure>,
    {
        self.repeat_after(COLD_OPERATIONS, work)
    }

    /// Runs `work` like [`Trial::repeat`], after `warmup` operations of which the first is reported as the
    /// cold one.
    pub(crate) fn repeat_after<F>(&mut self, warmup: u64, mut work: F) -> Result<(), Failure>
    where
        F: FnMut(u64, &mut Report) -> Result<(), Failure>,
    {
        let warm_up = |trial: &mut Self, work: &mut F| {
            if warmup > 0 {
                trial.batch(Phase::Cold, COLD_OPERATIONS, work)?;
            }
            (1..warmup).try_for_each(|_| {
                let mut report = Report::default();
                let done = work(1, &mut report);
                trial.waiting.add_ends(Phase::Cold, now_ns(), report);
                done
            })
        };
        let done = match self.request.amount {
            Amount::Calibrate => self.calibrate(&mut work),
            Amount::Outcome => self.batch(Phase::Warm, 1, &mut work),
            Amount::Operations { batch, batches } => match self.turns.take() {
                None => warm_up(self, &mut work)
                    .and_then(|()| (0..batches).try_for_each(|_| self.batch(Phase::Warm, batch, &mut work))),
                Some(mut turns) => {
                    let done = self.alternate(&mut turns, (batch, batches), &mut work, warm_up);
                    self.turns = Some(turns);
                    done
                }
            },
            Amount::Duration { batch, seconds } => warm_up(self, &mut work).and_then(|()| {
                let end_ns = now_ns() + (seconds * 1e9) as u64;
                while now_ns() < end_ns {
                    self.batch(Phase::Warm, batch, &mut work)?;
                }
                Ok(())
            }),
        };
        if done.is_err() {
            self.waiting.keep_ends();
        }
        self.send();
        done
    }

    /// Runs `work` in turn with the other side of a pair. After each hand-over some operations are not timed: they bring back the
    /// caches that the other side has used.
    fn alternate<F>(
        &mut self,
        turns: &mut Turns,
        (operations, batches): (u64, u32),
        work: &mut F,
        warm_up: impl Fn(&mut Self, &mut F) -> Result<(), Failure>,
    ) -> Result<(), Failure>
    where
        F: FnMut(u64, &mut Report) -> Result<(), Failure>,
    {
        let (patience, settle) = (turns.patience(), turns.settle());
        turns.meet()?;
        // A first run may load what it needs from a disk.
        turns.step(WARM_UP, || {
            run_within(patience * FIRST_PATIENCE, self.deadline(), || warm_up(self, work))
        })?;
        for _ in 0..batches {
            turns.step(BATCH, || {
                run_within(patience, self.deadline(), || {
                    if settle > 0 {
                        work(settle, &mut Report::default())?;
                    }
                    let before = count_forced_switches();
                    let done = self.batch(Phase::Warm, operations, work);
                    self.forced.push(count_forced_switches().saturating_sub(before));
                    done
                })
            })?;
        }
        // Neither takes down what it made while the other is timed.
        turns.meet()
    }

    /// Counts the batches of a pair for which another program took the processor.
    pub(crate) fn count_interrupted(&self) -> Option<u64> {
        self.request.turn.is_some().then(|| count_interrupted(&self.forced))
    }

    /// Opens the counters of this kernel's disks, to watch what the operations cause there.
    pub(crate) fn watch_disks(&self) -> DiskWatch {
        let is_watched = !self.is_calibrating();
        if is_watched { DiskWatch::open(Path::new("/sys/block")) } else { DiskWatch::default() }
    }

    /// Sends what the operations caused at the disks.
    pub(crate) fn send_disks(&mut self, disks: DiskWatch) {
        let mut report = Report::default();
        disks.report(&mut report);
        self.waiting.add(Phase::Warm, now_ns(), report);
        self.send();
    }

    /// Tells whether this trial finds out how long an operation takes.
    pub(crate) fn is_calibrating(&self) -> bool {
        self.request.amount == Amount::Calibrate
    }

    /// Tells whether this trial goes on for a fixed time, as the run of a tool does from its beginning to its end.
    pub(crate) fn is_tools_run(&self) -> bool {
        matches!(self.request.amount, Amount::Duration { .. })
    }

    /// Tells whether this trial is one run of a command whose output is kept.
    pub(crate) fn keeps_outcome(&self) -> bool {
        self.request.amount == Amount::Outcome
    }

    /// Keeps output and files of a run, which are sent at the end.
    pub(crate) fn keep_said(&mut self, said: Said) {
        self.said = Some(said);
    }

    /// Takes what was kept of a run.
    pub(crate) fn take_said(&mut self) -> Option<Said> {
        self.said.take()
    }

    /// Tells whether this is one side of a pair.
    pub(crate) fn takes_turns(&self) -> bool {
        self.turns.is_some()
    }

    /// Counts the passes that [`Trial::run_passes`] makes at most, where each costs what the first one does.
    pub(crate) fn count_passes(&self) -> u64 {
        match (&self.turns, self.request.amount) {
            (Some(_), Amount::Operations { batches, .. }) => u64::from(batches),
            (_, Amount::Calibrate) => u64::from(CALIBRATED_PASSES),
            _ => 1,
        }
    }

    /// Runs passes over a fixed amount of work, each a batch: one, or as many as the request of a pair demands, whose `pieces` each
    /// run when it is this side's turn.
    ///
    /// `piece` adds the samples of a pass to the report with its last piece. A calibration makes a few short passes where
    /// each costs what the first one does (`can_repeat`): a hiccup of the machine in all of them is rare.
    pub(crate) fn run_passes<F>(&mut self, pieces: u64, can_repeat: bool, mut piece: F) -> Result<(), Failure>
    where
        F: FnMut(u64, &mut Report) -> Result<(), Failure>,
    {
        match (self.turns.take(), self.request.amount) {
            (Some(mut turns), Amount::Operations { batches, .. }) => {
                let done = self.pass_in_turn(&mut turns, (batches, pieces), &mut piece);
                self.turns = Some(turns);
                done?;
            }
            (turns, amount) => {
                self.turns = turns;
                let passes = if amount == Amount::Calibrate && can_repeat { CALIBRATED_PASSES } else { 1 };
                let started_ns = now_ns();
                let mut pass = |_, report: &mut Report| (0..pieces).try_for_each(|at| piece(at, report));
                for number in 0..passes {
                    if number == 0 || now_ns() - started_ns < CALIBRATED_PASSES_NS {
                        self.batch(Phase::Warm, 1, &mut pass)?;
                    }
                }
            }
        }
        self.send();
        Ok(())
    }

    fn pass_in_turn<F>(
        &mut self,
        turns: &mut Turns,
        (passes, pieces): (u32, u64),
        piece: &mut F,
    ) -> Result<(), Failure>
    where
        F: FnMut(u64, &mut Report) -> Result<(), Failure>,
    {
        let (patience, deadline) = (turns.patience(), self.deadline());
        turns.meet()?;
        for _ in 0..passes {
            let (started_ns, mut report) = (now_ns(), Report::default());
            let mut forced = 0;
            for at in 0..pieces {
                turns.step(at as usize, || {
                    let before = count_forced_switches();
                    let done = run_within(patience, deadline, || piece(at, &mut report));
                    forced += count_forced_switches().saturating_sub(before);
                    done
                })?;
            }
            self.forced.push(forced);
            self.waiting.add(Phase::Warm, started_ns, report);
        }
        turns.meet()
    }

    /// Runs `work` once, whatever the amount: for probes whose parameters fix how much they do.
    pub(crate) fn run_once<F>(&mut self, mut work: F) -> Result<(), Failure>
    where
        F: FnMut(&mut Report) -> Result<(), Failure>,
    {
        self.batch(Phase::Warm, 1, &mut |_, report| work(report))?;
        self.send();
        Ok(())
    }

    fn calibrate<F>(&mut self, work: &mut F) -> Result<(), Failure>
    where
        F: FnMut(u64, &mut Report) -> Result<(), Failure>,
    {
        let (mut operations, mut all_ns, mut before_ns) = (1, 0, f64::INFINITY);
        loop {
            let started_ns = now_ns();
            self.batch(Phase::Warm, operations, work)?;
            let elapsed_ns = now_ns() - started_ns;
            all_ns += elapsed_ns;
            let each_ns = elapsed_ns as f64 / operations as f64;
            let is_steady = STEADY * before_ns <= each_ns && STEADY * each_ns <= before_ns;
            // Series may overlap, or time a part only: what the host plans with is the whole.
            let sample = Sample::Throughput { operations, bytes: 0, elapsed_ns };
            let series = CALIBRATION.to_owned();
            self.send();
            (self.sink)(Batch { series, phase: Phase::Warm, started_ns, sample });
            if operations >= CALIBRATION_MOST
                || (elapsed_ns >= CALIBRATION_NS && (is_steady || all_ns >= STEADY_MOST_NS))
            {
                return Ok(());
            }
            (operations, before_ns) = (operations * 2, each_ns);
        }
    }

    fn batch<F>(&mut self, phase: Phase, operations: u64, work: &mut F) -> Result<(), Failure>
    where
        F: FnMut(u64, &mut Report) -> Result<(), Failure>,
    {
        let started_ns = now_ns();
        let mut report = Report::default();
        if let Err(failure) = work(operations, &mut report) {
            self.waiting.add_ends(phase, started_ns, report);
            return Err(failure);
        }
        // While a trial holds what it made, the host looks at its own memory.
        let is_awaited = report.has_series(HELD);
        self.waiting.add(phase, started_ns, report);
        // Nothing is sent while a pair runs: it would fall into the other side's batch.
        let is_alone = self.request.turn.is_none();
        if is_alone && (is_awaited || now_ns() >= self.waiting.since_ns() + SENT_AFTER_NS) {
            self.send();
        }
        Ok(())
    }

    fn send(&mut self) {
        self.waiting.take().for_each(&mut *self.sink);
    }
}

/// Fails a trial whose own count of its work is not what it should be.
pub(crate) fn prove_count(what: &str, counted: u64, expected: u64) -> Result<(), Failure> {
    if counted == expected {
        return Ok(());
    }
    Err(Failure::new(FailureKind::WrongWork, format!("{what}: counted {counted}, expected {expected}")))
}

/// Describes the failure of an operation: what was tried, and the system's own words.
pub(crate) fn broken_failure(what: &str, cause: impl std::fmt::Display) -> Failure {
    Failure::new(FailureKind::Broken, format!("{what}: {cause}"))
}

#[cfg(test)]
mod tests {
    use tare_data::names::Case;

    use crate::harness::stopwatch::{Laps, Stopwatch};

    use super::*;

    /// Runs a trial of these operations and batches and collects what it sends.
    fn sent(batch: u64, batches: u32, mut report: impl FnMut(u64, &mut Report)) -> Vec<Batch> {
        let case = Case { probe: "null".into(), parameters: Parameters::default(), place: None, peer: None };
        let (trial, directory, peer, seed, slower, settling_ms, nonce) = Default::default();
        let amount = Amount::Operations { batch, batches };
        let request = TrialRequest {
            trial,
            case,
            amount,
            directory,
            peer,
            seed,
            deadline_ms: 1,
            slower,
            settling_ms,
            turn: None,
            nonce,
        };
        let mut sent = Vec::new();
        let mut sink = |batch| sent.push(batch);
        let work = |operations, to: &mut Report| {
            report(operations, to);
            Ok(())
        };
        Trial::new(&request, Path::new("none"), None, &mut sink).repeat(work).unwrap();
        sent
    }

    fn laps(each_ns: &[u64]) -> Laps {
        let mut laps = Laps::new();
        each_ns.iter().for_each(|ns| laps.add(1_000, 1_000 + ns));
        laps
    }

    #[test]
    fn batches_that_did_the_same_are_sent_as_stretches() {
        let mut n = 0;
        let sent = sent(7, 3, |operations, report| {
            n += 100;
            report.add_throughput("a", operations, &Stopwatch::from_stretch(1_000, 1_000 + n));
            report.add_latency("b", 0, laps(&[n, n]));
        });
        let of = |series: &str, phase| {
            let of = sent.iter().filter(|batch| batch.series == series && batch.phase == phase);
            of.collect::<Vec<_>>()
        };
        let elapsed =
            |batch: &Batch| batch.sample.iter_timed().map(|t| (t.operations, t.elapsed_ns)).collect();
        let cold: Vec<_> = elapsed(of("a", Phase::Cold)[0]);
        assert_eq!(cold, [(1, 100)]);
        let warm: Vec<_> = elapsed(of("a", Phase::Warm)[0]);
        assert_eq!(warm, [(7, 200), (7, 300), (7, 400)]);
        assert_eq!(sent.len(), 4, "of each series the cold batch, and the others together");
        let times = of("b", Phase::Warm)[0].sample.histogram().unwrap().decode().unwrap().0;
        assert_eq!((times.len(), times.min(), times.max()), (6, 200, 400));
    }

    #[test]
    fn batches_that_did_other_work_and_figures_that_are_read_stay_apart() {
        let mut n = 0;
        let sent = sent(1, 4, |operations, report| {
            n += 1;
            report.add_throughput("a", operations * n, &Stopwatch::from_stretch(0, 5));
        });
        assert_eq!(sent.len(), 5);
        let gauges = super::tests::sent(1, 3, |_, report| report.add_gauge("g", 1.0));
        assert_eq!(gauges.len(), 4);
    }
}
