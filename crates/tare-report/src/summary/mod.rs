//! An environment's cost in a sentence, from the answers of its cells alone: it can contradict none of them.

pub(crate) mod sides;

use tare_analysis::findings::{Answer, Cell, Comparison, Findings, Kind, Outcome, Row};

use tare_data::session::lasting::LastingWork;

use crate::answers::outcomes::describe_outcomes;
use crate::answers::signs;
use crate::calls::describe_calls;
use crate::language::{Language, say};
use crate::text::clean_text;
use crate::{view, words};

/// Limit on the environments that the sentence over all names one by one.
const MOST_NAMED: usize = 4;

/// Summarises every environment in a line.
pub fn summarise_environments(findings: &Findings, language: Language) -> Vec<(String, String)> {
    summarise(findings, language, usize::MAX)
}

/// Summarises every environment by the first sentence alone, for a view whose table has the others' cells; and by that on its
/// calls, which no cell says.
pub fn summarise_briefly(findings: &Findings, language: Language) -> Vec<(String, String)> {
    summarise(findings, language, 1)
}

/// Summarises all environments in one sentence, for the top of a page. Many are named by what they have in common.
pub fn summarise_in_a_sentence(findings: &Findings, language: Language) -> String {
    if findings.subjects.len() > MOST_NAMED {
        return summarise_many(findings, language);
    }
    let of_subject = |(at, name): (usize, &String)| {
        let clause = list_clauses(findings, at, language).swap_remove(0);
        say!(language, "{environment} {clause}", environment = clean_text(name), clause)
    };
    let clauses: Vec<String> = findings.subjects.iter().enumerate().map(of_subject).collect();
    close_sentence(&clauses, language)
}

/// Sorts environments by their answers: those that take longer with the one that takes longest, those that cost
/// no more than a bound, and those about which nothing is sure.
fn summarise_many(findings: &Findings, language: Language) -> String {
    let rows = view::select_judged_rows(findings);
    let cells = |at: usize| -> Vec<Compared> {
        rows.iter().filter_map(|row| Some((*row, row.cells.get(at)?.comparison()?))).collect()
    };
    let has = |at: usize, wanted: &[Kind]| {
        let is_known = |answer: Answer| wanted.contains(&answer.kind()) && !answer.is_overturned();
        cells(at).iter().any(|(_, found)| is_known(found.answer()))
    };
    let all = 0..findings.subjects.len();
    let slower: Vec<usize> = all.clone().filter(|at| has(*at, &[Kind::Slower, Kind::AtLeast])).collect();
    let (sure, unsure): (Vec<usize>, Vec<usize>) = all
        .filter(|at| !slower.contains(at) && !cells(*at).is_empty())
        .partition(|at| has(*at, &[Kind::Same, Kind::AtMost, Kind::Faster]));
    let names = |group: &[usize]| {
        let names: Vec<String> = group.iter().map(|at| clean_text(&findings.subjects[*at])).collect();
        language.join_with_and(&names)
    };
    let mut clauses = Vec::new();
    let costs: Vec<(usize, Compared)> = slower
        .iter()
        .flat_map(|at| cells(*at).into_iter().map(move |cell| (*at, cell)))
        .filter(|(_, (_, found))| found.answer().kind().is_slower())
        .collect();
    let worst = costs.iter().max_by(|a, b| a.1.1.ratio.total_cmp(&b.1.1.ratio));
    if let Some((at, cell)) = worst
        && let Some((label, times)) = find_greatest(&[*cell], |ratio| ratio, language)
    {
        clauses.push(say!(
            language,
            "{names} take longer, most {worst} in {label}: {times} times",
            names = names(&slower),
            worst = clean_text(&findings.subjects[*at]),
            label,
            times
        ));
    }
    if !sure.is_empty() {
        clauses.push(say!(language, "{names} take no longer in anything that is sure", names = names(&sure)));
    }
    if !unsure.is_empty() {
        clauses.push(say!(language, "{names}: nothing is sure", names = names(&unsure)));
    }
    close_sentence(&clauses, language)
}

fn close_sentence(clauses: &[String], language: Language) -> String {
    match clauses {
        [] => String::new(),
        clauses => say!(language, "{clause}.", clause = clauses.join(language.word("; "))),
    }
}

