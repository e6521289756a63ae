//! The table `cells` of a fleet, for any SQL engine: a row per session, case, metric and environment.

use serde::{Deserialize, Serialize};
use tare_analysis::fleet::cells::{CellRow, SessionCells};

use crate::exports::parquet::columns::{Column, write_parquet_file};
use crate::exports::parquet::{OfSession, Shared, of_session};
use crate::words::machine_name;

/// Bytes of a large file: engines read several files at once, and skip those they do not need.
const LARGE: usize = 128 << 20;
/// Upper limit on the bytes of a row in a file, without its texts, which are stored once.
const A_ROW: usize = 160;

/// A session in a merged file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Source {
    /// Path of its columns below the fleet's folder.
    pub file: String,
    pub started: String,
    pub binary: String,
}

/// A session's rows, on a node.
pub struct Stored {
    /// Path of its columns below the fleet's folder.
    pub file: String,
    of: Shared,
    rows: Vec<CellRow>,
    /// Number of the session on its node.
    number: u32,
}

impl Stored {
    /// Stores a session of one node.
    pub fn of_node(mut cells: SessionCells, node: &str, number: u32, by: &[String], file: String) -> Stored {
        let rows = std::mem::take(&mut cells.rows);
        let of = Shared::from_cells(cells, by).with_node(node);
        Stored { file, of, rows, number }
    }

    pub fn kind(&self) -> &str {
        self.of.kind()
    }

    /// Returns the node, and the session's number there.
    pub fn node_and_number(&self) -> (String, u32) {
        (self.of.node().to_owned(), self.number)
    }

    /// Returns the key of the session in a merged file.
    pub fn source(&self) -> Source {
        let (started, binary) = self.of.origin();
        Source { file: self.file.clone(), started: started.to_owned(), binary: binary.to_owned() }
    }
}

impl OfSession for Stored {
    fn shared_values(&self) -> &Shared {
        &self.of
    }
}

/// Lists the columns that all rows of a session share, in both tables.
pub(super) fn of_stored() -> Vec<(&'static str, Column<Stored>)> {
    let number: (&'static str, Column<Stored>) = ("number", Column::Number(|of| Some(of.number.into())));
    of_session().into_iter().chain([number]).collect()
}

struct Line<'a> {
    of: &'a Stored,
    cell: &'a CellRow,
}

impl OfSession for Line<'_> {
    fn shared_values(&self) -> &Shared {
        &self.of.of
    }
}

fn columns<'a>() -> Vec<(&'static str, Column<Line<'a>>)> {
    let own: Vec<(&'static str, Column<Line<'a>>)> = vec![
        ("number", Column::Number(|line| Some(line.of.number.into()))),
        ("case", Column::Text(|line| Some(&line.cell.case))),
        ("probe", Column::Text(|line| Some(&line.cell.probe))),
        ("definition", Column::Text(|line| Some(&line.cell.definition))),
        ("label", Column::Text(|line| Some(&line.cell.label))),
        ("place", Column::Text(|line| line.cell.place.as_deref())),
        ("peer", Column::Text(|line| line.cell.peer.as_deref())),
        ("metric", Column::Text(|line| Some(&line.cell.metric))),
        ("unit", Column::Word(|line| Some(machine_name(&line.cell.unit)))),
        ("better", Column::Word(|line| Some(machine_name(&line.cell.better)))),
        ("headline", Column::Truth(|line| line.cell.headline)),
        ("environment", Column::Text(|line| Some(&line.cell.environment))),
        ("role", Column::Word(|line| Some(machine_name(&line.cell.role)))),
        ("rounds", Column::Number(|line| Some(line.cell.rounds.into()))),
        ("median", Column::Figure(|line| line.cell.median)),
        ("quartile_low", Column::Figure(|line| line.cell.quartile_low)),
        ("quartile_high", Column::Figure(|line| line.cell.quartile_high)),
        ("ratio", Column::Figure(|line| line.cell.ratio)),
        ("ratio_low", Column::Figure(|line| line.cell.low)),
        ("ratio_high", Column::Figure(|line| line.cell.high)),
        ("verdict", Column::Word(|line| line.cell.verdict.as_ref().map(machine_name))),
        ("missing", Column::Text(|line| line.cell.missing.as_deref())),
    ];
    of_session().into_iter().chain(own).collect()
}

/// Writes the files of the table, sorted by kind, case and node.
pub fn write_cell_files(stored: &[Stored]) -> Vec<Vec<u8>> {
    let mut lines: Vec<Line> =
        stored.iter().flat_map(|of| of.rows.iter().map(move |cell| Line { of, cell })).collect();
    let key = |line: &Line| {
        let (cell, of) = (line.cell, &line.of.of);
        (of.kind().to_owned(), cell.case.clone(), cell.metric.clone(), of.node().to_owned(), line.of.number)
    };
    lines.sort_by_cached_key(key);
    let chunks = lines.chunks(LARGE / A_ROW).chain(lines.is_empty().then_some(&lines[..]));
    let written = |lines: &[Line]| write_parquet_file("cell", &columns(), lines, Vec::new());
    chunks.map(|lines| written(lines).expect("a vector takes every byte")).collect()
}
