//! Commands beside each other in each environment, where environments are what is compared.

use tare_analysis::findings::{CommandFactor, Findings};
use tare_analysis::{Options, compute_findings};
use tare_data::batch::{Batch, ENDED, Phase, RunEnd, Sample};
use tare_data::generator::Generator;
use tare_data::metric::Reading;
use tare_data::session::{PlannedCase, Session};

use crate::sessions::{Outcome, compute_jitter, high, low, make_case, make_metric, make_session, run_rounds};
use crate::simulations::noise_models::draw_normal;

/// Plans a command under a load.
fn command(name: &str, copies: &str) -> PlannedCase {
    let metrics = vec![make_metric("time", Reading::TimePerOperation)];
    make_case("user.command", &[("name", name), ("copies", copies)], None, metrics)
}

/// Runs commands in native and in a box that takes twice as long, each command at its cost.
fn run(cases: Vec<PlannedCase>, cost: impl Fn(&str) -> f64) -> Session {
    let mut session = make_session(&["box"], cases, 30);
    run_rounds(&mut session, 30, |case, target, round| {
        let layer = if target == "box" { 2.0 } else { 1.0 };
        Outcome::Time(100.0 * layer * cost(case) * compute_jitter(&format!("{case} {target}"), round))
    });
    session
}

fn found(session: &Session) -> Findings {
    compute_findings(session, &Options::default())
}

#[test]
fn commands_have_a_factor_in_every_environment_and_no_verdict() {
    let slower = |case: &str| if case.contains("new") { 1.25 } else { 1.0 };
    let findings = found(&run(vec![command("old", "1"), command("new", "1")], slower));
    let of: Vec<&str> = findings.across_commands.iter().map(|of| of.target.as_str()).collect();
    assert_eq!(of, ["native", "box"]);
    for CommandFactor { ratio, interval, rounds, case, against, .. } in &findings.across_commands {
        assert!((ratio / 1.25 - 1.0).abs() < 0.01 && interval.contains(1.25), "{ratio}");
        assert!(low(*interval) > 1.2 && high(*interval) < 1.3 && *rounds == 30, "{interval:?}");
        assert!(case.contains("new") && against.contains("old"), "{case} {against}");
    }
    let one = found(&run(vec![command("old", "1")], slower));
    assert_eq!(one.across_commands, []);
}

#[test]
fn commands_are_compared_under_the_same_load_alone() {
    let cases = ["1", "8"].into_iter().flat_map(|copies| [command("old", copies), command("new", copies)]);
    let findings = found(&run(cases.collect(), |case| if case.contains("copies=8") { 5.0 } else { 1.0 }));
    assert_eq!(findings.across_commands.len(), 4, "two loads in two environments");
    assert!(findings.across_commands.iter().all(|of| (of.ratio - 1.0).abs() < 0.01), "and not five times");
}

#[test]
fn a_run_that_failed_leaves_no_factor_in_its_environment() {
    let mut session = run(vec![command("old", "1"), command("new", "1")], |_| 1.0);
    let failed = session.trials.iter_mut().find(|trial| trial.target == "box" && trial.round == 7).unwrap();
    let sample = Sample::Gauge { value: RunEnd::ExitCode(3).to_gauge() };
    failed.batches.extend([Batch { series: ENDED.into(), phase: Phase::Warm, started_ns: 0, sample }]);
    let findings = found(&session);
    let of: Vec<&str> = findings.across_commands.iter().map(|of| of.target.as_str()).collect();
    assert_eq!(of, ["native"]);
}

#[test]
fn commands_that_ran_one_after_the_other_have_no_interval() {
    let mut session = run(vec![command("old", "1"), command("new", "1")], |_| 1.0);
    let late = session.trials.iter_mut().filter(|trial| trial.case.contains("new"));
    late.for_each(|trial| trial.started_ns += 3_600_000_000_000);
    assert_eq!(found(&session).across_commands, []);
}

#[test]
fn alike_commands_are_held_by_their_intervals_on_a_machine_that_drifts() {
    const SESSIONS: u64 = 200;
    let is_missed = |seed: &u64| {
        let mut session = make_session(&[], vec![command("old", "1"), command("new", "1")], 30);
        let mut state = 0.0;
        let mut generator = Generator::for_part(*seed, "drift");
        run_rounds(&mut session, 30, |_, _, _| {
            state += 0.01 * draw_normal(&mut generator);
            Outcome::Time(1e4 * libm::exp(state + 0.01 * draw_normal(&mut generator)))
        });
        found(&session).across_commands.iter().any(|of| !of.interval.contains(1.0))
    };
    // 5 %, and three standard errors of it.
    let missed = (0..SESSIONS).filter(is_missed).count();
    assert!(missed <= 19, "{missed}");
}
