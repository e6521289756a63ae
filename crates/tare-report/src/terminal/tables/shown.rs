//! A bill ready to show: its larger lines, the small ones as one, the unexplained rest, each with its share.

use tare_analysis::bill::{Bill, Line};

/// Share of the difference below which lines are shown as one.
const SMALL: f64 = 0.01;

pub struct Shown<'a> {
    /// Difference between the command's time here and in the baseline; for a command that was not timed, the
    /// sum of the lines.
    pub difference_ns: f64,
    /// Largest first.
    pub lines: Vec<&'a Line>,
    /// Number of small lines, two or more, and their sum.
    pub small: Option<(usize, f64)>,
    /// Unexplained rest of the difference; `None` if the command was not timed on both sides.
    pub rest_ns: Option<f64>,
    /// Denominator of shares.
    whole_ns: f64,
}

impl<'a> Shown<'a> {
    pub fn from_bill(bill: &'a Bill) -> Shown<'a> {
        let explained: f64 = bill.lines.iter().map(|line| line.more_ns).sum();
        let difference_ns = explained + bill.rest_ns.unwrap_or(0.0);
        // If savings and costs cancel each other, shares are of the larger side.
        let costs: f64 = bill.lines.iter().map(|line| line.more_ns.max(0.0)).sum();
        let whole_ns = difference_ns.abs().max(costs * 0.5);
        let is_small = |line: &&Line| line.more_ns.abs() < SMALL * whole_ns;
        let (small, lines): (Vec<&Line>, Vec<&Line>) = match bill.lines.iter().filter(is_small).count() {
            // A single line takes no more room under its own name.
            1 => (Vec::new(), bill.lines.iter().collect()),
            _ => bill.lines.iter().partition(is_small),
        };
        let sum = small.iter().map(|line| line.more_ns).sum();
        Shown {
            difference_ns,
            lines,
            small: (!small.is_empty()).then_some((small.len(), sum)),
            rest_ns: bill.rest_ns,
            whole_ns,
        }
    }

    /// Computes a share of the difference; of the saving, if the environment is faster. Zero if there is no
    /// difference.
    pub fn share_of_difference(&self, ns: f64) -> f64 {
        if self.whole_ns == 0.0 { 0.0 } else { self.flip_if_saving(ns) / self.whole_ns }
    }

    /// Turns the sign of an amount, if the difference is a saving.
    pub fn flip_if_saving(&self, ns: f64) -> f64 {
        if self.difference_ns < 0.0 { -ns } else { ns }
    }
}
