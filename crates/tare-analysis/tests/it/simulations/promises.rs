//! The promises, kept by whole sessions: raced look by look as they are run, with starts that rounds share, many cells,
//! a control that is off and a gate. Where a rule was wrong once, the same records show that it would fail again.

use std::collections::BTreeSet;

use tare_analysis::findings::{Comparison, Findings, Level, Needed, Row, Verdict};
use tare_analysis::gate::{Condition, Ruling, TargetNames, judge_findings};
use tare_analysis::statistics::signed_ranks::{Interval, Null, compute_hodges_lehmann_interval, sort_values};
use tare_analysis::verdicts::stopping::planned_looks;
use tare_analysis::{Options, compute_findings};
use tare_data::generator::Generator;
use tare_data::session::{Role, Session};

use crate::findings::expect_comparison;
use crate::sessions::{Outcome, find_finished, high, low, make_session, make_timed_case, make_trial};
use crate::simulations::noise_models::draw_normal;

/// Sessions of each kind.
const SESSIONS: u64 = 300;

/// Adds three standard errors of a share over that number of sessions to the nominal 5 %.
pub fn most_false(sessions: u64) -> f64 {
    0.05 + 3.0 * (0.05f64 * 0.95 / sessions as f64).sqrt()
}

/// A model of an environment's time, as logarithms, and the number of rounds that share a start of it.
#[derive(Clone, Copy)]
pub struct Side {
    pub cost: f64,
    pub a_start: u32,
    pub between: f64,
    pub within: f64,
}

/// Builds a side that is the same in every start, with 1 % between rounds.
pub fn make_steady_side(cost: f64) -> Side {
    Side { cost: libm::log(cost), a_start: 1, between: 0.0, within: 0.01 }
}

/// Builds a side whose starts differ by so much.
fn started(cost: f64, a_start: u32, between: f64) -> Side {
    Side { a_start, between, ..make_steady_side(cost) }
}

impl Side {
    fn time(&self, seed: u64, target: &str, case: &str, round: u32) -> f64 {
        let of = |what: &str, number: u32| {
            draw_normal(&mut Generator::for_part(seed, &format!("{what} {number} {target} {case}")))
        };
        let start = self.between * of("start", round / self.a_start);
        1e4 * libm::exp(self.cost + start + self.within * of("round", round))
    }
}

/// Runs a session look by look: at each planned one, environments leave where they may. `side` models an
/// environment's time of a case.
pub fn race_session(session: Session, seed: u64, side: impl Fn(&str, usize) -> Side) -> Session {
    let rounds = session.plan.rounds;
    raced_for(rounds, session, seed, side)
}

/// Runs a session that has time for a number of rounds.
pub fn raced_for(
    rounds: u32,
    mut session: Session,
    seed: u64,
    side: impl Fn(&str, usize) -> Side,
) -> Session {
    let mut left: BTreeSet<(usize, String)> = BTreeSet::new();
    let plan = session.plan.clone();
    for round in 0..rounds {
        if plan.looks.contains(&round) {
            for (at, case) in plan.cases.iter().enumerate() {
                let done = find_finished(&session, &case.id, round);
                let done = plan.targets.iter().zip(done).filter(|(_, done)| *done);
                left.extend(done.map(|(target, _)| (at, target.name.clone())));
            }
        }
        for (at, case) in plan.cases.iter().enumerate() {
            let rests = |name: &str| round % plan.every.get(name).copied().unwrap_or(1) != 0;
            let gone = |name: &str| left.contains(&(at, name.to_owned())) || rests(name);
            let mut subjects = plan.targets.of_role(Role::Subject);
            if subjects.all(|target| gone(&target.name)) {
                continue;
            }
            for target in (plan.targets.iter().enumerate())
                .filter(|(at, t)| plan.targets.role(*at) != Role::Subject || !gone(&t.name))
                .map(|(_, target)| target)
            {
                let side = side(&target.name, at);
                let time = side.time(seed, &target.name, &case.id, round);
                let mut trial = make_trial(&case.id, &target.name, round, Outcome::Time(time));
                trial.start = round / side.a_start;
                session.trials.push(trial);
            }
        }
    }
    session
}

/// Builds a session of one subject over that number of cases, without a control.
pub fn make_plain_session(cases: usize, rounds: u32) -> Session {
    let names: Vec<String> = (0..cases).map(|at| format!("case.{at}")).collect();
    let mut session = make_session(&["vm"], names.iter().map(|name| make_timed_case(name)).collect(), rounds);
    session.plan.targets.retain(|target| target.repeats.is_none());
    session
}

