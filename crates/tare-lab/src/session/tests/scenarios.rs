//! Whole sessions of environments whose costs do not stay as they are: tails, states, spells, drift, starts that differ.
//!
//! `bench/arena` runs all of them by the hundred and prints the table of docs/method/states.md.

use std::collections::BTreeMap;

use tare_analysis::findings::{Comparison, Kind, Why};
use tare_data::generator::Generator;

use super::fake_arena::FakeArena;
use super::{PlanRequest, findings, plan_request, planned, targets, with_slow_case};

/// Sessions of a scenario in the tests, and by which they are numbered in `bench/arena`.
const SESSIONS: u64 = 30;
/// Place of the environment behind native and its control.
const SUBJECT: usize = 2;
/// Step by which a course of states is drawn, in nanoseconds.
const STEP_NS: u64 = 50_000_000;

/// A kind of environment that sessions are simulated with.
struct Scenario {
    name: &'static str,
    /// The typical ratio; none where there is no one answer.
    typical: Option<f64>,
    /// The ratio of mean costs.
    mean: f64,
    arrange: fn(&mut FakeArena, &mut Generator),
}

const SCENARIOS: [Scenario; 14] = [
    Scenario { name: "alike", typical: Some(1.0), mean: 1.0, arrange: |_, _| {} },
    Scenario {
        name: "5 % slower",
        typical: Some(1.05),
        mean: 1.05,
        arrange: |arena, _| arena.ratios[SUBJECT] = 1.05,
    },
    Scenario {
        name: "5 % slower and faster, 1 s",
        typical: Some(1.0),
        mean: 1.0,
        arrange: |arena, generator| switch(arena, generator, 1.0, [1.05, 1.0 / 1.05]),
    },
    Scenario {
        name: "5 % slower and faster, 3 s",
        typical: Some(1.0),
        mean: 1.0,
        arrange: |arena, generator| switch(arena, generator, 3.0, [1.05, 1.0 / 1.05]),
    },
    Scenario {
        name: "5 % slower and faster, 10 s",
        typical: Some(1.0),
        mean: 1.0,
        arrange: |arena, generator| switch(arena, generator, 10.0, [1.05, 1.0 / 1.05]),
    },
    Scenario {
        name: "10 % slower by spells, 3 s",
        typical: None,
        mean: 1.05,
        arrange: |arena, generator| switch(arena, generator, 3.0, [1.1, 1.0]),
    },
    Scenario {
        name: "10 % slower by spells, 10 s",
        typical: None,
        mean: 1.05,
        arrange: |arena, generator| switch(arena, generator, 10.0, [1.1, 1.0]),
    },
    Scenario {
        name: "drift of 3 % over 3 s",
        typical: Some(1.0),
        mean: 1.0,
        arrange: |arena, generator| drift(arena, generator, &[(0.03, 3.0)]),
    },
    Scenario {
        name: "1/f noise, six octaves of 1.5 %",
        typical: Some(1.0),
        mean: 1.0,
        arrange: |arena, generator| {
            drift(arena, generator, &[0.1, 0.2, 0.4, 0.8, 1.6, 3.2].map(|lasting_s| (0.015, lasting_s)));
        },
    },
    Scenario {
        name: "noise of 30 % on both sides",
        typical: Some(1.0),
        mean: 1.0,
        arrange: |arena, generator| {
            let course = draw_course(generator, &[(0.3, 0.5)]);
            arena.state = Box::new(move |_, now_ns| at(&course, now_ns));
        },
    },
    Scenario {
        name: "starts that differ by 3 %",
        typical: Some(1.0),
        mean: 1.0,
        arrange: |arena, generator| {
            let seed = generator.next_u64();
            arena.of_start = Box::new(move |target, start| {
                let mut generator = Generator::for_part(seed ^ u64::from(start), "start");
                if target == SUBJECT { libm::exp(0.03 * draw_normal(&mut generator)) } else { 1.0 }
            });
        },
    },
    Scenario {
        name: "1 batch in 300 at 100x",
        typical: Some(1.0),
        mean: 1.33,
        arrange: |arena, _| arena.slow_batches[SUBJECT] = (1.0 / 300.0, 100.0),
    },
    Scenario {
        name: "1 batch in 1,000 at 100x",
        typical: Some(1.0),
        mean: 1.1,
        arrange: |arena, _| arena.slow_batches[SUBJECT] = (1e-3, 100.0),
    },
    Scenario {
        name: "a fifth of both sides' batches at 4x",
        typical: Some(1.0),
        mean: 1.0,
        arrange: |arena, _| arena.slow_batches.fill((0.2, 4.0)),
    },
];

/// Draws from a normal distribution, nearly: the sum of twelve.
fn draw_normal(generator: &mut Generator) -> f64 {
    (0..12).map(|_| generator.draw_unit()).sum::<f64>() - 6.0
}

/// Lets the environment have two costs by turns, each for this long on average.
fn switch(arena: &mut FakeArena, generator: &mut Generator, lasting_s: f64, costs: [f64; 2]) {
    let mut changes_s = vec![0.0];
    while changes_s.last().is_some_and(|at_s| *at_s < 400.0) {
        let at_s = changes_s[changes_s.len() - 1];
        changes_s.push(at_s - lasting_s * libm::log(1.0 - generator.draw_unit()));
    }
    let first = generator.draw_below(2) as usize;
    arena.state = Box::new(move |target, now_ns| {
        let passed = changes_s.partition_point(|at_s| *at_s * 1e9 <= now_ns as f64);
        if target == SUBJECT { costs[(first + passed) % 2] } else { 1.0 }
    });
}

