//! Parquet: a row for each trial and metric, raw, for data frames and DuckDB. Findings are exported as CSV.
//!
//! The file's footer has the session's cells, so that a reader of a thousand files opens no record.

pub(crate) mod columns;
pub(crate) mod reading;

use std::collections::{BTreeMap, HashSet};
use tare_data::facts::keys::KERNEL_RELEASE;

use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaDataReader;
use tare_analysis::fleet::cells::{SessionCells, VERSION, extract_cells};
use tare_analysis::fleet::summary::{KIND, derive_node_kind};
use tare_analysis::verdicts::summary::{list_counted_trials, read_values};
use tare_data::metric::Metric;
use tare_data::session::{PlannedCase, Role, Trial};

use self::columns::{Column, Kind, parse_instant, write_parquet_file};
use super::export::{Export, Source, Writing};
use crate::words::machine_name;

pub(crate) static EXPORT: Export = Export {
    name: "parquet",
    summary: "Parquet, a row for each trial and metric: every value; those that do not count are marked",
    writing: Writing::Whole,
    render: |source| render(source).expect("columns are as long as the rows, and a vector takes every byte"),
};

/// Footer key of the session's cells.
const CELLS: &str = "tare.cells";
/// Last bytes of a Parquet file, after the length of its footer.
const MAGIC: &[u8] = b"PAR1";
/// Bytes after the footer.
pub(crate) const TAIL: usize = 8;

/// Values that all rows of a session share.
pub(crate) struct Shared {
    cells: SessionCells,
    node: Option<String>,
    kind: String,
    started: Option<i64>,
}

impl Shared {
    /// Builds the shared values. Callers that write the rows of `cells` take them out first.
    pub(crate) fn from_cells(cells: SessionCells, by: &[String]) -> Shared {
        let (node, started) = (cells.node.clone(), parse_instant(&cells.started));
        Shared { node, kind: derive_node_kind(&cells.host, by), started, cells }
    }

    /// Sets the node, for a record that does not name it.
    pub(crate) fn with_node(self, node: &str) -> Shared {
        Shared { node: Some(node.to_owned()), ..self }
    }

    pub(crate) fn kind(&self) -> &str {
        &self.kind
    }

    /// Returns the start of the session, and the SHA-256 of the program that measured.
    pub(crate) fn origin(&self) -> (&str, &str) {
        (&self.cells.started, &self.cells.binary)
    }

    pub(crate) fn node(&self) -> &str {
        self.node.as_deref().unwrap_or_default()
    }
}

struct Value<'a> {
    of: &'a Shared,
    trial: &'a Trial,
    case: &'a PlannedCase,
    metric: &'a Metric,
    headline: bool,
    role: Role,
    counted: bool,
    value: Option<f64>,
}

/// A row of a session.
pub(crate) trait OfSession {
    fn shared_values(&self) -> &Shared;
}

impl OfSession for Value<'_> {
    fn shared_values(&self) -> &Shared {
        self.of
    }
}

/// Lists the columns of the session, which the tables of trials and of cells share.
pub(crate) fn of_session<R: OfSession>() -> Vec<(&'static str, Column<R>)> {
    vec![
        ("session", Column::Text(|row| row.shared_values().cells.session.as_deref())),
        ("fleet", Column::Text(|row| row.shared_values().cells.fleet.as_deref())),
        ("node", Column::Text(|row| row.shared_values().node.as_deref())),
        ("machine", Column::Text(|row| row.shared_values().cells.machine.as_deref())),
        ("kind", Column::Text(|row| Some(&row.shared_values().kind))),
        ("kernel", Column::Text(|row| row.shared_values().cells.host.get(KERNEL_RELEASE))),
        ("tare", Column::Text(|row| Some(&row.shared_values().cells.tare))),
        ("binary", Column::Text(|row| Some(&row.shared_values().cells.binary))),
        ("study", Column::Text(|row| Some(&row.shared_values().cells.study))),
        ("started", Column::Time(|row| row.shared_values().started)),
    ]
}

/// Lists all columns. Text columns may be null; of the others `started`, `value` and `agent_elapsed_ns` may.
fn columns<'a>() -> Vec<(&'static str, Column<Value<'a>>)> {
    of_session().into_iter().chain(own()).collect()
}

/// Lists the columns in which the trials of a session differ.
pub(crate) fn list_trial_columns() -> Vec<(&'static str, Kind)> {
    own().into_iter().map(|(name, column)| (name, column.kind())).collect()
}

