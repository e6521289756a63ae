//! Commands that are compared, each in a sentence: how long it takes beside the first, both times, and what that rests on.

use tare_analysis::findings::{Cell, CommandFactor, Comparison, Estimate, Findings, Kind, Row};
use tare_analysis::outcome::Word;
use tare_data::names::USER;
use tare_data::request::Amount;
use tare_data::session::Session;

use crate::answers::outcomes::{describe_outcome_of_side, describe_word_of_side, lacks_alike_runs};
use crate::language::{Language, say};
use crate::number::{Figure, format_percent, strip_shared_unit};
use crate::text::clean_text;
use crate::{summary, view, words};

/// A factor from which on it is said as a factor, and below which as a share more or less.
const SAID_AS_TIMES: f64 = 1.995;
/// Limit on the commands whose times are listed beside each other.
const MOST_LISTED: usize = 8;

/// Summarises every side in a line.
pub(crate) fn summarise_sides(
    session: &Session,
    findings: &Findings,
    language: Language,
) -> Vec<(String, String)> {
    match findings.commands_in {
        None => summary::summarise_environments(findings, language),
        Some(_) => {
            let of_subject = |(at, name): (usize, &String)| {
                (clean_text(name), language.join_sentences(&describe_side(session, findings, at, language)))
            };
            findings.subjects.iter().enumerate().map(of_subject).collect()
        }
    }
}

/// Says of each command how long it takes beside the first; nothing where environments are compared.
pub(crate) fn describe_commands(session: &Session, findings: &Findings, language: Language) -> Vec<String> {
    let subjects = if findings.commands_in.is_some() { findings.subjects.len() } else { 0 };
    (0..subjects).flat_map(|at| describe_side(session, findings, at, language)).collect()
}

/// Summarises all sides, for the top of a page.
pub(crate) fn summarise_in_a_paragraph(session: &Session, findings: &Findings, language: Language) -> String {
    if findings.commands_in.is_some() {
        return language.join_sentences(&describe_commands(session, findings, language));
    }
    let sentence = summary::summarise_in_a_sentence(findings, language);
    let across = compare_across(findings, language).into_iter().flat_map(|(caption, lines)| {
        let line = |(name, times)| say!(language, "{name}: {reason}.", name, reason = times);
        std::iter::once(caption).chain(lines.into_iter().map(line)).collect::<Vec<_>>()
    });
    language.join_sentences(&std::iter::once(sentence).chain(across).collect::<Vec<_>>())
}

/// A caption, and a line for each environment.
type Across = (String, Vec<(String, String)>);

/// Compares several commands in each environment, where environments are compared: a caption, and each environment's name with the times
/// and factors in it. Their runs did not take turns, so that this answers nothing.
pub(crate) fn compare_across(findings: &Findings, language: Language) -> Option<Across> {
    let mut rows = view::select_judged_rows(findings);
    rows.retain(|row| row.probe.starts_with(USER));
    if findings.commands_in.is_some() || !(2..=MOST_LISTED).contains(&rows.len()) {
        return None;
    }
    let of_environment = |(at, name): (usize, &String)| {
        let time = |row: &&Row| {
            let unit = row.metric.unit;
            let text = |value: f64| Figure::without_interval(value, unit).to_text();
            let time = match at.checked_sub(1) {
                None => text(row.baseline.as_ref()?.median),
                Some(at) => match row.cells.get(at)? {
                    Cell::Compared(comparison) => words::format_value(row, comparison),
                    other => text(other.level()?.median),
                },
            };
            let is_its = |of: &&CommandFactor| of.target == *name && of.case == row.case;
            let factor = findings.across_commands.iter().find(is_its).map(
                |CommandFactor { ratio, interval, .. }| {
                    format!(
                        ": {}",
                        words::format_estimate(Estimate { ratio: *ratio, interval: *interval }, language)
                    )
                },
            );
            Some(format!("{} {time}{}", clean_text(&row.label), factor.unwrap_or_default()))
        };
        let times: Vec<String> = rows.iter().filter_map(time).collect();
        (clean_text(name), language.join_with_commas(&times))
    };
    let caption = language.word(
        "Across commands: times, and factors against the first, of runs that followed each other, with 95 % intervals. They did not take \
         turns, and one may find what another left, so that this is not an answer. Name one environment for one.",
    );
    let all = std::iter::once(&findings.baseline).chain(&findings.subjects);
    Some((caption.to_owned(), all.enumerate().map(of_environment).collect()))
}

