//! Columns of a Parquet file as tare writes them, read back. Files come from other machines: anything that tare would not
//! write is refused before memory is allocated for it.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::serialized_reader::SerializedPageReader;

use super::{TAIL, footer_length};

/// Bytes of the length before a text.
const A_LENGTH: usize = 4;
/// Limit on the rows of a file: a session of a day.
const MOST_ROWS: usize = 1 << 21;
/// Fewest bytes of a row: every trial has four numbers that no other trial has.
const LEAST_OF_ROW: usize = 2;

/// A file with its footer read.
pub(crate) struct Reading {
    file: Arc<Bytes>,
    metadata: ParquetMetaData,
    pub(crate) rows: usize,
}

impl Reading {
    /// Opens a file; anything but a file that tare wrote is refused.
    pub(crate) fn from_bytes(file: Vec<u8>) -> Result<Reading> {
        let tail = &file[file.len().saturating_sub(TAIL)..];
        let length = footer_length(tail).filter(|length| *length <= file.len());
        let length = length.ok_or_else(|| wrong("it has no footer"))?;
        let metadata = ParquetMetaDataReader::decode_metadata(&file[file.len() - length..file.len() - TAIL])?;
        let columns = metadata.file_metadata().schema_descr().num_columns();
        let mut rows = 0_usize;
        for group in metadata.row_groups() {
            let of_group = usize::try_from(group.num_rows()).map_err(|_| wrong("it counts no rows"))?;
            rows = rows.saturating_add(of_group);
            if group.num_columns() != columns || !group.columns().iter().all(is_plain) {
                return Err(wrong("its columns are not tare's"));
            }
        }
        if rows > MOST_ROWS.min(file.len() / LEAST_OF_ROW) {
            return Err(wrong("it cannot have as many rows"));
        }
        Ok(Reading { file: Arc::new(file.into()), metadata, rows })
    }

    /// Reads a column by its name; `None` if the file lacks it.
    pub(crate) fn read_column<T: DataType>(&self, name: &str) -> Result<Option<Vec<Option<T::T>>>> {
        let schema = self.metadata.file_metadata().schema_descr();
        let Some(at) = schema.columns().iter().position(|column| column.name() == name) else {
            return Ok(None);
        };
        let column = schema.column(at);
        let levels = (column.max_def_level(), column.max_rep_level());
        if column.physical_type() != T::get_physical_type() || levels != (1, 0) {
            return Err(wrong("a column has another type"));
        }
        let mut all = Vec::with_capacity(self.rows);
        for group in self.metadata.row_groups() {
            let rows = group.num_rows() as usize;
            let pages = Pages::of(Arc::clone(&self.file), group.column(at), rows)?;
            let mut reader = ColumnReaderImpl::<T>::new(Arc::clone(&column), Box::new(pages));
            let (mut values, mut levels) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
            let (read, _, _) = reader.read_records(rows, Some(&mut levels), None, &mut values)?;
            if read != rows {
                return Err(wrong("a column ends early"));
            }
            let mut values = values.into_iter();
            all.extend(levels.iter().map(|level| if *level == 1 { values.next() } else { None }));
        }
        Ok(Some(all))
    }
}

fn wrong(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}

/// Tells whether a column is laid out as tare writes it: uncompressed, at no negative offset.
fn is_plain(column: &ColumnChunkMetaData) -> bool {
    let places = [column.dictionary_page_offset().unwrap_or(0), column.data_page_offset()];
    column.compression() == Compression::UNCOMPRESSED
        && places.into_iter().chain([column.compressed_size()]).all(|place| place >= 0)
}

/// Pages of a column: a dictionary no longer than its bytes first, then no more values than the column has
/// rows. Texts end within their pages, which the library takes for granted.
struct Pages {
    pages: SerializedPageReader<Bytes>,
    rows_left: u32,
    has_dictionary: bool,
    has_texts: bool,
}

impl Pages {
    fn of(file: Arc<Bytes>, column: &ColumnChunkMetaData, rows: usize) -> Result<Pages> {
        let has_texts = column.column_type() == Type::BYTE_ARRAY;
        let pages = SerializedPageReader::new(file, column, rows, None)?;
        Ok(Pages { pages, rows_left: rows as u32, has_dictionary: false, has_texts })
    }

