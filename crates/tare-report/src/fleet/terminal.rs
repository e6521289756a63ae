//! A fleet for a terminal: what is missing first, then what the layers cost, and which nodes are slow.

use tare_analysis::fleet::cost::{FEWEST_NODES, LayerCost};
use tare_analysis::fleet::slow::{FEWEST_OF_KIND, NodeStanding, Standing};
use tare_analysis::gate::Ruling;

use super::{FleetView, words};
use crate::answers::table::answer_words;
use crate::number::{format_count, format_percent, format_ratio, ratio_interval};
use crate::text::{clean_text, count_columns, wrap_paragraph, wrap_text};

/// Limit on listed items; further ones are counted.
const MOST_LISTED: usize = 20;
/// Limit on listed nodes of a kind that is not judged.
const MOST_RANKED: usize = 5;

const NOTE: &str = "slowdown = over nodes, each one value, with its 95 % confidence interval; between nodes = the standard \
deviation, by medians; a further node = where its slowdown lies, with a chance of 95 %. slow? = chosen among all nodes and \
cases so that at most 5 % of those chosen are ordinary; fresh sessions have to bear it out.";

/// Renders the whole report of a fleet as text.
pub fn render_fleet_terminal(view: &FleetView, width: usize) -> String {
    let mut out = Lines { out: String::new(), width };
    head(view, &mut out);
    missing(view, &mut out);
    costs(view, &mut out);
    changes(view, &mut out);
    slow(view, &mut out);
    out.line("");
    out.text("", NOTE);
    out.out
}

/// Lists the answers to conditions, a line each.
pub fn list_answers(view: &FleetView) -> Vec<String> {
    let line = |of: &tare_analysis::fleet::gate::FleetAnswer| {
        let what = match of.answer {
            Ruling::Trips => "condition met",
            Ruling::Passes => "condition not met",
            Ruling::Undecided => "condition not decided",
            Ruling::Missing => "condition not checked: none of its cells could be judged",
        };
        let shown: Vec<String> = of.of.iter().take(MOST_LISTED).map(|of| clean_text(of)).collect();
        let more = of.of.len().saturating_sub(shown.len());
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let of_what = if shown.is_empty() { String::new() } else { format!(": {}{more}", shown.join(", ")) };
        format!("{what}: {}{of_what}", clean_text(&of.condition))
    };
    view.answers.iter().map(line).collect()
}

struct Lines {
    out: String,
    width: usize,
}

impl Lines {
    fn line(&mut self, text: &str) {
        self.out.push_str(text.trim_end());
        self.out.push('\n');
    }

    /// Adds a paragraph; lines after the first are indented by the width of `first`.
    fn text(&mut self, first: &str, text: &str) {
        for line in wrap_paragraph(first, text, self.width) {
            self.line(&line);
        }
    }

    fn heading(&mut self, text: &str) {
        self.line("");
        for line in wrap_text(text, self.width) {
            self.line(&line);
        }
    }

    /// Adds rows as columns. The last column is wrapped if a line has no room for it.
    fn table<const N: usize>(&mut self, rows: &[[String; N]]) {
        let width = |column: usize| rows.iter().map(|row| count_columns(&row[column])).max().unwrap_or(0);
        let widths: [usize; N] = std::array::from_fn(width);
        for row in rows {
            let mut line = String::from("  ");
            for (text, width) in row.iter().zip(widths).take(N - 1) {
                line.push_str(&format!("{text}{}  ", " ".repeat(width - count_columns(text))));
            }
            self.text(&line, &row[N - 1]);
        }
    }
}

fn head(view: &FleetView, out: &mut Lines) {
    let fleet = view.fleet;
    let kinds = fleet.ranking.kinds.len();
    let mut parts = vec![format_count(fleet.nodes, "node", "nodes")];
    parts.push(format!(
        "{} of {} sessions",
        view.planned - view.missing.len().min(view.planned),
        view.planned
    ));
    if kinds > 1 {
        parts.push(format_count(kinds, "kind", "kinds"));
    }
    out.text("", &format!("{}: {}", clean_text(view.study), parts.join(", ")));
    out.text("", &clean_text(view.folder));
}

fn missing(view: &FleetView, out: &mut Lines) {
    if !view.missing.is_empty() {
        let share = format_percent(view.share_missing());
        out.heading(&format!("Missing: {} of {} sessions ({share})", view.missing.len(), view.planned));
        if view.is_too_sparse() {
            out.text("  ", "MORE THAN 5 % ARE MISSING: the results are from the sessions that ended, and the missing ones may be the slowest.");
        }
        let rows: Vec<[String; 2]> = view
            .missing
            .iter()
            .take(MOST_LISTED)
            .map(|cell| [clean_text(&cell.what), clean_text(&cell.why)])
            .collect();
        out.table(&rows);
        let more = view.missing.len().saturating_sub(MOST_LISTED);
        if more > 0 {
            out.line(&format!("  and {more} more: tare fleet status lists them"));
        }
    }
    if view.strangers > 0 {
        let files = format_count(view.strangers, "file with an unknown name", "files with unknown names");
        out.heading(&format!("Ignored: {files}"));
    }
    if view.fleet.other_definitions > 0 {
        let values = format_count(view.fleet.other_definitions, "value", "values");
        out.heading(&format!("{values} left out: measured by a different definition than most"));
    }
}