fn first(findings: &Findings) -> &Comparison {
    expect_comparison(&findings.rows[0].cells[0])
}

/// Computes the interval of the first cell as if each round had a start for itself.
fn as_if_independent(found: &Findings) -> Interval {
    let values = |level: &Level| level.values.iter().map(|value| libm::log(*value)).collect::<Vec<f64>>();
    let baseline = values(found.rows[0].baseline.as_ref().unwrap());
    let d: Vec<f64> = values(&first(found).level).iter().zip(baseline).map(|(a, b)| a - b).collect();
    compute_hodges_lehmann_interval(&sort_values(&d), &Null::new(d.len()), 0.05)
}

/// Counts over many sessions of one cell.
#[derive(Debug, Default)]
struct Counts {
    /// Shares of sessions with a verdict of a direction, with an interval that holds the truth, with a decision.
    directions: f64,
    held: f64,
    decided: f64,
    /// Share of intervals that hold the truth if rounds are taken as independent: one look that spends all.
    held_by_round: f64,
    rounds: f64,
}

fn count(rounds: u32, baseline: Side, target: Side) -> Counts {
    let truth = libm::exp(target.cost - baseline.cost);
    let mut counts = Counts::default();
    let share = |is: bool| f64::from(u8::from(is)) / SESSIONS as f64;
    for seed in 0..SESSIONS {
        let side = |name: &str, _| if name == "vm" { target } else { baseline };
        let session = race_session(make_plain_session(1, rounds), seed, side);
        let found = compute_findings(&session, &Options::default());
        let cell = first(&found);
        let holds = |cell: &Comparison| cell.interval.contains(truth);
        counts.directions += share(cell.verdict.trend().is_some());
        counts.held += share(holds(cell));
        counts.decided += share(cell.verdict.is_settled());
        counts.rounds += f64::from(cell.rounds) / SESSIONS as f64;
        counts.held_by_round += share(as_if_independent(&found).contains(libm::log(truth)));
    }
    counts
}

#[test]
fn starts_of_either_side_are_the_unit() {
    for (what, baseline, target) in [
        ("baseline, 5 starts", started(1.0, 18, 0.1), make_steady_side(1.0)),
        ("baseline, 9 starts", started(1.0, 10, 0.1), make_steady_side(1.0)),
        ("baseline, 18 starts", started(1.0, 5, 0.02), make_steady_side(1.0)),
        ("target, 1 start", make_steady_side(1.0), started(1.0, 90, 0.1)),
        ("target, 5 starts", make_steady_side(1.0), started(1.0, 18, 0.1)),
        ("target, 8 starts", make_steady_side(1.0), started(1.0, 12, 0.3)),
        ("target, 18 starts", make_steady_side(1.0), started(1.0, 5, 0.1)),
        ("both, 15 and 23 starts", started(1.0, 6, 0.05), started(1.0, 4, 0.05)),
    ] {
        let counts = count(90, baseline, target);
        println!("{what}: {counts:.3?}");
        assert!(counts.directions <= most_false(SESSIONS), "{what}: {counts:?}");
        assert!(counts.held >= 0.935, "{what}: {counts:?}");
        // By rounds the same records name directions that are not there.
        assert!(counts.held_by_round < 0.85, "{what}: {counts:?}");
    }
}

#[test]
fn below_eight_starts_nothing_is_decided() {
    for (baseline, target) in [
        (make_steady_side(1.0), started(10.0, 90, 0.1)),
        (make_steady_side(1.0), started(10.0, 13, 0.1)),
        (started(1.0, 13, 0.1), make_steady_side(10.0)),
    ] {
        let side = |name: &str, _| if name == "vm" { target } else { baseline };
        let found = compute_findings(&race_session(make_plain_session(1, 90), 1, side), &Options::default());
        let cell = first(&found);
        assert_eq!((cell.verdict, cell.rounds), (Verdict::SlowerInFewStarts, 90), "{cell:?}");
        assert_eq!(cell.needed, Some(Needed::Starts(8)));
        let conditions: Vec<Condition> = ["slower", "slower>2"].map(|text| text.parse().unwrap()).into();
        let names = [TargetNames::of_column("vm")];
        assert_eq!(judge_findings(&found, &names, &conditions).count_cells(Ruling::Trips), 0);
    }
    let few = count(90, make_steady_side(1.0), started(1.0, 13, 0.1));
    assert_eq!((few.directions, few.decided), (0.0, 0.0));
}

