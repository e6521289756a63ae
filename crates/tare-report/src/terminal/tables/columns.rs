//! The columns of the terminal's table: as many environments side by side as fit, the others in further tables.

use anstyle::Style;
use tare_analysis::findings::{Family, Findings, Row};
use tare_data::session::Session;

use super::cells::{self, CellMaker};
use crate::language::Language;
use crate::notes::baseline_missing;
use crate::terminal::grid::{
    GridCell, Part, SPACING, least_width, make_span, natural_width, render_row, total_width,
};
use crate::text::clean_text;
use crate::words;

/// Widest column of labels; longer ones are wrapped.
const WIDEST_LABEL: usize = 24;
/// Narrowest column of labels, however many environments there are; in a narrow terminal, a third of it.
const NARROWEST_LABEL: usize = 16;

/// Cells of the whole table, column by column, before it is known how many fit side by side. The first cell
/// of every column is its head.
pub struct Columns {
    labels: Vec<GridCell>,
    baselines: Vec<GridCell>,
    subjects: Vec<Vec<GridCell>>,
}

impl Columns {
    pub fn new(session: &Session, findings: &Findings, rows: &[&Row], maker: &mut CellMaker) -> Self {
        let language = maker.language;
        let head =
            |text: &str| -> GridCell { vec![Part::Words(make_span(clean_text(text), Style::new().bold()))] };
        let mut labels = vec![head(language.word("probe"))];
        let mut baselines = vec![head(&findings.baseline)];
        let mut subjects: Vec<Vec<GridCell>> =
            findings.subjects.iter().map(|name| vec![head(name)]).collect();
        let widths = rows
            .iter()
            .filter_map(|row| row.baseline.as_ref().map(|level| cells::number_width(level, row.metric.unit)));
        let number_width = widths.max().unwrap_or(0);
        for row in rows {
            let unit = row.metric.unit;
            labels.push(cells::make_label_cell(row, language));
            baselines.push(match &row.baseline {
                Some(level) => cells::make_level_cell(level, unit, number_width, maker.wide),
                None => maker.make_missing_cell(&baseline_missing(session, row, &findings.baseline), unit),
            });
            for (i, subject) in subjects.iter_mut().enumerate() {
                subject.push(maker.make_cell(row, i));
            }
        }
        Columns { labels, baselines, subjects }
    }

    /// Distributes the environments over tables of at most `width`. Returns each table's environments and the
    /// widths of its columns.
    pub fn fold_into_tables(&self, width: usize) -> Vec<(Vec<usize>, Vec<usize>)> {
        let label = NARROWEST_LABEL.min(width / 3);
        let baseline = column_width(&self.baselines, width / 3);
        let room = width.saturating_sub(label + SPACING + baseline);
        let bound = (width / 2).min(room.saturating_sub(SPACING));
        let least: Vec<usize> = self.subjects.iter().map(|cells| column_width(cells, bound)).collect();
        // As even as possible: 3 and 3 rather than 5 and 1.
        let tables = (1..=least.len().max(1)).find(|tables| {
            least.chunks(least.len().div_ceil(*tables).max(1)).all(|part| {
                part.len() == 1 || part.iter().map(|width| width + SPACING).sum::<usize>() <= room
            })
        });
        let each = least.len().div_ceil(tables.unwrap_or(1)).max(1);
        let all: Vec<usize> = (0..least.len()).collect();
        let chunks =
            if all.is_empty() { vec![all] } else { all.chunks(each).map(<[usize]>::to_vec).collect() };
        let table = |subjects: Vec<usize>| {
            let own = subjects.iter().map(|subject| least[*subject]);
            let mut widths: Vec<usize> = [label, baseline].into_iter().chain(own).collect();
            self.widen(&subjects, &mut widths, width);
            (subjects, widths)
        };
        chunks.into_iter().map(table).collect()
    }

    /// Widens the environments' columns to their values, then to their words, then the labels, as far as
    /// there is room.
    fn widen(&self, subjects: &[usize], widths: &mut [usize], width: usize) {
        let natural = |cells: &[GridCell]| cells.iter().map(natural_width).max().unwrap_or(0);
        let of_values = |cells: &[GridCell]| {
            let parts = cells.iter().flatten().filter(|part| matches!(part, Part::Spans(_)));
            parts.map(|part| natural_width(&vec![part.clone()])).max().unwrap_or(0)
        };
        let columns = || (2..).zip(subjects.iter().map(|subject| &self.subjects[*subject]));
        let values = columns().map(|(at, cells)| (at, of_values(cells)));
        let words = columns().map(|(at, cells)| (at, natural(cells)));
        let label = natural(&self.labels);
        let labels = [(0, label.min(WIDEST_LABEL)), (1, natural(&self.baselines)), (0, label)];
        for (column, wanted) in values.chain(words).chain(labels) {
            let room = width.saturating_sub(total_width(widths));
            widths[column] += wanted.min(width / 2).saturating_sub(widths[column]).min(room);
        }
    }

    /// Renders one of the tables, row by row; the head comes first.
    pub fn render_table(&self, subjects: &[usize], coloured: bool, widths: &[usize]) -> Vec<Vec<String>> {
        let row = |i: usize| -> Vec<GridCell> {
            let subjects = subjects.iter().map(|subject| self.subjects[*subject][i].clone());
            [self.labels[i].clone(), self.baselines[i].clone()].into_iter().chain(subjects).collect()
        };
        (0..self.labels.len()).map(|i| render_row(&row(i), widths, coloured)).collect()
    }
}

/// Finds the smallest width of a column: enough for every span, and for words up to a bound.
fn column_width(cells: &[GridCell], bound: usize) -> usize {
    let spans = cells.iter().flatten().filter(|part| matches!(part, Part::Spans(_)));
    let spans = spans.map(|part| least_width(&vec![part.clone()])).max().unwrap_or(0);
    let words = cells.iter().map(least_width).max().unwrap_or(0).min(bound / 2);
    spans.max(words).min(bound).max(4)
}

/// Finds the heading before a row whose family differs from that of the row before it.
pub fn family_heading(rows: &[&Row], at: usize, language: Language) -> Option<String> {
    let family = Family::from_probe(&rows[at].probe);
    let changes = at == 0 || Family::from_probe(&rows[at - 1].probe) != family;
    let mut letters = language.word(words::describe_family(family)).chars();
    let first = letters.next()?.to_uppercase().collect::<String>();
    changes.then(|| first + letters.as_str())
}
