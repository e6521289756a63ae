//! An arena with a fake clock and known distributions.

use std::collections::BTreeSet;

use tare_data::batch::{Batch, CALIBRATION, ENDED, Phase, RunEnd, Sample};
use tare_data::failure::{Failure, FailureKind};
use tare_data::generator::Generator;
use tare_data::request::{Amount, TrialRequest};
use tare_probes::descriptions::{ALL_SLICES, QUICK_SLICE, USER_COMMAND, WORK_LASTING};

use crate::session::arena::{Arena, Outcome, Started, Turning};
use crate::session::plan::outcomes::run_limit_ms;

/// Cost of an operation in the baseline.
const OPERATION_NS: f64 = 200.0;
/// The overhead of a trial, unless a test sets another.
const OVERHEAD_NS: u64 = 1_000_000;

/// Environments whose operations cost a known multiple of the baseline's, with noise of 1 % a batch.
pub struct FakeArena {
    pub now_ns: u64,
    pub generator: Generator,
    /// Noise of a trial in percent, environment by environment.
    pub noise: Vec<f64>,
    pub ratios: Vec<f64>,
    /// Multiple of an environment's costs at a moment.
    pub state: Box<dyn Fn(usize, u64) -> f64>,
    /// Multiple of an environment's costs in one of its starts.
    pub of_start: Box<dyn Fn(usize, u32) -> f64>,
    /// Share of the batches of an environment that are slow, and how many times as long they take.
    pub slow_batches: Vec<(f64, f64)>,
    /// Time of a start, environment by environment.
    pub start_ns: Vec<u64>,
    /// Process start and frames of a trial.
    pub overhead_ns: u64,
    /// Time that a trial takes on top, of a case that has a parameter.
    pub slow_ns: u64,
    /// Time in which a start settles.
    pub settling_ns: u64,
    /// True where trials take turns with their partners'.
    pub takes_turns: bool,
    /// Fault of every trial that is not a calibration.
    pub fault: Box<dyn Fn(usize, u64) -> Fault>,
    pub starts: Vec<u32>,
    /// Starts that were entered ahead.
    pub ahead: Vec<u32>,
    /// Multiple of an environment's costs in work that lasts; 0 where it does none.
    pub lasting: Vec<f64>,
    /// Stretches during which another environment was entered.
    pub beside: u32,
    /// Words of the commands that were run, by environment.
    pub commands: BTreeSet<(usize, String)>,
    /// End of a command's run on a side, by its number there.
    pub end: Box<dyn Fn(usize, u32) -> RunEnd>,
    /// Runs of commands that stated their end, by side.
    pub ended: Vec<u32>,
    is_entered: Vec<bool>,
    pub refuse_starts: Option<usize>,
    /// The environment whose next start the user interrupts.
    pub interrupt_start: Option<usize>,
    interrupted: bool,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Fault {
    None,
    Steal,
    Lost,
    Interrupt,
}

impl FakeArena {
    pub fn new(ratios: &[f64]) -> Self {
        FakeArena {
            now_ns: 0,
            generator: Generator::new(1),
            noise: vec![1.0; ratios.len()],
            ratios: ratios.to_vec(),
            state: Box::new(|_, _| 1.0),
            of_start: Box::new(|_, _| 1.0),
            slow_batches: vec![(0.0, 1.0); ratios.len()],
            start_ns: vec![50_000_000; ratios.len()],
            overhead_ns: OVERHEAD_NS,
            slow_ns: 0,
            settling_ns: 0,
            takes_turns: true,
            fault: Box::new(|_, _| Fault::None),
            starts: vec![0; ratios.len()],
            ahead: vec![0; ratios.len()],
            lasting: vec![1.0; ratios.len()],
            beside: 0,
            commands: BTreeSet::new(),
            end: Box::new(|_, _| RunEnd::ExitCode(0)),
            ended: vec![0; ratios.len()],
            is_entered: vec![false; ratios.len()],
            refuse_starts: None,
            interrupt_start: None,
            interrupted: false,
        }
    }

