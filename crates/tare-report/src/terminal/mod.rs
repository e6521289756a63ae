//! The table that a person reads first, with what is needed to judge it around it.

mod entry;
pub(crate) mod grid;
#[cfg(test)]
mod tests;

use anstyle::{AnsiColor, Style};
use tare_analysis::findings::{Findings, Row};
use tare_data::session::Session;

use self::grid::{Entry, GAP, Part, layout, least_width, natural_width, paint, span, total};
use crate::notes::{CellWarnings, Notes, baseline_missing};
use crate::number::ratio;
use crate::text::{clean, columns, paragraph, wrap};
pub use crate::view::Options;
use crate::{published, view, words};

/// Narrower terminals are laid out as this: a label, the baseline and one environment fit without breaking a word.
pub const NARROWEST: usize = 68;
/// Wider terminals are not filled: lines of prose beyond this are hard to read back from.
const WIDEST_PROSE: usize = 100;
/// A label is broken into lines before it takes more than this.
const WIDEST_LABEL: usize = 24;
/// A label keeps this much, however many environments there are.
const NARROWEST_LABEL: usize = 16;
/// Ends a line of a command that goes on in the next.
const CONTINUES: &str = " \\";

/// The findings of a session as lines of text, each at most `options.width` columns wide. Only paths and words of a
/// command are longer where they must: a broken one is of no use.
pub fn render(session: &Session, findings: &Findings, options: &Options) -> String {
    let width = options.width.max(NARROWEST);
    let prose = width.min(WIDEST_PROSE);
    let mut out = Lines { text: String::new(), coloured: options.colour };
    out.heading(&view::heading(session, findings, options.elapsed_s), width);
    if let Some(banner) = view::banner(findings) {
        out.paragraph("! ", &banner, prose, Style::new().fg_color(Some(AnsiColor::Red.into())).bold());
    }
    if let Some(ending) = view::ending(findings, options.record) {
        out.paragraph("! ", &ending, prose, Style::new().fg_color(Some(AnsiColor::Yellow.into())));
    }
    let rows = view::rows(findings, options.wide);
    let mut notes = Notes::default();
    if rows.is_empty() {
        out.blank();
        out.plain("Nothing was measured.");
    } else {
        out.tables(session, findings, &rows, &mut notes, width, options.wide);
    }
    out.blank();
    out.judgement(session, findings, &rows, &notes, prose);
    out.sentences(findings, prose);
    out.published(findings, prose);
    out.paths(options, prose);
    out.text
}

/// The output while it grows.
struct Lines {
    text: String,
    coloured: bool,
}