/// Says it of one command, in a sentence for each row.
fn describe_side(session: &Session, findings: &Findings, at: usize, language: Language) -> Vec<String> {
    let rows = view::select_judged_rows(findings);
    let several = rows.len() > 1;
    let of_row = |row: &&Row| {
        let (label, cell) = (clean_text(&row.label), row.cells.get(at)?);
        let sentence = describe_command(session, findings, (row, at, cell), language);
        Some(match several {
            true => say!(language, "{label}: {sentence}", label, sentence),
            false => sentence,
        })
    };
    rows.iter().filter_map(of_row).collect()
}

/// Says it of one command: `./new takes 3 % longer than ./old (2.1 to 3.9 %): 38.4 -> 39.5 ms. Control: same. 200 runs each, 30 s.`
fn describe_command(
    session: &Session,
    findings: &Findings,
    (row, at, cell): (&Row, usize, &Cell),
    language: Language,
) -> String {
    let [name, baseline] = [&findings.subjects[at], &findings.baseline].map(|name| clean_text(name));
    let outcome = findings.find_outcome(&row.case, &findings.subjects[at]);
    let is_same = outcome.is_some_and(|of| of.word == Word::Same);
    let is_open = outcome.is_some_and(|of| of.word == Word::TooFew);
    let of_outcome = outcome.map(|of| describe_outcome_of_side(of, cell, language)).unwrap_or_default();
    let comparison = match cell {
        Cell::Compared(comparison) => comparison,
        _ if outcome.is_some_and(|of| lacks_alike_runs(of, cell)) => {
            return language.join_sentences(&of_outcome);
        }
        other => {
            let reason = words::describe_cell(other, language);
            let reason = say!(language, "{name}: {reason}.", name, reason);
            let same = outcome.filter(|_| is_same).map(|of| describe_word_of_side(of, language));
            let all = same.into_iter().chain([reason]).chain(of_outcome);
            return language.join_sentences(&all.collect::<Vec<_>>());
        }
    };
    let answer = match is_same {
        true => answer_in_words_alike(comparison, [&name, &baseline], language),
        false => answer_in_words(comparison, [&name, &baseline], language),
    };
    let time = |value: f64| Figure::without_interval(value, row.metric.unit).to_text();
    let first = row.baseline.as_ref().map(|level| time(level.median));
    let mut sentences = vec![match first {
        Some(first) => {
            let second = words::format_value(row, comparison);
            let first = strip_shared_unit(&first, &second);
            say!(language, "{answer}: {first} -> {second}.", answer, first, second)
        }
        None => say!(language, "{answer}.", answer),
    }];
    let control = row.control.as_ref().filter(|control| control.comparison().is_some());
    sentences.extend(control.map(|control| {
        let control = words::cell_word(control, language);
        say!(language, "Control: {control}.", control)
    }));
    let runs = language.counted(count_runs(session, row, &findings.subjects[at], comparison), "run", "runs");
    if let Some(seconds) = view::measured_s(session) {
        let time = language.format_duration(seconds);
        sentences.push(say!(language, "{runs} each, {time}.", runs, time));
    }
    // A difference is said before times; that there is none, or none so far, is not.
    let ordered = if is_same || is_open { [sentences, of_outcome] } else { [of_outcome, sentences] };
    language.join_sentences(&ordered.concat())
}