/// Lets the environment's cost drift: each part has a deviation, and is forgotten after some seconds.
fn drift(arena: &mut FakeArena, generator: &mut Generator, parts: &[(f64, f64)]) {
    let course = draw_course(generator, parts);
    arena.state = Box::new(move |target, now_ns| if target == SUBJECT { at(&course, now_ns) } else { 1.0 });
}

fn draw_course(generator: &mut Generator, parts: &[(f64, f64)]) -> Vec<f64> {
    let mut course = vec![0.0; 8_000];
    for (deviation, lasting_s) in parts {
        let kept = libm::exp(-(STEP_NS as f64 / 1e9) / lasting_s);
        let mut value = deviation * draw_normal(generator);
        for at in &mut course {
            value = kept * value + deviation * (1.0 - kept * kept).sqrt() * draw_normal(generator);
            *at += value;
        }
    }
    course.into_iter().map(libm::exp).collect()
}

fn at(course: &[f64], now_ns: u64) -> f64 {
    course[((now_ns / STEP_NS) as usize).min(course.len() - 1)]
}

/// Runs a session of one cell, beside which another stays open until the time is up.
fn run(scenario: &Scenario, seed: u64, budget_s: f64) -> Comparison {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0; 3]);
    arena.generator = Generator::for_part(seed, "noise");
    arena.start_ns = vec![1_000_000; 3];
    (scenario.arrange)(&mut arena, &mut Generator::for_part(seed, scenario.name));
    arena.slow_ns = 800_000_000;
    let plan = plan_request(targets(1));
    let selected = with_slow_case(&plan);
    let (record, _) =
        planned(&mut arena, folder.path(), PlanRequest { selected, budget_s: Some(budget_s), ..plan });
    findings(&record).rows[0].cells[0].comparison().unwrap().clone()
}

/// Counts of what the sessions of a scenario said.
#[derive(Debug, Default)]
struct Counts {
    answers: BTreeMap<&'static str, u32>,
    /// A direction without a doubt where typically there is none.
    false_directions: u32,
    /// *Same*, and nothing that is left out.
    plainly_same: u32,
    /// A bound below the mean cost that seems to hold for it.
    broken_bounds: u32,
    /// A bound with a sign that it holds for the typical cost alone.
    typical_bounds: u32,
    /// Intervals, and those that hold the typical ratio.
    intervals: u32,
    covered: u32,
}

fn count(scenario: &Scenario, sessions: u64, budget_s: f64) -> Counts {
    let mut counts = Counts::default();
    for seed in 0..sessions {
        let found = run(scenario, seed, budget_s);
        let answer = found.answer();
        *counts.answers.entry(answer.kind().name()).or_default() += 1;
        let is_direction = matches!(answer.kind(), Kind::Slower | Kind::Faster | Kind::AtLeast);
        let is_alike = scenario.typical == Some(1.0);
        counts.false_directions += u32::from(is_alike && is_direction && answer.why().is_none());
        counts.plainly_same += u32::from(answer.kind() == Kind::Same && answer.why().is_none());
        let is_bound = answer.kind() == Kind::AtMost;
        let is_typical = is_bound && answer.why() == Some(Why::Typical);
        counts.typical_bounds += u32::from(is_typical);
        let is_broken = is_bound && found.most().is_none_or(|most| most < scenario.mean);
        counts.broken_bounds += u32::from(is_broken && !is_typical);
        if let Some(typical) = scenario.typical {
            counts.intervals += 1;
            counts.covered += u32::from(found.interval_alone.contains(typical));
        }
    }
    counts
}

fn find(name: &str) -> &'static Scenario {
    SCENARIOS.iter().find(|scenario| scenario.name == name).unwrap()
}

/// Counts the sessions that a share of all is, and three standard errors more.
fn at_most(share: f64) -> u32 {
    let sessions = SESSIONS as f64;
    (sessions * share + 3.0 * (sessions * share * (1.0 - share)).sqrt()) as u32
}

#[test]
fn what_does_not_last_and_what_is_rare_make_no_plain_answer() {
    // `bench/arena` asks for the table of all.
    if let Ok(sessions) = std::env::var("ARENA_SESSIONS") {
        return write_table(sessions.parse().unwrap());
    }
    for (name, budget_s) in [
        ("alike", 10.0),
        ("5 % slower and faster, 1 s", 10.0),
        ("drift of 3 % over 3 s", 30.0),
        ("starts that differ by 3 %", 10.0),
        ("1 batch in 1,000 at 100x", 10.0),
        ("a fifth of both sides' batches at 4x", 10.0),
    ] {
        let counts = count(find(name), SESSIONS, budget_s);
        println!("{name}: {counts:?}");
        assert!(counts.false_directions <= at_most(0.05), "{name}: {counts:?}");
        assert!(counts.broken_bounds <= at_most(0.05), "{name}: {counts:?}");
        assert!(counts.covered + at_most(0.05) >= counts.intervals, "{name}: {counts:?}");
    }
}

/// Writes the table of all scenarios and lengths of sessions.
fn write_table(sessions: u64) {
    println!(
        "| environment | session | false directions | plainly the same | bounds: below the mean, typical | interval holds |"
    );
    println!("|---|---|---|---|---|---|");
    for scenario in &SCENARIOS {
        for budget_s in [20.0, 60.0, 150.0] {
            let counts = count(scenario, sessions, budget_s);
            let share = |count: u32| format!("{:.0} %", 100.0 * f64::from(count) / sessions as f64);
            let holds = match counts.intervals {
                0 => "–".to_owned(),
                _ => share(counts.covered),
            };
            println!(
                "| {} | {budget_s} s | {} | {} | {}, {} | {holds} |",
                scenario.name,
                share(counts.false_directions),
                share(counts.plainly_same),
                share(counts.broken_bounds),
                share(counts.typical_bounds),
            );
        }
    }
}
