//! Stretches of lasting work, with costs and noise by a rule.

use tare_data::generator::Generator;
use tare_data::session::lasting::{LastingWork, Stretch};
use tare_data::session::{Role, Session};

use crate::paired::{Cost, Work, draw_noise, run_paired};
use crate::plan::{make_plan, make_session, make_sides, make_timed_case};

/// Time of an operation in the baseline, and of a stretch.
const OPERATION_NS: f64 = 1_000.0;
const STRETCH_NS: f64 = 300e6;

/// The cost of lasting work in an environment.
#[derive(Clone, Copy, Debug)]
pub struct Lasting {
    /// Time of an operation as a multiple of the baseline's, over a whole stretch and in its slices.
    pub long: f64,
    pub short: f64,
    /// Spread of a stretch, as a share.
    pub spread: f64,
}

/// Runs a stretch of a kind of work in each round in each of these environments.
pub fn run_lasting(session: &mut Session, work: LastingWork, rounds: u32, costs: &[(&str, Lasting)]) {
    let mut generator = Generator::for_part(session.plan.seed, work.name());
    for round in 0..rounds {
        for (target, cost) in costs {
            let operation_ns = OPERATION_NS * cost.long * draw_noise(&mut generator, cost.spread);
            session.stretches.push(Stretch {
                target: (*target).to_owned(),
                work,
                round,
                operations: (STRETCH_NS / operation_ns) as u64,
                elapsed_ns: STRETCH_NS as u64,
                slice_ns: OPERATION_NS * cost.short,
            });
        }
    }
    session.plan.lasting.push(work);
}

/// Makes a session of two cells that are the same in three environments: `container`, of which lasting work takes as long as well; `q20`,
/// which a quota of a fifth of a processor stops; and `noisy`, of which nothing is excluded.
pub fn make_lasting() -> Session {
    let subjects = ["container", "q20", "noisy"].map(|name| (name, Role::Subject));
    let targets = make_sides([("native", Role::Baseline)].into_iter().chain(subjects));
    let cases = ["sys.getppid", "cpu.primes"].map(make_timed_case).into();
    let mut session = make_session(make_plan(targets, cases, vec![60]));
    let work = Work { series_ns: &[("work", 100.0)], amount: (10_000, 24) };
    let same = Cost { factor: 1.0, spread: 0.005, drift: 0.0, rounds: 60 };
    run_paired(&mut session, |_| work, |_, target| (target != "native").then_some(same));
    let alike = Lasting { long: 1.0, short: 1.0, spread: 0.01 };
    for work in LastingWork::ALL {
        let quota = if work == LastingWork::Processors { 10.0 } else { 5.0 };
        let (stopped, noisy) = (Lasting { long: quota, ..alike }, Lasting { spread: 0.2, ..alike });
        let costs = [("native", alike), ("container", alike), ("q20", stopped), ("noisy", noisy)];
        run_lasting(&mut session, work, 8, &costs);
    }
    session
}