/// Counts the timed runs of a command that its answer rests on.
fn count_runs(session: &Session, row: &Row, subject: &str, comparison: &Comparison) -> usize {
    let planned = session.plan.cases.iter().find(|case| case.id == row.case);
    let amount = planned.map(|case| case.pairs.get(subject).copied().unwrap_or(case.amount));
    let of_round = match amount {
        Some(Amount::Operations { batch, batches }) => batch.saturating_mul(u64::from(batches)),
        Some(Amount::Calibrate | Amount::Duration { .. } | Amount::Outcome) | None => 1,
    };
    usize::try_from(of_round.saturating_mul(u64::from(comparison.rounds))).unwrap_or(usize::MAX)
}

/// Formats the share by which a command takes longer, or less time, and both ends of it, the least first.
fn format_shares(comparison: &Comparison) -> [String; 3] {
    let share = |factor: f64| format_percent((factor - 1.0).abs());
    let mut ends = comparison.interval.ends(f64::from);
    ends.sort_by(|a, b| (a - 1.0).abs().total_cmp(&(b - 1.0).abs()));
    let [low, high] = ends.map(share);
    let low = if low == high { low.as_str() } else { low.trim_end_matches(" %") };
    [share(comparison.ratio), low.to_owned(), high]
}

/// Says of a command that does the same as another how long it takes, with the interval.
fn answer_in_words_alike(comparison: &Comparison, [name, baseline]: [&str; 2], language: Language) -> String {
    let [share, low, high] = format_shares(comparison);
    let takes = match comparison.answer().kind() {
        Kind::Slower if comparison.ratio < SAID_AS_TIMES => {
            say!(language, "takes {share} longer ({low} to {high})", share, low, high)
        }
        Kind::Faster if comparison.ratio < SAID_AS_TIMES => {
            say!(language, "takes {share} less time ({low} to {high})", share, low, high)
        }
        Kind::Slower | Kind::Faster => {
            let times = words::format_factor(comparison, Language::English);
            let interval = words::format_interval(comparison, language);
            let times = times.trim_end_matches('x');
            say!(language, "takes {times} times as long {interval}", times, interval)
        }
        Kind::Same => {
            let margin = format_percent(comparison.margin - 1.0);
            say!(language, "takes as long, less than {margin} apart", margin)
        }
        Kind::AtLeast | Kind::AtMost | Kind::NotSure | Kind::None => {
            let answer = words::describe_cell(&Cell::Compared(Box::new(comparison.clone())), language);
            say!(language, "its time: {answer}", answer)
        }
    };
    let join = match comparison.answer().kind() {
        Kind::AtLeast | Kind::AtMost | Kind::NotSure | Kind::None => language.word("; "),
        Kind::Slower | Kind::Faster | Kind::Same => language.word(" and "),
    };
    let alike = say!(language, "{name} does the same as {baseline}", name, baseline);
    format!("{alike}{join}{takes}")
}

/// Says how long a command takes beside another, with the interval.
fn answer_in_words(comparison: &Comparison, [name, baseline]: [&str; 2], language: Language) -> String {
    let interval = words::format_interval(comparison, language);
    match comparison.answer().kind() {
        Kind::Slower | Kind::Faster if comparison.ratio < SAID_AS_TIMES => {
            let [by, low, high] = format_shares(comparison);
            match comparison.answer().kind() {
                Kind::Slower => say!(
                    language,
                    "{name} takes {share} longer than {baseline} ({low} to {high})",
                    name,
                    share = by,
                    baseline,
                    low,
                    high
                ),
                _ => say!(
                    language,
                    "{name} takes {share} less time than {baseline} ({low} to {high})",
                    name,
                    share = by,
                    baseline,
                    low,
                    high
                ),
            }
        }
        Kind::Slower | Kind::Faster => {
            let times = words::format_factor(comparison, Language::English);
            let times = times.trim_end_matches('x');
            say!(
                language,
                "{name} takes {times} times as long as {baseline} {interval}",
                name,
                times,
                baseline,
                interval
            )
        }
        Kind::Same => {
            let margin = format_percent(comparison.margin - 1.0);
            say!(
                language,
                "{name} takes as long as {baseline}, less than {margin} apart",
                name,
                baseline,
                margin
            )
        }
        Kind::AtLeast | Kind::AtMost | Kind::NotSure | Kind::None => {
            let answer = words::describe_cell(&Cell::Compared(Box::new(comparison.clone())), language);
            say!(language, "{name} against {baseline}: {answer}", name, baseline, answer)
        }
    }
}