#[test]
fn a_far_environment_is_judged_on_its_starts() {
    for between in [0.1, 0.6] {
        let counts = count(450, make_steady_side(1.0), started(10.0, 5, between));
        println!("10x, starts {between} apart: {counts:.3?}");
        assert!(counts.held >= 0.935 && counts.decided >= 0.99, "{counts:?}");
        assert!(counts.held_by_round < 0.85, "{counts:?}");
        assert!(
            (35.0..=60.0).contains(&counts.rounds),
            "it leaves by its eighth to twelfth start: {counts:?}"
        );
    }
}

#[test]
fn an_environment_that_rests_keeps_its_promises() {
    for every in [2, 3, 8] {
        let (mut directions, mut held, mut decided) = (0.0, 0.0, 0.0);
        for seed in 0..SESSIONS {
            let mut session = make_session(&["quick", "vm"], vec![make_timed_case("case.0")], 200);
            session.plan.every = [("vm".to_owned(), every)].into();
            let found = compute_findings(
                &race_session(session, seed, |_, _| make_steady_side(1.0)),
                &Options::default(),
            );
            let cell = expect_comparison(&found.rows[0].cells[1]);
            directions += f64::from(u8::from(cell.verdict.trend().is_some())) / SESSIONS as f64;
            held += f64::from(u8::from(cell.interval.contains(1.0))) / SESSIONS as f64;
            decided += f64::from(u8::from(cell.verdict.is_settled())) / SESSIONS as f64;
        }
        println!("one round of {every}: {directions:.3} directions, {held:.3} held, {decided:.3} decided");
        assert!(directions <= most_false(SESSIONS), "{every}: {directions}");
        assert!(held >= 0.935, "{every}: {held}");
        assert!(every == 8 || decided > 0.9, "{every}: {decided}");
    }
}

#[test]
fn a_plain_cost_of_an_environment_that_rests_is_never_hidden() {
    let names: Vec<String> = (0..45).map(|at| format!("case.{at}")).collect();
    let mut session = make_session(&["vm"], names.iter().map(|name| make_timed_case(name)).collect(), 1000);
    session.plan.every = [("vm".to_owned(), 2)].into();
    let side = |name: &str, case| make_steady_side(if name == "vm" && case == 7 { 10.0 } else { 1.0 });
    let found = compute_findings(&raced_for(60, session, 3, side), &Options::default());
    let cell = expect_comparison(&found.rows[7].cells[0]);
    assert_eq!((cell.verdict, cell.decided_at, cell.rounds), (Verdict::Slower, Some(30), 23), "{cell:?}");
}

#[test]
fn a_plain_cost_is_never_hidden_among_many_cells() {
    for (cells, rounds) in [(16, 60), (16, 1000), (60, 450), (180, 90), (180, 1000)] {
        let side = |name: &str, case| match (name, case) {
            ("vm", 7) => make_steady_side(10.0),
            _ => make_steady_side(1.0),
        };
        let session = race_session(make_plain_session(cells, rounds), 3, side);
        for options in [false, true].map(|strict| Options { strict, ..Options::default() }) {
            let found = compute_findings(&session, &options);
            let cell = expect_comparison(&found.rows[7].cells[0]);
            assert_eq!(cell.verdict, Verdict::Slower, "{cells} cells, {rounds} rounds: {cell:?}");
            assert!(cell.rounds <= 30, "it leaves early all the same: {}", cell.rounds);
            let slower =
                found.rows.iter().filter(|row| expect_comparison(&row.cells[0]).verdict == Verdict::Slower);
            assert_eq!(slower.count(), 1);
            let conditions: Vec<Condition> = ["slower", "slower>2"].map(|text| text.parse().unwrap()).into();
            let names = [TargetNames::of_column("vm")];
            let outcome = judge_findings(&found, &names, &conditions);
            assert_eq!(outcome.find_answer(7, 0).map(|judged| judged.answer), Some(Ruling::Trips));
        }
    }
}

/// A cell that leaves at the first interval beyond the margin has a p that can never pass the correction.
#[test]
fn leaving_at_the_first_interval_would_hide_it() {
    for (cells, rounds) in [(16, 3000), (60, 450), (180, 90), (180, 1000)] {
        let side = |name: &str, case| make_steady_side(if name == "vm" && case == 7 { 10.0 } else { 1.0 });
        let mut session = race_session(make_plain_session(cells, rounds), 3, side);
        session.trials.retain(|trial| !(trial.case == "case.7" && trial.target == "vm" && trial.round >= 12));
        let found = compute_findings(&session, &Options::default());
        let cell = expect_comparison(&found.rows[7].cells[0]);
        assert_eq!(cell.verdict, Verdict::SlowerUnconfirmed, "{cells} cells, {rounds} rounds: {cell:?}");
        let Some(Needed::Rounds(needed)) = cell.needed else { panic!("{cell:?}") };
        assert!((13..=20).contains(&needed), "a few rounds more, and not a doubt: {needed}");
        let is = |row: &&Row| expect_comparison(&row.cells[0]).verdict == Verdict::SlowerUnconfirmed;
        assert_eq!(found.rows.iter().filter(is).count(), 1, "and no other is");
    }
}

