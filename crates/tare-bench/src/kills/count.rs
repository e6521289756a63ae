//! Counts over sessions that met a fault, as a table.

use std::collections::BTreeMap;

/// Outcome of the sessions that met a fault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub tried: u32,
    /// Trials that a record held before, and does not hold any more.
    pub lost: u64,
    /// Things that are there after `tare clean`.
    pub left: u64,
    /// Sessions that ended by a signal which nobody sent.
    pub aborted: u32,
    /// Sessions that did not end.
    pub hung: u32,
    /// In words.
    pub wrong: Vec<String>,
}

/// Outcomes by fault.
pub type Counts = BTreeMap<String, Count>;

/// Formats a row for each fault.
pub fn render_counts(counts: &Counts) -> String {
    let widest = counts.keys().map(String::len).max().unwrap_or(0).max(14);
    let row = |(fault, count): (&String, &Count)| {
        let Count { tried, lost, left, aborted, hung, wrong } = count;
        format!("{fault:widest$}  {tried:5}  {lost:4}  {left:4}  {aborted:7}  {hung:4}  {:5}\n", wrong.len())
    };
    let head = format!(
        "{:widest$}  {:>5}  {:>4}  {:>4}  {:>7}  {:>4}  {:>5}\n",
        "fault", "tried", "lost", "left", "aborted", "hung", "wrong"
    );
    head + &counts.iter().map(row).collect::<String>()
}

/// Checks that nothing was lost or left, nothing aborted or hung, and nothing false was believed.
pub fn is_well(counts: &Counts) -> bool {
    counts.values().all(|count| count.wrong.is_empty())
}
