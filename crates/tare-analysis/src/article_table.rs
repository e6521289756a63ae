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
    /// True where each trial ran as long as the tool does: a value is that of the run in the middle, and comes with the range of
    /// all runs.
    pub by_run: bool,
    /// The environments, a column each.
    pub targets: Vec<String>,
    pub lines: Vec<Line>,
}

/// A line of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The case, as its row is headed.
    pub title: String,
    /// Place or peer of the case, where the title does not say it.
    pub place: Option<String>,
    /// The part of the case's results that this line shows.
    pub part: Option<&'static str>,
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
    /// Least and greatest value of all runs, in a table by runs.
    pub range: Option<(f64, f64)>,
    pub note: Option<String>,
}

/// An article's figures with those of a session: the author's rows, units and order.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureTable {
    /// The article's environments that its figures compare, the reference first.
    pub environments: Vec<String>,
    /// The session's environments that correspond to them; none where it has none.
    pub targets: Vec<Option<String>>,
    pub lines: Vec<FigureLine>,
}

/// A figure of an article, and the same line of its tool in a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureLine {
    pub name: String,
    pub unit: &'static str,
    /// Digits after the point of the article's numbers and of the session's.
    pub decimals: [usize; 2],
    /// The article's values in the order of its environments, of several printed runs their mean.
    pub there: Vec<Option<f64>>,
    pub here: Vec<TableCell>,
}