fn summarise(findings: &Findings, language: Language, most: usize) -> Vec<(String, String)> {
    let of_subject = |(at, name): (usize, &String)| {
        let mut all = describe_outcomes(findings, at, language);
        all.extend(describe_calls(findings, at, language));
        let rows = view::select_judged_rows(findings);
        let mut cells = rows.iter().filter_map(|row| row.cells.get(at));
        if !all.is_empty() && cells.all(|cell| matches!(cell, Cell::Missing(_))) {
            return (clean_text(name), language.join_sentences(&all));
        }
        let others = sentences(&list_clauses(findings, at, language), all.is_empty(), language);
        all.extend(others.into_iter().take(most));
        (clean_text(name), language.join_sentences(&all))
    };
    findings.subjects.iter().enumerate().map(of_subject).collect()
}

fn sentences(clauses: &[String], follow_name: bool, language: Language) -> Vec<String> {
    let sentence = |(at, clause): (usize, &String)| {
        let clause = if at == 0 && follow_name { clause.clone() } else { capitalised(clause) };
        say!(language, "{clause}.", clause)
    };
    clauses.iter().enumerate().map(sentence).collect()
}

/// A row with its comparison.
type Compared<'a> = (&'a Row, &'a Comparison);

/// Lists what there is to say of an environment, the most important first, never nothing: `takes longer in 5 of 14,
/// most in pipe: 26 times`, `same in 6 of 14`.
fn list_clauses(findings: &Findings, target: usize, language: Language) -> Vec<String> {
    let rows = view::select_judged_rows(findings);
    let cells: Vec<(&Row, &Cell)> =
        rows.iter().filter_map(|row| Some((*row, row.cells.get(target)?))).collect();
    let of = |answers: &[Kind]| -> Vec<Compared> {
        let with = cells.iter().filter_map(|(row, cell)| Some((*row, cell.comparison()?)));
        with.filter(|(_, comparison)| answers.contains(&comparison.answer().kind())).collect()
    };
    let all = cells.iter().filter(|(_, cell)| cell.comparison().is_some()).count();
    let missing = cells.iter().filter(|(_, cell)| matches!(cell, Cell::Missing(_))).count();
    let (mut clauses, mut others_at) = (Vec::new(), 0);
    let slower = of(&[Kind::Slower, Kind::AtLeast]);
    let is_of_short = cells.iter().any(|(_, cell)| cell.answer().is_of_short());
    if all > 0 && of(&[Kind::Same]).len() == all && !is_of_short {
        clauses.push(say!(language, "costs nothing that was measured: same in {all} of {all}", all));
    } else {
        clauses.extend(describe_slower(&slower, all, language));
        others_at = clauses.len();
        clauses.extend(describe_faster(&of(&[Kind::Faster]), all, language));
        clauses.extend(describe_others(
            [of(&[Kind::Same]), of(&[Kind::AtMost]), of(&[Kind::NotSure])],
            all,
            language,
        ));
    }
    if let Some(first) = clauses.get_mut(others_at).filter(|_| is_of_short) {
        *first = say!(language, "in short operations, {clause}", clause = first);
    }
    // The one figure that overturns others comes before them, unless most of them are larger still.
    let differing = findings.lasting.iter().filter(|cost| cost.outcome == Some(Outcome::Differs));
    let mut of_target = differing.filter(|cost| cost.target == findings.subjects[target]);
    if let Some((work, long)) = of_target.find_map(|cost| Some((cost.work, cost.ratio?))) {
        let larger = slower.iter().filter(|(_, comparison)| comparison.ratio > long.ratio).count();
        let times = words::format_estimate(long, language);
        let kind = language.word(words::describe_lasting_work(work));
        clauses.insert(
            usize::from(2 * larger > all),
            match work {
                LastingWork::Arithmetic => say!(language, "work that lasts takes {times}", times),
                _ => say!(language, "work that lasts ({kind}) takes {times}", kind, times),
            },
        );
    }
    clauses.extend((missing > 0).then(|| say!(language, "not compared: {count}", count = missing)));
    if signs::is_emulated(findings, &findings.subjects[target]) {
        clauses.push(language.word("its processor is emulated: a real one gives other numbers").to_owned());
    }
    if clauses.is_empty() {
        clauses.push(language.word("not measured").into());
    }
    clauses
}

/// Finds the comparison with the greatest rank, with its label and its factor as a plain number.
fn find_greatest(
    cells: &[Compared],
    rank: impl Fn(f64) -> f64,
    language: Language,
) -> Option<(String, String)> {
    let (row, found) = cells.iter().max_by(|a, b| rank(a.1.ratio).total_cmp(&rank(b.1.ratio)))?;
    let times = words::format_factor(found, Language::English);
    Some((words::translate_row_title(row, language), times.trim_end_matches('x').to_owned()))
}

