//! Pages of fleets: forty nodes of two kinds with a slow one, a slow link and gaps; and one whose every text is hostile.

use tare_analysis::fleet::cells::{SessionCells, extract_cells};
use tare_analysis::fleet::summary::{OfNode, OfPair, Rows};
use tare_data::session::Role;
use tare_data::unit::Direction;
use tare_report::fleet::{FleetView, MissingCell, page};

use crate::specimen;

const NODES: usize = 40;
const SESSIONS: u32 = 2;
/// Number of nodes that are paired, each with each.
const PAIRED: usize = 12;
/// The slow node, and the slow link.
const SLOW: usize = 7;
const LINK: (usize, usize) = (2, 5);

/// Renders the page of a handmade fleet, in which each text is made from a plain one.
pub fn page(text: impl Fn(&str) -> String) -> String {
    let by = ["cpu.model".to_owned()];
    let rows = |slower| Rows::from_sessions(&sessions(slower, &text), &pairs(&text), &by, SESSIONS);
    let fleet = rows(1.0).summarise_fleet(Some(&rows(1.1)));
    let missing =
        [("n38, session 2", "its job ended before its session did"), ("n39, session 1", "not begun")]
            .map(|(what, why)| MissingCell { what: text(what), why: text(why) });
    let (folder, study) = (text("fleet-1"), text("quick"));
    let planned = NODES * SESSIONS as usize;
    let (missing, fleet) = (&missing[..], &fleet);
    page::render_fleet_page(&FleetView {
        folder: &folder,
        study: &study,
        planned,
        missing,
        strangers: 1,
        fleet,
        answers: &[],
    })
}

fn node(at: usize, text: &impl Fn(&str) -> String) -> String {
    text(&format!("n{at:02}"))
}

/// Builds sessions of all nodes, whose layers cost more by a factor.
fn sessions(slower: f64, text: &impl Fn(&str) -> String) -> Vec<OfNode> {
    let of_node = |at: usize, session: u32| {
        let apart = (at as f64 * 0.618).fract() * 0.02 + f64::from(session) * 0.002;
        let slow = if at == SLOW { 1.3 } else { 1.0 };
        let mut cells = of_machine((1.0 + apart) * slow, text);
        cells.host.add_fact("cpu.model", text(if at < 30 { "EPYC" } else { "Xeon" }));
        for row in cells.rows.iter_mut().filter(|row| row.role == Role::Subject) {
            let factor = slower * (1.0 + apart / 2.0);
            for value in [&mut row.ratio, &mut row.low, &mut row.high] {
                *value = value.map(|value| value * factor);
            }
        }
        OfNode { node: node(at, text), session, cells }
    };
    (0..NODES).flat_map(|at| [of_node(at, 1), of_node(at, 2)]).collect()
}

fn pairs(text: &impl Fn(&str) -> String) -> Vec<OfPair> {
    let all = (0..PAIRED).flat_map(|a| (a + 1..PAIRED).map(move |b| (a, b)));
    let of_pair = |(a, b): (usize, usize)| {
        let apart = 1.0 + (a as f64 * 0.377 + b as f64 * 0.618).fract() * 0.02;
        let mut cells = of_machine(apart * if (a, b) == LINK { 1.9 } else { 1.0 }, text);
        cells.rows.truncate(1);
        cells.rows[0].case = "net.rr->node".into();
        OfPair { a: node(a, text), b: node(b, text), cells }
    };
    all.map(of_pair).collect()
}

/// Builds a session of a machine that is slower by a factor.
fn of_machine(slower: f64, text: &impl Fn(&str) -> String) -> SessionCells {
    let mut cells = extract_cells(&specimen::make_session(3), &specimen::make_findings(3));
    for row in &mut cells.rows {
        let factor = if row.better == Direction::Lower { slower } else { 1.0 / slower };
        row.median = row.median.map(|median| median * factor);
        (row.label, row.environment) = (text(&row.label), text(&row.environment));
    }
    cells
}
