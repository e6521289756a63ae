//! A session of three sides: five probes, natively, in a container and in gVisor.

use tare_data::facts::Facts;
use tare_data::names::Case;
use tare_data::session::identity::Identity;
use tare_data::session::{PlannedCase, Planted, Role, Session, Side};
use tare_probes::find_probe;
use tare_probes::probe::Size;

use crate::paired::{Cost, Work, run_paired};
use crate::plan::{cast_targets, make_plan, make_session, make_target, plan_case};

/// A case: its probe, its parameters and place, and its costs in the container and in gVisor.
struct Row {
    probe: &'static str,
    parameter: Option<(&'static str, &'static str)>,
    place: Option<&'static str>,
    work: Work,
    container: Cost,
    gvisor: Cost,
}

const SAME: Cost = Cost { factor: 1.0, spread: 0.006, drift: 0.0, rounds: 60 };

static ROWS: [Row; 5] = [
    Row {
        probe: "sys.getppid",
        parameter: None,
        place: None,
        work: Work { series_ns: &[("call", 116.0)], amount: (2_000, 25) },
        container: SAME,
        gvisor: Cost { factor: 6.1, spread: 0.04, rounds: 12, ..SAME },
    },
    Row {
        probe: "proc.exec",
        parameter: Some(("target", "tiny")),
        place: None,
        work: Work { series_ns: &[("exec", 495_000.0)], amount: (1, 13) },
        container: Cost { factor: 1.004, spread: 0.03, ..SAME },
        gvisor: Cost { factor: 6.3, spread: 0.06, rounds: 12, ..SAME },
    },
    Row {
        probe: "ipc.pipe",
        parameter: None,
        place: None,
        work: Work { series_ns: &[("pair", 481.0)], amount: (500, 20) },
        container: SAME,
        gvisor: Cost { factor: 35.0, spread: 0.08, rounds: 12, ..SAME },
    },
    Row {
        probe: "time.read",
        parameter: None,
        place: None,
        work: Work { series_ns: &[("read", 23.6)], amount: (10_000, 25) },
        container: SAME,
        gvisor: Cost { factor: 1.14, spread: 0.01, ..SAME },
    },
    Row {
        probe: "file.meta",
        parameter: None,
        place: Some("own"),
        work: Work {
            series_ns: &[
                ("file", 29_000.0),
                ("create", 9_600.0),
                ("stat", 1_100.0),
                ("open", 2_400.0),
                ("rename", 6_900.0),
                ("list", 400.0),
                ("unlink", 8_600.0),
            ],
            amount: (7, 15),
        },
        container: SAME,
        gvisor: Cost { factor: 4.4, spread: 0.05, rounds: 12, ..SAME },
    },
];

/// The baseline entered again, and its copy that is slower on purpose.
const AGAIN: &str = "native again";
const PLANTED: &str = "native planted";
const PLANTED_IN: &str = "ipc.pipe";

/// Makes up a session that has each kind of answer.
pub fn make_three_sides() -> Session {
    let target = |name: &str, specification: &str, about: &str, role| {
        let specification = specification.parse().unwrap_or_else(|_| unreachable!("a known form"));
        (Side { specification, short_description: about.into(), ..make_target(name) }, role)
    };
    let targets = cast_targets([
        target("native", "native", "the host itself", Role::Baseline),
        target(AGAIN, "native", "the host itself", Role::Control),
        target("container", "container", "Linux namespaces, made by tare", Role::Subject),
        target("gvisor", "gvisor", "gVisor: system calls in user space", Role::Subject),
        target(PLANTED, "native?slower=5%", "the host itself", Role::Planted),
    ]);
    let cases = ROWS.iter().map(plan_row).collect();
    let mut plan = make_plan(targets, cases, vec![12, 18, 27, 40, 60, 90, 135, 200]);
    (plan.study, plan.seed, plan.budget_s) = ("full".into(), 0x7f3a_91c2, Some(56.0));
    plan.planted = Some(Planted { case: PLANTED_IN.into(), rounds: 60 });
    let mut session = make_session(plan);
    describe(&mut session);
    run_paired(&mut session, |case| find_row(&case.id).work, find_cost);
    session
}

fn find_row(case: &str) -> &'static Row {
    let probe = case.split(['?', '@']).next();
    ROWS.iter().find(|row| Some(row.probe) == probe).unwrap_or(&ROWS[0])
}

fn find_cost(case: &str, target: &str) -> Option<Cost> {
    match target {
        "container" => Some(find_row(case).container),
        "gvisor" => Some(find_row(case).gvisor),
        AGAIN => Some(Cost { rounds: 18, ..SAME }),
        PLANTED => (case == PLANTED_IN).then_some(Cost { factor: 1.05, spread: 0.006, ..SAME }),
        _ => None,
    }
}

fn plan_row(row: &Row) -> PlannedCase {
    let probe = find_probe(row.probe).unwrap_or_else(|| unreachable!("a probe"));
    let mut parameters = probe.default_parameters(Size::Short);
    parameters.0.extend(row.parameter.map(|(key, value)| (key.to_owned(), value.to_owned())));
    let (label, definition) = ((probe.label)(&parameters), probe.definition_hash(&parameters));
    let declared = probe.declare_case(&parameters);
    let case = Case { probe: row.probe.into(), parameters, place: row.place.map(Into::into), peer: None };
    let (batch, batches) = row.work.amount;
    let amount = tare_data::request::Amount::Operations { batch, batches };
    PlannedCase { label, definition, declared, amount, ..plan_case(case, probe.metrics()) }
}

/// Completes the origin and the facts. They name no real machine, because no machine has these figures.
fn describe(session: &mut Session) {
    let command =
        "run --in container,gvisor --only sys.getppid,proc.exec,ipc.pipe,time.read,file.meta --budget 60s";
    session.header.binary = "00".repeat(32);
    session.header.command = command.split(' ').map(str::to_owned).collect();
    session.header.host = facts(&[
        ("cpu.count", "2"),
        ("cpu.model", "made-up processor"),
        ("kernel.name", "Linux"),
        ("kernel.release", "6.18.0"),
        ("root.type", "ext4"),
    ]);
    let [session_id, machine, boot] = ["5a", "3c", "b0"].map(|byte| byte.repeat(16));
    session.header.identity = Some(Identity { session: session_id, machine, boot });
    for of_target in &mut session.facts {
        let kernel = if of_target.target == "gvisor" { "4.19.0-gvisor" } else { "6.18.0" };
        of_target.inside = facts(&[("clock.step_ns", "1"), ("kernel.release", kernel)]);
        let turns = if of_target.target == "native" { "" } else { "on one processor" };
        of_target.outside = facts(&[("session.turns", turns)]);
        of_target.places.insert("own".into(), facts(&[("file_system.type", "ext4")]));
    }
}

fn facts(pairs: &[(&str, &str)]) -> Facts {
    let mut facts = Facts::default();
    pairs.iter().for_each(|(key, value)| facts.add_fact(*key, *value));
    facts
}