    /// Checks a page, and returns it if it is sound.
    fn sound(&mut self, mut page: Page) -> Option<Page> {
        match &mut page {
            Page::DictionaryPage { buf, num_values, .. } => {
                let is_first = !std::mem::replace(&mut self.has_dictionary, true);
                let most = if self.has_texts { texts_in(buf)? } else { buf.len() };
                (is_first && *num_values as usize <= most).then_some(page)
            }
            Page::DataPage { buf, num_values, encoding, def_level_encoding, .. } => {
                self.rows_left = self.rows_left.checked_sub(*num_values)?;
                let (length, rest) = buf.split_first_chunk()?;
                let (levels, values) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
                let are_levels = *def_level_encoding == Encoding::RLE && are_runs(levels, 1);
                let are_values = match encoding {
                    Encoding::PLAIN if self.has_texts => {
                        texts_in(values)?;
                        // Should there be fewer than the page says, the others are empty.
                        *buf = [buf.as_ref(), &vec![0; A_LENGTH * *num_values as usize]].concat().into();
                        true
                    }
                    Encoding::PLAIN => true,
                    Encoding::RLE_DICTIONARY if self.has_dictionary => are_indices(values),
                    _ => false,
                };
                (are_levels && are_values).then_some(page)
            }
            Page::DataPageV2 { .. } => None,
        }
    }
}

/// Tells whether these are numbers of a dictionary: the bits of a number, and runs of them.
fn are_indices(bytes: &[u8]) -> bool {
    bytes.split_first().is_none_or(|(bits, runs)| *bits <= 32 && are_runs(runs, *bits))
}

/// Tells whether these bytes are whole runs of numbers with this many bits, as Parquet's hybrid of run lengths and packed bits has
/// them. The library shifts by whatever length a run states.
fn are_runs(mut bytes: &[u8], bits: u8) -> bool {
    while !bytes.is_empty() {
        let Some(length) = bytes.iter().position(|byte| byte & 0x80 == 0).filter(|last| *last < 4) else {
            return false;
        };
        let (header, rest) = bytes.split_at(length + 1);
        let header = header.iter().rev().fold(0_usize, |sum, byte| sum << 7 | usize::from(byte & 0x7f));
        // Packed numbers come in groups of eight; of a repeated one there is one.
        let of_run =
            if header & 1 == 1 { (header >> 1) * usize::from(bits) } else { usize::from(bits.div_ceil(8)) };
        let Some(rest) = rest.get(of_run..) else { return false };
        bytes = rest;
    }
    true
}

/// Counts the texts, each after its length; `None` if one does not fit.
fn texts_in(mut bytes: &[u8]) -> Option<usize> {
    let mut count = 0;
    while !bytes.is_empty() {
        let (length, rest) = bytes.split_first_chunk::<A_LENGTH>()?;
        bytes = rest.get(u32::from_le_bytes(*length) as usize..)?;
        count += 1;
    }
    Some(count)
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let Some(page) = self.pages.get_next_page()? else { return Ok(None) };
        self.sound(page).map(Some).ok_or_else(|| wrong("a page is not as tare writes it"))
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Result<Page>> {
        self.get_next_page().transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_whole_and_their_lengths_short() {
        assert!(are_runs(&[], 1) && are_runs(&[2 << 1, 1], 1), "nothing, and a one twice");
        assert!(are_runs(&[1 << 1 | 1, 0b1010_1010], 1), "eight packed ones");
        assert!(are_runs(&[0x80, 0x02, 7], 3), "a length of two bytes");
        assert!(!are_runs(&[0xff; 12], 1), "the library would shift by 70");
        assert!(!are_runs(&[1 << 1 | 1], 1) && !are_runs(&[0x80], 1), "cut off");
        assert!(are_indices(&[]) && are_indices(&[3, 4, 5]) && !are_indices(&[33, 4, 5, 6, 7, 8, 9]));
    }
}
