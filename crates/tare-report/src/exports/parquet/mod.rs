//! Parquet: a row for each trial and metric, raw, for data frames and DuckDB; the findings are what CSV is for.
//!
//! What the session's cells come to stands in the file's footer, so that whoever reads a thousand of them opens no record.

pub(crate) mod columns;
pub(crate) mod reading;

use std::collections::{BTreeMap, HashSet};

use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaDataReader;
use tare_analysis::fleet::cells::{SessionCells, VERSION, cells};
use tare_analysis::fleet::summary::{KIND, kind};
use tare_analysis::verdicts::summary::{counted, values};
use tare_data::metric::Metric;
use tare_data::session::{PlannedCase, Role, Trial};

use self::columns::{Column, Kind, file, instant};
use super::export::{Export, Source, Writing};
use crate::words::machine_name;

pub(crate) static EXPORT: Export = Export {
    name: "parquet",
    summary: "Parquet, a row for each trial and metric: every value; those that do not count are marked",
    writing: Writing::Whole,
    render: |source| render(source).expect("columns are as long as the rows, and a vector takes every byte"),
};

/// Name of what stands in the footer.
const CELLS: &str = "tare.cells";
/// How a Parquet file ends: the length of its footer, and this.
const MAGIC: &[u8] = b"PAR1";
/// Bytes behind the footer.
pub(crate) const TAIL: usize = 8;

/// What all rows of a session share.
pub(crate) struct Shared {
    cells: SessionCells,
    node: Option<String>,
    kind: String,
    started: Option<i64>,
}

impl Shared {
    /// Rows are taken out of `cells` by whoever has their own.
    pub(crate) fn of(cells: SessionCells, by: &[String]) -> Shared {
        let (node, started) = (cells.node.clone(), instant(&cells.started));
        Shared { node, kind: kind(&cells.host, by), started, cells }
    }

    /// The same on a node that the record does not name.
    pub(crate) fn on(self, node: &str) -> Shared {
        Shared { node: Some(node.to_owned()), ..self }
    }

    pub(crate) fn kind(&self) -> &str {
        &self.kind
    }

    /// When the session began, and the SHA-256 of the program that measured.
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
    fn of(&self) -> &Shared;
}

impl OfSession for Value<'_> {
    fn of(&self) -> &Shared {
        self.of
    }
}

/// What stands in both tables, trials and cells, of the session that a row is of.
pub(crate) fn of_session<R: OfSession>() -> Vec<(&'static str, Column<R>)> {
    vec![
        ("session", Column::Text(|row| row.of().cells.session.as_deref())),
        ("fleet", Column::Text(|row| row.of().cells.fleet.as_deref())),
        ("node", Column::Text(|row| row.of().node.as_deref())),
        ("machine", Column::Text(|row| row.of().cells.machine.as_deref())),
        ("kind", Column::Text(|row| Some(&row.of().kind))),
        ("kernel", Column::Text(|row| row.of().cells.host.get("kernel.release"))),
        ("tare", Column::Text(|row| Some(&row.of().cells.tare))),
        ("binary", Column::Text(|row| Some(&row.of().cells.binary))),
        ("study", Column::Text(|row| Some(&row.of().cells.study))),
        ("started", Column::Time(|row| row.of().started)),
    ]
}

/// Columns that are texts may be null; of the others `started`, `value` and `agent_elapsed_ns` may.
fn columns<'a>() -> Vec<(&'static str, Column<Value<'a>>)> {
    of_session().into_iter().chain(own()).collect()
}

/// Names and kinds of those columns in which the trials of a session differ.
pub(crate) fn kinds() -> Vec<(&'static str, Kind)> {
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
    let cells = cells(source.session, source.findings);
    let footer = serde_json::to_string(&cells).expect("tare's own types always serialise");
    let of = Shared::of(cells, &KIND.map(str::to_owned));
    file("trial_metric", &columns(), &rows(source, &of), vec![(CELLS.to_owned(), footer)])
}

/// The length of the footer of such a file, by its last bytes; none where they are not of one.
pub fn footer_length(tail: &[u8]) -> Option<usize> {
    let (_, tail) = tail.split_at_checked(tail.len().checked_sub(TAIL)?)?;
    let (length, magic) = tail.split_at_checked(TAIL - MAGIC.len())?;
    let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
    (magic == MAGIC).then_some(length + TAIL)
}

/// The cells of a session, from the footer of its file, whose bytes [`footer_length`] counts; none where this version wrote
/// none there.
pub fn cells_of(footer: &[u8]) -> Option<SessionCells> {
    serde_json::from_str(&beside(footer, CELLS)?).ok().filter(|cells: &SessionCells| cells.version == VERSION)
}

/// What stands beside the columns under a key, in such a footer.
pub(crate) fn beside(footer: &[u8], key: &str) -> Option<String> {
    let (footer, _) = footer.split_at_checked(footer.len().checked_sub(TAIL)?)?;
    let metadata = ParquetMetaDataReader::decode_metadata(footer).ok()?;
    let beside = metadata.file_metadata().key_value_metadata()?;
    beside.iter().find(|beside| beside.key == key)?.value.clone()
}

/// Trials in the order in which they ran; those of cases or environments that are not planned are nobody's.
fn rows<'a>(source: &Source<'a>, of: &'a Shared) -> Vec<Value<'a>> {
    let session = source.session;
    let cases: BTreeMap<&str, &PlannedCase> = session.plan.cases.iter().map(|c| (c.id.as_str(), c)).collect();
    let roles: BTreeMap<&str, Role> =
        session.plan.targets.iter().map(|target| (target.name.as_str(), target.role)).collect();
    let counting: HashSet<*const Trial> =
        counted(&session.trials, &session.repeated, |_| true).into_iter().map(std::ptr::from_ref).collect();
    let mut rows = Vec::new();
    for trial in &session.trials {
        let known = cases.get(trial.case.as_str()).zip(roles.get(trial.target.as_str()));
        let Some((case, role)) = known else { continue };
        let figures = match trial.failure {
            Some(_) => vec![None; case.metrics.len()],
            None => values(trial, &case.metrics),
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
        let (session, findings) = (specimen::session(3), specimen::findings(3));
        let bytes = (EXPORT.render)(&Source { session: &session, findings: &findings, gate: None });
        let length = footer_length(&bytes[bytes.len() - 100..]).unwrap();
        let footer = &bytes[bytes.len() - length..];
        assert_eq!(cells_of(footer), Some(cells(&session, &findings)));
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
