//! Advice on the environment for each kind of work, as a table.

use anstyle::Style;
use tare_analysis::advice::{Advice, Against, Choice, OfKind, OfPart, Unjudged};
use tare_analysis::findings::{Answer, Findings, Kind};
use tare_data::session::Session;

use super::grid::{GridCell, Part, least_width, make_span, natural_width, render_row, total_width};
use super::tables::cells::quiet_style;
use crate::answers::table::answer_words;
use crate::language::{Language, message, say};
use crate::notes::Notes;
use crate::number::format_percent;
use crate::text::{GLUE, clean_text, count_columns, wrap_paragraph, wrap_text};
use crate::words::Said;
use crate::{view, words};

/// Widest column of kinds of work.
const WIDEST_KIND: usize = 34;

/// Renders the advice as text.
pub fn render_advice_terminal(
    session: &Session,
    findings: &Findings,
    advice: &Advice,
    (width, coloured): (usize, bool),
    language: Language,
) -> String {
    let heading = view::make_heading(session, findings, language);
    // The answer first, then what it rests on.
    let standings = (0..advice.environments.len()).map(|at| describe_standing(advice, at, language));
    let mut out: Vec<String> = standings.flat_map(|standing| wrap_text(&standing, width)).collect();
    out.push(String::new());
    out.extend(heading.iter().flat_map(|line| wrap_text(line, width)));
    let mut notes = Notes::default();
    let lines: Vec<Vec<GridCell>> = std::iter::once(heads(advice, language))
        .chain(advice.kinds.iter().map(|kind| row(advice, kind, &mut notes, language)))
        .collect();
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
    out.extend(wrap_paragraph("", &legend(findings, advice, language), width));
    for (mark, note) in notes.list_notes().0 {
        out.extend(wrap_paragraph(&format!("{mark} "), note, width));
    }
    out.push(String::new());
    let names = advice
        .kinds
        .iter()
        .map(|kind| count_columns(&title_of(kind, language)))
        .max()
        .unwrap_or(0)
        .min(width / 3);
    for kind in &advice.kinds {
        let title = title_of(kind, language);
        let pad = " ".repeat(names.saturating_sub(count_columns(&title)) + 2);
        out.extend(wrap_paragraph(&format!("{title}{pad}"), &composition(kind, language), width));
    }
    for warning in view::list_warnings(findings, true, language) {
        out.extend(wrap_paragraph("! ", &warning, width));
    }
    let banner = view::make_baseline_banner(findings, language);
    out.extend(banner.into_iter().flat_map(|banner| wrap_paragraph("! ", &banner, width)));
    out.join("\n") + "\n"
}

/// Gives the title of a kind of work, in the user's language where it is one of ours.
fn title_of(kind: &OfKind, language: Language) -> String {
    clean_text(language.describe(&kind.title))
}

fn heads(advice: &Advice, language: Language) -> Vec<GridCell> {
    let names = advice.environments.iter().map(|name| clean_text(name));
    std::iter::once(language.word("kind of work").to_owned())
        .chain(names)
        .map(|text| vec![Part::Words(make_span(text, quiet_style()))])
        .collect()
}

fn row(advice: &Advice, kind: &OfKind, notes: &mut Notes, language: Language) -> Vec<GridCell> {
    let title = vec![Part::Words(make_span(title_of(kind, language), Style::new()))];
    let cells = kind.choices.iter().map(|choice| cell(advice, kind, choice, notes, language));
    std::iter::once(title).chain(cells).collect()
}

