//! An environment's cost in a line, from the verdicts of its cells alone: it can contradict none of them.

use std::collections::BTreeMap;

use tare_analysis::findings::{Cell, Family, Findings, Row, Shown, Verdict};

use crate::language::{Language, say};
use crate::number::{format_ratio, ratio_range};
use crate::text::clean_text;
use crate::verdict_words::{MAY_BE_CHANCE, verdict_words};
use crate::words;

/// Summarises every environment in a line.
pub fn summarise_environments(findings: &Findings, language: Language) -> Vec<(String, String)> {
    let subjects = findings.subjects.iter().enumerate();
    subjects.map(|(at, name)| (clean_text(name), sentence(findings, at, language))).collect()
}

/// Summarises an environment: `slower: IPC 6.1 to 9.3x (most: pipes), network 4.2x. Same: CPU. Inconclusive:
/// 2.`
fn sentence(findings: &Findings, subject: usize, language: Language) -> String {
    let headlines = findings.rows.iter().filter(|row| row.headline);
    let mut by_verdict: BTreeMap<Shown, Vec<(&Row, &Cell)>> = BTreeMap::new();
    let mut in_family: BTreeMap<Family, usize> = BTreeMap::new();
    for (row, cell) in headlines.filter_map(|row| Some((row, row.cells.get(subject)?))) {
        let shown = cell.to_shown();
        if shown != Shown::Observed {
            by_verdict.entry(shown).or_default().push((row, cell));
            *in_family.entry(Family::from_probe(&row.probe)).or_default() += 1;
        }
    }
    let all: usize = in_family.values().sum();
    let differs = by_verdict.keys().any(|shown| *shown < Shown::Verdict(Verdict::Same));
    let clauses: Vec<String> = by_verdict
        .iter()
        .map(|(shown, cells)| match shown {
            Shown::Verdict(Verdict::Same) if !differs => {
                let (baseline, count) = (clean_text(&findings.baseline), cells.len());
                say!(
                    language,
                    "same as {baseline} in {count} of {all}",
                    baseline = baseline,
                    count = count,
                    all = all
                )
            }
            Shown::Verdict(Verdict::Inconclusive) => {
                say!(language, "inconclusive: {count}", count = cells.len())
            }
            shown => clause(*shown, cells, &in_family, language),
        })
        .collect();
    if clauses.is_empty() {
        return language.word("not measured.").into();
    }
    let sentence = |(at, clause): (usize, &String)| {
        let clause = if at == 0 { clause.clone() } else { capitalised(clause) };
        say!(language, "{clause}.", clause = clause)
    };
    language.join_sentences(&clauses.iter().enumerate().map(sentence).collect::<Vec<_>>())
}

/// Lists the families with cells of one kind: with their sizes, or with the number of their rows.
fn clause(
    shown: Shown,
    cells: &[(&Row, &Cell)],
    in_family: &BTreeMap<Family, usize>,
    language: Language,
) -> String {
    let mut families: BTreeMap<Family, Vec<(&Row, &Cell)>> = BTreeMap::new();
    for (row, cell) in cells {
        families.entry(Family::from_probe(&row.probe)).or_default().push((row, cell));
    }
    let line = verdict_words(shown);
    let word = language.word(line.word);
    let head = match line.may_be_chance() {
        true => say!(language, "{word} (may be chance{mark})", word = word, mark = MAY_BE_CHANCE),
        false => word.to_owned(),
    };
    if line.factor.is_some() {
        let mut sizes: Vec<(f64, String)> =
            families.iter().map(|(family, cells)| size(*family, cells, language)).collect();
        sizes.sort_by(|a, b| b.0.total_cmp(&a.0));
        let sizes: Vec<String> = sizes.into_iter().map(|(_, text)| text).collect();
        return format!("{head}: {}", language.join_with_commas(&sizes));
    }
    let parts = families.iter().map(|(family, cells)| match in_family[family] {
        all if all == cells.len() => name(*family, cells, language),
        all => {
            let name = name(*family, cells, language);
            say!(language, "{name} ({count} of {all})", name = name, count = cells.len(), all = all)
        }
    });
    format!("{head}: {}", language.join_with_commas(&parts.collect::<Vec<_>>()))
}

/// Finds the largest factor of a family's rows, and describes all of them: `processes 8.7 to 12.3x (most:
/// fork)`.
fn size(family: Family, cells: &[(&Row, &Cell)], language: Language) -> (f64, String) {
    let mut factors: Vec<(f64, &str)> = cells
        .iter()
        .filter_map(|(row, cell)| {
            Some((words::compute_factor(words::find_comparison(cell)?), row.label.as_str()))
        })
        .collect();
    factors.sort_by(|a, b| a.0.total_cmp(&b.0));
    let name = name(family, cells, language);
    match factors[..] {
        [] => (0.0, name),
        [(only, _)] => (only, format!("{name} {}", language.translate_ratio(&format_ratio(only)))),
        [(least, _), .., (most, label)] => {
            let (range, label) = (range(least, most, language), language.translate_title(&clean_text(label)));
            (
                most,
                say!(language, "{name} {range} (most: {label})", name = name, range = range, label = label),
            )
        }
    }
}

/// Formats a range as `9.8 to 12.3x`, or as `9.8x` if both ends read the same.
fn range(least: f64, most: f64, language: Language) -> String {
    match ratio_range(least, most) {
        (Some(low), high) => {
            say!(language, "{low} to {high}", low = low, high = language.translate_ratio(&high))
        }
        (None, both) => language.translate_ratio(&both),
    }
}