#[cfg(test)]
mod tests {
    use tare_analysis::findings::{Interval, Missing, Verdict};
    use tare_analysis::outcome::CommandOutcome;
    use tare_data::batch::RunEnd;

    use super::*;
    use crate::specimen;
    use crate::terminal::{TerminalOptions, render_terminal};

    /// Makes findings of one command against another, with this cell.
    fn with_cell(cell: Cell) -> (Session, Findings) {
        let (session, mut findings) = (specimen::make_session(1), specimen::make_findings(1));
        findings.rows.truncate(1);
        (findings.rows[0].probe, findings.rows[0].label) = ("user.command".into(), "command".into());
        findings.rows[0].cells[0] = cell;
        findings.commands_in = Some("native".into());
        (findings.baseline, findings.subjects[0]) = ("./old 'a b'".into(), "./new".into());
        (session, findings)
    }

    #[test]
    fn every_answer_has_a_sentence_that_names_both_commands_and_all_views_begin_with_it() {
        for cell in specimen::one_cell_of_each() {
            let word = match &cell {
                Cell::Compared(of) => match of.answer().kind() {
                    Kind::Slower if of.ratio < SAID_AS_TIMES => " % longer than ./old",
                    Kind::Slower => " times as long as ./old",
                    Kind::Faster => " % less time than ./old",
                    Kind::Same => "takes as long as ./old 'a b', less than 2 % apart",
                    Kind::AtLeast => "over ",
                    Kind::AtMost => "at most ",
                    Kind::NotSure => "not sure",
                    Kind::None => "./new",
                },
                Cell::Observed(_) => "observed",
                Cell::Missing(_) => "not ",
            };
            let (session, findings) = with_cell(cell);
            let [sentence] =
                <[String; 1]>::try_from(describe_commands(&session, &findings, Language::English)).unwrap();
            assert!(sentence.contains("./new") && sentence.contains(word), "{word}: {sentence}");
            let flat =
                |text: String| text.replace('\u{a0}', " ").split_whitespace().collect::<Vec<_>>().join(" ");
            let start = flat(sentence.chars().take(40).collect());
            let text = flat(render_terminal(&session, &findings, &TerminalOptions::default()));
            assert!(
                text.starts_with(&start) && text.contains("./new against ./old 'a b', in native"),
                "{text}"
            );
            assert!(!text.contains("Lasting work") && !text.contains("in 1 of 1"), "{text}");
            let markdown = crate::markdown::render_markdown(&session, &findings).replace('\\', "");
            assert!(flat(markdown.clone()).starts_with(&start), "{markdown}");
            let page = crate::html::render_html(&session, &findings, &crate::html::Options::default());
            assert!(page.contains("./new"), "{page}");
        }
    }

