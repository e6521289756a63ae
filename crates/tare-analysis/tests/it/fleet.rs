//! A fleet put together from its sessions' rows: costs, changes, omissions, and conditions.

use tare_analysis::findings::{Kind, Verdict};
use tare_analysis::fleet::cells::{CellRow, SessionCells, VERSION};
use tare_analysis::fleet::gate::{FleetCondition, is_shut, judge_fleet};
use tare_analysis::fleet::slow::Standing;
use tare_analysis::fleet::summary::{Fleet, OfNode, Rows};
use tare_analysis::gate::Ruling;
use tare_data::facts::Facts;
use tare_data::session::{Ending, Role};
use tare_data::unit::{Direction, Unit};

use crate::sessions::{high, low};

fn row(environment: &str, role: Role, value: f64, ratio: Option<f64>) -> CellRow {
    CellRow {
        case: "sys.getppid".into(),
        probe: "sys.getppid".into(),
        label: "system call".into(),
        place: None,
        peer: None,
        metric: "time".into(),
        unit: Unit::Nanoseconds,
        better: Direction::Lower,
        headline: true,
        environment: environment.into(),
        role,
        definition: "d".into(),
        margin: libm::log(1.02),
        rounds: 12,
        median: Some(value),
        quartile_low: None,
        quartile_high: None,
        deviation: Some(0.004),
        ratio,
        low: ratio.map(|ratio| ratio * 0.99),
        high: ratio.map(|ratio| ratio * 1.01),
        verdict: ratio.map(|_| Verdict::Slower),
        missing: None,
    }
}

fn cells(rows: Vec<CellRow>) -> SessionCells {
    SessionCells {
        version: VERSION,
        tare: "0".into(),
        binary: "b".into(),
        started: "2026-01-31T12:00:00Z".into(),
        study: "quick".into(),
        session: None,
        machine: None,
        fleet: None,
        node: None,
        host: Facts::default(),
        ending: Ending::Complete,
        rows,
    }
}

/// Builds nodes whose figures differ a little, node 0 by `off` more, and whose layer costs `ratio`.
fn nodes(count: usize, off: f64, ratio: f64) -> Vec<OfNode> {
    let session = |node: usize, session: u32| {
        let of_node = (node as f64 * 0.618).fract() * 0.01 + if node == 0 { off } else { 0.0 };
        let of_session = (node as f64 * 0.377 + f64::from(session) * 0.5).fract() * 0.002;
        let value = 100.0 * (1.0 + of_node + of_session);
        let ratio = ratio * (1.0 + of_session);
        let rows = vec![
            row("native", Role::Baseline, value, None),
            row("gvisor", Role::Subject, value * ratio, Some(ratio)),
        ];
        OfNode { node: format!("n{node:02}"), session, cells: cells(rows) }
    };
    (0..count).flat_map(|node| [session(node, 1), session(node, 2)]).collect()
}

fn fleet(sessions: &[OfNode]) -> Fleet {
    Rows::from_sessions(sessions, &[], 2).summarise_fleet(None)
}

#[test]
fn a_layers_cost_and_a_slow_node_are_two_things() {
    let fleet = fleet(&nodes(12, 0.3, 3.0));
    let cost = fleet.costs[0].fleet.as_ref().unwrap();
    assert!(
        (cost.ratio / 3.0 - 1.0).abs() < 0.01 && low(cost.interval) > 2.9 && cost.verdict == Verdict::Slower,
        "{cost:?}"
    );
    assert!(
        cost.next_low < low(cost.interval) && high(cost.interval) < cost.next_high,
        "a further node is less certain: {cost:?}"
    );
    assert!(fleet.costs[0].nodes.iter().all(|node| !node.apart && node.sessions == 2));
    let first = &fleet.ranking.nodes[0];
    assert_eq!((first.node.as_str(), first.standing), ("n00", Standing::MaybeSlow));
    assert!((first.typical - 1.3).abs() < 0.02, "{first:?}");
    assert_eq!((fleet.sessions, fleet.nodes), (24, 12));
}

#[test]
fn five_nodes_are_a_list_without_an_interval() {
    let fleet = fleet(&nodes(5, 0.3, 3.0));
    assert_eq!((fleet.costs[0].nodes.len(), &fleet.costs[0].fleet), (5, &None));
    assert_eq!(fleet.ranking.nodes[0].standing, Standing::NotJudged);
}