#[test]
fn a_gate_gives_the_answer_of_the_interval_that_is_shown() {
    let names = [TargetNames::of_column("vm")];
    for seed in 0..40 {
        let side = |name: &str, case: usize| match name {
            "vm" => make_steady_side([1.0, 1.01, 1.3, 10.0, 60.0, 0.9][case % 6]),
            _ => make_steady_side(1.0),
        };
        let rounds = [8, 12, 60][seed as usize % 3];
        let found =
            compute_findings(&race_session(make_plain_session(12, rounds), seed, side), &Options::default());
        for (at, row) in found.rows.iter().enumerate() {
            let Comparison { interval, ratio, .. } = *expect_comparison(&row.cells[0]);
            let quotient = row.scale_baseline(ratio).unwrap() / row.baseline.as_ref().unwrap().median;
            assert!(interval.contains(quotient), "values that are shown contradict: {row:?}");
            for (ratio, answer) in
                [(0.9 * low(interval), Ruling::Trips), (1.1 * high(interval), Ruling::Passes)]
            {
                if !(1.0..f64::INFINITY).contains(&ratio) {
                    continue;
                }
                let alone = format!("slower:vm:{}>{ratio}", row.case);
                for beside in [vec![], vec!["slower", "slower:vm>1.001", "undecided", "missing"]] {
                    let texts = beside.iter().copied().chain([alone.as_str()]);
                    let conditions: Vec<Condition> = texts.map(|text| text.parse().unwrap()).collect();
                    let outcome = judge_findings(&found, &names, &conditions);
                    let judged = outcome.find_answer(at, 0).unwrap();
                    let is_of_it = judged.condition == alone || answer == Ruling::Trips;
                    assert!(!is_of_it || judged.answer == answer, "{alone}: {judged:?} of {row:?}");
                }
            }
        }
    }
}

/// Directions are chosen by what they show, so that those of weak cells are the ones that chance made large.
#[test]
fn of_the_intervals_of_directions_at_most_one_in_twenty_misses() {
    const GATES: u64 = 200;
    let truth = 1.004;
    let (mut shown, mut alone, mut chosen) = (0.0, 0.0, 0);
    for seed in 0..GATES {
        let side = |name: &str, _| make_steady_side(if name == "vm" { truth } else { 1.0 });
        let session = race_session(make_plain_session(40, 12), seed, side);
        let found = compute_findings(&session, &Options::default());
        let cells = found.rows.iter().map(|row| expect_comparison(&row.cells[0]));
        let directions: Vec<_> =
            cells.filter(|cell| cell.verdict.trend().is_some() && cell.p < 0.05).collect();
        let misses =
            |holds: fn(&Comparison) -> bool| directions.iter().filter(|cell| !holds(cell)).count() as f64;
        let all = directions.len().max(1) as f64;
        shown += misses(|cell| cell.interval.contains(1.004)) / all;
        alone += misses(|cell| low(cell.interval_alone) <= 1.004 && 1.004 <= high(cell.interval_alone)) / all;
        chosen += directions.len();
    }
    println!("{chosen} directions: {:.3} miss, alone {:.3}", shown / GATES as f64, alone / GATES as f64);
    assert!(shown / (GATES as f64) <= 0.05 && alone > 2.0 * shown, "{shown} and {alone} of {GATES}");
}

#[test]
fn nothing_is_the_same_beside_a_control_that_is_as_far_off() {
    let (mut same, mut narrow) = (0, 0);
    for seed in 0..100 {
        for (off, count) in [(1.04, &mut same), (1.01, &mut narrow)] {
            let side = |name: &str, _| make_steady_side(if name == "again" { off } else { 1.0 });
            let session = race_session(make_session(&["vm"], vec![make_timed_case("case")], 90), seed, side);
            *count +=
                u32::from(first(&compute_findings(&session, &Options::default())).verdict == Verdict::Same);
        }
    }
    println!("control off by 4 %: {same} the same, by 1 %: {narrow}");
    assert_eq!(same, 0);
    assert!(narrow >= 60, "half of the margin is left: {narrow}");
}