    #[test]
    fn what_both_commands_do_is_in_the_sentence_and_said_once() {
        let say_told = |ratio: f64, word: Word, is_end_told: bool| {
            let cell = Cell::Compared(Box::new(specimen::make_comparison(100.0, ratio, 1)));
            let (session, mut findings) = with_cell(cell);
            let fails = matches!(word, Word::FailsOnly | Word::FailsEverywhere);
            let outcome = specimen::make_outcome(&findings.rows[0].case, ["./old 'a b'", "./new"], word);
            findings.outcomes = vec![CommandOutcome {
                end: (fails || is_end_told).then_some(RunEnd::ExitCode(1)),
                is_end_told,
                ..outcome
            }];
            describe_commands(&session, &findings, Language::English).remove(0)
        };
        let say = |ratio, word| say_told(ratio, word, word == Word::FailsOnly);
        assert_eq!(
            say(1.25, Word::Same),
            "./new does the same as ./old 'a b' and takes 25 % longer (24 to 27 %): 173 -> 217 ns. Control: same."
        );
        assert!(
            say(0.5, Word::Same).starts_with("./new does the same as ./old 'a b' and takes 50 % less time (")
        );
        assert!(
            say(24.0, Word::Same)
                .starts_with("./new does the same as ./old 'a b' and takes 24 times as long (")
        );
        let differs = say(1.25, Word::Differs);
        assert!(
            differs.starts_with("./new does not do the same as ./old 'a b'. ./new takes 25 % longer"),
            "{differs}"
        );
        let by_end = say_told(1.25, Word::Differs, true);
        let named = "Differs: exit code 1 in 10 of 10, ./old 'a b' 0 of 10. ./new takes";
        assert!(by_end.contains(named), "{by_end}");
        let fails = say(1.25, Word::FailsOnly);
        assert!(
            fails.starts_with("./new alone fails: exit code 1 in 10 of 10, ./old 'a b' 0 of 10."),
            "{fails}"
        );
        let fail = say(1.25, Word::FailsEverywhere);
        assert!(fail.starts_with("./new and ./old 'a b' fail alike: "), "{fail}");
        let open = say(1.25, Word::TooFew);
        assert!(open.starts_with("./new takes 25 %") && open.contains("too few to show one"), "{open}");
    }

    #[test]
    fn what_is_the_same_is_said_where_times_are_missing_and_a_session_that_broke_off_blames_no_end() {
        let say = |cell: Cell, word: Word, end: Option<RunEnd>| {
            let (session, mut findings) = with_cell(cell);
            let outcome = specimen::make_outcome(&findings.rows[0].case, ["./old 'a b'", "./new"], word);
            findings.outcomes = vec![CommandOutcome { end, ..outcome }];
            describe_commands(&session, &findings, Language::English).remove(0)
        };
        let not_reached = || Cell::Missing(Missing::NotReached);
        let same = say(not_reached(), Word::Same, None);
        assert!(same.starts_with("./new does the same as ./old 'a b'. ./new: not measured"), "{same}");
        let open = say(not_reached(), Word::NowAndThen, Some(RunEnd::ExitCode(1)));
        assert!(open.starts_with("./new: not measured") && !open.contains("Times aren't compared"), "{open}");
        let reason = "12 of 30 runs ended with exit code 1, in the baseline 0 of 30".to_owned();
        let unlike = Cell::Missing(Missing::NotComparable { reason, level: specimen::make_level(1.0, 1) });
        let unlike = say(unlike, Word::NowAndThen, Some(RunEnd::ExitCode(1)));
        assert!(unlike.contains("Times aren't compared: too few pairs ended alike and well."), "{unlike}");
    }