    /// Draws the time of a batch, and lets it pass.
    fn work(&mut self, target: usize, operations: u64) -> u64 {
        let sum: f64 = (0..3).map(|_| self.generator.draw_unit()).sum();
        let noise = libm::exp(self.noise[target] / 100.0 * (sum - 1.5));
        let (share, times) = self.slow_batches[target];
        let slow = if share > 0.0 && self.generator.draw_unit() < share { times } else { 1.0 };
        let states = (self.state)(target, self.now_ns) * (self.of_start)(target, self.starts[target]);
        let cost = self.ratios[target] * states * noise * slow;
        let elapsed_ns = (OPERATION_NS * cost * operations as f64) as u64;
        self.now_ns += elapsed_ns;
        elapsed_ns
    }

    fn batch(&mut self, series: &str, target: usize, operations: u64, started_ns: u64) -> Batch {
        let sample = Sample::Throughput { operations, bytes: 0, elapsed_ns: self.work(target, operations) };
        Batch { series: series.into(), phase: Phase::Warm, started_ns, sample }
    }

    /// Works for the time of a stretch.
    fn stretch(
        &mut self,
        target: usize,
        request: &TrialRequest,
        sink: &mut dyn FnMut(&Batch),
    ) -> Option<Failure> {
        self.beside += u32::from(self.is_entered.iter().filter(|is_entered| **is_entered).count() > 1);
        if self.lasting[target] == 0.0 {
            return Some(Failure::new(FailureKind::NotSupported, "it does nothing that lasts"));
        }
        let time_ns = |key| request.case.parameters.get_integer(key).unwrap() * 1_000_000;
        self.now_ns += time_ns("before_ms");
        let (slices, counted_ns) = (1_000, time_ns("counted_ms"));
        let now_ns = self.now_ns;
        let [slice_ns, mean_ns] = [(); 2].map(|()| self.work(target, 500) as f64);
        self.now_ns = now_ns + counted_ns;
        let elapsed_ns = (mean_ns * slices as f64 * self.lasting[target]) as u64;
        let batch =
            |series: &str, sample| Batch { series: series.into(), phase: Phase::Warm, started_ns: 0, sample };
        sink(&batch(ALL_SLICES, Sample::Throughput { operations: slices, bytes: 0, elapsed_ns }));
        sink(&batch(QUICK_SLICE, Sample::Gauge { value: slice_ns }));
        None
    }

    /// Notes the command that a trial runs, and names the series of its batches.
    fn note_command(&mut self, target: usize, request: &TrialRequest) -> &'static str {
        if request.case.probe != USER_COMMAND {
            return "turn";
        }
        self.commands.insert((target, request.case.parameters.get_text("command").unwrap().to_owned()));
        "run"
    }

    /// States the end of a run of a command.
    fn state_end(&mut self, target: usize) -> Batch {
        let value = (self.end)(target, self.ended[target]).to_gauge();
        self.ended[target] += 1;
        Batch { series: ENDED.into(), phase: Phase::Warm, started_ns: 0, sample: Sample::Gauge { value } }
    }

    /// Begins a trial, or both of a pair: the overhead passes.
    fn begin(&mut self, request: &TrialRequest) -> Outcome {
        let slow_ns = if !request.case.parameters.0.is_empty() { self.slow_ns } else { 0 };
        self.now_ns += self.overhead_ns + slow_ns;
        Outcome { host_elapsed_ns: 21_000_000 + slow_ns, ..Outcome::default() }
    }

    /// Applies the fault of a trial to its outcome; true where it has no batches.
    fn disturb(&self, target: usize, request: &TrialRequest, outcome: &mut Outcome) -> bool {
        let fault = (self.fault)(target, request.trial);
        match fault {
            Fault::None => {}
            Fault::Steal => outcome.outside.steal_ns = Some(30_000_000),
            Fault::Interrupt => outcome.interrupted = true,
            Fault::Lost => {
                outcome.failure = Some(Failure::new(FailureKind::Died, "gone"));
                outcome.lost = true;
            }
        }
        matches!(fault, Fault::Interrupt | Fault::Lost)
    }
}

