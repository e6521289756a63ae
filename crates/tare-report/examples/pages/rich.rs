//! A session with something for every part of the page, and one of the size of a full study.

use tare_analysis::findings::{Cell, Findings, Row};
use tare_data::batch::{Batch, Histogram, Phase, Sample};
use tare_data::failure::{Failure, FailureKind};
use tare_data::generator::Generator;
use tare_data::names::{Case, Parameters};
use tare_data::request::Amount;
use tare_data::session::lasting::LastingWork;
use tare_data::session::{Interference, PlannedCase, RepeatedRound, Session, Trial};
use tare_data::unit::{Direction, Unit};

use crate::specimen;

/// Block sizes of the curves, and the baseline's rate at each in MB/s.
const BLOCKS: [(&str, f64); 6] = [
    ("512", 210.0),
    ("4KiB", 980.0),
    ("32KiB", 1900.0),
    ("256KiB", 2300.0),
    ("2MiB", 2400.0),
    ("16MiB", 2350.0),
];
/// Share of the rate that each environment keeps, in its own file system and in a share.
const KEPT: [(f64, f64); 3] = [(1.0, 0.99), (0.31, 0.08), (0.82, 0.05)];
/// Operations of a latency trial.
const OPERATIONS: u64 = 4_000;

/// Memory of a held process in native, and the factor of an environment.
const HELD_BYTES: f64 = 81_920.0;

/// Extends the specimen by curves over block size, spans of runs, memory, groups, trials in time, tails and
/// facts.
pub fn page(targets: usize) -> (Session, Findings) {
    let (mut session, mut findings) = (specimen::make_session(targets), specimen::make_findings(targets));
    let round_trip = findings.rows[6].clone();
    findings.rows.push(further(&round_trip, "min", Unit::Nanoseconds, 19_100.0));
    findings.rows.push(further(&round_trip, "mean", Unit::Nanoseconds, 21_400.0));
    let spawn = findings.rows[1].clone();
    findings.rows.push(further(&spawn, "memory", Unit::Bytes, HELD_BYTES));
    if let Some(Cell::Compared(pipe)) = findings.rows[3].cells.get_mut(1) {
        two_groups(&mut pipe.level);
    }
    for place in ["own", "share"] {
        for (block, rate) in BLOCKS {
            let row = block_row(&findings.rows[0], place, block, rate, targets);
            session.plan.cases.push(planned(&row, block, &session.plan.cases[0]));
            findings.rows.push(row);
        }
    }
    facts(&mut session);
    trials(&mut session, 18);
    (session, findings)
}

/// Builds a hundred probes of three metrics each in six environments, over as many rounds as a full session
/// has.
pub fn big() -> (Session, Findings) {
    let (mut session, mut findings) = page(6);
    let base: Vec<Row> = findings.rows.iter().take(7).cloned().collect();
    for i in 0..(100 - findings.rows.iter().filter(|row| row.headline).count()) {
        let mut row = base[i % base.len()].clone();
        row.case = format!("{}?n={i}", row.probe);
        row.label = format!("{} {i}", row.label);
        let mut case = session.plan.cases[i % base.len()].clone();
        (case.id, case.label) = (row.case.clone(), row.label.clone());
        session.plan.cases.push(case);
        findings.rows.push(row);
    }
    let headlines: Vec<Row> = findings.rows.iter().filter(|row| row.headline).cloned().collect();
    for (name, times) in [("p50", 0.9), ("p99", 4.0)] {
        findings.rows.extend(headlines.iter().map(|row| {
            let baseline = row.baseline.as_ref().map_or(1.0, |level| level.median);
            further(row, name, row.metric.unit, baseline * times)
        }));
    }
    for row in &mut findings.rows {
        let levels = row.cells.iter_mut().filter_map(|cell| match cell {
            Cell::Compared(c) => Some(&mut c.level),
            Cell::Observed(level) => Some(level),
            Cell::Missing(_) => None,
        });
        for level in levels.chain(row.baseline.as_mut()) {
            level.values = level.values.iter().copied().cycle().take(60).collect();
            level.rounds = 60;
        }
    }
    trials(&mut session, 60);
    for (work, row) in LastingWork::ALL.into_iter().zip(findings.rows.clone()) {
        let case = format!("{}.{}", Row::LASTING, work.name());
        let headline = work == LastingWork::Processors;
        findings.rows.push(Row { case, probe: Row::LASTING.into(), headline, ..row });
    }
    (session, findings)
}

/// Builds a further metric of a row, at the same costs.
pub fn further(like: &Row, name: &str, unit: Unit, baseline: f64) -> Row {
    let cells = like.cells.iter().enumerate().map(|(i, cell)| match cell {
        Cell::Compared(c) => {
            Cell::Compared(Box::new(specimen::make_comparison(baseline, c.ratio, i as u64 + 77)))
        }
        other => other.clone(),
    });
    Row {
        metric: tare_data::metric::Metric { name: name.into(), unit, ..like.metric.clone() },
        headline: false,
        baseline: Some(specimen::make_level(baseline, 9)),
        cells: cells.collect(),
        control: None,
        ..like.clone()
    }
}

/// Makes every third round a quarter slower, as on another kind of processor.
fn two_groups(level: &mut tare_analysis::findings::Level) {
    for value in level.values.iter_mut().step_by(3) {
        *value *= 1.25;
    }
}

