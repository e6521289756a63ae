//! A document with a table of measured rows that is kept from run to run, as long as the machine is the same.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The beginning of the line that says on which machine the rows were measured.
const MACHINE: &str = "Machine: ";
/// The beginning of the line of a row that could not be measured.
const ABSENT: &str = "- ";

/// A document: prose that is written each time, and rows by name that are kept.
pub struct Document {
    pub path: PathBuf,
    pub head: String,
    pub machine: String,
    /// Versions of the tools.
    pub tools: String,
    /// The table's head and the line below it.
    pub columns: String,
    /// Row labels, in order.
    pub order: Vec<String>,
}

/// The lines of a row: of the table where it was measured, or a line with the reason for its absence.
#[derive(Clone, Debug, PartialEq)]
pub enum Lines {
    Measured(Vec<String>),
    Absent(String),
}

impl Document {
    /// Writes the document with these rows, and those already in it that were measured on this machine.
    pub fn write_rows(&self, rows: &BTreeMap<String, Lines>) -> Result<(), String> {
        let old = fs::read_to_string(&self.path).unwrap_or_default();
        let text = self.text(&old, rows);
        fs::write(&self.path, text).map_err(|e| format!("writing {}: {e}", self.path.display()))
    }

    /// Finds the rows of the document that were measured on this machine.
    pub fn read_machine_rows(&self) -> BTreeMap<String, Lines> {
        self.of_this_machine(&fs::read_to_string(&self.path).unwrap_or_default())
    }

    fn of_this_machine(&self, text: &str) -> BTreeMap<String, Lines> {
        let same = text.lines().any(|line| line.strip_prefix(MACHINE) == Some(self.machine.as_str()));
        if same { read(text) } else { BTreeMap::new() }
    }

    fn text(&self, old: &str, rows: &BTreeMap<String, Lines>) -> String {
        let mut all = self.of_this_machine(old);
        // An earlier measurement is worth more than the reason for a failure.
        for (name, lines) in rows {
            let known = matches!(all.get(name), Some(Lines::Measured(_)));
            if !(known && matches!(lines, Lines::Absent(_))) {
                all.insert(name.clone(), lines.clone());
            }
        }
        let (mut table, mut absent) = (String::new(), String::new());
        for name in &self.order {
            match all.get(name) {
                Some(Lines::Measured(lines)) => lines.iter().for_each(|line| table += &format!("{line}\n")),
                Some(Lines::Absent(reason)) => absent += &format!("{ABSENT}`{name}`: {reason}\n"),
                None => absent += &format!("{ABSENT}`{name}`: not measured yet\n"),
            }
        }
        let (head, machine, tools) = (self.head.trim_end(), &self.machine, &self.tools);
        let mut text = format!("{head}\n\n{MACHINE}{machine}\n\nTools: {tools}\n");
        if !table.is_empty() {
            text += &format!("\n{}\n{table}", self.columns);
        }
        if !absent.is_empty() {
            text += &format!("\n## Not measured\n{absent}");
        }
        text
    }
}

/// Parses the rows of a document. A line of the table begins with its row's name in backquotes.
fn read(text: &str) -> BTreeMap<String, Lines> {
    let mut rows: BTreeMap<String, Lines> = BTreeMap::new();
    for line in text.lines() {
        let named = |rest: &str| rest.split_once('`').map(|(name, rest)| (name.to_owned(), rest.to_owned()));
        if let Some((name, _)) = line.strip_prefix("| `").and_then(named) {
            match rows.entry(name).or_insert_with(|| Lines::Measured(Vec::new())) {
                Lines::Measured(lines) => lines.push(line.to_owned()),
                absent => *absent = Lines::Measured(vec![line.to_owned()]),
            }
        } else if let Some((name, reason)) =
            line.strip_prefix(ABSENT).and_then(|l| l.strip_prefix('`')).and_then(named)
        {
            let reason = reason.trim_start_matches(": ").to_owned();
            rows.entry(name).or_insert(Lines::Absent(reason));
        }
    }
    rows
}

/// Formats a line of a table. Bars in a cell would end it.
pub fn format_table_line<'c>(cells: impl IntoIterator<Item = &'c str>) -> String {
    let cells: Vec<String> = cells.into_iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| {} |", cells.join(" | "))
}

pub fn document_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(machine: &str) -> Document {
        Document {
            path: PathBuf::new(),
            head: "# Head\nProse.\n".into(),
            machine: machine.into(),
            tools: "dd 9".into(),
            columns: "| row | ratio |\n|---|---|".into(),
            order: ["a", "b", "c"].map(str::to_owned).into(),
        }
    }

    fn measured(name: &str, ratio: &str) -> (String, Lines) {
        (name.to_owned(), Lines::Measured(vec![format_table_line([format!("`{name}`").as_str(), ratio])]))
    }

    #[test]
    fn rows_of_the_same_machine_are_kept_and_those_of_another_are_not() {
        let absent = ("b".to_owned(), Lines::Absent("fio is not installed".into()));
        let first = document("here").text("", &BTreeMap::from([measured("a", "1.0"), absent.clone()]));
        let expected = "# Head\nProse.\n\nMachine: here\n\nTools: dd 9\n\n| row | ratio |\n|---|---|\n| `a` | 1.0 |\n\
                        \n## Not measured\n- `b`: fio is not installed\n- `c`: not measured yet\n";
        assert_eq!(first, expected);
        let second = document("here").text(&first, &BTreeMap::from([measured("b", "2.0")]));
        assert!(second.contains("| `a` | 1.0 |\n| `b` | 2.0 |\n"), "{second}");
        let third = document("here").text(&second, &BTreeMap::from([absent]));
        assert!(third.contains("| `b` | 2.0 |"), "{third}");
        let fourth = document("there").text(&third, &BTreeMap::from([measured("c", "3.0")]));
        assert!(!fourth.contains("| `a`") && fourth.contains("- `a`: not measured yet"), "{fourth}");
    }
}