fn describe_slower(cells: &[Compared], all: usize, language: Language) -> Option<String> {
    let (label, times) = find_greatest(cells, |ratio| ratio, language)?;
    Some(match cells.len() {
        1 => say!(language, "takes {times} times as long in {label}", times, label),
        count => say!(
            language,
            "takes longer in {count} of {all}, most in {label}: {times} times",
            count,
            all,
            label,
            times
        ),
    })
}

fn describe_faster(cells: &[Compared], all: usize, language: Language) -> Option<String> {
    let (label, times) = find_greatest(cells, |ratio| -ratio, language)?;
    Some(match cells.len() {
        1 => say!(language, "takes only {times} times as long in {label}", times, label),
        count => say!(
            language,
            "takes less time in {count} of {all}, least in {label}: {times} times",
            count,
            all,
            label,
            times
        ),
    })
}

/// Describes the cells that are neither slower nor faster, the more frequent answer first: a line may end after its first
/// clause. Where there is nothing else, the same and the bound are one clause: either alone would say too much or too little.
fn describe_others(
    [same, at_most, unsure]: [Vec<Compared>; 3],
    all: usize,
    language: Language,
) -> Vec<String> {
    let mut clauses = [
        (same.len(), describe_count(language.word("same"), &same, all, language)),
        (at_most.len(), describe_bounded(&at_most, all, language)),
        (unsure.len(), describe_unsure(&unsure, all, language)),
    ];
    clauses.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let clauses: Vec<String> = clauses.into_iter().filter_map(|(_, clause)| clause).collect();
    match same.len() + at_most.len() == all {
        true if clauses.len() > 1 => vec![language.join_with_commas(&clauses)],
        _ => clauses,
    }
}

/// Formats `same in 5 of 14`.
fn describe_count(word: &str, cells: &[Compared], all: usize, language: Language) -> Option<String> {
    (!cells.is_empty()).then(|| say!(language, "{word} in {count} of {all}", word, count = cells.len(), all))
}

fn describe_bounded(cells: &[Compared], all: usize, language: Language) -> Option<String> {
    let loosest = words::find_loosest(cells.iter().map(|(_, found)| *found))?;
    describe_count(&loosest.without_reach(language), cells, all, language)
}

fn describe_unsure(cells: &[Compared], all: usize, language: Language) -> Option<String> {
    let count = describe_count(language.word("not sure"), cells, all, language)?;
    let (label, times) = find_greatest(cells, |ratio| ratio, language)?;
    Some(say!(language, "{count} (most: {label}, ~{times}x)", count, label, times))
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().collect::<String>() + letters.as_str())
}

#[cfg(test)]
mod tests {
    use tare_analysis::findings::{Estimate, Interval, LastingCost};
    use tare_analysis::findings::{Missing, Verdict};
    use tare_data::failure::{Failure, FailureKind};

    use super::*;
    use crate::specimen;

    /// Summarises the second environment, whose cells have these ratios or no comparison.
    fn line(change: impl Fn(&mut Findings)) -> String {
        let mut findings = specimen::make_findings(2);
        findings.warnings.clear();
        change(&mut findings);
        summarise_environments(&findings, Language::English).remove(1).1
    }

    fn set(findings: &mut Findings, row: usize, ratio: f64) {
        findings.rows[row].cells[1] = Cell::Compared(Box::new(specimen::make_comparison(100.0, ratio, 1)));
    }

    #[test]
    fn the_greatest_cost_is_named_and_nothing_is_left_out() {
        assert_eq!(
            line(|_| ()),
            "takes longer in 5 of 6, most in system call: 24 times. Same in 1 of 6. Not compared: 1."
        );
    }

    #[test]
    fn an_environment_that_is_the_same_costs_nothing() {
        let same = |findings: &mut Findings| (0..7).for_each(|row| set(findings, row, 1.0));
        assert_eq!(line(same), "costs nothing that was measured: same in 7 of 7.");
        let open = line(|findings| {
            same(findings);
            set(findings, 3, 1.03);
            findings.rows[4].cells[1] = Cell::Missing(Missing::NotReached);
        });
        assert_eq!(open, "same in 5 of 6, at most 5 % slower in 1 of 6. Not compared: 1.");
        let unsure = line(|findings| {
            same(findings);
            for row in 0..5 {
                set(findings, row, 57.0);
                let Cell::Compared(cell) = &mut findings.rows[row].cells[1] else { panic!("it is compared") };
                cell.verdict = Verdict::SlowerUnconfirmed;
            }
        });
        assert!(unsure.starts_with("not sure in 5 of 7"), "most are, and come first: {unsure}");
    }

