//! Data of a page besides the JSON document: the trials in time, the interference with them, the tails and the modes.

use std::collections::HashMap;

use serde::Serialize;
use tare_analysis::findings::{Findings, Kind};
use tare_analysis::published::find_repeated_article;
use tare_analysis::statistics::modes::count_group_values;
use tare_analysis::unixbench::{Entry, TESTS, TargetScores, compute_scores};
use tare_analysis::verdicts::curve::{TailCurve, tail_curves};
use tare_data::session::{Session, Trial};

use super::beside::BesideRows;
use super::bill::{PageBill, page_bills};
use super::starts::{CaseStarts, list_starts};
use crate::answers::signs::Sign;
use crate::answers::table::{AnswerWords, answer_words};
use crate::imported::Beside;
use crate::json::{Document, Level, Row};
use crate::language::{Language, Words};
use crate::published::{self, TableTexts};
use crate::summary::sides::summarise_in_a_paragraph;
use crate::view;

/// Limit on trials; more are thinned out evenly, since a timeline has fewer pixels, and a page a limit of 1
/// MB.
const MOST_TRIALS: usize = 700;
/// Limit on rounds; beyond it, those of further metrics are left out. At four to five characters each, they
/// take a fifth of the page's limit. The JSON document has them all.
const MOST_ROUNDS: usize = 40_000;
/// Bytes of a trial in the page.
const LETTERS_OF_A_TRIAL: usize = 20;
/// Resolution of rounds, as parts of their environment's median: takes half the bytes of the value itself.
const PARTS: f64 = 10_000.0;

/// Options of a page, in addition to the findings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Path of the record.
    pub record: Option<&'a str>,
    /// The command that measures the same again.
    pub again: Option<&'a str>,
    /// The block to paste.
    pub paste: Option<&'a str>,
    /// Progress of a running session: the page shows it and reloads itself. `None` once the session has
    /// ended.
    pub running: Option<&'a str>,
    /// Results of other tools next to the session's own, if they were given.
    pub beside: Option<&'a [Beside]>,
    pub language: Language,
}

#[derive(Debug, Serialize)]
pub struct Page<'a> {
    /// Language of the page, by its HTML name.
    language: &'static str,
    /// Translations of English words; null in English.
    words: Option<Words>,
    report: Document<'a>,
    /// Answers, in the order of bars and lists.
    answers: Vec<PageAnswer>,
    /// Signs behind answers.
    signs: Vec<PageSign>,
    /// All environments in one sentence; empty if the baseline was measured alone.
    summary: String,
    /// Sentences on work that lasts; null where nothing was compared.
    lasting: Option<String>,
    record: Option<&'a str>,
    again: Option<&'a str>,
    /// The block to paste, which a button copies; null while the session runs, and where there is no room for it.
    paste: Option<&'a str>,
    /// Progress of a session that still runs; null once it has ended.
    running: Option<&'a str>,
    interference: TotalInterference,
    /// Rounds of every row, which are left out of the report: of the baseline, then of each cell. Empty for
    /// rows whose rounds are left out.
    rounds: Vec<Vec<Rounds>>,
    /// Start times of runs, by case; a case is left out if there is no room for it.
    starts: Vec<CaseStarts>,
    timeline: Timeline,
    tails: Vec<Tail>,
    /// Environments of rows whose rounds fall into groups; all others have one.
    modes: Vec<Modes>,
    /// Tables of the article that the session repeats, in its form; empty if it repeats none.
    article_tables: Vec<TableTexts>,
    /// Scores of UnixBench's tests; empty if the session does not measure them all.
    scores: Vec<TestScores>,
    /// Bills of commands; empty if no command was explained.
    bills: Vec<PageBill>,
    /// Results of other tools; null if none were given.
    beside: Option<BesideRows<'a>>,
}

/// Rounds of a level, in ten-thousandths away from its median; null for values that are not finite.
type Rounds = Vec<Option<i64>>;

