//! A table in the form in which an article printed it.

use serde::{Deserialize, Serialize};

/// The form of a table, named after the tool that printed it or after the things that it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TableForm {
    Netperf,
    Dd,
    UnixBench,
    CrystalDiskMark,
    Processes,
    Sysbench,
}

/// A table in the form of an article's, with a session's values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    pub form: TableForm,
    /// The environments, a column each.
    pub targets: Vec<String>,
    pub lines: Vec<Line>,
}

/// A line of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    pub name: String,
    pub unit: &'static str,
    /// Digits after the point, as the tool prints them.
    pub decimals: usize,
    /// In the order of the table's environments.
    pub cells: Vec<TableCell>,
}

/// A value of a table, with the reason why there is none or why it should not be compared.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableCell {
    pub value: Option<f64>,
    pub note: Option<String>,
}