    #[test]
    fn work_that_lasts_comes_first_unless_most_operations_take_longer_still() {
        let lasting = |ratio: f64| {
            line(|findings| {
                let estimate = Estimate { ratio, interval: Interval::new(0.98 * ratio, 1.02 * ratio) };
                findings.lasting = vec![LastingCost {
                    target: findings.subjects[1].clone(),
                    work: LastingWork::Arithmetic,
                    stretches: 8,
                    seconds: 2.4,
                    ratio: Some(estimate),
                    excess: Some(estimate),
                    outcome: Some(Outcome::Differs),
                }];
            })
        };
        assert!(lasting(30.0).starts_with("work that lasts takes 30x"), "{}", lasting(30.0));
        let little = lasting(1.04);
        assert!(
            little.starts_with("takes longer in 5 of 6, most in system call: 24 times. Work that lasts"),
            "{little}"
        );
    }

    #[test]
    fn what_holds_for_short_operations_alone_says_so_and_a_slowdown_holds_for_all() {
        let text = line(|findings| {
            for (row, ratio) in [57.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0].into_iter().enumerate() {
                let cell = specimen::make_stopped(specimen::make_comparison(100.0, ratio, 1));
                findings.rows[row].cells[1] = Cell::Compared(Box::new(cell));
            }
        });
        assert_eq!(text, "takes 57 times as long in system call. In short operations, same in 6 of 7.");
    }

    #[test]
    fn doubts_and_speedups_have_their_clauses() {
        let text = line(|findings| {
            (0..7).for_each(|row| set(findings, row, 1.0));
            set(findings, 2, 57.0);
            let Cell::Compared(cell) = &mut findings.rows[2].cells[1] else { panic!("it is compared") };
            cell.verdict = Verdict::SlowerUnconfirmed;
            set(findings, 5, 0.4);
        });
        assert_eq!(
            text,
            "takes only 0.4 times as long in write+fdatasync 4 KiB. Same in 5 of 7. Not sure in 1 of 7 (most: exec, \
             ~57x)."
        );
    }

    #[test]
    fn an_emulated_processor_is_said() {
        let text = line(|findings| {
            let about = Some(findings.subjects[1].clone());
            findings.warnings.push((about, tare_data::warning::Warning::EmulatedProcessor));
        });
        assert!(text.ends_with("Its processor is emulated: a real one gives other numbers."), "{text}");
    }

    #[test]
    fn what_was_not_compared_is_not_judged() {
        let failed = Missing::Failed(Failure::new(FailureKind::Died, "exit code 1"));
        let text = line(|findings| {
            findings.rows.iter_mut().for_each(|row| row.cells[1] = Cell::Missing(failed.clone()));
        });
        assert_eq!(text, "not compared: 7.");
        assert_eq!(line(|findings| findings.rows.clear()), "not measured.");
    }

    #[test]
    fn one_sentence_names_every_environment() {
        let mut findings = specimen::make_findings(2);
        for row in 0..7 {
            findings.rows[row].cells[0] = Cell::Compared(Box::new(specimen::make_comparison(100.0, 1.0, 1)));
        }
        assert_eq!(
            summarise_in_a_sentence(&findings, Language::English),
            "container costs nothing that was measured: same in 7 of 7; gvisor takes longer in 5 of 6, most in system \
             call: 24 times."
        );
        let many = summarise_in_a_sentence(&specimen::make_findings(6), Language::English);
        assert_eq!(many.matches("take longer, most ").count(), 1, "{many}");
        for name in &specimen::make_findings(6).subjects {
            assert!(many.contains(name), "{name}: {many}");
        }
        assert_eq!(summarise_in_a_sentence(&specimen::make_findings(0), Language::English), "");
    }

    #[test]
    fn every_answer_is_in_the_line() {
        for cell in specimen::one_cell_of_each() {
            let mut findings = specimen::make_findings(1);
            findings.rows.truncate(1);
            findings.rows[0].cells[0] = cell;
            let word = match findings.rows[0].cells[0].answer().kind() {
                Kind::Slower | Kind::AtLeast | Kind::Faster => " times",
                Kind::Same => "same",
                Kind::AtMost => "at most",
                Kind::NotSure => "not sure",
                Kind::None => "not",
            };
            let text = summarise_environments(&findings, Language::English).remove(0).1;
            assert!(text.contains(word), "{word}: {text}");
        }
    }
}
