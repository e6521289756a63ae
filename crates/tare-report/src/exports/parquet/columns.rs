//! A table as a Parquet file: named columns, and their values for each row.

use std::sync::Arc;

use parquet::basic::{ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

/// A column of a file, with the function that reads its value from a row.
pub(crate) enum Column<R> {
    Text(fn(&R) -> Option<&str>),
    /// A text that is built for each row.
    Word(fn(&R) -> Option<String>),
    Number(fn(&R) -> Option<i64>),
    Figure(fn(&R) -> Option<f64>),
    Truth(fn(&R) -> bool),
    /// Microseconds since 1970, UTC.
    Time(fn(&R) -> Option<i64>),
}

/// Type of a column in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Number,
    Figure,
    Truth,
    Time,
}

impl<R> Column<R> {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Column::Text(_) | Column::Word(_) => Kind::Text,
            Column::Number(_) => Kind::Number,
            Column::Figure(_) => Kind::Figure,
            Column::Truth(_) => Kind::Truth,
            Column::Time(_) => Kind::Time,
        }
    }
}

/// Number of rows that are written together: a reader skips groups in which it finds nothing.
pub(crate) const GROUP: usize = 1 << 17;

/// Writes a file of these rows, with metadata in its footer.
pub(crate) fn write_parquet_file<R>(
    name: &str,
    columns: &[(&str, Column<R>)],
    rows: &[R],
    beside: Vec<(String, String)>,
) -> Result<Vec<u8>, ParquetError> {
    let kinds: Vec<_> = columns.iter().map(|(name, column)| (*name, column.kind())).collect();
    let mut file = start_parquet_file(name, &kinds, beside)?;
    // A table without rows gets an empty group: every reader copes with that.
    for rows in rows.chunks(GROUP).chain(rows.is_empty().then_some(rows)) {
        let mut group = file.next_row_group()?;
        for (_, column) in columns {
            write_column(&mut group, column, rows)?;
        }
        group.close()?;
    }
    file.into_inner()
}

/// Begins a file with these columns, with metadata in its footer.
pub(crate) fn start_parquet_file(
    name: &str,
    columns: &[(&str, Kind)],
    beside: Vec<(String, String)>,
) -> Result<SerializedFileWriter<Vec<u8>>, ParquetError> {
    let fields = columns.iter().map(|(name, kind)| field(name, *kind)).collect::<Result<_, _>>()?;
    let schema = Type::group_type_builder(name).with_fields(fields).build()?;
    let beside: Vec<KeyValue> = beside.into_iter().map(|(key, value)| KeyValue::new(key, value)).collect();
    let properties = WriterProperties::builder()
        .set_created_by(format!("tare {}", env!("CARGO_PKG_VERSION")))
        .set_key_value_metadata((!beside.is_empty()).then_some(beside));
    SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties.build()))
}

fn write_column<R>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    column: &Column<R>,
    rows: &[R],
) -> Result<(), ParquetError> {
    match column {
        Column::Text(of) => {
            write_values::<ByteArrayType>(group, rows.iter().map(|row| of(row).map(ByteArray::from)))
        }
        Column::Word(of) => {
            let of = |row: &R| of(row).map(|text| ByteArray::from(text.into_bytes()));
            write_values::<ByteArrayType>(group, rows.iter().map(of))
        }
        Column::Number(of) | Column::Time(of) => write_values::<Int64Type>(group, rows.iter().map(of)),
        Column::Figure(of) => write_values::<DoubleType>(group, rows.iter().map(of)),
        Column::Truth(of) => write_values::<BoolType>(group, rows.iter().map(|row| Some(of(row)))),
    }
}

/// Builds the schema of a column. All are optional: that is how a missing value is marked.
fn field(name: &str, kind: Kind) -> Result<Arc<Type>, ParquetError> {
    let (physical, converted) = match kind {
        Kind::Text => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
        Kind::Number => (Physical::INT64, ConvertedType::NONE),
        Kind::Figure => (Physical::DOUBLE, ConvertedType::NONE),
        Kind::Truth => (Physical::BOOLEAN, ConvertedType::NONE),
        Kind::Time => (Physical::INT64, ConvertedType::TIMESTAMP_MICROS),
    };
    let field = Type::primitive_type_builder(name, physical).with_converted_type(converted);
    Ok(Arc::new(field.with_repetition(Repetition::OPTIONAL).build()?))
}

pub(crate) fn write_values<T: DataType>(
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

/// Parses an RFC 3339 time into microseconds since 1970.
pub(crate) fn parse_instant(text: &str) -> Option<i64> {
    text.parse().ok().map(|instant: jiff::Timestamp| instant.as_microsecond())
}
