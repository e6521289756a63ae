//! Handmade sessions and findings, for tests and for looking at views.

use tare_analysis::findings::*;
use tare_analysis::outcome::{CommandOutcome, Count, Word};
use tare_data::batch::RunEnd;
use tare_data::facts::Facts;
use tare_data::failure::{Failure, FailureKind};
use tare_data::generator::Generator;
use tare_data::metric::{Metric, Reading};
use tare_data::names::{Case, Parameters};
use tare_data::request::Amount;
use tare_data::session::limits::Quota;
use tare_data::session::outcome::Part;
use tare_data::session::*;
use tare_data::unit::{Direction, Unit};
use tare_data::warning::{Group, Warning};
use tare_specimen::{make_plan, make_sides, plan_case};

/// Facts of a specimen's host.
const HOST: [(&str, &str); 5] = [
    ("cpu.count", "2"),
    ("cpu.hypervisor", "KVM"),
    ("cpu.model", "Intel(R) Xeon(R) Processor @ 2.50GHz"),
    ("kernel.release", "6.18.44-generic"),
    ("root.type", "ext4"),
];
/// The cost of work that lasts under a quota of a fifth, as stretches of it measure it.
pub const FIVE_TIMES: Estimate = Estimate { ratio: 5.08, interval: Interval::new(4.92, 5.24) };

/// Rounds of a specimen.
const ROUNDS: u32 = 18;

/// A case of the specimens: probe, label, place, peer, and the baseline's value in nanoseconds.
type Work = (&'static str, &'static str, Option<&'static str>, Option<&'static str>, f64);

const WORK: &[Work] = &[
    ("sys.getppid", "system call", None, None, 173.4),
    ("proc.spawn", "fork + wait", None, None, 74_210.0),
    ("proc.exec", "exec", None, None, 402_300.0),
    ("ipc.pipe", "pipe, 512 B", None, None, 831.0),
    ("cpu.primes", "primes to 20000", None, None, 661_200.0),
    ("file.sync", "write+fdatasync 4 KiB", Some("own"), None, 58_400.0),
    ("net.rr", "TCP round trip", None, Some("loopback"), 20_613.0),
];

/// Slowdowns of a specimen's environment, one per row; `None` has no comparison.
type Costs = [Option<f64>; 7];

const TARGETS: &[(&str, Costs)] = &[
    ("container", [Some(1.001), Some(1.004), Some(0.998), Some(1.0), Some(1.002), Some(0.997), Some(1.019)]),
    ("gvisor", [Some(24.13), Some(12.31), Some(8.71), Some(19.5), Some(1.003), None, Some(5.41)]),
    ("wsl2-like", [Some(1.09), Some(9.83), Some(7.12), Some(1.42), None, Some(0.43), Some(156.4)]),
    ("proot", [Some(11.2), Some(3.4), Some(4.1), Some(10.9), Some(1.0), Some(1.3), Some(3.2)]),
    ("bwrap", [Some(1.0), Some(1.01), Some(1.0), Some(1.0), Some(1.0), Some(1.0), Some(1.0)]),
    ("oci:crun", [Some(1.0), Some(1.003), Some(1.002), Some(1.0), Some(1.0), Some(1.01), Some(1.0)]),
];

fn metric(name: &str) -> Metric {
    Metric {
        name: name.into(),
        series: "call".into(),
        reading: Reading::TimePerOperation,
        unit: Unit::Nanoseconds,
        direction: Direction::Lower,
    }
}

/// Builds a level around a median, with noise of a hundredth that is the same in every run.
pub fn make_level(median: f64, seed: u64) -> Level {
    let mut generator = Generator::new(seed);
    let values = (0..ROUNDS).map(|_| median * (1.0 + 0.02 * (generator.draw_unit() - 0.5))).collect();
    Level { median, low: median * 0.994, high: median * 1.006, rounds: ROUNDS, values }
}

/// Builds a comparison at a ratio, with the verdict for a half interval of one in a hundred.
pub fn make_comparison(baseline: f64, ratio: f64, seed: u64) -> Comparison {
    let (low, high) = (ratio * 0.99, ratio * 1.012);
    let verdict = match (low, high) {
        (low, _) if low > 1.02 => Verdict::Slower,
        (_, high) if high < 0.98 => Verdict::Faster,
        (low, high) if low > 0.98 && high < 1.02 => Verdict::Same,
        (low, _) if low > 1.0 => Verdict::SlowerUnclear,
        _ => Verdict::Inconclusive,
    };
    Comparison {
        level: make_level(baseline * ratio, seed),
        rounds: ROUNDS,
        ratio,
        interval: Interval::new(low, high),
        total: Some(Total { ratio, low: low * 0.99, high: high * 1.01 }),
        interval_alone: Interval::new(low, high),
        signs: Interval::new(low * 0.998, high * 1.002),
        leading: Leading::HodgesLehmann,
        p: if verdict == Verdict::Slower { 0.0004 } else { 0.3 },
        margin: 1.02,
        verdict,
        reach: Reach::Short,
        seen: Span { rounds: ROUNDS, seconds: 60.0, is_lasting: true },
        slow: Some(SlowSeen { slow: 0, batches: 3_600, most: 0.001 }),
        lacks: Why::Rounds,
        decided_at: (verdict != Verdict::Inconclusive).then_some(12),
        needed: (verdict == Verdict::Inconclusive).then_some(Needed::Rounds(212)),
        smallest: Some(Smallest { differs: 1.026, slower: 1.046 }),
        difference: baseline * (ratio - 1.0),
        starts: None,
        warnings: vec![],
    }
}