#[test]
fn values_of_another_definition_are_left_out_and_counted() {
    let mut sessions = nodes(8, 0.0, 3.0);
    sessions[3].cells.rows.iter_mut().for_each(|row| row.definition = "other".into());
    let fleet = fleet(&sessions);
    assert_eq!(fleet.other_definitions, 2);
    assert_eq!(fleet.costs[0].nodes[1].sessions, 1);
}

#[test]
fn sessions_beyond_the_planned_ones_only_confirm() {
    let mut sessions = nodes(12, 0.3, 3.0);
    for (node, off) in [("n00", 0.0), ("n01", 0.006), ("n02", 0.002)] {
        for session in 3..=6 {
            let rows = vec![row("native", Role::Baseline, 100.0 * (1.0 + off), None)];
            sessions.push(OfNode { node: node.into(), session, cells: cells(rows) });
        }
    }
    let of_first = &fleet(&sessions).ranking.nodes[0];
    assert_eq!((of_first.node.as_str(), of_first.standing), ("n00", Standing::NotConfirmed));
    let fresh = of_first.cases[0].fresh.unwrap();
    assert!(fresh.sessions == 4 && fresh.slower < 1.02 && !fresh.is_slow, "{fresh:?}");
    for of in sessions.iter_mut().filter(|of| of.node == "n00") {
        of.cells.rows[0].median = Some(130.0);
    }
    assert_eq!(fleet(&sessions).ranking.nodes[0].standing, Standing::Slow);
}

#[test]
fn two_fleets_are_paired_by_node() {
    let (old, new) = (nodes(10, 0.0, 3.0), nodes(9, 0.0, 3.6));
    let before = Rows::from_sessions(&old, &[], 2);
    let fleet = Rows::from_sessions(&new, &[], 2).summarise_fleet(Some(&before));
    let changes = fleet.changes.as_ref().unwrap();
    let of = |target: Option<&str>| changes.iter().find(|of| of.target.as_deref() == target).unwrap();
    let layer = of(Some("gvisor"));
    assert_eq!((layer.nodes, layer.left_out, layer.change.unwrap().answer.kind()), (9, 1, Kind::Slower));
    assert!((layer.change.unwrap().factor - 1.2).abs() < 0.01);
    assert_eq!(of(None).change.unwrap().answer.kind(), Kind::Same);
    let answers = |text: &str| judge_fleet(&fleet, &[text.parse().unwrap()], 20, 2).remove(0).answer;
    assert_eq!((answers("regressed"), answers("regressed>1.3")), (Ruling::Trips, Ruling::Passes));
}

#[test]
fn conditions_are_met_or_not_and_never_passed_over() {
    let fleet = fleet(&nodes(12, 0.3, 3.0));
    let of = |text: &str| {
        let condition: FleetCondition = text.parse().unwrap();
        assert_eq!(condition.to_string(), text);
        judge_fleet(&fleet, &[condition], 24, 2).remove(0)
    };
    assert_eq!((of("outlier").answer, of("outlier").of), (Ruling::Trips, vec!["n00".to_owned()]));
    assert_eq!((of("missing").answer, of("missing>10%").answer), (Ruling::Trips, Ruling::Passes));
    assert_eq!(of("slower").of, ["gvisor: sys.getppid"]);
    for (text, answer) in
        [("slower>2.5", Ruling::Trips), ("slower>5", Ruling::Passes), ("slower:runc", Ruling::Missing)]
    {
        assert_eq!(of(text).answer, answer, "{text}");
    }
    assert!(is_shut(&[of("slower:runc")]) && !is_shut(&[of("slower>5")]), "nothing to check is not a pass");
    for wrong in ["outliers", "missing>5", "missing>x%", "slower>0.5", "missing:n1", ""] {
        assert!(wrong.parse::<FleetCondition>().is_err(), "{wrong}");
    }
}

#[test]
fn nothing_measured_gives_nothing() {
    let empty = fleet(&[]);
    assert!(empty.costs.is_empty() && empty.ranking.nodes.is_empty() && empty.cases.is_empty());
}
