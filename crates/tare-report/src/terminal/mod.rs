//! The table that people read first, with the notes, checks and warnings needed to judge it.

pub mod advice;
pub mod described;
#[cfg(test)]
mod forms;
pub(crate) mod grid;
#[cfg(test)]
mod japanese;
pub mod ladder;
mod rest;
pub mod selftest;
pub mod tables;
#[cfg(test)]
mod tests;

use anstyle::{AnsiColor, Style};
use tare_analysis::findings::{Findings, Row};
use tare_analysis::published::find_repeated_article;
use tare_data::session::Session;

use self::grid::{SPACING, make_span, paint_span, total_width};
pub use self::rest::describe_rest;
use self::tables::columns::{Columns, family_heading};
use self::tables::{answers, cells, kinds, own_commands};
use crate::answers::signs::{self, Sign};
use crate::language::{Language, message, say};
use crate::notes::{CellWarnings, Notes};
use crate::summary::{self, sides};
use crate::text::{GLUE, clean_text, count_columns, wrap_paragraph};
use crate::{published, view};

/// Narrowest layout, even for narrower terminals: a label, the baseline and one environment side by side.
pub(crate) const NARROWEST: usize = 40;
/// Widest line of prose: the eye does not find its way back in longer ones.
const WIDEST_PROSE: usize = 100;
/// Lines of a first screen.
const FIRST_LINES: usize = 24;
/// End of a line of a command that continues on the next.
const CONTINUES: &str = " \\";

/// Options of the terminal's table.
#[derive(Clone, Copy, Debug)]
pub struct TerminalOptions<'a> {
    /// Columns of the terminal, at least `NARROWEST`.
    pub width: usize,
    /// True if verdicts are coloured. The caller checks `NO_COLOR` and whether the output is a terminal.
    pub colour: bool,
    /// Every metric, by families, with the distribution of its rounds.
    pub wide: bool,
    /// Path of the record.
    pub record: Option<&'a str>,
    /// Path of the report as HTML.
    pub html: Option<&'a str>,
    /// Paths of exports.
    pub exports: &'a [String],
    /// The command that measures the same again.
    pub again: Option<&'a str>,
    pub language: Language,
}

impl Default for TerminalOptions<'_> {
    fn default() -> Self {
        let (record, html, again) = (None, None, None);
        TerminalOptions {
            width: 80,
            colour: false,
            wide: false,
            record,
            html,
            exports: &[],
            again,
            language: Language::English,
        }
    }
}

/// Renders the findings of a session as lines of text, each at most `options.width` columns wide. Only paths
/// and words of a command may be longer: broken ones could not be copied.
pub fn render_terminal(session: &Session, findings: &Findings, options: &TerminalOptions) -> String {
    let width = options.width.max(NARROWEST);
    let prose = width.min(WIDEST_PROSE);
    let language = options.language;
    let mut out = Output { text: String::new(), coloured: options.colour, language };
    // First of all, because it takes back everything below it.
    if let Some(banner) = view::make_baseline_banner(findings, language) {
        out.paragraph("! ", &banner, prose, Style::new().fg_color(Some(AnsiColor::Red.into())).bold());
    }
    for line in sides::describe_commands(session, findings, language) {
        out.paragraph("", &line, prose, Style::new().bold());
    }
    // Users who repeat an article look for its table first, behind the answer whether it holds.
    let repeats_article = find_repeated_article(session).is_some();
    let rows = view::select_rows(findings, options.wide);
    let by_kind = !options.wide && !repeats_article && findings.commands_in.is_none();
    let kinds = kinds::group_rows(findings, &rows).filter(|_| by_kind);
    if kinds.is_some() {
        out.summary(findings, prose, false);
    }
    let mut more = Vec::new();
    if repeats_article {
        let sums = findings.articles.iter().filter_map(|of| published::sum_up_conclusions(of, language));
        sums.for_each(|sum| out.paragraph("", &sum, prose, Style::new().bold()));
        more = out.article_tables(findings, width);
    }
    for line in view::make_heading(session, findings, language) {
        out.paragraph("", &line, prose, Style::new());
    }
    if let Some(ending) = view::describe_early_end(findings, options.record, language) {
        out.paragraph("! ", &ending, prose, Style::new().fg_color(Some(AnsiColor::Yellow.into())));
    }
    if let Some(failed) = view::summarise_failed_trials(findings, language) {
        out.paragraph("! ", &failed, prose, Style::new().fg_color(Some(AnsiColor::Yellow.into())));
    }
    out.block(&more);
    if rows.is_empty() {
        out.blank();
        out.plain(language.word("Nothing was measured."));
    } else if let Some(kinds) = &kinds {
        let (notes, legend) = out.kinds(session, findings, (&rows[..], &kinds[..]), width);
        out.blank();
        out.explanations(&legend, &notes, prose);
    } else {
        let (notes, legend) = out.tables(session, findings, &rows, width, options.wide);
        out.blank();
        out.explanations(&legend, &notes, prose);
    }
    out.blank();
    if kinds.is_none() {
        out.summary(findings, prose, options.wide);
    }
    out.doubts(session, findings, prose, options.wide);
    if !repeats_article {
        let more = out.article_tables(findings, width);
        out.block(&more);
    }
    out.published(findings, prose);
    out.paths(options, prose);
    out.text
}