/// Returns the name of a family; rows without one, such as the harness's empty loop and user commands, have
/// their own names.
fn name(family: Family, cells: &[(&Row, &Cell)], language: Language) -> String {
    let labels =
        || cells.iter().map(|(row, _)| words::translate_row_title(row, language)).collect::<Vec<_>>();
    if family == Family::Other {
        return language.join_with_and(&labels());
    }
    language.word(words::describe_family(family)).to_owned()
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().collect::<String>() + letters.as_str())
}

#[cfg(test)]
mod tests {
    use tare_analysis::findings::{Missing, Total};
    use tare_data::failure::{Failure, FailureKind};
    use tare_data::warning::Warning;

    use super::*;
    use crate::verdict_words::VerdictWords;
    use crate::{specimen, warnings};

    /// Summarises the second environment, whose cells have these ratios or no comparison.
    fn line(change: impl Fn(&mut Findings)) -> String {
        let mut findings = specimen::make_findings(2);
        change(&mut findings);
        summarise_environments(&findings, Language::English).remove(1).1
    }

    fn set(findings: &mut Findings, row: usize, ratio: f64) {
        findings.rows[row].cells[1] = Cell::Compared(Box::new(specimen::make_comparison(100.0, ratio, 1)));
    }

    #[test]
    fn the_most_expensive_family_comes_first_and_nothing_is_left_out() {
        assert_eq!(
            line(|_| ()),
            "slower: system calls 24.1x, IPC 19.5x, processes 8.71 to 12.3x (most: fork + wait), network 5.41x. \
             Same: CPU. Not comparable: files."
        );
    }

    #[test]
    fn an_environment_that_is_the_same_says_in_how_many_cells() {
        assert_eq!(
            line(|findings| (0..7).for_each(|row| set(findings, row, 1.0))),
            "same as native in 7 of 7."
        );
        let open = line(|findings| {
            (0..7).for_each(|row| set(findings, row, 1.0));
            set(findings, 3, 0.985);
            findings.rows[4].cells[1] = Cell::Missing(Missing::NotReached);
        });
        assert_eq!(open, "same as native in 5 of 7. Inconclusive: 1. Not measured: CPU.");
    }

    #[test]
    fn what_may_be_chance_is_said_so_and_is_not_counted_as_the_same() {
        let text = line(|findings| {
            (0..7).for_each(|row| set(findings, row, 1.0));
            set(findings, 2, 1.2);
            let Cell::Compared(cell) = &mut findings.rows[2].cells[1] else { panic!("it is compared") };
            cell.verdict = Verdict::SlowerUnconfirmed;
        });
        assert_eq!(
            text,
            "slower (may be chance†): processes 1.20x. Same: CPU, system calls, processes (1 of 2), IPC, files, \
             network."
        );
    }

    #[test]
    fn what_stalls_is_not_the_same() {
        let text = line(|findings| {
            (0..7).for_each(|row| set(findings, row, 1.0));
            let Cell::Compared(cell) = &mut findings.rows[2].cells[1] else { panic!("it is compared") };
            cell.verdict = Verdict::TypicallySame;
            cell.total = Some(Total { ratio: 1.3, low: 1.1, high: 1.6 });
            cell.warnings = vec![Warning::Stalls { one_in: 10, factor: 4.0 }];
            assert_eq!(words::format_verdict(cell, Language::English), "typically the same");
            assert_eq!(
                words::mean_where_it_differs(cell, Language::English).as_deref(),
                Some("1.30x [1.10, 1.60]")
            );
            assert_eq!(
                warnings::describe_warning(&cell.warnings[0], Language::English),
                "typically the same, but one round in 10 takes 4.0 times as long"
            );
        });
        assert_eq!(
            text,
            "typically the same: processes (1 of 2). Same: CPU, system calls, processes (1 of 2), IPC, files, \
             network."
        );
    }

    #[test]
    fn a_faster_environment_is_faster_by_a_factor_above_one() {
        let text = line(|findings| {
            (0..7).for_each(|row| set(findings, row, 1.0));
            set(findings, 5, 0.4);
            set(findings, 0, 1.025);
        });
        assert!(
            text.starts_with("slower (size unclear): system calls. Faster: files 2.50x. Same:"),
            "{text}"
        );
    }

    #[test]
    fn what_was_not_compared_is_not_judged() {
        let failed = Missing::Failed(Failure::new(FailureKind::Died, "exit code 1"));
        let text = line(|findings| {
            findings.rows.iter_mut().for_each(|row| row.cells[1] = Cell::Missing(failed.clone()));
        });
        assert_eq!(text, "not measured: CPU, system calls, processes, IPC, files, network.");
        assert_eq!(line(|findings| findings.rows.clear()), "not measured.");
    }

    #[test]
    fn every_word_of_a_cell_is_in_the_line() {
        for verdict in Verdict::ALL {
            let mut findings = specimen::make_findings(1);
            let Cell::Compared(cell) = &mut findings.rows[0].cells[0] else { panic!("it is compared") };
            cell.verdict = *verdict;
            let word = VerdictWords::from_verdict(*verdict).word;
            let text = summarise_environments(&findings, Language::English).remove(0).1.to_lowercase();
            assert!(text.contains(word), "{word}: {text}");
        }
    }
}
