//! Pairs of trials that took turns, with costs and noise by a rule.

use tare_data::batch::{Batch, Phase, Sample};
use tare_data::generator::Generator;
use tare_data::metric::Reading;
use tare_data::request::Amount;
use tare_data::session::{Interference, PlannedCase, Session, Trial};

/// Noise that both sides of a pair have, as a share: the machine's.
const SHARED_NOISE: f64 = 0.03;
/// Noise of a single batch, as a share.
const BATCH_NOISE: f64 = 0.004;
/// A first call takes this many times the time of a later one.
const FIRST_CALL: f64 = 8.0;
/// Process start, preparation and frames of a pair.
const OVERHEAD_NS: u64 = 2_500_000;

/// The work of a case in the baseline.
#[derive(Clone, Copy, Debug)]
pub struct Work {
    /// Nanoseconds of an operation, series by series.
    pub series_ns: &'static [(&'static str, f64)],
    /// Operations of a batch, and batches of a trial.
    pub amount: (u64, u32),
}

/// The cost of a case in an environment that takes turns with its partner.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Time of an operation as a multiple of the baseline's.
    pub factor: f64,
    /// Spread of that multiple from round to round, as a share.
    pub spread: f64,
    /// Growth of that multiple from the first round to the last, as a logarithm.
    pub drift: f64,
    /// Rounds until it leaves.
    pub rounds: u32,
}

/// Runs a session in pairs: in each round every environment takes turns with its partner in every case, at the cost that `cost` gives
/// for (case, environment), as long as it has rounds. Each round is another start of all.
pub fn run_paired(
    session: &mut Session,
    work: impl Fn(&PlannedCase) -> Work,
    cost: impl Fn(&str, &str) -> Option<Cost>,
) {
    let mut run = Run { generator: Generator::for_part(session.plan.seed, "specimen"), now_ns: 0, number: 0 };
    let names: Vec<String> = session.plan.targets.iter().map(|target| target.name.clone()).collect();
    let partners: Vec<Option<usize>> =
        (0..names.len()).map(|at| session.plan.targets.partner_of(at)).collect();
    let mut rounds = 0;
    for case in &mut session.plan.cases {
        let (batch, batches) = work(case).amount;
        for name in &names {
            if let Some(Cost { rounds: own, .. }) = cost(&case.id, name) {
                case.pairs.insert(name.clone(), Amount::Operations { batch, batches });
                rounds = rounds.max(own);
            }
        }
    }
    for round in 0..rounds {
        for case in &session.plan.cases {
            for (name, partner) in names.iter().zip(&partners) {
                let Some(partner) = partner.map(|at| &names[at]) else { continue };
                let partner_factor = cost(&case.id, partner).map_or(1.0, |cost| cost.factor);
                if let Some(cost) = cost(&case.id, name).filter(|cost| round < cost.rounds) {
                    session.trials.extend(run.pair(
                        case,
                        &work(case),
                        [name, partner],
                        round,
                        (cost, partner_factor),
                    ));
                }
            }
        }
    }
}

/// Draws a factor around 1 with this spread.
pub(crate) fn draw_noise(generator: &mut Generator, spread: f64) -> f64 {
    // Four of them have a deviation of 1/sqrt(3).
    let sum: f64 = (0..4).map(|_| generator.draw_unit() - 0.5).sum();
    libm::exp(spread * sum * libm::sqrt(3.0))
}

/// A session while it runs.
struct Run {
    generator: Generator,
    now_ns: u64,
    number: u64,
}

impl Run {
    fn noise(&mut self, spread: f64) -> f64 {
        draw_noise(&mut self.generator, spread)
    }

    fn pair(
        &mut self,
        case: &PlannedCase,
        work: &Work,
        names: [&String; 2],
        round: u32,
        (cost, partner_factor): (Cost, f64),
    ) -> [Trial; 2] {
        let shared = self.noise(SHARED_NOISE);
        let drift = libm::exp(cost.drift * f64::from(round) / f64::from(cost.rounds));
        let factors = [partner_factor * cost.factor * drift * self.noise(cost.spread), partner_factor];
        let factors = factors.map(|factor| factor * shared);
        let batches = factors.map(|factor| self.batches(case, work, factor));
        let started_ns = self.now_ns;
        let elapsed_ns =
            batches.iter().flatten().flat_map(|batch| batch.sample.iter_timed().collect::<Vec<_>>());
        let elapsed_ns = OVERHEAD_NS + elapsed_ns.map(|timed| timed.elapsed_ns).sum::<u64>();
        self.now_ns += elapsed_ns;
        let is_second = self.generator.draw_below(2) == 1;
        let number = self.number;
        self.number += 2;
        let [own, of_partner] = batches;
        let trial = |at: usize, batches: Vec<Batch>| Trial {
            number: number + u64::from((at == 1) != is_second),
            case: case.id.clone(),
            target: names[at].clone(),
            round,
            attempt: 0,
            position: u32::from((at == 1) != is_second),
            start: round,
            partner: Some(names[1 - at].clone()),
            started_ns,
            host_elapsed_ns: elapsed_ns,
            agent_elapsed_ns: Some(elapsed_ns - OVERHEAD_NS / 5),
            batches: batches.into(),
            inside: Interference::default(),
            outside: Interference::default(),
            failure: None,
            notes: Vec::new(),
        };
        let mut trials = [trial(0, own), trial(1, of_partner)];
        if is_second {
            trials.reverse();
        }
        trials
    }

    /// Makes the batches of a side, every series at once; first calls and figures that are read stand before them.
    fn batches(&mut self, case: &PlannedCase, work: &Work, factor: f64) -> Vec<Batch> {
        let (operations, batches) = work.amount;
        let metrics = || case.metrics.iter();
        let mut all = Vec::new();
        for metric in metrics().filter(|metric| metric.reading == Reading::Gauge) {
            let sample = Sample::Gauge { value: 20.0 };
            all.push(Batch { series: metric.series.clone(), phase: Phase::Warm, started_ns: 0, sample });
        }
        for (series, ns) in work.series_ns {
            let time = |run: &mut Run, operations: u64| {
                (ns * factor * operations as f64 * run.noise(BATCH_NOISE)) as u64
            };
            if metrics().any(|metric| metric.series == *series && metric.reading == Reading::Cold) {
                let elapsed_ns = (FIRST_CALL * time(self, 1) as f64) as u64;
                let sample = Sample::Throughput { operations: 1, bytes: 0, elapsed_ns };
                all.push(Batch { series: (*series).into(), phase: Phase::Cold, started_ns: 0, sample });
            }
            let elapsed_ns = (0..batches).map(|_| time(self, operations)).collect();
            let sample = Sample::Stretches { operations, bytes: 0, elapsed_ns, histogram: None };
            all.push(Batch { series: (*series).into(), phase: Phase::Warm, started_ns: 1_000, sample });
        }
        all
    }
}