fn block_row(like: &Row, place: &str, block: &str, rate: f64, targets: usize) -> Row {
    let share = place == "share";
    let rate = if share { rate * 0.97 } else { rate } * 1e6;
    let cells = (0..targets).map(|target| {
        let (own, shared) = KEPT[target % KEPT.len()];
        let cost = 1.0 / if share { shared } else { own };
        let mut comparison = specimen::make_comparison(rate, cost, target as u64 + block.len() as u64);
        comparison.level = specimen::make_level(rate / cost, target as u64);
        comparison.difference = rate / cost - rate;
        Cell::Compared(Box::new(comparison))
    });
    Row {
        case: format!("file.seq?bs={block}&op=write@{place}"),
        probe: "file.seq".into(),
        label: format!("write {block}"),
        place: Some(place.into()),
        peer: None,
        metric: tare_data::metric::Metric {
            name: "rate".into(),
            unit: Unit::BytesPerSecond,
            direction: Direction::Higher,
            ..like.metric.clone()
        },
        headline: true,
        baseline: Some(specimen::make_level(rate, 5)),
        cells: cells.collect(),
        control: None,
        published: Vec::new(),
    }
}

fn planned(row: &Row, block: &str, like: &PlannedCase) -> PlannedCase {
    PlannedCase {
        id: row.case.clone(),
        case: Case {
            probe: row.probe.clone(),
            parameters: Parameters([("bs".into(), block.into()), ("op".into(), "write".into())].into()),
            place: row.place.clone(),
            peer: None,
        },
        label: row.label.clone(),
        metrics: vec![row.metric.clone()],
        amount: Amount::Operations { batch: 1, batches: 1 },
        ..like.clone()
    }
}

fn facts(session: &mut Session) {
    let shared = [
        ("cpu.model", "AMD EPYC 9554"),
        ("cpu.count", "2"),
        ("memory.total_bytes", "25769803776"),
        ("libc", "none"),
    ];
    tare_specimen::change_sides(&mut session.plan.targets, |_, side| {
        if side.name == "gvisor" {
            side.short_description = "gVisor: system calls in user space".into();
        }
    });
    for facts in &mut session.facts {
        for (key, value) in shared {
            facts.inside.add_fact(key, value);
        }
        let is_sandbox = facts.target == "gvisor";
        facts.inside.add_fact("clock.source", if is_sandbox { "unknown" } else { "tsc" });
        facts.inside.add_fact("file.overlay", if is_sandbox { "memory" } else { "" });
        facts.outside.add_fact("runtime", if is_sandbox { "runsc 20260905 --platform=systrap" } else { "" });
        facts.places.insert("own".into(), {
            let mut place = tare_data::facts::Facts::default();
            place.add_fact("file_system.type", if is_sandbox { "gofer (overlay in memory)" } else { "ext4" });
            place.add_fact("fsync", if is_sandbox { "costs nothing" } else { "reaches the disk" });
            place
        });
    }
}

/// Adds trials of every case in every environment for this many rounds, one after the other, with noise.
fn trials(session: &mut Session, rounds: u32) {
    session.trials.clear();
    let mut generator = Generator::new(11);
    let mut now_ns = 0;
    let mut order: Vec<(usize, usize)> = (0..session.plan.cases.len())
        .flat_map(|case| (0..session.plan.targets.len()).map(move |target| (case, target)))
        .collect();
    for round in 0..rounds {
        generator.shuffle(&mut order);
        for (case, target) in &order {
            let trial = trial(session, *case, *target, round, now_ns, &mut generator);
            now_ns += trial.host_elapsed_ns + 2_000_000;
            session.trials.push(trial);
        }
    }
    session.repeated.push(RepeatedRound {
        case: session.plan.cases[2].id.clone(),
        round: 4,
        attempt: 0,
        reason: "steal above 5 % of a trial".into(),
    });
}

fn trial(
    session: &Session,
    case: usize,
    target: usize,
    round: u32,
    now_ns: u64,
    generator: &mut Generator,
) -> Trial {
    let planned = &session.plan.cases[case];
    let failed = case == 5 && target == 3 && round % 6 == 2;
    let is_latency = matches!(planned.case.probe.as_str(), "net.rr" | "file.sync");
    Trial {
        partner: None,
        number: session.trials.len() as u64,
        case: planned.id.clone(),
        target: session.plan.targets[target].name.clone(),
        round,
        attempt: 0,
        position: 0,
        start: 0,
        started_ns: now_ns,
        host_elapsed_ns: 20_000_000 + generator.draw_below(60_000_000) * (1 + target as u64 / 2),
        agent_elapsed_ns: None,
        batches: if is_latency && round < 18 { vec![latency(target, generator)] } else { vec![] }.into(),
        inside: Interference {
            canary_ns: Some(
                100_000
                    + generator.draw_below(4_000)
                    + if (40..46).contains(&(round * 3)) { 22_000 } else { 0 },
            ),
            ..Interference::default()
        },
        outside: Interference { steal_ns: Some(generator.draw_below(400_000)), ..Interference::default() },
        failure: failed.then(|| Failure::new(FailureKind::Deadline, "no frame for 10 s")),
        notes: vec![],
    }
}

/// Draws times around 20 µs times the environment's factor, with one in a hundred ten times as long.
fn latency(target: usize, generator: &mut Generator) -> Batch {
    let factor = [1.0, 1.0, 1.05, 5.4, 9.8, 3.0, 1.1, 1.2][target % 8];
    let mut histogram = Histogram::new();
    for _ in 0..OPERATIONS {
        let rare = if generator.draw_below(100) == 0 { 4.0 + 12.0 * generator.draw_unit() } else { 1.0 };
        let spread = 0.9 + 0.3 * generator.draw_unit() * generator.draw_unit();
        histogram.record((20_000.0 * factor * spread * rare) as u64);
    }
    Batch {
        series: "round trip".into(),
        phase: Phase::Warm,
        started_ns: 0,
        sample: Sample::Latency {
            operations: OPERATIONS,
            bytes: 0,
            elapsed_ns: 1,
            histogram: histogram.encode(),
        },
    }
}
