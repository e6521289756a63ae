//! Counts of a self-test: the costs that were found of those put in, and false ones where there was none.

use tare_analysis::selftest::count_injected_findings;
use tare_analysis::{Options, compute_findings};
use tare_data::generator::Generator;
use tare_data::session::Session;
use tare_data::session::specification::Specification;
use tare_specimen::change_sides;

use crate::sessions::{Outcome, make_session, make_timed_case, make_trial};

/// Builds four cases, forty rounds, noise of 2 %: an environment costs as much as its name says, but for the
/// one that lies.
fn measured() -> Session {
    let cases: Vec<_> = ["sys.a", "sys.b", "cpu.a", "cpu.b"].map(make_timed_case).into();
    let mut session = make_session(&["same", "ten", "lies"], cases, 40);
    let shares = ["0%", "10%", "2%"];
    change_sides(&mut session.plan.targets, |at, side| {
        if let Some(share) = at.checked_sub(2).map(|at| shares[at]) {
            side.specification = Specification::from_provider("native").with_option("slower", share);
        }
    });
    let mut noise = Generator::new(7);
    for round in 0..40 {
        for case in session.plan.cases.clone() {
            for (target, cost) in
                [("native", 1.0), ("again", 1.0), ("same", 1.0), ("ten", 1.1), ("lies", 0.9)]
            {
                let time = 1000.0 * cost * (1.0 + 0.02 * (noise.draw_unit() - 0.5));
                let mut trial = make_trial(&case.id, target, round, Outcome::Time(time));
                trial.host_elapsed_ns = 500_000_000;
                session.trials.push(trial);
            }
        }
    }
    session
}

#[test]
fn a_selftest_counts_what_it_found_and_what_it_should_not_have() {
    let session = measured();
    let all = count_injected_findings(&session, &compute_findings(&session, &Options::default()));
    let shares: Vec<f64> = all.iter().map(|injected| injected.share).collect();
    assert_eq!(shares, [0.0, 0.02, 0.1], "the smallest first");
    let [none, lies, ten] = all.as_slice() else { unreachable!() };
    assert_eq!(
        (none.cells, none.slower.count, none.faster.count, &none.answers),
        (4, 0, 0, &[("same", 4)].into())
    );
    assert_eq!((ten.slower.count, &ten.answers), (4, &[("slower", 4)].into()));
    assert!(ten.covered.count >= 2, "an interval misses now and then");
    assert_eq!((lies.slower.count, lies.faster.count, lies.covered.count), (0, 4, 0));
    assert!(ten.slower.low > 0.39 && ten.slower.high == 1.0, "{:?}", ten.slower);
    // Half a second a trial, one trial on each side of a round, and no verdict before the first look.
    let rounds = ten.seconds.unwrap();
    assert!((12.0..=27.0).contains(&rounds), "{rounds} rounds of a second");
}

#[test]
fn an_ordinary_session_is_not_a_selftest() {
    let mut session = measured();
    change_sides(&mut session.plan.targets, |_, side| {
        side.specification = Specification::from_provider("native")
    });
    assert!(count_injected_findings(&session, &compute_findings(&session, &Options::default())).is_empty());
}