fn own<'a>() -> Vec<(&'static str, Column<Value<'a>>)> {
    vec![
        ("case", Column::Text(|v| Some(&v.case.id))),
        ("probe", Column::Text(|v| Some(&v.case.case.probe))),
        ("definition", Column::Text(|v| Some(&v.case.definition))),
        ("label", Column::Text(|v| Some(&v.case.label))),
        ("place", Column::Text(|v| v.case.case.place.as_deref())),
        ("peer", Column::Text(|v| v.case.case.peer.as_deref())),
        ("metric", Column::Text(|v| Some(&v.metric.name))),
        ("unit", Column::Word(|v| Some(machine_name(&v.metric.unit)))),
        ("better", Column::Word(|v| Some(machine_name(&v.metric.direction)))),
        ("headline", Column::Truth(|v| v.headline)),
        ("environment", Column::Text(|v| Some(&v.trial.target))),
        ("role", Column::Word(|v| Some(machine_name(&v.role)))),
        ("trial", Column::Number(|v| i64::try_from(v.trial.number).ok())),
        ("round", Column::Number(|v| Some(v.trial.round.into()))),
        ("attempt", Column::Number(|v| Some(v.trial.attempt.into()))),
        ("position", Column::Number(|v| Some(v.trial.position.into()))),
        ("start", Column::Number(|v| Some(v.trial.start.into()))),
        ("counted", Column::Truth(|v| v.counted)),
        ("value", Column::Figure(|v| v.value)),
        ("failure", Column::Word(|v| v.trial.failure.as_ref().map(|f| machine_name(&f.kind)))),
        ("reason", Column::Text(|v| v.trial.failure.as_ref().map(|f| f.reason.as_str()))),
        ("started_ns", Column::Number(|v| i64::try_from(v.trial.started_ns).ok())),
        ("host_elapsed_ns", Column::Number(|v| i64::try_from(v.trial.host_elapsed_ns).ok())),
        ("agent_elapsed_ns", Column::Number(|v| i64::try_from(v.trial.agent_elapsed_ns?).ok())),
    ]
}

fn render(source: &Source) -> Result<Vec<u8>, ParquetError> {
    let cells = extract_cells(source.session, source.findings);
    let footer = serde_json::to_string(&cells).expect("tare's own types always serialise");
    let of = Shared::from_cells(cells, &KIND.map(str::to_owned));
    write_parquet_file("trial_metric", &columns(), &rows(source, &of), vec![(CELLS.to_owned(), footer)])
}

/// Reads the length of a file's footer from its last bytes; `None` if it is not a Parquet file.
pub fn footer_length(tail: &[u8]) -> Option<usize> {
    let (_, tail) = tail.split_at_checked(tail.len().checked_sub(TAIL)?)?;
    let (length, magic) = tail.split_at_checked(TAIL - MAGIC.len())?;
    let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
    (magic == MAGIC).then_some(length + TAIL)
}

/// Reads the cells of a session from the footer of its file, whose bytes [`footer_length`] counts; `None` if
/// this version wrote none.
pub fn cells_of(footer: &[u8]) -> Option<SessionCells> {
    serde_json::from_str(&read_metadata(footer, CELLS)?)
        .ok()
        .filter(|cells: &SessionCells| cells.version == VERSION)
}

/// Reads the metadata under a key from such a footer.
pub(crate) fn read_metadata(footer: &[u8], key: &str) -> Option<String> {
    let (footer, _) = footer.split_at_checked(footer.len().checked_sub(TAIL)?)?;
    let metadata = ParquetMetaDataReader::decode_metadata(footer).ok()?;
    let beside = metadata.file_metadata().key_value_metadata()?;
    beside.iter().find(|beside| beside.key == key)?.value.clone()
}

/// Lists the trials in the order in which they ran, without those whose case or environment is not in the
/// plan.
fn rows<'a>(source: &Source<'a>, of: &'a Shared) -> Vec<Value<'a>> {
    let session = source.session;
    let cases: BTreeMap<&str, &PlannedCase> = session.plan.cases.iter().map(|c| (c.id.as_str(), c)).collect();
    let targets = &session.plan.targets;
    let roles: BTreeMap<&str, Role> =
        targets.iter().enumerate().map(|(at, target)| (target.name.as_str(), targets.role(at))).collect();
    let counting: HashSet<*const Trial> = list_counted_trials(&session.trials, &session.repeated, |_| true)
        .into_iter()
        .map(std::ptr::from_ref)
        .collect();
    let mut rows = Vec::new();
    for trial in &session.trials {
        let known = cases.get(trial.case.as_str()).zip(roles.get(trial.target.as_str()));
        let Some((case, role)) = known else { continue };
        let figures = match trial.failure {
            Some(_) => vec![None; case.metrics.len()],
            None => read_values(trial, &case.metrics),
        };
        rows.extend(case.metrics.iter().zip(figures).enumerate().map(|(at, (metric, figure))| Value {
            of,
            trial,
            case,
            metric,
            headline: at == 0,
            role: *role,
            counted: counting.contains(&std::ptr::from_ref(trial)),
            value: figure.map(|figure| figure.value),
        }));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specimen;

    #[test]
    fn the_footer_has_the_cells_and_damage_has_none() {
        let (session, findings) = (specimen::make_session(3), specimen::make_findings(3));
        let bytes = (EXPORT.render)(&Source { session: &session, findings: &findings, gate: None });
        let length = footer_length(&bytes[bytes.len() - 100..]).unwrap();
        let footer = &bytes[bytes.len() - length..];
        assert_eq!(cells_of(footer), Some(extract_cells(&session, &findings)));
        for end in 0..40 {
            assert_eq!(cells_of(&footer[..length - 9 - end * length / 50]), None);
        }
        for at in (0..length).step_by(7) {
            let mut damaged = footer.to_vec();
            damaged[at] ^= 0x55;
            // Whatever comes of it: no panic.
            let _ = (footer_length(&damaged), cells_of(&damaged));
        }
        assert_eq!((footer_length(b"PAR1"), footer_length(b""), cells_of(b"")), (None, None, None));
    }
}