impl Lines {
    fn plain(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// An empty line, unless there is one already.
    fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn styled(&mut self, line: &str, style: Style) {
        let painted = paint(&span(line, style), self.coloured);
        self.text.push_str(&painted);
        self.text.push('\n');
    }

    fn paragraph(&mut self, first: &str, text: &str, width: usize, style: Style) {
        paragraph(first, text, width).iter().for_each(|line| self.styled(line, style));
    }

    /// The parts of the first line, as many on a line as fit.
    fn heading(&mut self, parts: &[String], width: usize) {
        let mut line = String::new();
        for part in parts.iter().flat_map(|part| wrap(part, width)) {
            if !line.is_empty() && columns(&line) + 3 + columns(&part) > width {
                self.plain(&std::mem::take(&mut line));
            }
            line = if line.is_empty() { part } else { format!("{line} · {part}") };
        }
        self.plain(&line);
    }

    /// What articles say of these rows, apart from the session's own figures.
    fn published(&mut self, findings: &Findings, width: usize) {
        let lines = published::beside_lines(findings, width);
        if !lines.is_empty() {
            self.blank();
            lines.iter().for_each(|line| self.plain(line));
        }
    }

    /// One table, or several below each other when the environments do not fit side by side.
    fn tables(
        &mut self,
        session: &Session,
        findings: &Findings,
        rows: &[&Row],
        notes: &mut Notes,
        width: usize,
        wide: bool,
    ) {
        let warnings = CellWarnings::of(rows, wide);
        let mut making = entry::Making { notes, warnings: &warnings, wide };
        let columns = Columns::of(session, findings, rows, &mut making);
        for (widths, subjects) in columns.fold(width) {
            self.blank();
            let rule = "─".repeat(total(&widths));
            let mut table = columns.table(&subjects, self.coloured, &widths).into_iter();
            table.by_ref().take(1).flatten().for_each(|line| self.plain(&line));
            self.styled(&rule, entry::quiet());
            for (i, lines) in table.enumerate() {
                if wide && i > 0 {
                    self.blank();
                }
                lines.iter().for_each(|line| self.plain(line));
            }
        }
    }

    /// Legend, certificate, notes and warnings.
    fn judgement(
        &mut self,
        session: &Session,
        findings: &Findings,
        rows: &[&Row],
        notes: &Notes,
        width: usize,
    ) {
        let legend = view::legend(session, rows, &findings.baseline).join("; ");
        if !legend.is_empty() {
            self.paragraph("", &format!("{legend}."), width, entry::quiet());
        }
        self.paragraph("", &view::certificate(findings).join(" "), width, Style::new());
        let (shown, more) = notes.shown();
        for (mark, note) in shown {
            self.paragraph(&format!("{mark} "), note, width, Style::new());
        }
        if more > 0 {
            self.plain(&format!("{more} more notes: tare report --json has them."));
        }
        for warning in view::warnings(findings) {
            self.paragraph("! ", &warning, width, Style::new().fg_color(Some(AnsiColor::Yellow.into())));
        }
    }

    /// A sentence an environment.
    fn sentences(&mut self, findings: &Findings, width: usize) {
        let sentences = view::sentences(findings);
        if sentences.is_empty() {
            return;
        }
        self.blank();
        let name_width = sentences.iter().map(|(name, _)| columns(name)).max().unwrap_or(0).min(width / 3);
        for (name, sentence) in sentences {
            if columns(&name) > name_width {
                self.paragraph("", &name, width, Style::new());
                self.paragraph(&" ".repeat(name_width + GAP), &sentence, width, Style::new());
            } else {
                let pad = " ".repeat(name_width - columns(&name) + GAP);
                self.paragraph(&format!("{name}{pad}"), &sentence, width, Style::new());
            }
        }
    }

    /// Where the record and the page are, and how to measure the same again.
    fn paths(&mut self, options: &Options, width: usize) {
        self.blank();
        for (name, path) in [("record  ", options.record), ("page    ", options.html)] {
            if let Some(path) = path {
                self.text.push_str(&format!("{name}{}\n", clean_path(path)));
            }
        }
        if let Some(command) = options.again {
            self.text.push_str(&continued("again   ", &clean_path(command), width));
        }
        while self.text.ends_with("\n\n") {
            self.text.pop();
        }
    }
}

/// A command over several lines, as a shell takes them: broken between words, never inside one.
fn continued(name: &str, command: &str, width: usize) -> String {
    let mut quoted = false;
    let words = command.split(|c| {
        quoted ^= c == '\'';
        c == ' ' && !quoted
    });
    let (mut text, mut used) = (name.to_owned(), columns(name));
    for (i, word) in words.enumerate() {
        let needed = columns(word) + 1;
        if i > 0 && used + needed + CONTINUES.len() > width {
            text.push_str(CONTINUES);
            text.push_str(&format!("\n{}", " ".repeat(columns(name))));
            used = columns(name);
        } else if i > 0 {
            text.push(' ');
        }
        text.push_str(word);
        used += needed;
    }
    text.push('\n');
    text
}

/// A path or command whole, however long: a cut one is of no use. It comes from the caller, not from a record.
fn clean_path(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(crate::text::LONGEST_TEXT).map(|part| clean(&part.iter().collect::<String>())).collect()
}

/// The entries of the whole table, column by column, before it is known how many fit side by side.
/// The first entry of every column is its head.
struct Columns {
    labels: Vec<Entry>,
    baselines: Vec<Entry>,
    subjects: Vec<Vec<Entry>>,
}

impl Columns {
    fn of(session: &Session, findings: &Findings, rows: &[&Row], making: &mut entry::Making) -> Self {
        let head = |text: &str| -> Entry { vec![Part::Words(span(clean(text), Style::new().bold()))] };
        let mut labels = vec![head("probe")];
        let mut baselines = vec![head(&findings.baseline)];
        let mut subjects: Vec<Vec<Entry>> = findings.subjects.iter().map(|name| vec![head(name)]).collect();
        let number_width = rows
            .iter()
            .filter_map(|row| row.baseline.as_ref().map(|level| entry::number_width(level, row.metric.unit)))
            .max()
            .unwrap_or(0);
        let ratio_widths: Vec<usize> =
            (0..subjects.len()).map(|subject| ratio_width(rows, subject)).collect();
        for row in rows {
            let unit = row.metric.unit;
            labels.push(entry::label(row));
            baselines.push(match &row.baseline {
                Some(level) => entry::level(level, unit, number_width, making.wide),
                None => making.missing(&baseline_missing(session, row, &findings.baseline), unit),
            });
            for (i, subject) in subjects.iter_mut().enumerate() {
                let entry = row.cells.get(i).map(|cell| making.cell(cell, unit, ratio_widths[i]));
                subject.push(entry.unwrap_or_default());
            }
        }
        Columns { labels, baselines, subjects }
    }

