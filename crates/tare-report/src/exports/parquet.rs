//! Parquet: a row for each trial and metric, raw, for data frames and DuckDB; the findings are what CSV is for.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use parquet::basic::{ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use tare_analysis::verdicts::summary::{counted, values};
use tare_data::metric::Metric;
use tare_data::session::{PlannedCase, Role, Trial};

use super::export::{Export, Source, Writing};
use crate::words::machine_name;

pub static EXPORT: Export = Export {
    name: "parquet",
    summary: "Parquet, a row for each trial and metric: every value; those that do not count are marked",
    writing: Writing::Whole,
    render: |source| render(source).expect("columns are as long as the rows, and a vector takes every byte"),
};

struct Value<'a> {
    trial: &'a Trial,
    case: &'a PlannedCase,
    metric: &'a Metric,
    headline: bool,
    role: Role,
    counted: bool,
    value: Option<f64>,
}

/// A column of the file, as its name and how it is read from a row.
enum Column {
    Text(fn(&Source, &Value) -> Option<String>),
    Number(fn(&Value) -> Option<i64>),
    Figure(fn(&Value) -> Option<f64>),
    Truth(fn(&Value) -> bool),
}

/// Columns that are texts may be null; of the others `value` and `agent_elapsed_ns` may.
const COLUMNS: &[(&str, Column)] = &[
    ("study", Column::Text(|source, _| Some(source.session.plan.study.clone()))),
    ("started", Column::Text(|source, _| Some(source.session.header.started.clone()))),
    ("case", Column::Text(|_, v| Some(v.case.id.clone()))),
    ("probe", Column::Text(|_, v| Some(v.case.case.probe.clone()))),
    ("label", Column::Text(|_, v| Some(v.case.label.clone()))),
    ("place", Column::Text(|_, v| v.case.case.place.clone())),
    ("peer", Column::Text(|_, v| v.case.case.peer.clone())),
    ("metric", Column::Text(|_, v| Some(v.metric.name.clone()))),
    ("unit", Column::Text(|_, v| Some(machine_name(&v.metric.unit)))),
    ("better", Column::Text(|_, v| Some(machine_name(&v.metric.direction)))),
    ("headline", Column::Truth(|v| v.headline)),
    ("environment", Column::Text(|_, v| Some(v.trial.target.clone()))),
    ("role", Column::Text(|_, v| Some(machine_name(&v.role)))),
    ("trial", Column::Number(|v| i64::try_from(v.trial.number).ok())),
    ("round", Column::Number(|v| Some(v.trial.round.into()))),
    ("attempt", Column::Number(|v| Some(v.trial.attempt.into()))),
    ("position", Column::Number(|v| Some(v.trial.position.into()))),
    ("start", Column::Number(|v| Some(v.trial.start.into()))),
    ("counted", Column::Truth(|v| v.counted)),
    ("value", Column::Figure(|v| v.value)),
    ("failure", Column::Text(|_, v| v.trial.failure.as_ref().map(|f| machine_name(&f.kind)))),
    ("reason", Column::Text(|_, v| v.trial.failure.as_ref().map(|f| f.reason.clone()))),
    ("started_ns", Column::Number(|v| i64::try_from(v.trial.started_ns).ok())),
    ("host_elapsed_ns", Column::Number(|v| i64::try_from(v.trial.host_elapsed_ns).ok())),
    ("agent_elapsed_ns", Column::Number(|v| i64::try_from(v.trial.agent_elapsed_ns?).ok())),
];

fn render(source: &Source) -> Result<Vec<u8>, ParquetError> {
    let rows = rows(source);
    let fields = COLUMNS.iter().map(|(name, column)| field(name, column)).collect::<Result<_, _>>()?;
    let schema = Type::group_type_builder("trial_metric").with_fields(fields).build()?;
    let properties =
        WriterProperties::builder().set_created_by(format!("tare {}", env!("CARGO_PKG_VERSION")));
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties.build()))?;
    let mut group = file.next_row_group()?;
    for (_, column) in COLUMNS {
        match column {
            Column::Text(of) => {
                let of = |v: &Value| of(source, v).map(|text| ByteArray::from(text.into_bytes()));
                write::<ByteArrayType>(&mut group, rows.iter().map(of))?;
            }
            Column::Number(of) => write::<Int64Type>(&mut group, rows.iter().map(of))?,
            Column::Figure(of) => write::<DoubleType>(&mut group, rows.iter().map(of))?,
            Column::Truth(of) => write::<BoolType>(&mut group, rows.iter().map(|v| Some(of(v))))?,
        }
    }
    group.close()?;
    file.into_inner()
}

/// Every column may be null in the schema: it is how the others are told that a figure is not there.
fn field(name: &str, column: &Column) -> Result<Arc<Type>, ParquetError> {
    let (physical, converted) = match column {
        Column::Text(_) => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
        Column::Number(_) => (Physical::INT64, ConvertedType::NONE),
        Column::Figure(_) => (Physical::DOUBLE, ConvertedType::NONE),
        Column::Truth(_) => (Physical::BOOLEAN, ConvertedType::NONE),
    };
    let field = Type::primitive_type_builder(name, physical).with_converted_type(converted);
    Ok(Arc::new(field.with_repetition(Repetition::OPTIONAL).build()?))
}

fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<(), ParquetError> {
    let (mut present, mut levels) = (Vec::new(), Vec::new());
    for value in values {
        levels.push(i16::from(value.is_some()));
        present.extend(value);
    }
    let mut column = group.next_column()?.expect("the schema has as many columns as the list");
    column.typed::<T>().write_batch(&present, Some(&levels), None)?;
    column.close()
}

/// Trials in the order in which they ran; those of cases or environments that are not planned are nobody's.
fn rows<'a>(source: &Source<'a>) -> Vec<Value<'a>> {
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