fn cell(advice: &Advice, kind: &OfKind, choice: &Choice, notes: &mut Notes, language: Language) -> GridCell {
    match choice {
        Choice::Compared(Against { answer, ratio, interval }) => {
            let said = Said {
                answer: *answer,
                ratio: *ratio,
                interval: *interval,
                most: None,
                margin: 1.0 + advice.margin,
            };
            let style = answer_words(answer.kind()).colour.terminal;
            let word = make_span(said.in_words(language), style);
            let interval = said.interval(language).replace(' ', &GLUE.to_string());
            vec![Part::Spans(vec![word, make_span(interval, quiet_style())])]
        }
        Choice::NotCompared { part, reason } => {
            let mark = notes.add_note(&why(&kind.parts[*part], reason, language));
            let text = format!("{} {mark}", language.word(answer_words(Kind::None).word));
            vec![Part::Spans(vec![make_span(text, quiet_style())])]
        }
    }
}

/// Describes an environment's standing in a sentence: `gvisor is as good as native for number crunching; slower for git.`
fn describe_standing(advice: &Advice, at: usize, language: Language) -> String {
    let (name, baseline) = (clean_text(&advice.environments[at]), clean_text(&advice.baseline));
    let list = |wanted: &dyn Fn(Option<Answer>) -> bool| {
        let answer = |kind: &OfKind| match &kind.choices[at] {
            Choice::Compared(against) => Some(against.answer),
            Choice::NotCompared { .. } => None,
        };
        let wanted = advice.kinds.iter().filter(|kind| wanted(answer(kind)));
        wanted.map(|kind| title_of(kind, language)).collect::<Vec<String>>()
    };
    let is_slower = |answer: Option<Answer>| answer.is_some_and(|answer| answer.kind().is_slower());
    // Work that takes longer once it lasts is not as good, whatever short operations cost.
    let is_as_good = |answer: Option<Answer>| {
        let is_quick = |answer: Answer| matches!(answer.kind(), Kind::Same | Kind::Faster);
        answer.is_some_and(|answer| is_quick(answer) && !answer.is_overturned())
    };
    let as_good = list(&is_as_good);
    if as_good.len() == advice.kinds.len() {
        return say!(language, "{name} is as good as {baseline} for everything here.", name, baseline);
    }
    let clause = |clause: String, titles: Vec<String>| (!titles.is_empty()).then_some(clause);
    let join = |titles: &[String]| language.join_with_commas(titles);
    let (slower, unsure) = (list(&is_slower), list(&|a| a.is_some() && !is_as_good(a) && !is_slower(a)));
    let missing = list(&|answer| answer.is_none());
    let good = say!(language, "as good as {baseline} for {kinds}", baseline, kinds = join(&as_good));
    let clauses = [
        clause(good, as_good),
        clause(say!(language, "slower for {kinds}", kinds = join(&slower)), slower),
        clause(say!(language, "not decided for {kinds}", kinds = join(&unsure)), unsure),
        clause(say!(language, "not compared for {kinds}", kinds = join(&missing)), missing),
    ];
    let clauses = clauses.into_iter().flatten().collect::<Vec<_>>().join(language.word("; "));
    say!(language, "{name} is {clauses}.", name, clauses)
}

/// Explains why an environment is not compared.
fn why(part: &OfPart, reason: &Unjudged, language: Language) -> String {
    let why = match reason {
        Unjudged::NotInSession => {
            language.word("this session did not measure it; tare advise --in does").to_owned()
        }
        Unjudged::Missing(missing) => words::explain_missing(missing, language),
    };
    format!("{}: {why}", name_of(part, language))
}

fn name_of(part: &OfPart, language: Language) -> String {
    language.translate_title(&clean_text(part.label.as_deref().unwrap_or(&part.probe)))
}

/// Describes the composition of a kind of work, and its source.
fn composition(kind: &OfKind, language: Language) -> String {
    let parts: Vec<String> = match kind.parts.as_slice() {
        [one] => vec![name_of(one, language)],
        several => several
            .iter()
            .map(|part| {
                let share = format_percent(part.share).replace(' ', &GLUE.to_string());
                format!("{share} {}", name_of(part, language))
            })
            .collect(),
    };
    let basis = clean_text(language.describe(&kind.basis));
    say!(language, "{parts}: {basis}.", parts = language.join_with_commas(&parts), basis)
}