impl Arena for FakeArena {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted
    }

    fn enter_environment(&mut self, target: usize) -> Result<Started, Failure> {
        self.now_ns += self.start_ns[target];
        if self.refuse_starts == Some(target) && self.starts[target] > 0 {
            return Err(Failure::new(FailureKind::Died, "does not start any more"));
        }
        if self.interrupt_start == Some(target) && self.starts[target] > 0 {
            self.interrupted = true;
            return Err(Failure::new(FailureKind::Died, "interrupted"));
        }
        self.starts[target] += 1;
        self.is_entered[target] = true;
        let (elapsed_ns, settling_ns) = (self.start_ns[target], self.settling_ns);
        Ok(Started { elapsed_ns, settling_ns, ..Default::default() })
    }

    fn enter_ahead(&mut self, target: usize) {
        self.ahead[target] += 1;
    }

    fn run_trial(&mut self, target: usize, request: &TrialRequest, sink: &mut dyn FnMut(&Batch)) -> Outcome {
        let mut outcome = self.begin(request);
        if request.case.probe == WORK_LASTING {
            outcome.failure = self.stretch(target, request, sink);
            return outcome;
        }
        let series = self.note_command(target, request);
        match request.amount {
            Amount::Outcome => {
                let end = self.state_end(target);
                let hangs = RunEnd::from_batch(&end) == Some(RunEnd::TimedOut);
                let took_ms = if hangs { run_limit_ms(&request.case) } else { 0 };
                self.now_ns += took_ms.min(request.deadline_ms) * 1_000_000;
                match took_ms < request.deadline_ms {
                    true => sink(&end),
                    false => outcome.failure = Some(Failure::new(FailureKind::Deadline, "it took too long")),
                }
            }
            Amount::Operations { .. } if self.disturb(target, request, &mut outcome) => {}
            Amount::Operations { batch, batches } => {
                (0..batches).for_each(|i| sink(&self.batch(series, target, batch, u64::from(i))));
            }
            _ => {
                for operations in [1, 16_384] {
                    let batch = self.batch(series, target, operations, operations);
                    sink(&batch);
                    sink(&Batch { series: CALIBRATION.into(), ..batch });
                }
            }
        }
        outcome
    }

    fn prove_turns(&mut self, _: [usize; 2]) -> Result<Turning, Failure> {
        let alone = || Failure::new(FailureKind::NotSupported, "turns=no");
        self.takes_turns.then_some(Turning::OneProcessor).ok_or_else(alone)
    }

    fn run_pair(&mut self, pair: [usize; 2], requests: [TrialRequest; 2]) -> [(Outcome, Vec<Batch>); 2] {
        let mut outcomes = [self.begin(&requests[0]), Outcome::default()];
        outcomes[1] = outcomes[0].clone();
        let ended = [0, 1].map(|side| self.disturb(pair[side], &requests[side], &mut outcomes[side]));
        let [series, _] = [0, 1].map(|side| self.note_command(pair[side], &requests[side]));
        let mut elapsed_ns = [Vec::new(), Vec::new()];
        let Amount::Operations { batch: operations, batches } = requests[0].amount else {
            unreachable!("a pair has a fixed amount")
        };
        for _ in 0..if ended.contains(&true) { 0 } else { batches } {
            let first = self.generator.draw_below(2) as usize;
            for side in [first, 1 - first] {
                elapsed_ns[side].push(self.work(pair[side], operations));
            }
        }
        // A disturbed machine disturbs both sides, and neither can go on without the other.
        let outside = if outcomes[0].outside.steal_ns.is_some() { &outcomes[0] } else { &outcomes[1] };
        let outside = outside.outside.clone();
        let mut elapsed_ns = elapsed_ns.into_iter();
        let mut ends = pair.map(|side| (series == "run").then(|| self.state_end(side))).into_iter();
        outcomes.map(|mut outcome| {
            outcome.outside = outside.clone();
            let elapsed_ns = elapsed_ns.next().unwrap_or_default();
            if elapsed_ns.is_empty() {
                let partner = || Failure::new(FailureKind::Partner, "the other side ended");
                outcome.failure.get_or_insert_with(partner);
                return (outcome, Vec::new());
            }
            let sample = Sample::Stretches { operations, bytes: 0, elapsed_ns, histogram: None };
            let batch = Batch { series: series.into(), phase: Phase::Warm, started_ns: 0, sample };
            (outcome, [batch].into_iter().chain(ends.next().flatten()).collect())
        })
    }

    fn leave_environment(&mut self, target: usize) {
        self.is_entered[target] = false;
    }
}
