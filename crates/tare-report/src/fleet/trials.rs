//! The table `trials` of a fleet, for any SQL engine: the Parquet files of sessions on one kind of nodes, merged.

use std::collections::HashMap;

use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result;
use serde::{Deserialize, Serialize};

use super::store::{Source, Stored, of_stored};
use crate::exports::parquet::columns::{Column, GROUP, Kind, start_parquet_file, write_values};
use crate::exports::parquet::reading::Reading;
use crate::exports::parquet::{list_trial_columns, read_metadata};

/// Version of the columns; files of another version are written again.
const VERSION: u32 = 2;
/// Footer key of the sources.
const MERGED: &str = "tare.merged";
/// Rows of a full file: some 25 MB, and a few times as much while it is written.
const FULL: usize = 1 << 19;

/// Sources of a merged file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Merged {
    version: u32,
    rows: usize,
    pub kind: String,
    pub sources: Vec<Source>,
}

impl Merged {
    /// Reads the sources from a file's footer; `None` if this version did not write it.
    pub fn from_footer(footer: &[u8]) -> Option<Merged> {
        let merged: Merged = serde_json::from_str(&read_metadata(footer, MERGED)?).ok()?;
        (merged.version == VERSION).then_some(merged)
    }

    pub fn is_full(&self) -> bool {
        self.rows >= FULL
    }
}

/// Values of a column.
enum Values {
    /// Numbers of texts, from 1; 0 for no text.
    Texts(Vec<u32>),
    Numbers(Vec<Option<i64>>),
    Figures(Vec<Option<f64>>),
    Truths(Vec<Option<bool>>),
}

/// Texts, each kept once.
#[derive(Default)]
struct Texts {
    numbers: HashMap<Box<str>, u32>,
    texts: Vec<ByteArray>,
}

impl Texts {
    fn of(&mut self, text: Option<&str>) -> u32 {
        let Some(text) = text else { return 0 };
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.texts.len() as u32 + 1;
        self.numbers.insert(text.into(), number);
        self.texts.push(text.into());
        number
    }

    fn text(&self, number: u32) -> Option<ByteArray> {
        self.texts.get((number as usize).checked_sub(1)?).cloned()
    }

    /// Ranks each number among all texts in order.
    fn ranks(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.texts.len()).collect();
        order.sort_by_key(|at| self.texts[*at].data());
        let mut ranks = vec![0; order.len() + 1];
        order.into_iter().enumerate().for_each(|(rank, at)| ranks[at + 1] = rank + 1);
        ranks
    }
}

/// An unfinished file.
#[derive(Default)]
pub struct Trials {
    texts: Texts,
    /// Columns in the order of [`columns`].
    columns: Vec<Values>,
    rows: usize,
    sources: Vec<Source>,
}

/// Lists the columns: those that all rows of a session share, then those of each row.
fn columns() -> Vec<(&'static str, Kind)> {
    let shared = of_stored().into_iter().map(|(name, column)| (name, column.kind()));
    shared.chain(list_trial_columns()).collect()
}

impl Trials {
    /// Adds a session from its Parquet file. If that cannot be read, nothing is added.
    pub fn add_session(&mut self, of: &Stored, file: Vec<u8>) -> std::result::Result<(), String> {
        self.try_add(of, file).map_err(|e| e.to_string())
    }

    fn try_add(&mut self, of: &Stored, file: Vec<u8>) -> Result<()> {
        let file = Reading::from_bytes(file)?;
        let mut more = Vec::new();
        for (_, column) in of_stored() {
            more.push(self.same(&column, of, file.rows));
        }
        for (name, kind) in list_trial_columns() {
            more.push(self.read(&file, name, kind)?);
        }
        if self.columns.is_empty() {
            self.columns = more;
        } else {
            self.columns.iter_mut().zip(more).for_each(|(column, more)| column.append(more));
        }
        self.rows += file.rows;
        self.sources.push(of.source());
        Ok(())
    }

    /// Repeats a value that all rows of a session share.
    fn same(&mut self, column: &Column<Stored>, of: &Stored, rows: usize) -> Values {
        match column {
            Column::Text(text) => Values::Texts(vec![self.texts.of(text(of)); rows]),
            Column::Word(text) => Values::Texts(vec![self.texts.of(text(of).as_deref()); rows]),
            Column::Number(number) | Column::Time(number) => Values::Numbers(vec![number(of); rows]),
            Column::Figure(figure) => Values::Figures(vec![figure(of); rows]),
            Column::Truth(truth) => Values::Truths(vec![Some(truth(of)); rows]),
        }
    }