fn legend(findings: &Findings, advice: &Advice, language: Language) -> String {
    const MIXED: &str = message!(
        "A kind of work is a mix of what was measured, by its share of the time in the baseline; tare advise --print-kinds \
         prints the shares, to change them."
    );
    let is_mixed = advice.kinds.iter().any(|kind| kind.parts.len() > 1);
    let signs = say!(
        language,
        "same = at most {margin} apart; 2x = takes twice as long as in {baseline}. ( ) = the sum of the intervals of its \
         parts (comparisons in all: {count}).",
        margin = format_percent(advice.margin),
        baseline = clean_text(&findings.baseline),
        count = advice.kinds.len() * advice.environments.len(),
    );
    let mixed = is_mixed.then(|| language.word(MIXED).to_owned());
    language.join_sentences(&std::iter::once(signs).chain(mixed).collect::<Vec<_>>())
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
        let session = specimen::make_session(2);
        let missing = Unjudged::Missing(Missing::NotReached);
        let of = |name: &str, parts: Vec<OfPart>, choices: Vec<Choice>| OfKind {
            name: name.into(),
            title: format!("{name} of a large project"),
            basis: "counted once".into(),
            parts,
            choices,
        };
        let against = |ratio: f64| {
            let comparison = specimen::make_comparison(100.0, ratio, 1);
            let (answer, interval) = (comparison.answer(), comparison.interval);
            Choice::Compared(Against { answer, ratio, interval })
        };
        let unmeasured = Choice::NotCompared { part: 0, reason: missing };
        Advice {
            baseline: session.baseline().unwrap().name.clone(),
            environments: vec!["container".into(), "gvisor".into()],
            margin: 0.05,
            kinds: vec![
                of("building", vec![part(0.7, "exec"), part(0.3, "fork")], vec![against(1.0), against(2.4)]),
                of("testing", vec![part(1.0, "exec")], vec![against(1.0), unmeasured]),
            ],
        }
    }

    fn text(width: usize, language: Language) -> String {
        render_advice_terminal(
            &specimen::make_session(2),
            &specimen::make_findings(2),
            &advice(),
            (width, false),
            language,
        )
    }

    #[test]
    fn every_choice_has_the_word_of_the_table_and_every_environment_a_sentence() {
        let text = text(100, Language::English).replace(GLUE, " ");
        let has = |parts: &[&str]| text.lines().any(|line| parts.iter().all(|part| line.contains(part)));
        assert!(has(&["building of a large project", " same ", "2.4x", "(2.38 to 2.43x)"]), "{text}");
        assert!(has(&["testing of a large project", " same ", "not compared ¹"]), "{text}");
        assert!(has(&["¹ exec: the session ended before it"]), "{text}");
        assert!(has(&["70 % exec, 30 % fork: counted once."]), "{text}");
        let whole = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(whole.starts_with("container is as good as native for everything here."), "{text}");
        let other =
            "gvisor is slower for building of a large project; not compared for testing of a large project.";
        assert!(whole.contains(other), "{text}");
        assert!(whole.contains("at most 5 % apart") && whole.contains("comparisons in all: 4"), "{text}");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for (width, language) in [60, 80, 120]
            .into_iter()
            .flat_map(|width| [Language::English, Language::Japanese].map(|language| (width, language)))
        {
            let text = text(width, language);
            assert!(text.lines().all(|line| count_columns(line) <= width), "{text}");
        }
    }

    #[test]
    fn an_environment_is_advised_in_japanese() {
        let text = text(80, Language::Japanese);
        assert!(text.starts_with("containerは、ここにあるどの仕事でもnativeと同等です。"), "{text}");
        assert!(text.contains("仕事の種類") && text.contains("同等") && text.contains("2.4倍"), "{text}");
    }
}
