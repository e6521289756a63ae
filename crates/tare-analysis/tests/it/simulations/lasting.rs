//! Work that lasts: intervals of known stretches, what they say of answers, and how often they say it wrongly.

use tare_analysis::findings::{Estimate, Findings, Kind, LastingCost, Outcome, Reach, Row};
use tare_analysis::{Options, compute_findings};
use tare_data::generator::Generator;
use tare_data::session::lasting::{LastingWork, Stretch};
use tare_data::session::limits::{GroupCounts, LimitCounts, Quota};
use tare_data::session::{Role, Session};
use tare_data::warning::Warning;
use tare_specimen::{Lasting, make_case, make_metric, make_plan, make_session, make_sides, run_lasting};

use crate::simulations::noise_models::draw_normal;
use crate::simulations::promises::most_false;

/// Makes a session of four cells without a difference in each environment: of a call, of arithmetic, of two threads and of memory.
fn make_alike(subjects: &[&'static str]) -> Session {
    let sides = subjects.iter().map(|name| (*name, Role::Subject));
    let targets = make_sides([("native", Role::Baseline)].into_iter().chain(sides));
    let case = |probe: &str, parameters: &[(&str, &str)]| {
        let metric = make_metric("time", tare_data::metric::Reading::TimePerOperation);
        make_case(probe, parameters, None, vec![metric])
    };
    let cases = [
        case("sys.getppid", &[]),
        case("cpu.primes", &[("threads", "1")]),
        case("cpu.primes", &[("threads", "2")]),
        case("mem.copy", &[]),
    ];
    let mut session = make_session(make_plan(targets, cases.into(), vec![40]));
    tare_specimen::run_rounds(&mut session, 40, |_, target, round| {
        tare_specimen::Outcome::Time(
            100.0 * (1.0 + 0.002 * (tare_specimen::compute_jitter(target, round) - 1.0)),
        )
    });
    session
}

/// Adds a stretch of a thousand operations that took 1 µs times `long`, and in slices 1 µs times `short`.
fn add_stretch(session: &mut Session, target: &str, work: LastingWork, round: u32, [long, short]: [f64; 2]) {
    let (operations, elapsed_ns, slice_ns) = (1_000, (long * 1e6).round() as u64, short * 1e3);
    session.stretches.push(Stretch { target: target.into(), work, round, operations, elapsed_ns, slice_ns });
}

fn find(session: &Session) -> Findings {
    compute_findings(session, &Options::default())
}

/// Lists the reach of an environment's answers in each case.
fn reaches(findings: &Findings, target: usize) -> Vec<&'static str> {
    let rows = findings.rows.iter().filter(|row| !row.is_of_session());
    rows.map(|row| row.cells[target].comparison().unwrap().reach.name()).collect()
}

fn assert_near(found: Option<Estimate>, expected: [f64; 3]) {
    let Estimate { ratio, interval } = found.unwrap();
    let [low, high] = interval.ends(f64::from);
    let is_near = |(found, expected): (f64, f64)| (found / expected - 1.0).abs() < 1e-6;
    assert!([ratio, low, high].into_iter().zip(expected).all(is_near), "{ratio} {low} {high}: {expected:?}");
}

/// Long ratios of five rounds, and what slices of the same stretches take.
const LONG: [[f64; 2]; 5] = [[5.0, 1.0], [5.2, 1.01], [4.9, 1.0], [5.1, 0.99], [5.3, 1.0]];