    #[test]
    fn a_heading_does_not_deny_what_outcomes_say() {
        let unsure =
            Comparison { verdict: Verdict::SlowerUnconfirmed, ..specimen::make_comparison(1.0, 1.25, 1) };
        let heading = |cell: Cell, word: Option<Word>| {
            let (session, mut findings) = with_cell(cell);
            let case = findings.rows[0].case.clone();
            findings.rows[0].baseline = None;
            findings.outcomes = word
                .into_iter()
                .map(|word| specimen::make_outcome(&case, ["./old 'a b'", "./new"], word))
                .collect();
            view::make_heading(&session, &findings, Language::English).join(" ")
        };
        let unsure = || Cell::Compared(Box::new(unsure.clone()));
        assert!(heading(unsure(), Some(Word::TooFew)).contains("nothing is decided"));
        assert!(!heading(unsure(), Some(Word::Same)).contains("nothing is decided"));
        let missing = || Cell::Missing(Missing::NotReached);
        assert!(heading(missing(), None).ends_with("no complete run"));
        assert!(heading(missing(), Some(Word::FailsOnly)).ends_with("no times compared"));
        let (mut session, findings) = with_cell(unsure());
        let trial = tare_specimen::make_trial("x", "native", 0, tare_specimen::Outcome::Time(1.0));
        session.trials.push(tare_data::session::Trial { host_elapsed_ns: 14_000_000_000, ..trial });
        let counted = view::make_heading(&session, &findings, Language::English).join(" ");
        assert!(counted.ends_with("; 14 s"), "{counted}");
    }

    #[test]
    fn failures_of_several_kinds_are_counted_together_where_the_word_is_of_all() {
        let (session, mut findings) =
            with_cell(Cell::Compared(Box::new(specimen::make_comparison(1.0, 1.0, 1))));
        let mut outcome =
            specimen::make_outcome(&findings.rows[0].case, ["./old 'a b'", "./new"], Word::FailsOnly);
        outcome.counts[1].so = 6;
        findings.outcomes = vec![outcome];
        let said = describe_commands(&session, &findings, Language::English).remove(0);
        let counts = "./new alone fails: exit code 1 in 6 of 10, ./old 'a b' 0 of 10; 10 failed in all.";
        assert!(said.starts_with(counts), "{said}");
    }

    #[test]
    fn commands_in_several_environments_have_factors_that_every_view_shows_as_no_answer() {
        let (session, mut findings) = (specimen::make_session(1), specimen::make_findings(1));
        findings.rows.truncate(2);
        for (row, name) in findings.rows.iter_mut().zip(["./old", "./new"]) {
            (row.probe, row.label) = ("user.command".into(), name.into());
        }
        let views = |findings: &Findings| {
            let flat = |text: String| {
                text.replace('\\', "").replace('\u{a0}', " ").split_whitespace().collect::<Vec<_>>().join(" ")
            };
            let page = crate::html::render_html(&session, findings, &crate::html::Options::default());
            [
                flat(render_terminal(&session, findings, &TerminalOptions::default())),
                flat(crate::markdown::render_markdown(&session, findings)),
                page,
            ]
        };
        let [text, ..] = views(&findings);
        assert!(text.contains("Name one environment") && !text.contains("1.25x"), "{text}");
        findings.across_commands = vec![CommandFactor {
            target: "container".into(),
            case: findings.rows[1].case.clone(),
            against: findings.rows[0].case.clone(),
            rounds: 18,
            ratio: 1.25,
            interval: Interval::new(1.24, 1.27),
        }];
        for text in views(&findings) {
            assert!(text.contains("so that this is not an answer"), "{text}");
            assert!(text.contains("./old 174 ns, ./new 74.5 µs: 1.25x (1.24 to 1.27x)"), "{text}");
        }
    }

    #[test]
    fn shares_times_and_runs_are_those_of_the_comparison() {
        let say = |ratio: f64| {
            let (session, findings) =
                with_cell(Cell::Compared(Box::new(specimen::make_comparison(100.0, ratio, 1))));
            describe_commands(&session, &findings, Language::English).remove(0)
        };
        assert_eq!(
            say(1.25),
            "./new takes 25 % longer than ./old 'a b' (24 to 27 %): 173 -> 217 ns. Control: same."
        );
        assert_eq!(
            say(0.5),
            "./new takes 50 % less time than ./old 'a b' (49 to 50 %): 173 -> 86.7 ns. Control: same."
        );
        assert_eq!(
            say(24.0),
            "./new takes 24 times as long as ./old 'a b' (23.8 to 24.3x): 173 ns -> 4.16 µs. Control: same."
        );
    }
}
