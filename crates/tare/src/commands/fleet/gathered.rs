//! Results of a fleet, gathered from the rows stored next to each record, or from the record itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use tare_analysis::fleet::cells::{SessionCells, extract_cells};
use tare_analysis::fleet::summary::{KIND, OfNode, Rows};
use tare_data::foreign::Foreign;
use tare_lab::error::LabError;
use tare_lab::fleet::files::{Files, What, of_cell};
use tare_lab::fleet::folder::{CellState, Folder};
use tare_paths::door::Door;
use tare_record::RecordError;
use tare_report::exports::{Source, find_export, parquet};
use tare_report::fleet::MissingCell;
use tare_report::fleet::store::Stored;

use crate::show::session::compute_plain_findings;

/// Number of bytes at the end of a file that give the length of its footer.
const TAIL: usize = 8;
/// Maximum length of a footer: a session of a thousand cells has half a megabyte.
const LONGEST_FOOTER: usize = 64 << 20;

/// Everything that was read from the folder of a fleet.
pub struct Gathered {
    pub study: String,
    pub planned: usize,
    pub missing: Vec<MissingCell>,
    pub strangers: usize,
    pub rows: Rows,
    /// Facts that nodes of the same kind agree in.
    pub by: Vec<String>,
    /// Sessions as the table of cells stores them.
    pub stored: Vec<Stored>,
}

/// Reads every complete record of a folder, and lists the missing ones. Groups nodes into kinds by the given
/// facts, or else by those of the plan.
pub fn gather_records(fleet: &Door, by: &[String]) -> Result<Gathered, LabError> {
    let folder = Folder::open(fleet)?;
    let usual = KIND.map(str::to_owned).to_vec();
    let planned = if folder.plan.by.is_empty() { &usual } else { &folder.plan.by };
    let by = if by.is_empty() { planned } else { by };
    let mut reading = Reading { id: &folder.plan.fleet, fleet, seen: BTreeSet::new() };
    let (mut nodes, mut missing) = (Vec::new(), Vec::new());
    let mut columns = Vec::new();
    let mut by_node: BTreeMap<&str, Vec<(&CellState, Option<String>)>> = BTreeMap::new();
    for cell in &folder.cells {
        let files = of_cell(&cell.node, cell.session);
        let read = reading.read(&cell.what, &files);
        let why = read.as_ref().err().cloned();
        if let Ok(cells) = read {
            nodes.push(OfNode { node: cell.node.clone(), session: cell.session, cells });
            columns.push(files.parquet_path().display().to_string());
        }
        by_node.entry(&cell.node).or_default().push((cell, why));
    }
    let mut planned: BTreeMap<&str, usize> = BTreeMap::new();
    folder.plan.cells.iter().for_each(|cell| *planned.entry(&cell.node).or_default() += 1);
    for (node, cells) in &by_node {
        // A session that broke off and was measured again under another number is not missing.
        let whole = cells.iter().filter(|(_, why)| why.is_none()).count();
        let lacking = planned.get(node).map_or(0, |planned| planned.saturating_sub(whole));
        let gaps = cells.iter().filter_map(|(cell, why)| Some((cell, why.as_ref()?)));
        missing.extend(gaps.take(lacking).map(|(cell, why)| MissingCell {
            what: format!("{}, session {}", cell.node, cell.session),
            why: why.clone(),
        }));
    }
    let rows = Rows::from_sessions(&nodes, by, folder.plan.sessions);
    let study = nodes.first().map_or_else(|| "no session yet".to_owned(), |of| of.cells.study.clone());
    let stored = nodes.into_iter().zip(columns);
    let stored = stored.map(|(of, file)| Stored::of_node(of.cells, &of.node, of.session, by, file));
    Ok(Gathered {
        study,
        planned: folder.plan.cells.len(),
        missing,
        strangers: folder.strangers,
        rows,
        by: by.to_vec(),
        stored: stored.collect(),
    })
}

struct Reading<'a> {
    /// Random name of the fleet.
    id: &'a str,
    fleet: &'a Door,
    /// Sessions read so far: a copy of one would count as a second session that agrees with it.
    seen: BTreeSet<String>,
}

impl Reading<'_> {
    /// Reads the rows of a record, or explains why there are none.
    fn read(&mut self, what: &What, files: &Files) -> Result<SessionCells, String> {
        let otherwise = match what {
            What::Whole => "",
            What::Running => "still running",
            What::BrokenOff { .. } => "broke off",
            What::Missing { .. } => "not begun",
        };
        if !what.is_whole() {
            return Err(what.reason().map_or_else(|| otherwise.to_owned(), Foreign::to_string));
        }
        let cells = cells_of(self.fleet, &files.whole_path(), &files.parquet_path())?;
        if cells.fleet.as_deref().is_some_and(|fleet| fleet != self.id) {
            return Err("its record is of another fleet".to_owned());
        }
        match &cells.session {
            Some(session) if !self.seen.insert(session.clone()) => {
                Err("its record is a copy of another session's".to_owned())
            }
            _ => Ok(cells),
        }
    }
}

/// Reads the rows stored next to a record if they belong to it. Otherwise computes them from the record and
/// stores them there.
fn cells_of(fleet: &Door, record: &Path, rows: &Path) -> Result<SessionCells, String> {
    let no_record = "its file is not a record";
    let header = tare_record::parse_header(fleet.open_file(record).map_err(|_| no_record)?, record);
    let header = header.map_err(|error| match error {
        // Rows of another build may stand beside it, and are not taken either.
        RecordError::OtherSchema { .. } => error.to_string(),
        _ => no_record.to_owned(),
    })?;
    let beside = read_footer(fleet, rows).and_then(|bytes| parquet::cells_of(&bytes));
    let is_its = |cells: &SessionCells| cells.started == header.started && cells.binary == header.binary;
    if let Some(cells) = beside.filter(is_its) {
        return Ok(cells);
    }
    remake_columns(fleet, record, rows).map(|(_, cells)| cells)
}

/// Computes the columns and cells of a record again, and writes the columns next to it.
pub fn remake_columns(
    fleet: &Door,
    record: &Path,
    columns: &Path,
) -> Result<(Vec<u8>, SessionCells), String> {
    let mut session = tare_record::read_session_in(fleet, record)
        .map_err(|e| format!("its record cannot be read: {e}"))?
        .session;
    let findings = compute_plain_findings(&mut session);
    let source = Source { session: &session, findings: &findings, gate: None };
    let bytes = find_export("parquet").map(|export| (export.render)(&source)).unwrap_or_default();
    // A folder that cannot be written in takes longer the next time, and shows the same.
    let _ = fleet.write_file(columns, &bytes);
    Ok((bytes, extract_cells(&session, &findings)))
}

/// Reads the end of a Parquet file, which contains its footer.
pub fn read_footer(fleet: &Door, file: &Path) -> Option<Vec<u8>> {
    let mut file: File = fleet.open_file(file).ok()?;
    let mut end = |length: usize| {
        file.seek(SeekFrom::End(-i64::try_from(length).ok()?)).ok()?;
        let mut bytes = Vec::new();
        (&mut file).take(length as u64).read_to_end(&mut bytes).ok()?;
        (bytes.len() == length).then_some(bytes)
    };
    let length = parquet::footer_length(&end(TAIL)?)?;
    if length > LONGEST_FOOTER { None } else { end(length) }
}

/// Builds the path of a fleet's table of cells, in its folder.
pub fn cell_store_path() -> PathBuf {
    Path::new("store").join("cells")
}