#[test]
fn intervals_are_those_of_student_over_rounds() {
    let mut session = make_alike(&["q20", "twin"]);
    for (round, long) in (0..).zip(LONG) {
        add_stretch(&mut session, "native", LastingWork::Arithmetic, round, [1.0, 1.0]);
        add_stretch(&mut session, "q20", LastingWork::Arithmetic, round, long);
    }
    // With one test, t of four degrees is 2.776.
    let findings = find(&session);
    let [cost] = &findings.lasting[..] else { panic!("{:?}", findings.lasting) };
    assert_near(cost.ratio, [5.098038310, 4.905423721, 5.298216034]);
    assert_near(cost.excess, [5.098140277, 4.910154659, 5.293322938]);
    assert_eq!((cost.stretches, cost.outcome), (5, Some(Outcome::Differs)));
    assert!((cost.seconds - 0.0255).abs() < 1e-9, "{}", cost.seconds);
    // With two tests it is 3.495. A round that only one side has is none.
    for round in [1, 2, 3, 4, 9] {
        add_stretch(&mut session, "twin", LastingWork::Arithmetic, round, [1.0, 1.0]);
    }
    let findings = find(&session);
    assert_near(findings.lasting[0].ratio, [5.098038310, 4.856743637, 5.351321081]);
    assert_near(findings.lasting[1].excess, [1.0, 1.0, 1.0]);
    assert_eq!(findings.lasting[1].stretches, 4);
    assert_eq!([0, 1].map(|at| reaches(&findings, at)[0]), ["differs", "lasting"]);
    let answers = [0, 1].map(|at| findings.rows[0].cells[at].answer());
    assert_eq!(answers.map(|answer| answer.kind()), [Kind::Same; 2]);
    assert_eq!(answers.map(|answer| answer.is_overturned()), [true, false]);
}

#[test]
fn what_is_dear_in_short_turns_too_is_no_excess() {
    let mut session = make_alike(&["gvisor"]);
    for round in 0..8 {
        let wobble = 1.0 + 0.01 * f64::from(round % 3);
        add_stretch(&mut session, "native", LastingWork::Calls, round, [1.0, 1.0]);
        add_stretch(&mut session, "gvisor", LastingWork::Calls, round, [12.0 * wobble, 12.0]);
    }
    let findings = find(&session);
    assert_eq!(findings.lasting[0].outcome, Some(Outcome::Excludes), "{:?}", findings.lasting);
    assert!(findings.lasting[0].ratio.unwrap().ratio > 12.0);
    assert_eq!(reaches(&findings, 0), ["lasting", "short", "short", "short"], "arithmetic was not looked at");
}

/// Runs eight rounds of a kind of work with these excesses in two environments.
fn run(session: &mut Session, work: LastingWork, excesses: [f64; 2], spread: f64) {
    let cost = |long: f64| Lasting { long, short: 1.0, spread };
    let [first, second] = excesses.map(cost);
    run_lasting(session, work, 8, &[("native", cost(1.0)), ("first", first), ("second", second)]);
}

#[test]
fn an_excess_reaches_the_cells_that_do_its_work() {
    let mut session = make_alike(&["first", "second"]);
    run(&mut session, LastingWork::Arithmetic, [1.0, 5.0], 0.005);
    let findings = find(&session);
    assert_eq!(reaches(&findings, 0), ["lasting"; 4]);
    assert_eq!(reaches(&findings, 1), ["differs"; 4]);
    run(&mut session, LastingWork::Calls, [1.3, 1.0], 0.005);
    run(&mut session, LastingWork::Processors, [1.35, 10.0], 0.005);
    let findings = find(&session);
    assert_eq!(reaches(&findings, 0), ["differs", "lasting", "differs", "lasting"]);
    let long = |row: usize| match findings.rows[row].cells[1].comparison().unwrap().reach {
        Reach::Differs(long) => long.ratio.round(),
        reach => panic!("{reach:?}"),
    };
    assert_eq!([0, 1, 2, 3].map(long), [5.0, 5.0, 10.0, 5.0], "of several, the greatest");
    let mut noisy = make_alike(&["first", "second"]);
    run(&mut noisy, LastingWork::Arithmetic, [1.0, 1.0], 0.3);
    run(&mut noisy, LastingWork::Processors, [1.0, 5.0], 0.005);
    let findings = find(&noisy);
    assert_eq!(reaches(&findings, 0), ["open"; 4]);
    assert_eq!(reaches(&findings, 1), ["open", "open", "differs", "open"], "the worst of them");
    let (open, differs) = (findings.rows[0].cells[1].answer(), findings.rows[2].cells[1].answer());
    assert!(open.is_decided() && open.is_of_short() && !open.is_overturned(), "{open:?}");
    assert!(differs.is_decided() && differs.is_overturned(), "{differs:?}");
}