fn costs(view: &FleetView, out: &mut Lines) {
    let fleet = view.fleet;
    for target in words::list_targets(&fleet.costs) {
        out.heading(&format!("{}, over nodes", clean_text(target)));
        let of_target = || fleet.costs.iter().filter(|cost| cost.target == target);
        let mut rows = vec![["", "slowdown", "between nodes", "a further node", ""].map(str::to_owned)];
        rows.extend(of_target().map(|cost| cost_row(view, cost)));
        out.table(&rows);
        for cost in of_target() {
            let label = words::format_label(fleet, &cost.case, &cost.metric);
            let apart: Vec<String> = cost
                .nodes
                .iter()
                .filter(|node| node.apart)
                .map(|node| format!("{} {}", clean_text(&node.node), format_ratio(node.ratio)))
                .collect();
            if !apart.is_empty() {
                out.text("  ", &format!("{label}: outlier nodes {}", shortened(apart)));
            }
        }
    }
}

fn cost_row(view: &FleetView, cost: &LayerCost) -> [String; 5] {
    let label = words::format_label(view.fleet, &cost.case, &cost.metric);
    match &cost.fleet {
        Some(fleet) => [
            label,
            format!(
                "{} {}",
                format_ratio(fleet.ratio),
                ratio_interval(fleet.interval.ends(f64::from), fleet.ratio)
            ),
            format_percent(libm::expm1(fleet.between)),
            ratio_interval([fleet.next_low, fleet.next_high], fleet.ratio),
            answer_words(fleet.answer().kind()).word.to_owned(),
        ],
        None => {
            let nodes = cost
                .nodes
                .iter()
                .map(|node| format!("{} {}", clean_text(&node.node), format_ratio(node.ratio)));
            let none = || "-".to_owned();
            let few = format!("below {FEWEST_NODES} nodes: {}", nodes.collect::<Vec<_>>().join(", "));
            [label, none(), none(), none(), few]
        }
    }
}

fn shortened(mut names: Vec<String>) -> String {
    let more = names.len().saturating_sub(MOST_LISTED);
    names.truncate(MOST_LISTED);
    names.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
}

fn changes(view: &FleetView, out: &mut Lines) {
    let Some(changes) = &view.fleet.changes else { return };
    out.heading("Since the older fleet, paired by node");
    let mut rows = vec![["", "", "factor", "nodes", ""].map(str::to_owned)];
    for of in changes {
        let label = words::format_label(view.fleet, &of.case, &of.metric);
        let target = of.target.as_deref().map_or("baseline".to_owned(), clean_text);
        let nodes = match of.left_out {
            0 => of.nodes.to_string(),
            out => format!("{} ({out} left out)", of.nodes),
        };
        rows.push(match of.change {
            Some(changed) => {
                let by = ratio_interval(changed.interval.ends(f64::from), changed.factor);
                let word = words::describe_change(&changed).to_owned();
                [label, target, format!("{} {by}", format_ratio(changed.factor)), nodes, word]
            }
            None => [label, target, "-".to_owned(), nodes, format!("below {FEWEST_NODES} nodes")],
        });
    }
    out.table(&rows);
}

fn slow(view: &FleetView, out: &mut Lines) {
    let ranking = &view.fleet.ranking;
    for (kind, count) in &ranking.kinds {
        let of_kind: Vec<&NodeStanding> = ranking.nodes.iter().filter(|node| node.kind == *kind).collect();
        let is_judged = *count >= FEWEST_OF_KIND;
        let nodes = format_count(*count, "node", "nodes");
        out.heading(&format!("Slow nodes of {nodes}, {}", clean_text(kind)));
        let is_named = |node: &&&NodeStanding| node.standing != Standing::Ordinary;
        let most = if is_judged { MOST_LISTED } else { MOST_RANKED };
        let named: Vec<[String; 3]> = of_kind
            .iter()
            .filter(is_named)
            .take(most)
            .map(|node| {
                let standing = if is_judged { words::describe_standing(node.standing) } else { "" };
                [clean_text(&node.node), standing.to_owned(), words::slow_in(view.fleet, node)]
            })
            .collect();
        let more = of_kind.iter().filter(is_named).count() - named.len();
        match (is_judged, named.is_empty()) {
            (true, true) => out.line("  none stands out"),
            (false, _) => out.text("  ", &format!("fewer than {FEWEST_OF_KIND} nodes: ranked, not judged")),
            (true, false) => {}
        }
        out.table(&named);
        if more > 0 {
            out.line(&format!("  and {more} more"));
        }
    }
    if ranking.nodes.iter().any(|node| node.standing == Standing::MaybeSlow) {
        out.text(
            "  ",
            &format!(
                "fresh sessions decide about those with slow?: tare fleet run {} --confirm",
                clean_text(view.folder)
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use tare_analysis::fleet::slow::Ranking;
    use tare_analysis::fleet::summary::Fleet;

    use super::*;
    use crate::fleet::MissingCell;

    #[test]
    fn hostile_texts_stay_texts() {
        let hostile = "\"'><script>alert(1)</script>&\u{1b}[31m\u{202e}";
        let node = |standing| NodeStanding {
            node: hostile.into(),
            kind: hostile.into(),
            standing,
            typical: f64::NAN,
            p: None,
            cases: Vec::new(),
        };
        let ranking = Ranking {
            nodes: vec![node(Standing::MaybeSlow), node(Standing::NotJudged)],
            kinds: [(hostile.to_owned(), 2)].into(),
        };
        let fleet = Fleet { ranking, ..Fleet::default() };
        let missing = [MissingCell { what: hostile.into(), why: hostile.into() }];
        let view = FleetView {
            folder: hostile,
            study: hostile,
            planned: 2,
            missing: &missing,
            strangers: 1,
            fleet: &fleet,
            answers: &[],
        };
        let shown = render_fleet_terminal(&view, 80);
        assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'), "{shown}");
        assert!(shown.contains("MORE THAN 5 % ARE MISSING"), "{shown}");
    }
}