fn missing(probe: &str) -> Cell {
    Cell::Missing(match probe {
        "cpu.primes" => Missing::NotComparable {
            reason: "emulated processor (TCG): no KVM that works here".into(),
            level: make_level(4e6, 3),
        },
        _ => Missing::Failed(Failure::new(
            FailureKind::NotComparable,
            "fsync costs nothing in this place: memory overlay",
        )),
    })
}

fn row(index: usize, targets: usize) -> Row {
    let (probe, label, place, peer, baseline) = WORK[index];
    let cell = |(_, costs): &(&str, Costs)| match costs[index] {
        Some(ratio) => {
            Cell::Compared(Box::new(make_comparison(baseline, ratio, index as u64 * 31 + ratio as u64)))
        }
        None => missing(probe),
    };
    Row {
        case: case(index).to_string(),
        probe: probe.into(),
        label: label.into(),
        place: place.map(Into::into),
        peer: peer.map(Into::into),
        metric: metric("time"),
        headline: true,
        baseline: Some(make_level(baseline, index as u64)),
        cells: TARGETS[..targets].iter().map(cell).collect(),
        control: Some(Cell::Compared(Box::new(make_comparison(baseline, 1.001, 7)))),
        published: Vec::new(),
    }
}

/// Builds the longest time of a row: shown, never compared.
fn longest(row: &Row) -> Row {
    Row {
        metric: metric("max"),
        headline: false,
        baseline: Some(make_level(91_000.0, 3)),
        cells: (0..row.cells.len()).map(|i| Cell::Observed(make_level(92_000.0, i as u64))).collect(),
        control: None,
        ..row.clone()
    }
}

fn case(index: usize) -> Case {
    let (probe, _, place, peer, _) = WORK[index];
    Case {
        probe: probe.into(),
        parameters: Parameters::default(),
        place: place.map(Into::into),
        peer: peer.map(Into::into),
    }
}

/// Builds a session with this many subjects (at most six).
pub fn make_session(targets: usize) -> Session {
    let natives = [("native", Role::Baseline), ("native (again)", Role::Control)];
    let subjects = TARGETS[..targets].iter().map(|(name, _)| (*name, Role::Subject));
    let all = make_sides(natives.into_iter().chain(subjects));
    let cases = (0..WORK.len()).map(|i| PlannedCase {
        label: WORK[i].1.into(),
        definition: "d0".into(),
        amount: Amount::Operations { batch: 1000, batches: 10 },
        ..plan_case(case(i), vec![metric("time")])
    });
    let plan = make_plan(all, cases.collect(), vec![12, ROUNDS]);
    let mut session = tare_specimen::make_session(Plan { seed: 0x7f3a_91c2, budget_s: Some(160.0), ..plan });
    session.header.binary = "ab".repeat(32);
    session.header.started = "2026-11-21T20:41:07+01:00".into();
    session.header.command.push("quick".into());
    session.header.host = Facts(HOST.map(|(key, value)| (key.into(), value.into())).into());
    for facts in &mut session.facts {
        let inside = if facts.target == "gvisor" { "4.4.0" } else { "6.18.44" };
        facts.inside.add_fact("kernel.release", inside);
        facts.outside.add_fact("kernel.release", "6.18.44");
        facts.places.clear();
    }
    session
}

fn modal() -> Warning {
    let group = |share, ratio| Group { share, ratio };
    Warning::Modal { groups: vec![group(0.6, 11.2), group(0.4, 14.1)] }
}