#[test]
fn as_many_rounds_as_are_said_to_be_needed_decide() {
    let noisy = |cost: f64| Side { within: 0.05, ..make_steady_side(cost) };
    let of = |cost: f64, session: Session, seed| {
        let side = |name: &str, _| noisy(if name == "vm" { cost } else { 1.0 });
        first(&compute_findings(&race_session(session, seed, side), &Options::default())).clone()
    };
    let (mut said, mut decided, mut short) = (0.0, 0.0, 0.0);
    for (cost, seed) in
        [1.0, 1.005, 1.01, 1.03, 1.035].iter().flat_map(|cost| (0..40).map(move |seed| (*cost, seed)))
    {
        let cell = of(cost, make_plain_session(1, 90), seed);
        let Some(Needed::Rounds(rounds)) = cell.needed else { continue };
        assert!(rounds > 90 && rounds <= 900, "{rounds}");
        let one_look = |rounds: u32| {
            let mut session = make_plain_session(1, rounds);
            session.plan.looks = vec![rounds];
            of(cost, session, seed + 1_000).verdict.is_settled()
        };
        // The rounds that the width of the interval alone would ask for.
        let by_width = f64::from(cell.rounds)
            * (libm::log(high(cell.interval) / low(cell.interval)) / 2.0 / libm::log(1.02)).powi(2);
        said += 1.0;
        decided += f64::from(u8::from(one_look(rounds)));
        short += f64::from(u8::from(one_look((by_width as u32).max(91))));
    }
    println!("{said} hints: {:.2} decide, {:.2} by the width alone", decided / said, short / said);
    assert!(said >= 80.0 && decided / said >= 0.65, "{decided} of {said}");
    assert!(short / said < 0.5, "{short} of {said}");
}

#[test]
fn the_smallest_effect_of_a_cell_is_found_four_times_in_five() {
    let noisy = |cost: f64| Side { within: 0.03, ..make_steady_side(cost) };
    let run = |cost: f64, seed| {
        let mut session = make_plain_session(1, 60);
        session.plan.looks = vec![60];
        let side = |name: &str, _| noisy(if name == "vm" { cost } else { 1.0 });
        first(&compute_findings(&race_session(session, seed, side), &Options::default())).clone()
    };
    let (mut all, mut differs, mut slower) = (0.0, 0.0, 0.0);
    for seed in 0..SESSIONS {
        // Rounds that are alike by chance leave too few blocks.
        let Some(smallest) = run(1.0, seed).smallest else { continue };
        all += 1.0;
        differs += f64::from(u8::from(run(smallest.differs, seed + SESSIONS).verdict.trend().is_some()));
        slower += f64::from(u8::from(run(smallest.slower, seed + SESSIONS).verdict == Verdict::Slower));
    }
    let (differs, slower) = (differs / all, slower / all);
    println!("{differs:.2} found to differ, {slower:.2} slower");
    assert!((0.72..0.92).contains(&differs) && (0.72..0.92).contains(&slower), "{differs} {slower}");
}

#[test]
fn two_kinds_of_start_hide_no_cost() {
    let (mut found, mut by_signs, mut false_directions) = (0, 0, 0);
    for seed in 0..100 {
        for cost in [1.2, 1.0] {
            let mut kinds = Generator::for_part(seed, "kind of start");
            let kinds: Vec<f64> = (0..90).map(|_| 0.3 * (2.0 * kinds.draw_below(2) as f64 - 1.0)).collect();
            let mut session = make_plain_session(1, 90);
            for (round, kind) in (0..90).zip(kinds) {
                for (target, ln) in [("native", 0.0), ("vm", kind + libm::log(cost))] {
                    let time = Side { cost: ln, ..make_steady_side(1.0) }.time(seed, target, "case.0", round);
                    session.trials.push(make_trial("case.0", target, round, Outcome::Time(time)));
                }
            }
            let cell = first(&compute_findings(&session, &Options::default())).clone();
            if cost > 1.0 {
                found += u32::from(cell.verdict.trend().is_some());
                by_signs += u32::from(low(cell.signs) > 1.0);
            } else {
                false_directions += u32::from(cell.verdict.trend().is_some());
            }
        }
    }
    println!("+20 % found in {found}, by signs in {by_signs}; {false_directions} false, of 100");
    assert!(found >= 85 && by_signs <= 30 && false_directions <= 11, "{found} {by_signs} {false_directions}");
}

#[test]
fn looks_of_the_plans_here_are_those_of_sessions() {
    assert_eq!(make_plain_session(1, 450).plan.looks, planned_looks(450));
}
