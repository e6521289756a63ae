//! Advice on the environment for each kind of work, as a table.

use anstyle::{AnsiColor, Style};
use tare_analysis::advice::{Advice, Against, Choice, OfKind, OfPart, Unjudged};
use tare_analysis::findings::{Findings, Kind};
use tare_data::session::Session;

use super::cells::quiet_style;
use super::grid::{GridCell, Part, least_width, make_span, natural_width, render_row, total_width};
use crate::answers::table::answer_words;
use crate::language::Language;
use crate::notes::Notes;
use crate::number::{format_count, format_percent, format_ratio, ratio_interval};
use crate::text::{GLUE, clean_text, count_columns, wrap_paragraph, wrap_text};
use crate::{view, words};

/// Widest column of kinds of work.
const WIDEST_KIND: usize = 34;

/// Renders the advice as text.
pub fn render_advice_terminal(
    session: &Session,
    findings: &Findings,
    advice: &Advice,
    (width, coloured): (usize, bool),
) -> String {
    let heading = view::make_heading(session, findings, Language::English);
    let mut out: Vec<String> = heading.iter().flat_map(|line| wrap_text(line, width)).collect();
    let mut notes = Notes::default();
    let lines: Vec<Vec<GridCell>> =
        std::iter::once(heads(advice)).chain(advice.kinds.iter().map(|kind| row(kind, &mut notes))).collect();
    let widest =
        |at: usize, of: fn(&GridCell) -> usize| lines.iter().map(|line| of(&line[at])).max().unwrap_or(0);
    let mut widths: Vec<usize> =
        (0..=advice.environments.len()).map(|at| widest(at, natural_width)).collect();
    if total_width(&widths) > width {
        let narrow = (1..=advice.environments.len()).map(|at| widest(at, least_width));
        widths = std::iter::once(widths[0]).chain(narrow).collect();
    }
    let over = total_width(&widths).saturating_sub(width);
    widths[0] = widths[0].saturating_sub(over).min(WIDEST_KIND).max(widest(0, least_width));
    out.push(String::new());
    for (at, line) in lines.iter().enumerate() {
        let text = render_row(line, &widths, coloured);
        out.extend(text.into_iter().map(|line| line.trim_end().to_owned()));
        if at == 0 {
            out.push("─".repeat(total_width(&widths).min(width)));
        }
    }
    out.push(String::new());
    out.extend(wrap_paragraph("", &legend(findings, advice), width));
    for (mark, note) in notes.list_notes().0 {
        out.extend(wrap_paragraph(&format!("{mark} "), note, width));
    }
    out.push(String::new());
    let names = advice
        .kinds
        .iter()
        .map(|kind| count_columns(&clean_text(&kind.title)))
        .max()
        .unwrap_or(0)
        .min(width / 3);
    for kind in &advice.kinds {
        let title = clean_text(&kind.title);
        let pad = " ".repeat(names.saturating_sub(count_columns(&title)) + 2);
        out.extend(wrap_paragraph(&format!("{title}{pad}"), &composition(kind), width));
    }
    for warning in view::list_warnings(findings, true, Language::English) {
        out.extend(wrap_paragraph("! ", &warning, width));
    }
    let banner = view::make_baseline_banner(findings, Language::English);
    out.extend(banner.into_iter().flat_map(|banner| wrap_paragraph("! ", &banner, width)));
    out.join("\n") + "\n"
}

fn heads(advice: &Advice) -> Vec<GridCell> {
    let names = advice.environments.iter().map(|name| clean_text(name));
    std::iter::once("kind of work".to_owned())
        .chain(names)
        .map(|text| vec![Part::Words(make_span(text, quiet_style()))])
        .collect()
}

fn row(kind: &OfKind, notes: &mut Notes) -> Vec<GridCell> {
    let title = vec![Part::Words(make_span(clean_text(&kind.title), Style::new()))];
    std::iter::once(title).chain(kind.choices.iter().map(|choice| cell(kind, choice, notes))).collect()
}

fn cell(kind: &OfKind, choice: &Choice, notes: &mut Notes) -> GridCell {
    let colour = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
    let one = |text: String, style| vec![Part::Spans(vec![make_span(text, style)])];
    let beside = |text: &str, style, against: &Against| {
        let interval = ratio_interval(against.low, against.high, against.ratio);
        vec![Part::Spans(vec![make_span(text, style), make_span(interval, quiet_style())])]
    };
    match choice {
        // Which of several is a hair quicker is noise.
        Choice::Best { .. } if kind.choices.iter().any(|other| matches!(other, Choice::AsGood(_))) => {
            one("tied".into(), colour(AnsiColor::Green))
        }
        Choice::Best { .. } => one("best".into(), colour(AnsiColor::Green).bold()),
        Choice::BestSoFar { .. } => one("best so far".into(), Style::new().bold()),
        Choice::AsGood(against) => beside("tied", colour(AnsiColor::Green), against),
        Choice::Slower(against) => {
            beside(&format!("{} slower", format_ratio(against.ratio)), colour(AnsiColor::Red), against)
        }
        Choice::NotSure(against) => beside(answer_words(Kind::NotSure).word, quiet_style(), against),
        Choice::NotCompared { part, reason } => {
            let mark = notes.add_note(&why(&kind.parts[*part], reason));
            one(format!("{} {mark}", answer_words(Kind::None).word), quiet_style())
        }
    }
}