impl<'a> Page<'a> {
    pub fn from_findings(session: &'a Session, findings: &'a Findings, options: &Options<'a>) -> Self {
        let mut report = Document::from_findings(session, findings, options.language);
        let modes = modes(&mut report);
        leave_out_batches(&mut report);
        report.lasting.clear();
        let (rounds, room) = rounds(&mut report);
        let words = options.language.page_words();
        let of_words = words.iter().flatten().map(|(english, other)| english.len() + other.len());
        let block = options.paste.filter(|_| options.running.is_none());
        let letters = of_words.sum::<usize>() + block.map_or(0, str::len);
        // A page without room for all rounds has words and the block to paste in place of trials.
        let is_full = rounds.iter().any(Vec::is_empty);
        let fewer = if is_full { letters / LETTERS_OF_A_TRIAL } else { 0 };
        // The page shows the comparison of the baseline with itself; the JSON document has its rounds.
        report.rows.iter_mut().filter_map(Row::control_level).for_each(|level| level.values = &[]);
        // The page leaves these out for further metrics; the document has them.
        let further = report.rows.iter_mut().filter(|row| !row.headline);
        let cells = further.flat_map(|row| &mut row.cells);
        let comparisons = cells.filter_map(|cell| {
            (cell.interval, cell.doubt) = (None, None);
            cell.comparison.as_mut()
        });
        comparisons.for_each(|comparison| {
            (comparison.smallest, comparison.total) = (None, None);
            (comparison.sign_low, comparison.sign_high) = (None, None);
        });
        // The page has the words of all these, and shows the interval among all cells.
        let cells = report.rows.iter_mut().flat_map(|row| row.cells.iter_mut().chain(&mut row.control));
        cells.for_each(|cell| {
            (cell.why, cell.interval_alone, cell.reach, cell.stop) = (None, None, None, None);
            cell.comparison.iter_mut().for_each(|of| (of.low_alone, of.high_alone) = (None, None));
        });
        Page {
            language: options.language.language_tag(),
            words,
            beside: options.beside.map(|found| BesideRows::from_beside(found, &report)),
            rounds,
            report,
            answers: Kind::ALL.map(|answer| PageAnswer::of(answer, options.language)).into(),
            signs: Sign::ALL
                .map(|sign| PageSign {
                    sign: sign.character(),
                    meaning: options.language.word(sign.meaning()),
                })
                .into(),
            summary: summarise_in_a_paragraph(session, findings, options.language),
            lasting: view::describe_lasting(findings, true, options.language),
            record: options.record,
            again: options.again,
            paste: block.filter(|_| fewer < MOST_TRIALS),
            running: options.running,
            interference: TotalInterference::of(session),
            starts: list_starts(session, if is_full { 0 } else { room }),
            timeline: Timeline::of(session, MOST_TRIALS.saturating_sub(fewer)),
            tails: tail_curves(session).into_iter().map(Tail::from).collect(),
            modes,
            article_tables: article_tables(session, findings, options.language),
            scores: test_scores(session),
            bills: page_bills(session, findings, options.language),
        }
    }
}

fn article_tables(session: &Session, findings: &Findings, language: Language) -> Vec<TableTexts> {
    let repeats_article = find_repeated_article(session).is_some();
    let mut all = Vec::new();
    for article in findings.articles.iter().filter(|_| repeats_article) {
        let mut tables = published::article_tables(article, language);
        if let (Some(first), Some(sum)) =
            (tables.first_mut(), published::sum_up_conclusions(article, language))
        {
            first.heading = language.join_sentences(&[sum, first.heading.clone()]);
        }
        for table in &mut tables {
            // The page has one line of heads.
            let mut last = "";
            for (head, group) in table.heads.iter_mut().zip(&table.groups) {
                last = if group.is_empty() { last } else { group };
                *head = format!("{last}: {head}");
            }
        }
        all.extend(tables);
    }
    all
}

/// A line of the table of answers, as the page says it.
#[derive(Debug, Serialize)]
struct PageAnswer {
    name: &'static str,
    sign: &'static str,
    word: &'static str,
    /// Meaning, with `{margin}` in the place of the margin.
    meaning: &'static str,
    light: &'static str,
    dark: &'static str,
    decided: bool,
}

impl PageAnswer {
    fn of(answer: Kind, language: Language) -> Self {
        let AnswerWords { sign, word, meaning, colour } = answer_words(answer);
        let [light, dark] = colour.page;
        PageAnswer {
            name: answer.name(),
            sign,
            word: language.word(word),
            meaning: language.word(meaning),
            light,
            dark,
            decided: answer.is_decided(),
        }
    }
}

/// A sign behind an answer, with its explanation.
#[derive(Debug, Serialize)]
struct PageSign {
    sign: char,
    meaning: &'static str,
}

/// A test of UnixBench, with its score in every environment.
#[derive(Debug, Serialize)]
struct TestScores {
    test: &'static str,
    #[serde(rename = "environments")]
    targets: Vec<TargetScore>,
}