#[test]
fn every_kind_of_work_has_a_row_and_all_processors_are_a_headline() {
    let mut session = make_alike(&["first", "second"]);
    LastingWork::ALL.into_iter().for_each(|work| run(&mut session, work, [1.0, 1.35], 0.002));
    session
        .stretches
        .retain(|stretch| (stretch.work, stretch.target.as_str()) != (LastingWork::Calls, "second"));
    let findings = find(&session);
    let rows: Vec<&Row> = findings.rows.iter().filter(|row| row.probe == Row::LASTING).collect();
    let cases = ["lasting.arithmetic", "lasting.processors", "lasting.calls"];
    assert_eq!(rows.iter().map(|row| row.case.as_str()).collect::<Vec<_>>(), cases);
    assert_eq!(rows.iter().map(|row| row.headline).collect::<Vec<_>>(), [false, true, false]);
    let kinds = |row: &Row| row.cells.iter().map(|cell| cell.answer().kind()).collect::<Vec<_>>();
    assert_eq!(kinds(rows[1]), [Kind::Same, Kind::Slower]);
    assert_eq!(kinds(rows[2]), [Kind::Same, Kind::None]);
    let baseline = rows[1].baseline.as_ref().unwrap();
    assert!(baseline.rounds == 8 && (baseline.median - 1_000.0).abs() < 20.0, "{baseline:?}");
    let found = rows[1].cells[1].comparison().unwrap();
    assert!(found.interval.contains(1.35) && found.p < 1e-9 && found.decided_at == Some(8), "{found:?}");
    assert_eq!(found.reach, Reach::Lasting);
    assert!(!Row::is_judged(&rows[1].probe), "a gate is about the cases that were asked for");
}

#[test]
fn counters_come_first_and_stretches_measure_what_a_stop_costs() {
    let mut session = make_alike(&["first", "second"]);
    let quota = Some(Quota { quota_us: 20_000, period_us: 100_000 });
    session.limits.extend([(true, 0), (false, 94)].map(|(begins, throttled)| LimitCounts {
        target: "second".into(),
        begins,
        groups: vec![GroupCounts {
            group: ":/q/".into(),
            quota,
            periods: throttled * 100 / 94,
            throttled,
            throttled_ns: 0,
        }],
        idle: None,
    }));
    let factor = |session: &Session| {
        let findings = find(session);
        let Reach::Stopped(stop) = findings.rows[0].cells[1].comparison().unwrap().reach else {
            panic!("it was stopped")
        };
        let warned = findings.warnings.into_iter().find_map(|(_, warning)| match warning {
            Warning::Throttled { factor, interval, .. } => Some((factor, interval)),
            _ => None,
        });
        let factor = stop.factor().unwrap();
        let ends = factor.interval.is_bounded().then(|| factor.interval.ends(f64::from));
        assert_eq!(warned, Some((Some(factor.ratio), ends)));
        factor
    };
    assert_eq!(factor(&session), Estimate::without_interval(5.0));
    run(&mut session, LastingWork::Arithmetic, [1.0, 4.2], 0.005);
    let measured = factor(&session);
    assert!(measured.interval.contains(4.2) && !measured.interval.contains(5.0), "{measured:?}");
    // A quota that leaves one thread as it is, and stops several: answers of one thread stay what they are.
    session.stretches.clear();
    run(&mut session, LastingWork::Arithmetic, [1.0, 1.0], 0.005);
    run(&mut session, LastingWork::Processors, [1.0, 4.0], 0.005);
    let found = find(&session);
    assert_eq!(found.rows[0].cells[1].comparison().unwrap().reach, Reach::Lasting);
    let is_of_processors = |(_, warning): &(_, Warning)| matches!(warning, Warning::Throttled { factor: Some(factor), .. } if *factor > 3.0);
    assert!(found.warnings.iter().any(is_of_processors), "{:?}", found.warnings);
}