/// Explains why an environment is not compared.
fn why(part: &OfPart, reason: &Unjudged) -> String {
    let what = name_of(part);
    match reason {
        Unjudged::NotInSession => format!("{what}: this session did not measure it; tare advise --in does"),
        Unjudged::Missing(missing) => {
            format!("{what}: {}", words::explain_missing(missing, Language::English))
        }
    }
}

fn name_of(part: &OfPart) -> String {
    clean_text(part.label.as_deref().unwrap_or(&part.probe))
}

/// Describes the composition of a kind of work, and its source.
fn composition(kind: &OfKind) -> String {
    let parts: Vec<String> = match kind.parts.as_slice() {
        [one] => vec![name_of(one)],
        several => several
            .iter()
            .map(|part| {
                format!("{} {}", format_percent(part.share).replace(' ', &GLUE.to_string()), name_of(part))
            })
            .collect(),
    };
    format!("{}: {}.", parts.join(", "), clean_text(&kind.basis))
}

fn legend(findings: &Findings, advice: &Advice) -> String {
    let is_mixed = advice.kinds.iter().any(|kind| kind.parts.len() > 1);
    let mixed = match is_mixed {
        true => format!(
            " A kind of work is a mix of what was measured, by its share of the time in {}; tare advise --print-kinds \
             prints the shares, to change them.",
            clean_text(&findings.baseline)
        ),
        false => String::new(),
    };
    format!(
        "best = least time, and each of the others is slower; tied = at most {} slower than the one of least time; best \
         so far = least time, and another may be faster. [ ] = slowdown over the best: the sum of the 95 % \
         confidence intervals of its parts, each by itself ({} in all).{mixed}",
        format_percent(advice.margin),
        format_count(advice.kinds.len() * (advice.environments.len() - 1), "comparison", "comparisons"),
    )
}

#[cfg(test)]
mod tests {
    use tare_analysis::findings::Missing;

    use super::*;
    use crate::specimen;

    fn advice() -> Advice {
        let part = |share, label: &str| OfPart {
            share,
            probe: "proc.exec".into(),
            case: Some("proc.exec".into()),
            label: Some(label.into()),
            place: None,
        };
        let against =
            |ratio: f64| Against { ratio, low: ratio * 0.9, high: ratio * 1.1, ratio_to_baseline: ratio };
        let missing = Unjudged::Missing(Missing::NotReached);
        let of = |name: &str, parts: Vec<OfPart>, choices: Vec<Choice>| OfKind {
            name: name.into(),
            title: format!("{name} of a large project"),
            basis: "counted once".into(),
            parts,
            choices,
        };
        let best = || Choice::Best { ratio_to_baseline: 1.0 };
        let so_far = || Choice::BestSoFar { ratio_to_baseline: 1.0 };
        Advice {
            environments: vec!["native".into(), "container".into(), "gvisor".into()],
            margin: 0.05,
            kinds: vec![
                of(
                    "building",
                    vec![part(0.7, "exec"), part(0.3, "fork")],
                    vec![best(), Choice::AsGood(against(1.01)), Choice::Slower(against(2.4))],
                ),
                of(
                    "testing",
                    vec![part(1.0, "exec")],
                    vec![
                        so_far(),
                        Choice::NotSure(against(1.05)),
                        Choice::NotCompared { part: 0, reason: missing },
                    ],
                ),
            ],
        }
    }

    fn text(width: usize) -> String {
        render_advice_terminal(
            &specimen::make_session(2),
            &specimen::make_findings(2),
            &advice(),
            (width, false),
        )
    }

    #[test]
    fn every_choice_has_its_word_and_its_interval() {
        let text = text(100);
        let has = |parts: &[&str]| text.lines().any(|line| parts.iter().all(|part| line.contains(part)));
        assert!(
            has(&[
                "building of a large project",
                " tied ",
                " tied [0.91, 1.11]",
                "2.40x slower",
                "[2.16, 2.64]"
            ]),
            "{text}"
        );
        assert!(has(&["testing of a large project", "best so far", "not sure", "not compared ¹"]), "{text}");
        assert!(has(&["¹ exec: the session ended before it"]), "{text}");
        assert!(has(&["70 % exec, 30 % fork: counted once."]), "{text}");
        let legend = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(legend.contains("at most 5 % slower") && legend.contains("4 comparisons in all"), "{text}");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in [60, 80, 120] {
            let text = text(width);
            assert!(text.lines().all(|line| count_columns(line) <= width), "{text}");
        }
    }
}