    fn read(&mut self, file: &Reading, name: &str, kind: Kind) -> Result<Values> {
        let rows = file.rows;
        Ok(match kind {
            Kind::Text => Values::Texts(match file.read_column::<ByteArrayType>(name)? {
                Some(texts) => self.numbers(&texts)?,
                None => vec![0; rows],
            }),
            Kind::Number | Kind::Time => {
                Values::Numbers(file.read_column::<Int64Type>(name)?.unwrap_or_else(|| vec![None; rows]))
            }
            Kind::Figure => {
                Values::Figures(file.read_column::<DoubleType>(name)?.unwrap_or_else(|| vec![None; rows]))
            }
            Kind::Truth => {
                Values::Truths(file.read_column::<BoolType>(name)?.unwrap_or_else(|| vec![None; rows]))
            }
        })
    }

    fn numbers(&mut self, texts: &[Option<ByteArray>]) -> Result<Vec<u32>> {
        let mut numbers = Vec::with_capacity(texts.len());
        for text in texts {
            let text = text.as_ref().map(ByteArray::as_utf8).transpose()?;
            numbers.push(self.texts.of(text));
        }
        Ok(numbers)
    }

    pub fn is_full(&self) -> bool {
        self.rows >= FULL
    }

    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Writes the file, sorted by case and node. All its nodes are of one kind.
    pub fn into_file(self, kind: &str) -> Vec<u8> {
        self.write(kind).expect("columns are as long as the rows, and a vector takes every byte")
    }

    fn write(self, kind: &str) -> Result<Vec<u8>> {
        let names = columns();
        let merged = Merged {
            version: VERSION,
            rows: self.rows,
            kind: kind.to_owned(),
            sources: self.sources.clone(),
        };
        let merged = serde_json::to_string(&merged).expect("tare's own types always serialise");
        let mut file = start_parquet_file("trial_metric", &names, vec![(MERGED.to_owned(), merged)])?;
        for rows in self.order(&names).chunks(GROUP) {
            let mut group = file.next_row_group()?;
            for column in &self.columns {
                let each = rows.iter().map(|row| *row as usize);
                match column {
                    Values::Texts(all) => {
                        write_values::<ByteArrayType>(&mut group, each.map(|row| self.texts.text(all[row])))
                    }
                    Values::Numbers(all) => write_values::<Int64Type>(&mut group, each.map(|row| all[row])),
                    Values::Figures(all) => write_values::<DoubleType>(&mut group, each.map(|row| all[row])),
                    Values::Truths(all) => write_values::<BoolType>(&mut group, each.map(|row| all[row])),
                }?;
            }
            group.close()?;
        }
        file.into_inner()
    }

    /// Sorts the rows by case, node and number of the session; trials of a session stay in the order in which
    /// they ran.
    fn order(&self, names: &[(&str, Kind)]) -> Vec<u32> {
        let ranks = self.texts.ranks();
        let at =
            |name: &str| names.iter().position(|(of, _)| *of == name).and_then(|at| self.columns.get(at));
        let mut order: Vec<u32> = (0..self.rows as u32).collect();
        let (Some(Values::Texts(cases)), Some(Values::Texts(nodes)), Some(Values::Numbers(numbers))) =
            (at("case"), at("node"), at("number"))
        else {
            return order;
        };
        order.sort_by_key(|row| {
            let row = *row as usize;
            (ranks[cases[row] as usize], ranks[nodes[row] as usize], numbers[row])
        });
        order
    }
}

impl Values {
    fn append(&mut self, more: Values) {
        match (self, more) {
            (Values::Texts(all), Values::Texts(more)) => all.extend(more),
            (Values::Numbers(all), Values::Numbers(more)) => all.extend(more),
            (Values::Figures(all), Values::Figures(more)) => all.extend(more),
            (Values::Truths(all), Values::Truths(more)) => all.extend(more),
            _ => unreachable!("a column has one kind"),
        }
    }
}

#[cfg(test)]
mod tests {
    use tare_analysis::fleet::cells::extract_cells;

    use super::*;
    use crate::exports::parquet::footer_length;
    use crate::exports::{Source as Of, find_export};
    use crate::specimen;

