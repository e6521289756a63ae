//! Repeated runs of another tool: the figures of one name as one series, with its middle and its ends.

use tare_data::imported::ImportedFigure;

use crate::statistics::signed_ranks::{compute_median, sort_values};

/// Figures of one name are a series from here on: of two, the middle says nothing that the two do not.
const LEAST_RUNS: usize = 3;

/// A single figure, or several runs of one in the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct Series<'a> {
    pub runs: Vec<&'a ImportedFigure>,
    /// Spread of each value that every run states, in their order; empty where there is one run.
    pub spreads: Vec<Spread>,
}

/// Middle and extremes of one value over several runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
    pub greatest: f64,
}

impl<'a> Series<'a> {
    /// Gives the first run, which represents the properties that all have in common.
    pub fn first_run(&self) -> &'a ImportedFigure {
        self.runs[0]
    }

    fn of(runs: Vec<&'a ImportedFigure>) -> Series<'a> {
        let spread = |at: usize| {
            let values: Vec<f64> = runs.iter().map(|run| run.values[at].value).collect();
            let values = sort_values(&values);
            let (least, greatest) = (*values.first()?, *values.last()?);
            Some(Spread { median: compute_median(&values), least, greatest })
        };
        let spreads = (0..runs[0].values.len()).filter_map(spread).collect();
        Series { runs, spreads }
    }
}

/// Joins the figures of a file that are runs of one thing: of one name, set up alike, and stating the same
/// values.
pub fn group_runs(figures: &[ImportedFigure]) -> Vec<Series<'_>> {
    let mut groups: Vec<Vec<&ImportedFigure>> = Vec::new();
    for figure in figures {
        match groups.iter_mut().find(|group| is_run_of(figure, group[0])) {
            Some(group) => group.push(figure),
            None => groups.push(vec![figure]),
        }
    }
    let alone = |figure| Series { runs: vec![figure], spreads: Vec::new() };
    let series = groups.into_iter().flat_map(|group| match group.len() {
        LEAST_RUNS.. => vec![Series::of(group)],
        _ => group.into_iter().map(alone).collect(),
    });
    series.collect()
}

fn is_run_of(figure: &ImportedFigure, other: &ImportedFigure) -> bool {
    let states = |figure: &ImportedFigure| {
        let values = figure.values.iter();
        values.map(|stated| (stated.statistic, stated.unit, stated.metric.clone())).collect::<Vec<_>>()
    };
    figure.name == other.name
        && figure.settings().eq(other.settings())
        && figure.counterpart == other.counterpart
        && states(figure) == states(other)
}

#[cfg(test)]
mod tests {
    use tare_data::imported::{REMARK, Stated, Statistic};
    use tare_data::unit::Unit;

    use super::*;

    fn figure(name: &str, value: f64) -> ImportedFigure {
        let stated = Stated {
            statistic: Statistic::Minimum,
            value,
            unit: Some(Unit::Nanoseconds),
            written: value.to_string(),
            metric: None,
        };
        ImportedFigure {
            name: name.into(),
            parameters: Default::default(),
            counterpart: None,
            values: vec![stated],
        }
    }

    #[test]
    fn repeated_runs_are_one_series() {
        let figures: Vec<ImportedFigure> =
            [90.0, 70.0, 81.0].map(|value| figure("TCP", value)).into_iter().collect();
        let all = group_runs(&figures);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].runs.len(), 3);
        assert_eq!(all[0].spreads, [Spread { median: 81.0, least: 70.0, greatest: 90.0 }]);
        let mut remarked = figures.clone();
        remarked[1].parameters.insert(REMARK.into(), "p95 is below the minimum".into());
        assert_eq!(group_runs(&remarked).len(), 1, "a remark sets nothing up");
        remarked[1].parameters.insert("size".into(), "2".into());
        assert_eq!(group_runs(&remarked).len(), 3);
        let two = [figure("TCP", 1.0), figure("TCP", 2.0), figure("UDP", 3.0)];
        let names: Vec<_> =
            group_runs(&two).iter().map(|one| (one.first_run().name.clone(), one.runs.len())).collect();
        assert_eq!(
            names,
            [("TCP".into(), 1), ("TCP".into(), 1), ("UDP".into(), 1)],
            "two are shown as they are"
        );
    }
}