#[derive(Debug, Serialize)]
struct TargetScore {
    #[serde(rename = "environment")]
    target: String,
    /// Null if the environment has no score.
    score: Option<f64>,
}

fn test_scores(session: &Session) -> Vec<TestScores> {
    if TESTS.iter().any(|test| test.find_case(session).is_none()) {
        return Vec::new();
    }
    let all = compute_scores(session);
    let of = |at: usize| {
        let target = |found: &TargetScores| TargetScore {
            target: found.target.clone(),
            score: match found.entries.get(at) {
                Some(Entry::Scored(score)) => Some(score.score),
                Some(Entry::Missing(_)) | None => None,
            },
        };
        all.iter().map(target).collect()
    };
    TESTS.iter().enumerate().map(|(at, test)| TestScores { test: test.name, targets: of(at) }).collect()
}

/// Share of the machine that others took, over all trials.
#[derive(Debug, Default, Serialize)]
struct TotalInterference {
    /// Processor time taken by the hypervisor; null if no kernel reports it.
    stolen_ms: Option<u64>,
    /// Duration of the trials with that time.
    elapsed_ms: u64,
    /// Shortest and longest run of the fixed arithmetic in the baseline; null without one.
    canary_least_ns: Option<u64>,
    canary_most_ns: Option<u64>,
}

impl TotalInterference {
    fn of(session: &Session) -> Self {
        let (mut stolen_ns, mut elapsed_ns) = (None, 0u64);
        for trial in &session.trials {
            if let Some(steal_ns) = stolen(trial) {
                stolen_ns = Some(stolen_ns.unwrap_or(0u64).saturating_add(steal_ns));
                elapsed_ns = elapsed_ns.saturating_add(trial.host_elapsed_ns);
            }
        }
        let baseline = session.baseline().map(|target| target.name.as_str());
        let of_baseline = session.trials.iter().filter(|trial| Some(trial.target.as_str()) == baseline);
        let canaries = || of_baseline.clone().filter_map(|trial| trial.inside.canary_ns);
        TotalInterference {
            stolen_ms: stolen_ns.map(|ns| ns / 1_000_000),
            elapsed_ms: elapsed_ns / 1_000_000,
            canary_least_ns: canaries().min(),
            canary_most_ns: canaries().max(),
        }
    }
}

/// Finds the processor time that the hypervisor took during a trial.
fn stolen(trial: &Trial) -> Option<u64> {
    trial.outside.steal_ns.or(trial.inside.steal_ns)
}

/// Groups of the rounds of one level.
#[derive(Debug, Serialize)]
struct Modes {
    /// Index among the report's rows.
    row: usize,
    /// 0 for the baseline, then the subjects from 1.
    #[serde(rename = "environment")]
    target: usize,
    /// Rounds in each group, from the least figures to the greatest.
    sizes: Vec<usize>,
}

fn modes(report: &mut Document) -> Vec<Modes> {
    let mut found = Vec::new();
    for (row, shown) in report.rows.iter_mut().enumerate() {
        let within = shown.margin.map_or(0.0, libm::log);
        for (target, level) in shown.levels().enumerate() {
            let mut logs: Vec<f64> =
                level.into_iter().flat_map(|level| level.values).map(|v| libm::log(*v)).collect();
            if logs.iter().all(|log| log.is_finite()) {
                logs.sort_unstable_by(f64::total_cmp);
                let sizes = count_group_values(&logs, within);
                if sizes.len() > 1 {
                    found.push(Modes { row, target, sizes });
                }
            }
        }
    }
    found
}

/// Takes out of the report what the page does not show, and a session of the largest size has no room for.
fn leave_out_batches(report: &mut Document) {
    let cells = report.rows.iter_mut().flat_map(|row| &mut row.cells);
    cells.filter_map(|cell| cell.comparison.as_mut()).for_each(|found| {
        (found.slow_batches, found.most) = (None, None);
    });
}

/// Takes the rounds out of the report: all of headlines, and those of further metrics for which there is room. Returns
/// the room that is left, too.
fn rounds(report: &mut Document) -> (Vec<Vec<Rounds>>, usize) {
    let count = |row: &mut Row| row.levels().flatten().map(|level| level.values.len()).sum::<usize>();
    let headlines = report.rows.iter_mut().filter(|row| row.headline).map(count).sum();
    let mut room = MOST_ROUNDS.saturating_sub(headlines);
    let mut take = |row: &mut Row| {
        let rounds = count(row);
        let fits = row.headline || rounds <= room;
        room -= if row.headline || !fits { 0 } else { rounds };
        let taken = row.levels().map(take_rounds).collect();
        if fits { taken } else { Vec::new() }
    };
    let taken = report.rows.iter_mut().map(&mut take).collect();
    (taken, room)
}