    /// Builds a session's file, and its entry on a node.
    fn session(node: &str, number: u32) -> (Stored, Vec<u8>) {
        let (session, findings) = (specimen::make_session(3), specimen::make_findings(3));
        let source = Of { session: &session, findings: &findings, gate: None };
        let file = (find_export("parquet").unwrap().render)(&source);
        let by = ["cpu.model".to_owned()];
        let name = format!("cells/{node}/{number}.parquet");
        (Stored::of_node(extract_cells(&session, &findings), node, number, &by, name), file)
    }

    /// Reads a column of texts.
    fn texts(file: &Reading, name: &str) -> Vec<Option<String>> {
        let all = file.read_column::<ByteArrayType>(name).unwrap().unwrap();
        all.into_iter().map(|text| text.map(|text| text.as_utf8().unwrap().to_owned())).collect()
    }

    #[test]
    fn sessions_are_merged_by_case_and_node_and_lose_nothing() {
        let mut trials = Trials::default();
        for (node, number) in [("n2", 1), ("n1", 2), ("n1", 1)] {
            let (of, file) = session(node, number);
            trials.add_session(&of, file).unwrap();
        }
        let bytes = trials.into_file("a kind");
        let footer = &bytes[bytes.len() - footer_length(&bytes).unwrap()..];
        let merged = Merged::from_footer(footer).unwrap();
        let files: Vec<&str> = merged.sources.iter().map(|source| source.file.as_str()).collect();
        assert_eq!(files, ["cells/n2/1.parquet", "cells/n1/2.parquet", "cells/n1/1.parquet"]);
        assert_eq!((merged.kind.as_str(), merged.is_full()), ("a kind", false));
        let one = Reading::from_bytes(session("n1", 1).1).unwrap();
        let all = Reading::from_bytes(bytes).unwrap();
        assert_eq!(all.rows, 3 * one.rows);
        let (cases, nodes) = (texts(&all, "case"), texts(&all, "node"));
        let numbers = all.read_column::<Int64Type>("number").unwrap().unwrap();
        let keys: Vec<_> = cases.iter().zip(&nodes).zip(&numbers).collect();
        assert!(keys.is_sorted(), "{keys:?}");
        // Rows of a session are its own, in their order.
        let own = |row: &usize| nodes[*row].as_deref() == Some("n1") && numbers[*row] == Some(1);
        let own: Vec<usize> = (0..all.rows).filter(own).collect();
        for (name, kind) in list_trial_columns() {
            let differs = match kind {
                Kind::Text => of_rows(&texts(&all, name), &own) != by_case(&one, &texts(&one, name)),
                Kind::Number | Kind::Time => {
                    let of = |file: &Reading| file.read_column::<Int64Type>(name).unwrap().unwrap();
                    of_rows(&of(&all), &own) != by_case(&one, &of(&one))
                }
                Kind::Figure => {
                    let of = |file: &Reading| file.read_column::<DoubleType>(name).unwrap().unwrap();
                    of_rows(&of(&all), &own) != by_case(&one, &of(&one))
                }
                Kind::Truth => {
                    let of = |file: &Reading| file.read_column::<BoolType>(name).unwrap().unwrap();
                    of_rows(&of(&all), &own) != by_case(&one, &of(&one))
                }
            };
            assert!(!differs, "{name}");
        }
    }

    fn of_rows<T: Clone>(all: &[T], rows: &[usize]) -> Vec<T> {
        rows.iter().map(|row| all[*row].clone()).collect()
    }

    /// Sorts the values of a session as the merged file does.
    fn by_case<T: Clone>(file: &Reading, all: &[T]) -> Vec<T> {
        let cases = texts(file, "case");
        let mut rows: Vec<usize> = (0..file.rows).collect();
        rows.sort_by_key(|row| &cases[*row]);
        of_rows(all, &rows)
    }

    #[test]
    fn a_damaged_file_adds_nothing_and_harms_nobody() {
        let (of, file) = session("n1", 1);
        let mut refused = 0;
        for at in (0..file.len()).step_by(23) {
            for mask in [0x01, 0x55, 0xff] {
                let mut damaged = file.clone();
                damaged[at] ^= mask;
                let mut trials = Trials::default();
                match trials.add_session(&of, damaged) {
                    Ok(()) => drop(trials.into_file("x")),
                    Err(_) => {
                        refused += 1;
                        assert!(trials.columns.is_empty() && trials.rows == 0);
                    }
                }
            }
        }
        assert!(refused > 20, "{refused}");
        for end in (0..file.len()).step_by(97) {
            assert!(Trials::default().add_session(&of, file[..end].to_vec()).is_err());
        }
    }
}