    /// How the environments fall into tables of at most `width`: the widths of each table's columns, and its environments.
    fn fold(&self, width: usize) -> Vec<(Vec<usize>, Vec<usize>)> {
        let baseline = column_width(&self.baselines, width / 3);
        let targets: Vec<usize> = self.subjects.iter().map(|s| column_width(s, width / 2)).collect();
        let natural = self.labels.iter().map(natural_width).max().unwrap_or(0);
        let label = natural.clamp(NARROWEST_LABEL, WIDEST_LABEL);
        let beside = |targets: &[usize]| baseline + GAP + targets.iter().map(|w| w + GAP).sum::<usize>();
        let left_for_label = width.saturating_sub(beside(&targets));
        if left_for_label >= label.min(natural).max(NARROWEST_LABEL) || targets.len() < 2 {
            // One table; what is left over goes to the labels, so that fewer of them are broken.
            let label = left_for_label.min(natural).max(NARROWEST_LABEL);
            let mut widths = self.widths(label, baseline, &targets);
            self.widen(&mut widths, width);
            return vec![(widths, (0..targets.len()).collect())];
        }
        if left_for_label >= NARROWEST_LABEL {
            return vec![(self.widths(left_for_label, baseline, &targets), (0..targets.len()).collect())];
        }
        let widest = targets.iter().copied().max().unwrap_or(1) + GAP;
        let room = width.saturating_sub(baseline + GAP + NARROWEST_LABEL);
        let fit = (room / widest).max(1);
        // As even as possible: 3 and 3 rather than 5 and 1.
        let each = targets.len().div_ceil(targets.len().div_ceil(fit));
        let label = width.saturating_sub(baseline + GAP + each * widest).min(natural).max(NARROWEST_LABEL);
        let all: Vec<usize> = (0..targets.len()).collect();
        let table = |part: &[usize]| {
            let own: Vec<usize> = part.iter().map(|_| widest - GAP).collect();
            (self.widths(label, baseline, &own), part.to_vec())
        };
        all.chunks(each).map(table).collect()
    }

    fn widths(&self, label: usize, baseline: usize, targets: &[usize]) -> Vec<usize> {
        [label, baseline].into_iter().chain(targets.iter().copied()).collect()
    }

    /// Gives columns what their words want, from the left, as far as the line has room.
    fn widen(&self, widths: &mut [usize], width: usize) {
        let columns = [&self.labels, &self.baselines].into_iter().chain(&self.subjects);
        for (i, column) in columns.enumerate() {
            let wanted = column.iter().map(natural_width).max().unwrap_or(0);
            let room = width.saturating_sub(total(widths));
            widths[i] += wanted.saturating_sub(widths[i]).min(room);
        }
    }

    /// Lines of one of the tables, row by row; the head is the first.
    fn table(&self, subjects: &[usize], coloured: bool, widths: &[usize]) -> Vec<Vec<String>> {
        let row = |i: usize| -> Vec<Entry> {
            let targets = subjects.iter().map(|target| self.subjects[*target][i].clone());
            [self.labels[i].clone(), self.baselines[i].clone()].into_iter().chain(targets).collect()
        };
        (0..self.labels.len()).map(|i| layout(&row(i), widths, coloured)).collect()
    }
}

/// The width of a column: enough for every line that is not broken, and for words up to a bound.
fn column_width(entries: &[Entry], bound: usize) -> usize {
    let fixed = entries.iter().flatten().filter_map(|part| match part {
        Part::Line(_) => Some(least_width(&vec![part.clone()])),
        Part::Words(_) => None,
    });
    let words = entries.iter().map(least_width).max().unwrap_or(0).min(bound / 2);
    fixed.max().unwrap_or(0).max(words).min(bound).max(4)
}

fn ratio_width(rows: &[&Row], subject: usize) -> usize {
    let ratios = rows.iter().filter_map(|row| words::comparison(row.cells.get(subject)?));
    ratios.map(|comparison| columns(&ratio(comparison.ratio))).max().unwrap_or(0)
}
