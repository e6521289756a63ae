//! Sessions joined: known answers, and how often the intervals over sessions hold the truth.

use tare_analysis::across::*;
use tare_analysis::change::{Judged, Value};
use tare_analysis::findings::Verdict;
use tare_analysis::verdicts::verdict::Margin;
use tare_data::generator::Generator;
use tare_data::session::Session;

use crate::sessions::{
    MARGIN, Outcome, compute_jitter, high, judge, low, make_session, make_timed_case, run_rounds,
};
use crate::simulations::noise_models::draw_normal;

fn of(values: &[f64], error: f64) -> Slowdown {
    let values: Vec<Option<Value>> = values.iter().map(|ln| Some(Value { ln: *ln, error })).collect();
    Slowdown::from_values(&values, Margin::from_planned(MARGIN)).unwrap()
}

#[test]
fn three_sessions_give_the_interval_of_the_books() {
    // Mean 0.2, standard deviation 0.1, t of two degrees of freedom 4.3027: 0.2 -+ 4.3027 * 0.1 / sqrt(3).
    let joined = of(&[0.1, 0.2, 0.3], 0.0);
    let near = |ratio: f64, ln: f64| (libm::log(ratio) - ln).abs() < 1e-4;
    assert!(
        near(joined.ratio, 0.2)
            && near(low(joined.interval), -0.04841)
            && near(high(joined.interval), 0.44841),
        "{joined:?}"
    );
    // Another session is within 4.3027 * 0.1 * sqrt(1 + 1/3).
    assert!(near(joined.next_low, -0.29682) && near(joined.next_high, 0.69682), "{joined:?}");
    assert!((joined.between - 0.1).abs() < 1e-12);
    assert_eq!(joined.verdict, Verdict::Inconclusive);
    // scipy.stats.ttest_1samp([0.1, 0.2, 0.3], 0).pvalue
    assert!((joined.p - 0.074_180).abs() < 1e-5, "{}", joined.p);
}

#[test]
fn the_spread_that_sessions_explain_themselves_is_not_between_them() {
    assert_eq!(of(&[0.1, 0.2, 0.3], 0.2).between, 0.0);
    assert!((of(&[0.1, 0.2, 0.3], 0.06).between - 0.08).abs() < 1e-12);
    assert_eq!(
        Slowdown::from_values(&[Some(Value { ln: 0.1, error: 0.1 }), None], Margin::from_planned(MARGIN)),
        None
    );
}

#[test]
fn intervals_hold_the_mean_and_a_further_session_whatever_lies_between_sessions() {
    const STUDIES: u64 = 2_000;
    for (sessions, between, within) in [(3, 0.0, 0.01), (3, 0.05, 0.01), (6, 0.02, 0.02)] {
        let (mut held, mut next_held) = (0, 0);
        for study in 0..STUDIES {
            let mut generator = Generator::for_part(study, "sessions");
            let mut one =
                || 0.3 + between * draw_normal(&mut generator) + within * draw_normal(&mut generator);
            let values: Vec<f64> = (0..sessions).map(|_| one()).collect();
            let (joined, next) = (of(&values, within), one());
            held += u64::from(joined.interval.contains(libm::exp(0.3)));
            next_held +=
                u64::from((libm::log(joined.next_low)..=libm::log(joined.next_high)).contains(&next));
        }
        let shares = [held, next_held].map(|held| held as f64 / STUDIES as f64);
        println!("{sessions} sessions, {between} between, {within} within: {shares:?}");
        // Three standard errors.
        assert!(shares.iter().all(|share| (share - 0.95).abs() < 0.015), "{shares:?}");
    }
}

fn costing(ratio: f64, started: &str) -> Session {
    let mut session =
        make_session(&["gvisor"], vec![make_timed_case("sys.getppid"), make_timed_case("net.rr")], 90);
    session.header.started = started.into();
    run_rounds(&mut session, 90, |case, target, round| {
        let ratio = if (target, case) == ("gvisor", "sys.getppid") { ratio } else { 1.0 };
        Outcome::Time(100.0 * ratio * compute_jitter(&format!("{target} {started}"), round))
    });
    session
}

fn joined_of(sessions: &[Session]) -> Joined {
    let judged: Vec<Judged> = sessions.iter().map(judge).collect();
    join_records(&judged.iter().collect::<Vec<_>>())
}

#[test]
fn sessions_are_joined_cell_by_cell() {
    let sessions = [costing(2.0, "1"), costing(2.1, "2"), costing(2.05, "3")];
    let joined = joined_of(&sessions);
    assert_eq!((joined.targets.len(), joined.rows.len()), (1, 2));
    let JoinedCell::Joined(calls) = &joined.rows[0].cells[0] else { panic!("{joined:?}") };
    assert_eq!((calls.sessions, calls.verdict), (3, Verdict::Slower));
    assert!(
        (calls.ratio - 2.05).abs() < 0.02 && low(calls.interval) < 2.0 && 2.1 < high(calls.interval),
        "{calls:?}"
    );
    assert!((0.01..0.04).contains(&calls.between), "{calls:?}");
    let JoinedCell::Joined(round_trips) = &joined.rows[1].cells[0] else { panic!("{joined:?}") };
    assert_eq!(round_trips.verdict, Verdict::Same);
}

#[test]
fn what_does_not_mean_the_same_or_is_in_too_few_records_is_not_joined() {
    let reason = |sessions: &[Session]| match &joined_of(sessions).rows[0].cells[0] {
        JoinedCell::NotJoined { reason } => reason.clone(),
        JoinedCell::Joined(_) => "joined".into(),
    };
    let mut sessions = [costing(2.0, "1"), costing(2.1, "2"), costing(2.05, "3")];
    assert_eq!(reason(&sessions), "joined");
    assert_eq!(reason(&sessions[..2]), "2 of 2 records have a slowdown, and 3 are needed");
    sessions[2].plan.cases[0].definition = "another".into();
    assert!(reason(&sessions).contains("definitions differ"));
    sessions[2].trials.clear();
    sessions[2].plan.cases[0].definition = String::new();
    assert_eq!(reason(&sessions), "2 of 3 records have a slowdown, and 3 are needed");
}
