//! A fleet as one page without a script: the slow nodes first, then a map of all, the layers' costs, and a matrix of pairs.
//!
//! Every text is escaped, nothing is loaded from a network, and each colour comes with its number.

use std::collections::BTreeMap;

use tare_analysis::fleet::pairs::PairsOfCase;
use tare_analysis::fleet::slow::{FEWEST_OF_KIND, NodeStanding, Standing};

use super::{FleetView, words};
use crate::answers::table::answer_words;
use crate::number::{format_count, format_percent, format_ratio, ratio_interval};
use crate::text::clean_text;

/// Limit on the nodes of a matrix: larger ones are slow in a browser, and unreadable.
const MOST_IN_MATRIX: usize = 64;
/// Limit on listed links.
const MOST_LINKS: usize = 40;
/// Shares from which a slower node or link gets the next colour.
const STEPS: [f64; 4] = [0.02, 0.05, 0.15, 0.4];

const STYLE: &str = include_str!("page.css");

/// Renders the whole page.
pub fn render_fleet_page(view: &FleetView) -> String {
    let title = format!("{} on {}", clean_text(view.study), format_count(view.fleet.nodes, "node", "nodes"));
    let body =
        [head(view, &title), missing(view), slow(view), map(view), costs(view), changes(view), spread(view)];
    let pairs: String = view.fleet.pairs.iter().map(|of| pairs(view, of)).collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{} · tare</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n{}{pairs}</main>\n{}</body>\n</html>\n",
        escaped(&title),
        body.concat(),
        footer(view)
    )
}