/// The output while it grows.
struct Output {
    text: String,
    coloured: bool,
    language: Language,
}

impl Output {
    fn plain(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// Adds an empty line, unless there is one already.
    fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn styled(&mut self, line: &str, style: Style) {
        let painted = paint_span(&make_span(line, style), self.coloured);
        self.text.push_str(&painted);
        self.text.push('\n');
    }

    fn paragraph(&mut self, first: &str, text: &str, width: usize, style: Style) {
        // A number and its unit stay on one line.
        let text = text.replace(" %", &format!("{GLUE}%"));
        wrap_paragraph(first, &text, width).iter().for_each(|line| self.styled(line, style));
    }

    /// Adds the tables that articles printed, with this session's values, and returns what the first screen has no lines for.
    fn article_tables(&mut self, findings: &Findings, width: usize) -> Vec<String> {
        let room = FIRST_LINES.saturating_sub(self.text.lines().count());
        let [first, rest] = published::article_table_lines(findings, width, room, self.language);
        self.block(&first);
        rest
    }

    /// Adds lines with an empty one behind them.
    fn block(&mut self, lines: &[String]) {
        lines.iter().for_each(|line| self.plain(line));
        if !lines.is_empty() {
            self.blank();
        }
    }

    /// Adds the values of articles for these rows, apart from the session's own.
    fn published(&mut self, findings: &Findings, width: usize) {
        let lines = published::beside_lines(findings, width, self.language);
        if !lines.is_empty() {
            self.blank();
            lines.iter().for_each(|line| self.plain(line));
        }
    }

    /// Adds one table, or several below each other if the environments do not fit side by side. Returns its notes
    /// and its legend.
    fn tables(
        &mut self,
        session: &Session,
        findings: &Findings,
        rows: &[&Row],
        width: usize,
        wide: bool,
    ) -> (Notes, Vec<String>) {
        let judged: Vec<&Row> = rows.iter().copied().filter(|row| Row::is_judged(&row.probe)).collect();
        // A table of a user's commands has no column for anything else, which a warning has as well.
        let rows = if own_commands::are_alone(&judged, wide) { &judged } else { rows };
        let mut notes = Notes::default();
        let language = self.language;
        let warnings = CellWarnings::of_rows(rows, wide, language);
        let mut legend = view::explain_table_signs(session, rows, language);
        let mut maker = cells::CellMaker { findings, notes: &mut notes, warnings: &warnings, wide, language };
        if own_commands::are_alone(rows, wide) {
            let room = (width, self.coloured);
            let tables = own_commands::render_command_tables(session, findings, rows, &mut maker, room);
            self.commands(&tables);
            legend.pop();
            legend.push(own_commands::explain_columns(findings, rows, language));
        } else if wide || findings.subjects.is_empty() {
            self.columns(&Columns::new(session, findings, rows, &mut maker), rows, width, wide);
            legend.extend(signs::explain_signs(
                findings,
                rows,
                language,
                &[Sign::Overturned, Sign::Open, Sign::Emulated],
            ));
        } else {
            legend = self.short_tables(session, findings, rows, width, &mut notes);
        }
        (notes, legend)
    }

    /// Adds the table of answers, in the fullest form that fits. Returns its legend.
    fn short_tables(
        &mut self,
        session: &Session,
        findings: &Findings,
        rows: &[&Row],
        width: usize,
        notes: &mut Notes,
    ) -> Vec<String> {
        let language = self.language;
        let table = answers::AnswerTable::new(session, findings, rows, notes, language);
        let form = table.choose_form(width);
        self.blank();
        let caption = answers::make_caption(findings, rows, language);
        self.paragraph("", &caption, width, Style::new());
        for lines in table.render_tables(form, width, self.coloured) {
            lines.iter().for_each(|line| self.plain(line));
            self.blank();
        }
        let mut legend = answers::explain_answers(session, rows, form, language);
        legend.extend(signs::explain_signs(findings, rows, language, &Sign::ALL));
        legend
    }

    /// Adds the table of kinds of work. Returns its notes and its legend.
    fn kinds(
        &mut self,
        session: &Session,
        findings: &Findings,
        (rows, kinds): (&[&Row], &[kinds::WorkKind]),
        width: usize,
    ) -> (Notes, Vec<String>) {
        let language = self.language;
        let mut notes = Notes::default();
        self.blank();
        self.paragraph("", &answers::make_caption(findings, rows, language), width, Style::new());
        for lines in kinds::render_kinds(findings, kinds, &mut notes, (width, self.coloured), language) {
            lines.iter().for_each(|line| self.plain(line));
            self.blank();
        }
        let mut legend = answers::explain_answers(session, rows, answers::Form::Words, language);
        legend.push(kinds::explain_kinds(language));
        legend.extend(signs::explain_signs(findings, rows, language, &Sign::ALL));
        (notes, legend)
    }

    /// Adds the tables with all that is known of every metric.
    fn columns(&mut self, columns: &Columns, rows: &[&Row], width: usize, wide: bool) {
        for (subjects, widths) in columns.fold_into_tables(width) {
            self.blank();
            let rule = "─".repeat(total_width(&widths));
            let mut table = columns.render_table(&subjects, self.coloured, &widths).into_iter();
            table.by_ref().take(1).flatten().for_each(|line| self.plain(&line));
            self.styled(&rule, cells::quiet_style());
            for (i, lines) in table.enumerate() {
                if wide {
                    self.separate(family_heading(rows, i, self.language), i == 0);
                }
                lines.iter().for_each(|line| self.plain(line));
            }
        }
    }

    /// Adds a table for each command, headed by it if there are several.
    fn commands(&mut self, tables: &[(String, Vec<String>)]) {
        for (command, lines) in tables {
            self.blank();
            if tables.len() > 1 {
                self.styled(command, Style::new().bold());
            }
            lines.iter().for_each(|line| self.plain(line));
        }
    }

    /// Adds the separator before a row of the wide table.
    fn separate(&mut self, family: Option<String>, is_first: bool) {
        if !is_first {
            self.blank();
        }
        if let Some(family) = family {
            self.styled(&family, Style::new().bold().underline());
        }
    }

    /// Adds legend and notes of the table.
    fn explanations(&mut self, legend: &[String], notes: &Notes, width: usize) {
        let legend = legend.join(self.language.word("; "));
        if !legend.is_empty() {
            let legend = say!(self.language, "{legend}.", legend);
            self.paragraph("", &legend, width, cells::quiet_style());
        }
        let (shown, more) = notes.list_notes();
        for (mark, note) in shown {
            self.paragraph(&format!("{mark} "), note, width, Style::new());
        }
        if more > 0 {
            self.plain(&say!(self.language, "{more} more notes: tare report --json has them.", more));
        }
    }

    /// Adds a line per environment. Those about commands are above all.
    fn summary(&mut self, findings: &Findings, width: usize, wide: bool) {
        let lines = match wide {
            _ if findings.commands_in.is_some() => Vec::new(),
            true => summary::summarise_environments(findings, self.language),
            false => summary::summarise_briefly(findings, self.language),
        };
        let widest = lines.iter().map(|(name, _)| count_columns(name)).max().unwrap_or(0);
        lines.iter().for_each(|line| self.named(line, widest.min(width / 3), width));
    }

    /// Adds the warnings, then the checks of the wide table.
    fn doubts(&mut self, session: &Session, findings: &Findings, width: usize, wide: bool) {
        let language = self.language;
        let checks = match wide {
            true => view::list_checks(session, findings, language),
            false => {
                let needed = view::estimate_rounds_to_decide(session, findings, language);
                let seen = view::describe_seen(findings, language);
                needed
                    .into_iter()
                    .chain(seen)
                    .chain(view::describe_lasting(findings, false, language))
                    .collect()
            }
        };
        let checks = language.join_sentences(&checks);
        self.across_commands(findings, width);
        self.blank();
        for warning in view::list_warnings(findings, wide, language) {
            self.paragraph("! ", &warning, width, Style::new().fg_color(Some(AnsiColor::Yellow.into())));
        }
        if wide {
            let name = language.word("Checks").to_owned();
            self.named(&(name.clone(), checks), count_columns(&name), width);
        } else if !checks.is_empty() {
            self.paragraph("", &checks, width, Style::new());
        }
    }

    /// Adds the times of several commands in each environment.
    fn across_commands(&mut self, findings: &Findings, width: usize) {
        let Some((caption, lines)) = sides::compare_across(findings, self.language) else {
            return;
        };
        self.blank();
        self.paragraph("", &caption, width, Style::new());
        let name_width = lines.iter().map(|(name, _)| count_columns(name)).max().unwrap_or(0).min(width / 3);
        lines.iter().for_each(|line| self.named(line, name_width, width));
    }

    /// Adds a name with a text next to it.
    fn named(&mut self, (name, text): &(String, String), name_width: usize, width: usize) {
        if count_columns(name) > name_width {
            self.paragraph("", name, width, Style::new());
            self.paragraph(&" ".repeat(name_width + SPACING), text, width, Style::new());
        } else {
            let pad = " ".repeat(name_width - count_columns(name) + SPACING);
            self.paragraph(&format!("{name}{pad}"), text, width, Style::new());
        }
    }

    /// Adds the paths of the record and the report, and the command that measures the same again.
    fn paths(&mut self, options: &TerminalOptions, width: usize) {
        self.blank();
        let names = [message!("record"), message!("report"), message!("export"), message!("again")];
        let names = names.map(|name| self.language.word(name));
        let widest = names.map(count_columns).into_iter().max().unwrap_or(0) + SPACING;
        let [record, report, export, again] =
            names.map(|name| format!("{name}{}", " ".repeat(widest - count_columns(name))));
        let exports = options.exports.iter().map(|path| (&export, path.as_str()));
        let own = [(&record, options.record), (&report, options.html)];
        for (name, path) in own.into_iter().filter_map(|(name, path)| Some((name, path?))).chain(exports) {
            self.text.push_str(&format!("{name}{}\n", clean_path(path)));
        }
        if let Some(command) = options.again {
            self.text.push_str(&continued(&again, &clean_path(command), width));
        }
        while self.text.ends_with("\n\n") {
            self.text.pop();
        }
    }
}

/// Breaks a command into several lines that a shell accepts: between words, never inside one.
fn continued(name: &str, command: &str, width: usize) -> String {
    let mut quoted = false;
    let words = command.split(|c| {
        quoted ^= c == '\'';
        c == ' ' && !quoted
    });
    let (mut text, mut used) = (name.to_owned(), count_columns(name));
    for (i, word) in words.enumerate() {
        let needed = count_columns(word) + 1;
        if i > 0 && used + needed + CONTINUES.len() > width {
            text.push_str(CONTINUES);
            text.push_str(&format!("\n{}", " ".repeat(count_columns(name))));
            used = count_columns(name);
        } else if i > 0 {
            text.push(' ');
        }
        text.push_str(word);
        used += needed;
    }
    text.push('\n');
    text
}

/// Cleans a path or command, however long: a cut one is of no use. It comes from the caller, not from a
/// record.
fn clean_path(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(crate::text::LONGEST_TEXT).map(|part| clean_text(&part.iter().collect::<String>())).collect()
}
