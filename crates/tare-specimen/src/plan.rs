//! Plans and sessions without trials, which a test completes by what it is about.

use std::collections::BTreeMap;

use serde_json::Value;
use tare_data::facts::Facts;
use tare_data::metric::{Metric, Reading};
use tare_data::names::{Case, Parameters};
use tare_data::request::Amount;
use tare_data::session::specification::Specification;
use tare_data::session::{Ending, Header, Plan, PlannedCase, Role, Session, Side, Sides, TargetFacts};
use tare_data::unit::{Direction, Unit};

/// ln 1.02.
pub const MARGIN: f64 = 0.019_802_627_296_179_71;

/// Makes a metric of the series `work`: a rate, or something in nanoseconds.
pub fn make_metric(name: &str, reading: Reading) -> Metric {
    let (unit, direction) = match reading {
        Reading::OperationsPerSecond => (Unit::PerSecond, Direction::Higher),
        _ => (Unit::Nanoseconds, Direction::Lower),
    };
    Metric { name: name.into(), series: "work".into(), reading, unit, direction }
}

/// Plans a case that trials measure alone.
pub fn plan_case(case: Case, metrics: Vec<Metric>) -> PlannedCase {
    PlannedCase {
        id: case.to_string(),
        label: case.probe.clone(),
        case,
        metrics,
        decide: Vec::new(),
        definition: String::new(),
        declared: Default::default(),
        amount: Amount::Calibrate,
        pairs: BTreeMap::new(),
        margin: MARGIN,
        missing: BTreeMap::new(),
    }
}

/// Plans a case by its probe's name, parameters and place.
pub fn make_case(
    probe: &str,
    parameters: &[(&str, &str)],
    place: Option<&str>,
    metrics: Vec<Metric>,
) -> PlannedCase {
    let parameters = parameters.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let (parameters, place) = (Parameters(parameters), place.map(Into::into));
    plan_case(Case { probe: probe.into(), parameters, place, peer: None }, metrics)
}

/// Plans a case whose headline is a time an operation.
pub fn make_timed_case(probe: &str) -> PlannedCase {
    make_case(probe, &[], None, vec![make_metric("time", Reading::TimePerOperation)])
}

/// Makes an environment whose provider has its name.
pub(crate) fn make_target(name: &str) -> Side {
    Side::new(name, Specification::from_provider(name))
}

/// Makes the sides of a session from environments and what each is measured for, the baseline first. A control repeats the baseline.
pub fn cast_targets(targets: impl IntoIterator<Item = (Side, Role)>) -> Sides {
    let mut sides = Sides::default();
    for (target, role) in targets {
        match role {
            Role::Baseline => sides = Sides::new(target),
            Role::Subject => sides.add_subject(target),
            Role::Planted => sides.add_planted(target),
            Role::Control => sides.add_control(0, target.name),
        }
    }
    sides
}

/// Makes the sides of a session whose environments' providers have their names.
pub fn make_sides<N: AsRef<str>>(targets: impl IntoIterator<Item = (N, Role)>) -> Sides {
    cast_targets(targets.into_iter().map(|(name, role)| (make_target(name.as_ref()), role)))
}

/// Changes the sides of a session one by one. A name that changes does so wherever the plan has it.
pub fn change_sides(sides: &mut Sides, mut change: impl FnMut(usize, &mut Side)) {
    let mut changed = sides.to_vec();
    changed.iter_mut().enumerate().for_each(|(at, side)| change(at, side));
    let names: BTreeMap<&str, &str> =
        sides.iter().zip(&changed).map(|(was, is)| (was.name.as_str(), is.name.as_str())).collect();
    let rename = |name: &mut Value| {
        let new = name.as_str().and_then(|name| names.get(name)).copied();
        new.into_iter().for_each(|new| *name = new.into());
    };
    let mut plan = serde_json::to_value(&*sides).unwrap_or_default();
    plan["environments"] = serde_json::to_value(&changed).unwrap_or_default();
    let controls = plan["environments"].as_array_mut().into_iter().flatten();
    controls.filter_map(|side| side.get_mut("repeats")).for_each(rename);
    let compared = plan["comparisons"].as_array_mut().into_iter().flatten();
    compared
        .flat_map(|pair| pair.as_object_mut().into_iter().flat_map(|pair| pair.values_mut()))
        .for_each(rename);
    plan.get_mut("planted_environment").into_iter().for_each(rename);
    *sides = serde_json::from_value(plan).unwrap_or_default();
}

/// Makes the origin of a session: nothing is known of the machine.
pub fn make_header() -> Header {
    let (tare, binary, started) = ("0.1.0".into(), String::new(), "2026-01-31T12:00:00+01:00".into());
    let (command, host) = (vec!["run".into()], Facts::default());
    Header { tare, binary, started, command, host, identity: None, fleet: None }
}

/// Plans rounds of these cases in these environments; the last look is at their end.
pub fn make_plan(targets: Sides, cases: Vec<PlannedCase>, looks: Vec<u32>) -> Plan {
    Plan {
        study: "quick".into(),
        seed: 1,
        rounds: looks.last().copied().unwrap_or_default(),
        looks,
        budget_s: None,
        until_decided: false,
        planted: None,
        control_every: 1,
        every: BTreeMap::new(),
        lasting: Vec::new(),
        inside: Default::default(),
        demands: BTreeMap::new(),
        targets,
        cases,
    }
}

/// Makes a complete session of a plan, without trials; every environment has a place of its own.
pub fn make_session(plan: Plan) -> Session {
    let fact = |target: &Side| TargetFacts {
        target: target.name.clone(),
        inside: Facts::default(),
        outside: Facts::default(),
        places: BTreeMap::from([("own".to_owned(), Facts::default())]),
    };
    let facts = plan.targets.iter().map(fact).collect();
    Session { facts, ending: Ending::Complete, ..Session::begin(make_header(), plan) }
}