/// Builds the findings of [`session`].
pub fn make_findings(targets: usize) -> Findings {
    let mut rows: Vec<Row> = (0..WORK.len()).map(|i| row(i, targets)).collect();
    if let Some(Cell::Compared(cell)) = rows[3].cells.get_mut(1) {
        cell.warnings = vec![modal(), Warning::RoundsRepeated { repeated: 1, kept: 2 }];
    }
    rows.extend((targets > 0).then(|| longest(&rows[6])));
    let compared = rows.iter().flat_map(|r| &r.cells).filter(|c| matches!(c, Cell::Compared(_))).count();
    Findings {
        baseline: "native".into(),
        commands_in: None,
        subjects: TARGETS[..targets].iter().map(|(name, _)| (*name).into()).collect(),
        rows,
        lasting: Vec::new(),
        outcomes: Vec::new(),
        across_commands: Vec::new(),
        certificate: Certificate {
            planted: None,
            control_cells: 7,
            control_coloured: 0,
            banner: false,
            smallest_effect: (targets > 0).then_some(1.026),
            decided: compared.saturating_sub(1),
            compared,
            repeated: 2,
        },
        warnings: if targets > 1 {
            vec![(Some("gvisor".into()), Warning::ClockDisagrees { parts_per_million: 41.0 })]
        } else {
            vec![]
        },
        limits: Vec::new(),
        ending: Ending::Complete,
        articles: Vec::new(),
    }
}

/// Has a quota of a fifth of a processor stop the environment of a comparison in 94 % of its periods.
pub fn make_stopped(comparison: Comparison) -> Comparison {
    let quota = Quota { quota_us: 20_000, period_us: 100_000 };
    let stop = Stop::from_periods(94, 100, Some(quota)).expect("it was stopped");
    Comparison { reach: Reach::Stopped(stop), ..comparison }
}

/// Has stretches of work that lasts measure what that quota costs.
pub fn make_measured(comparison: Comparison) -> Comparison {
    let stopped = make_stopped(comparison);
    let stop = stopped.reach.stop().expect("it was stopped");
    Comparison { reach: Reach::Stopped(stop.with_measured(Some(FIVE_TIMES))), ..stopped }
}

/// Has work that lasts take five times as long in the environment of a comparison, which no counter of a limit shows.
pub fn make_differing(comparison: Comparison) -> Comparison {
    Comparison { reach: Reach::Differs(FIVE_TIMES), ..comparison }
}

/// Builds a cell of each verdict, of each bound, and of each reason for having none.
pub fn one_cell_of_each() -> Vec<Cell> {
    let mut all: Vec<Comparison> = Vec::new();
    for verdict in Verdict::ALL.iter().copied() {
        let is_of_few_starts = [Verdict::SlowerInFewStarts, Verdict::FasterInFewStarts].contains(&verdict);
        let starts = SharedStarts { starts: 3, between: None, design_effect: None };
        let starts = Some(starts).filter(|_| is_of_few_starts);
        all.push(Comparison { verdict, starts, ..make_comparison(100.0, 1.25, 1) });
    }
    all.push(make_comparison(100.0, 1.012, 1));
    let open = Interval::new(41.7 * 0.99, f64::INFINITY);
    all.push(Comparison { interval: open, ..make_comparison(100.0, 41.7, 1) });
    // Stopped ones of several kinds.
    all.extend([1.0, 1.012, 0.5, 2.0, 57.0].map(|ratio| make_stopped(make_comparison(100.0, ratio, 1))));
    all.push(make_measured(make_comparison(100.0, 1.0, 1)));
    all.extend([1.0, 1.012, 0.5, 2.0].map(|ratio| make_differing(make_comparison(100.0, ratio, 1))));
    let reaches = [Reach::Open, Reach::Lasting].into_iter();
    let reaches =
        reaches.flat_map(|reach| [1.0, 1.012].map(|ratio| (reach, make_comparison(100.0, ratio, 1))));
    all.extend(reaches.map(|(reach, comparison)| Comparison { reach, ..comparison }));
    let compared = all.into_iter().map(|comparison| Cell::Compared(Box::new(comparison)));
    let others = [
        Cell::Observed(make_level(100.0, 1)),
        Cell::Missing(Missing::NoBaseline(make_level(100.0, 1))),
        Cell::Missing(Missing::NotReached),
    ];
    compared.chain(others).collect()
}

/// Makes the outcome of a command on the second of two sides, in ten starts each.
pub fn make_outcome(case: &str, [against, target]: [&str; 2], word: Word) -> CommandOutcome {
    let is_alone = word == Word::FailsOnly;
    CommandOutcome {
        case: case.to_owned(),
        label: "command".into(),
        target: target.to_owned(),
        against: against.to_owned(),
        word,
        fails_in: is_alone.then(|| target.to_owned()),
        end: is_alone.then_some(RunEnd::ExitCode(1)),
        is_end_told: is_alone,
        counts: [0, 10].map(|so| Count { so, starts: 10 }),
        failed: [0, 10],
        needed: None,
        differences: Vec::new(),
        compared: Part::ALL.to_vec(),
        unsteady: Vec::new(),
        is_cut: false,
        last_line: None,
    }
}