#[test]
fn hostile_stretches_are_bounded() {
    let numbers = [0, 1, 1_000, u64::MAX - 1, u64::MAX];
    let slices = [0.0, -1.0, f64::MIN_POSITIVE, 1.0, f64::MAX, f64::INFINITY, f64::NAN];
    let mut generator = Generator::new(52);
    for _ in 0..200 {
        let mut session = make_alike(&["first"]);
        session.trials.clear();
        for _ in 0..generator.draw_below(60) {
            let mut pick = |count: usize| generator.draw_below(count as u64) as usize;
            session.stretches.push(Stretch {
                target: ["native", "first", "nobody"][pick(3)].into(),
                work: LastingWork::ALL[pick(3)],
                round: [0, 1, 2, 3, u32::MAX][pick(5)],
                operations: numbers[pick(5)],
                elapsed_ns: numbers[pick(5)],
                slice_ns: slices[pick(7)],
            });
        }
        session.plan.cases[0].margin = slices[generator.draw_below(7) as usize];
        let findings = find(&session);
        for LastingCost { ratio, excess, stretches, .. } in &findings.lasting {
            let is_fit = |of: &Estimate| !of.ratio.is_nan() && of.interval.ends(f64::is_nan) == [false; 2];
            assert!(ratio.iter().chain(excess).all(is_fit), "{ratio:?} {excess:?}");
            assert!(*stretches <= 5, "of several in a round one counts");
        }
        let rows = findings.rows.iter().filter(|row| row.probe == Row::LASTING);
        for found in rows.flat_map(|row| &row.cells).filter_map(|cell| cell.comparison()) {
            assert!(!found.p.is_nan() && !found.difference.is_nan(), "{found:?}");
        }
    }
}

#[test]
fn too_few_rounds_say_nothing() {
    let mut session = make_alike(&["first", "second"]);
    run(&mut session, LastingWork::Arithmetic, [1.0, 5.0], 0.0);
    session.stretches.retain(|stretch| stretch.round < 3);
    let findings = find(&session);
    assert!(findings.lasting.iter().all(|cost| cost.outcome.is_none() && cost.ratio.is_none()));
    assert_eq!(reaches(&findings, 1), ["short"; 4]);
}

#[test]
fn environments_that_are_alike_seldom_differ() {
    const SESSIONS: u64 = 2_000;
    let mut session = make_alike(&["first", "second"]);
    session.trials.clear();
    let (mut signs, mut misses) = (0, 0);
    for seed in 0..SESSIONS {
        let mut generator = Generator::for_part(seed, "alike");
        session.stretches.clear();
        for round in 0..8 {
            for target in ["native", "first", "second"] {
                let long = libm::exp(0.02 * draw_normal(&mut generator));
                add_stretch(&mut session, target, LastingWork::Arithmetic, round, [long, 1.0]);
            }
        }
        let findings = find(&session);
        let is_sign = |cost: &LastingCost| cost.outcome == Some(Outcome::Differs);
        let is_miss = |cost: &LastingCost| !cost.excess.unwrap().interval.contains(1.0);
        signs += u64::from(findings.lasting.iter().any(is_sign));
        misses += u64::from(findings.lasting.iter().any(is_miss));
    }
    assert!(misses as f64 <= most_false(SESSIONS) * SESSIONS as f64 && misses > 0, "{misses}");
    assert!(signs * 100 < SESSIONS, "{signs}: docs/method/statistics.md says fewer than 1 %");
}