fn escaped(text: &str) -> String {
    let text = clean_text(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;").replace('\'', "&#39;")
}

fn head(view: &FleetView, title: &str) -> String {
    let whole = view.planned.saturating_sub(view.missing.len());
    format!(
        "<h1>{}</h1>\n<p class=\"muted\">{whole} of {} sessions, from {}</p>\n",
        escaped(title),
        view.planned,
        escaped(view.folder)
    )
}

/// Shows the command that makes the page again.
fn footer(view: &FleetView) -> String {
    format!("<footer class=\"muted\">tare fleet report {} --html FILE</footer>\n", escaped(view.folder))
}

fn section(heading: &str, content: &str) -> String {
    format!("<section>\n<h2>{}</h2>\n{content}</section>\n", escaped(heading))
}

/// Renders a table whose first column holds row headings, in a box that scrolls and that the keyboard can
/// reach.
fn table(name: &str, heads: &[&str], rows: &[Vec<String>]) -> String {
    let heads: String =
        heads.iter().map(|head| format!("<th scope=\"col\">{}</th>", escaped(head))).collect();
    let row = |row: &Vec<String>| {
        let cells = row.iter().enumerate().map(|(at, cell)| match at {
            0 => format!("<th scope=\"row\">{cell}</th>"),
            _ => format!("<td>{cell}</td>"),
        });
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let name = escaped(name);
    let rows: String = rows.iter().map(row).collect();
    format!(
        "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"{name}\"><table>\n<thead><tr>{heads}</tr></thead>\n\
         <tbody>\n{rows}</tbody></table></div>\n"
    )
}

fn missing(view: &FleetView) -> String {
    if view.missing.is_empty() {
        return String::new();
    }
    let alarm = match view.is_too_sparse() {
        true => {
            "<p class=\"alarm\"><strong>More than 5 % are missing.</strong> The results are from the sessions that ended, and \
             the missing ones may be the slowest.</p>\n"
        }
        false => "",
    };
    let rows: Vec<Vec<String>> =
        view.missing.iter().map(|cell| vec![escaped(&cell.what), escaped(&cell.why)]).collect();
    let heading = format!("Missing: {} of {}", view.missing.len(), view.planned);
    section(&heading, &(alarm.to_owned() + &table("Missing sessions", &["Session", "Why"], &rows)))
}

fn slow(view: &FleetView) -> String {
    let named = |node: &&NodeStanding| !matches!(node.standing, Standing::Ordinary | Standing::NotJudged);
    let rows: Vec<Vec<String>> = view
        .fleet
        .ranking
        .nodes
        .iter()
        .filter(named)
        .map(|node| {
            let standing = words::describe_standing(node.standing);
            let slow = escaped(&words::slow_in(view.fleet, node));
            vec![escaped(&node.node), format!("<strong>{standing}</strong>"), slow, escaped(&node.kind)]
        })
        .collect();
    let few = view.fleet.ranking.kinds.values().filter(|count| **count < FEWEST_OF_KIND).count();
    let note = match few {
        0 => String::new(),
        few => format!(
            "<p class=\"muted\">{} fewer than {FEWEST_OF_KIND} nodes: ranked, not judged.</p>\n",
            format_count(few, "kind has", "kinds have")
        ),
    };
    let content = match rows.is_empty() {
        true => "<p>No node stands out.</p>\n".to_owned(),
        false => table("Slow nodes", &["Node", "Standing", "How", "Kind"], &rows),
    };
    section("Slow nodes", &(content + &note))
}

/// Draws every node by its typical case, slowest first, kind by kind.
fn map(view: &FleetView) -> String {
    let mut kinds: BTreeMap<&str, Vec<&NodeStanding>> = BTreeMap::new();
    view.fleet.ranking.nodes.iter().for_each(|node| kinds.entry(&node.kind).or_default().push(node));
    let of_kind = |(kind, nodes): (&&str, &mut Vec<&NodeStanding>)| {
        nodes.sort_by(|a, b| b.typical.total_cmp(&a.typical).then(a.node.cmp(&b.node)));
        let tiles: String = nodes.iter().map(|node| tile(node)).collect();
        let name = escaped(kind);
        format!("<h3>{name}</h3>\n<ol class=\"map\" aria-label=\"Nodes of {name}\">\n{tiles}</ol>\n")
    };
    let content: String = kinds.iter_mut().map(of_kind).collect();
    let note = "<p class=\"muted\">Each node's typical case against its kind, slowest first.</p>\n";
    if content.is_empty() { String::new() } else { section("Map of nodes", &(note.to_owned() + &content)) }
}

fn tile(node: &NodeStanding) -> String {
    let is_flagged = matches!(node.standing, Standing::Slow | Standing::MaybeSlow);
    let flag = if is_flagged { " flag" } else { "" };
    let word =
        if is_flagged { format!(" {}", words::describe_standing(node.standing)) } else { String::new() };
    let share = node.typical - 1.0;
    let sign = if share >= 0.0 { "+" } else { "−" };
    let (name, share_text) = (escaped(&node.node), format_percent(share.abs()));
    format!("<li class=\"{}{flag}\"><b>{name}</b>{sign}{share_text}{word}</li>\n", colour(share))
}

/// Chooses the CSS class for a share by which something is slower.
fn colour(share: f64) -> &'static str {
    let reached = STEPS.iter().filter(|step| share >= **step).count();
    match reached {
        0 if share <= -STEPS[0] => "f1",
        0 => "f0",
        1 => "s1",
        2 => "s2",
        3 => "s3",
        _ => "s4",
    }
}

fn costs(view: &FleetView) -> String {
    let of_target = |target: &str| {
        let rows: Vec<Vec<String>> = view
            .fleet
            .costs
            .iter()
            .filter(|cost| cost.target == target)
            .map(|cost| {
                let label = escaped(&words::format_label(view.fleet, &cost.case, &cost.metric));
                let apart: Vec<String> =
                    cost.nodes.iter().filter(|n| n.apart).map(|n| clean_text(&n.node)).collect();
                let apart = escaped(&apart.join(", "));
                match &cost.fleet {
                    None => vec![
                        label,
                        format!("{} nodes: too few", cost.nodes.len()),
                        String::new(),
                        String::new(),
                        String::new(),
                        apart,
                    ],
                    Some(of) => vec![
                        label,
                        format!(
                            "{} {}",
                            format_ratio(of.ratio),
                            ratio_interval(of.interval.ends(f64::from), of.ratio)
                        ),
                        format_percent(libm::expm1(of.between)),
                        ratio_interval([of.next_low, of.next_high], of.ratio),
                        answer_words(of.answer().kind()).word.to_owned(),
                        apart,
                    ],
                }
            })
            .collect();
        let heads =
            ["Case", "Slowdown, 95 % interval", "Between nodes", "A further node", "Verdict", "Nodes apart"];
        let name = format!("Cost of {} over nodes", clean_text(target));
        section(&name, &table(&name, &heads, &rows))
    };
    words::list_targets(&view.fleet.costs).into_iter().map(of_target).collect()
}

fn changes(view: &FleetView) -> String {
    let Some(changes) = &view.fleet.changes else { return String::new() };
    let row = |of: &tare_analysis::fleet::change::FleetChange| {
        let changed = of.change.map_or(["too few nodes or pairs".to_owned(), String::new()], |changed| {
            let by = ratio_interval(changed.interval.ends(f64::from), changed.factor);
            [format!("{} {by}", format_ratio(changed.factor)), words::describe_change(&changed).to_owned()]
        });
        let [factor, word] = changed;
        let label = escaped(&words::format_label(view.fleet, &of.case, &of.metric));
        vec![label, escaped(of.target.as_deref().unwrap_or("baseline")), factor, word, of.nodes.to_string()]
    };
    let rows: Vec<Vec<String>> = changes.iter().map(row).collect();
    let name = "Since the older fleet, node by node";
    section(name, &table(name, &["Case", "Environment", "Factor, 95 % interval", "Change", "Nodes"], &rows))
}

fn spread(view: &FleetView) -> String {
    if view.fleet.spreads.is_empty() {
        return String::new();
    }
    let share = |of: Option<f64>| of.map_or("-".to_owned(), |of| format_percent(libm::expm1(of)));
    let row = |of: &tare_analysis::fleet::spread::Spread| {
        let label = escaped(&words::format_label(view.fleet, &of.case, &of.metric));
        let advice = words::describe_advice(of.advice).to_owned();
        vec![label, share(of.nodes), share(of.sessions), share(Some(of.rounds)), advice]
    };
    let rows: Vec<Vec<String>> = view.fleet.spreads.iter().map(row).collect();
    let name = "Where the spread of the baseline is";
    section(name, &table(name, &["Case", "Nodes", "Sessions", "Rounds", "Main difference"], &rows))
}

fn pairs(view: &FleetView, of: &PairsOfCase) -> String {
    let case = view.fleet.find_case(&of.case, &of.metric);
    let label = words::format_label(view.fleet, &of.case, &of.metric);
    let mut content =
        format!("<p class=\"muted\">Typically {}.</p>\n", escaped(&words::format_value(case, of.typical)));
    let slow: Vec<Vec<String>> = of
        .nodes
        .iter()
        .filter(|node| node.is_slow)
        .map(|node| vec![escaped(&node.node), format_ratio(node.slower), node.met.to_string()])
        .collect();
    if !slow.is_empty() {
        content += &table(
            &format!("Slow nodes of pairs: {label}"),
            &["Node", "Its pairs are slower by", "Pairs"],
            &slow,
        );
    }
    let links: Vec<Vec<String>> = of
        .links
        .iter()
        .filter(|link| link.is_slow || !of.judged)
        .take(MOST_LINKS)
        .map(|link| {
            let names = format!("{} with {}", escaped(&link.a), escaped(&link.b));
            vec![
                names,
                format_ratio(link.ratio),
                if link.is_slow { "slow link".to_owned() } else { String::new() },
            ]
        })
        .collect();
    if !links.is_empty() {
        content += &table(&format!("Links: {label}"), &["Link", "Of the typical pair", "Judged"], &links);
    }
    let name = format!("Pairs: {label}");
    section(&name, &(content + &matrix(of, &label)))
}

fn matrix(of: &PairsOfCase, label: &str) -> String {
    let mut names: Vec<&str> = of.nodes.iter().map(|node| node.node.as_str()).collect();
    if names.len() > MOST_IN_MATRIX {
        return format!("<p class=\"muted\">{} nodes: too many for a matrix.</p>\n", names.len());
    }
    names.sort_unstable();
    let ratios: BTreeMap<(&str, &str), f64> = of
        .links
        .iter()
        .flat_map(|link| {
            [
                ((link.a.as_str(), link.b.as_str()), link.ratio),
                ((link.b.as_str(), link.a.as_str()), link.ratio),
            ]
        })
        .collect();
    let heads: String =
        names.iter().map(|name| format!("<th scope=\"col\">{}</th>", escaped(name))).collect();
    let row = |a: &&str| {
        let cells: String = names
            .iter()
            .map(|b| match ratios.get(&(*a, *b)) {
                Some(of) => format!("<td class=\"{}\">{}</td>", colour(of - 1.0), format_ratio(*of)),
                None => "<td class=\"none\">-</td>".to_owned(),
            })
            .collect();
        format!("<tr><th scope=\"row\">{}</th>{cells}</tr>\n", escaped(a))
    };
    let rows: String = names.iter().map(row).collect();
    let label = escaped(label);
    format!(
        "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"Matrix of pairs: {label}\"><table class=\"matrix\">\n\
         <thead><tr><th scope=\"col\">of the typical pair</th>{heads}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
    )
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
        let page = render_fleet_page(&view);
        assert!(
            !page.contains("<script") && !page.contains('\u{1b}') && !page.contains('\u{202e}'),
            "{page}"
        );
        assert!(page.contains("More than 5 % are missing") && page.contains("&lt;script&gt;"));
        let shown = super::super::terminal::render_fleet_terminal(&view, 80);
        assert!(!shown.contains('\u{1b}') && shown.contains("MORE THAN 5 % ARE MISSING"), "{shown}");
    }
}