/// Takes the rounds out of a level, at a precision of four to five digits.
fn take_rounds(level: Option<&mut Level>) -> Rounds {
    let Some(level) = level else { return Vec::new() };
    let values = std::mem::take(&mut level.values);
    let apart = |value: &f64| (value / level.median - 1.0) * PARTS;
    // A JSON number holds every value of a session exactly up to here.
    let part = |apart: f64| (apart.abs() < 9e15).then(|| apart.round() as i64);
    values.iter().map(|value| part(apart(value))).collect()
}

/// Trials in the order in which they ran, a column per field. A trial whose case or environment is unknown is
/// left out.
#[derive(Debug, Default, Serialize)]
struct Timeline {
    /// Number of trials in the session; every n-th of them is here.
    of: usize,
    cases: Vec<String>,
    /// Index among `cases`.
    case: Vec<usize>,
    /// Index among the plan's environments.
    #[serde(rename = "environment")]
    target: Vec<usize>,
    round: Vec<u32>,
    /// Time since the start of the previous trial; negative only in a damaged record.
    after_ms: Vec<i64>,
    elapsed_ms: Vec<u64>,
    /// 0: counts; 1: disturbed and run again; 2: failed.
    outcome: Vec<u8>,
    /// Processor time taken by the hypervisor during the trial, in microseconds; null if no kernel reports
    /// it.
    steal_us: Vec<Option<u64>>,
    /// Time of the fixed arithmetic just before the trial, inside the environment, in tenths of a
    /// microsecond.
    canary_100ns: Vec<Option<u64>>,
}

impl Timeline {
    fn of(session: &Session, most: usize) -> Self {
        let place = |names: Vec<&str>| -> HashMap<String, usize> {
            names.into_iter().enumerate().map(|(i, name)| (name.to_owned(), i)).collect()
        };
        let cases = place(session.plan.cases.iter().map(|case| case.id.as_str()).collect());
        let targets = place(session.plan.targets.iter().map(|target| target.name.as_str()).collect());
        let mut timeline = Timeline {
            of: session.trials.len(),
            cases: session.plan.cases.iter().map(|case| case.id.clone()).collect(),
            ..Timeline::default()
        };
        let every = session.trials.len().div_ceil(most.max(1)).max(1);
        let mut before_ms = 0;
        for trial in session.trials.iter().step_by(every) {
            if let (Some(case), Some(target)) = (cases.get(&trial.case), targets.get(&trial.target)) {
                // Below 2^45, since 64 bits of nanoseconds are no more milliseconds.
                let started_ms = (trial.started_ns / 1_000_000) as i64;
                timeline.after_ms.push(started_ms - before_ms);
                before_ms = started_ms;
                timeline.push(trial, *case, *target, session.is_counted(trial));
            }
        }
        timeline
    }

    fn push(&mut self, trial: &Trial, case: usize, target: usize, counts: bool) {
        self.case.push(case);
        self.target.push(target);
        self.round.push(trial.round);
        self.elapsed_ms.push(trial.host_elapsed_ns / 1_000_000);
        self.outcome.push(match (trial.failure.is_some(), counts) {
            (true, _) => 2,
            (false, false) => 1,
            (false, true) => 0,
        });
        self.steal_us.push(stolen(trial).map(|ns| ns / 1_000));
        self.canary_100ns.push(trial.inside.canary_ns.map(|ns| ns / 100));
    }
}

/// Quantiles of one kind of operation in one environment.
#[derive(Debug, Serialize)]
struct Tail {
    case: String,
    series: String,
    #[serde(rename = "environment")]
    target: String,
    operations: u64,
    /// Quantile and nanoseconds.
    points: Vec<(f64, u64)>,
    longest_ns: u64,
}

impl From<TailCurve> for Tail {
    fn from(curve: TailCurve) -> Self {
        Tail {
            case: curve.case,
            series: curve.series,
            target: curve.target,
            operations: curve.operations,
            points: curve.points,
            longest_ns: curve.longest_ns,
        }
    }
}
