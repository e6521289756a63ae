//! A gate: conditions that a script sets on findings, and the cells that trip them, pass or are undecided.

use std::fmt;
use std::str::FromStr;

use tare_data::named;
use tare_data::names::matches_pattern;
use tare_data::session::Side;
use tare_data::session::specification::Specification;

use crate::findings::{self, Answer, Cell, Findings, Interval, Position, Reach, Row};
use crate::outcome::{CommandOutcome, Word, is_enough};

named! {
    /// The subject of a condition, by the word of the grammar.
    pub enum Kind {
        /// A cell is shown to be slower than the baseline.
        Slower = "slower",
        /// A cell is compared, and whether it is slower cannot be said.
        Undecided = "undecided",
        /// A cell has no comparison.
        Missing = "missing",
        /// A command does not do in an environment what it does in the baseline.
        Differs = "differs",
        /// A cell is slower than it was in an older record.
        Regressed = "regressed",
    }
}

impl Kind {
    /// Kinds of conditions on one record, and on two.
    const OF_ONE: [Kind; 4] = [Kind::Slower, Kind::Undecided, Kind::Missing, Kind::Differs];
    const OF_TWO: [Kind; 3] = [Kind::Regressed, Kind::Undecided, Kind::Missing];
}

/// Which cells of which environments: `ENV`, `ENV:CASE` or everything, with `*` for any part of either.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selector(Option<String>);

impl Selector {
    /// Matches a cell. An environment may be named as its column is headed, or as it is entered (`oci:crun`);
    /// a case by any of its names: its row's heading, its probe, and all that fixes it.
    pub fn matches_cell(&self, target: &TargetNames, case: &[&str]) -> bool {
        let Some(pattern) = &self.0 else { return true };
        let chosen = |target: &str| {
            matches_pattern(pattern, target)
                || case.iter().any(|name| matches_pattern(pattern, &format!("{target}:{name}")))
        };
        chosen(target.name)
            || target.title.is_some_and(chosen)
            || target.specification.is_some_and(|entered| chosen(&entered.to_string()))
    }
}

/// The names of a side: that of its column, the one by which it is entered, and the title of its command.
#[derive(Clone, Copy, Debug)]
pub struct TargetNames<'a> {
    pub name: &'a str,
    /// None where only its column is known.
    pub specification: Option<&'a Specification>,
    /// None where environments are compared.
    pub title: Option<&'a str>,
}

impl<'a> TargetNames<'a> {
    /// Lists the names of a side that a record has.
    pub fn of_side(side: &'a Side) -> TargetNames<'a> {
        TargetNames { name: &side.name, specification: Some(&side.specification), title: side.title() }
    }

    /// Makes the names of a side of which only its column is known.
    pub fn of_column(name: &'a str) -> TargetNames<'a> {
        TargetNames { name, specification: None, title: None }
    }
}

/// `KIND[:ENV[:CASE]][>RATIO]`: when a gate is tripped.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    pub kind: Kind,
    pub selector: Selector,
    /// At least 1: the cost ratio, or the change of it, beyond which it trips.
    pub beyond: Option<f64>,
}

impl Condition {
    /// Reads a condition on one record.
    pub fn of_one(text: &str) -> Result<Condition, String> {
        Condition::parse(text, &Kind::OF_ONE)
    }

    /// Reads a condition on two records.
    pub fn of_two(text: &str) -> Result<Condition, String> {
        Condition::parse(text, &Kind::OF_TWO)
    }

    /// Reads `ENV[:CASE]=RATIO`, the most that is allowed, which a shell needs no quotes for.
    pub fn at_most(text: &str, kind: Kind) -> Result<Condition, String> {
        let (selector, ratio) =
            text.rsplit_once('=').ok_or("an environment and a ratio are needed, e.g. container=1.5")?;
        if selector.is_empty() {
            return Err(format!("an environment precedes '={ratio}', e.g. container={ratio}"));
        }
        Ok(Condition {
            kind,
            selector: Selector(Some(selector.to_owned())),
            beyond: Some(parse_ratio(ratio)?),
        })
    }

    fn parse(text: &str, kinds: &[Kind]) -> Result<Condition, String> {
        let (rest, beyond) = match text.rsplit_once('>') {
            Some((rest, ratio)) => (rest, Some(parse_ratio(ratio)?)),
            None => (text, None),
        };
        let (word, selector) = match rest.split_once(':') {
            Some((word, selector)) => (word, Some(selector)),
            None => (rest, None),
        };
        // `slower:5%` is `slower>1.05`.
        let share = selector.filter(|selector| beyond.is_none() && selector.ends_with('%'));
        let (selector, beyond) = match share.map(parse_ratio) {
            Some(Ok(ratio)) => (None, Some(ratio)),
            Some(Err(_)) | None => (selector, beyond),
        };
        let Some(kind) = kinds.iter().copied().find(|kind| kind.name() == word) else {
            let words: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
            return Err(format!("'{word}' is not a condition; there are {}", words.join(", ")));
        };
        if selector == Some("") {
            return Err(format!("an environment follows '{word}:', e.g. {word}:gvisor"));
        }
        if beyond.is_some() && matches!(kind, Kind::Undecided | Kind::Missing | Kind::Differs) {
            return Err(format!("'{word}' has no ratio"));
        }
        Ok(Condition { kind, selector: Selector(selector.map(str::to_owned)), beyond })
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Condition, String> {
        Condition::of_one(text)
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        self.selector.0.iter().try_for_each(|selector| write!(f, ":{selector}"))?;
        self.beyond.iter().try_for_each(|ratio| write!(f, ">{ratio}"))
    }
}

fn parse_ratio(text: &str) -> Result<f64, String> {
    let ratio = match text.strip_suffix('%') {
        Some(share) => share.parse::<f64>().ok().map(|share| 1.0 + share / 100.0),
        None => text.trim_end_matches('x').parse().ok(),
    };
    // NaN is not a ratio either.
    ratio
        .filter(|ratio| (1.0..f64::INFINITY).contains(ratio))
        .ok_or_else(|| format!("'{text}' is not a ratio of at least 1, e.g. 1.5"))
}

/// The ruling of a condition on one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// The condition holds: the gate is tripped.
    Trips,
    /// It is shown not to hold.
    Passes,
    /// The data do not decide it.
    Undecided,
    /// There is no comparison.
    Missing,
}

impl Condition {
    /// Answers for a cell of one record, by what is shown of it.
    fn answer(&self, cell: &Cell, outcome: Option<&CommandOutcome>) -> Ruling {
        if self.kind == Kind::Differs {
            return outcome.map_or(Ruling::Missing, rule_on_outcome);
        }
        let Cell::Compared(comparison) = cell else {
            return if self.kind == Kind::Missing { Ruling::Trips } else { Ruling::Missing };
        };
        match (self.kind, self.beyond) {
            (Kind::Missing, _) => Ruling::Passes,
            (Kind::Slower, None) => rule_on_slower(comparison.answer()),
            (Kind::Slower, Some(ratio)) => rule_within_reach(comparison.interval, ratio, comparison.reach),
            (Kind::Undecided, _) => match rule_on_slower(comparison.answer()) {
                Ruling::Undecided => Ruling::Trips,
                Ruling::Trips | Ruling::Passes | Ruling::Missing => Ruling::Passes,
            },
            // A condition on two records has no answer in one.
            (Kind::Regressed | Kind::Differs, _) => Ruling::Missing,
        }
    }
}

/// Rules on "more than a ratio" by the interval that is shown, and by nothing else.
pub(crate) fn rule_on_interval(interval: Interval, ratio: f64) -> Ruling {
    match interval.against(ratio) {
        Position::Beyond => Ruling::Trips,
        Position::Within => Ruling::Passes,
        Position::Open => Ruling::Undecided,
    }
}

/// Rules on "more than a ratio" where short stretches alone were timed: nothing passes whose work takes longer once it lasts.
pub(crate) fn rule_within_reach(interval: Interval, ratio: f64, reach: Reach) -> Ruling {
    match rule_on_interval(interval, ratio) {
        Ruling::Passes if reach.is_overturned() => Ruling::Undecided,
        ruling => ruling,
    }
}

/// Rules on "slower than the margin": only an answer that is decided passes, and that holds for work that lasts as far as is known.
pub(crate) fn rule_on_slower(answer: Answer) -> Ruling {
    match answer.kind() {
        findings::Kind::Slower | findings::Kind::AtLeast => Ruling::Trips,
        findings::Kind::Faster | findings::Kind::Same if answer.is_overturned() => Ruling::Undecided,
        findings::Kind::Faster | findings::Kind::Same => Ruling::Passes,
        findings::Kind::AtMost | findings::Kind::NotSure => Ruling::Undecided,
        findings::Kind::None => Ruling::Missing,
    }
}

/// Rules on "differs": only what is shown to be alike passes.
fn rule_on_outcome(outcome: &CommandOutcome) -> Ruling {
    let starts = outcome.counts.map(|count| count.starts);
    match outcome.word {
        Word::Differs | Word::FailsOnly | Word::MoreOften => Ruling::Trips,
        Word::FailsEverywhere if !is_enough(starts, 1) => Ruling::Undecided,
        Word::Same | Word::FailsEverywhere => Ruling::Passes,
        Word::NowAndThen | Word::TooFew => Ruling::Undecided,
    }
}

/// The answer of all conditions of a gate in one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Index of the row, and of the subject environment.
    pub row: usize,
    pub target: usize,
    /// Tripped if any condition is; else undecided if any is, else missing if any is.
    pub answer: Ruling,
    /// The first condition that gave the answer, as it was written.
    pub condition: String,
}

/// The answers of a gate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Cells that some condition chose, in the order of the rows, then of the environments.
    pub cells: Vec<Judged>,
    /// Conditions that chose no cell at all: a name is wrong.
    pub idle: Vec<String>,
    /// True where the gate stays open although a condition could not be decided.
    pub allows_undecided: bool,
}

impl Outcome {
    /// Counts the cells that have this ruling.
    pub fn count_cells(&self, answer: Ruling) -> usize {
        self.cells.iter().filter(|cell| cell.answer == answer).count()
    }

    /// Checks if the gate fails: a condition holds, could not be decided, or had nothing to compare.
    pub fn is_shut(&self) -> bool {
        self.cells.iter().any(|cell| self.is_shut_by(cell))
    }

    /// Checks if a cell is one that the gate fails by.
    pub fn is_shut_by(&self, cell: &Judged) -> bool {
        match cell.answer {
            Ruling::Trips => true,
            Ruling::Undecided => !self.allows_undecided,
            Ruling::Missing => self.count_cells(Ruling::Missing) == self.cells.len(),
            Ruling::Passes => false,
        }
    }

    /// Finds the answer for a cell; none where no condition chose it.
    pub fn find_answer(&self, row: usize, target: usize) -> Option<&Judged> {
        self.cells.iter().find(|cell| (cell.row, cell.target) == (row, target))
    }
}

/// The conditions of a gate that is being judged, and its answers so far.
pub(crate) struct Judging<'a> {
    conditions: &'a [Condition],
    used: Vec<bool>,
    cells: Vec<Judged>,
}

impl<'a> Judging<'a> {
    pub(crate) fn new(conditions: &'a [Condition]) -> Judging<'a> {
        Judging { conditions, used: vec![false; conditions.len()], cells: Vec::new() }
    }

    /// Puts to a cell the conditions that choose it. No condition changes the answer of another.
    pub(crate) fn judge_cell(
        &mut self,
        (row, target): (usize, usize),
        chooses: impl Fn(&Selector) -> bool,
        answer: impl Fn(&Condition) -> Ruling,
    ) {
        let mut answers = Vec::new();
        for (condition, used) in self.conditions.iter().zip(&mut self.used) {
            if chooses(&condition.selector) {
                *used = true;
                answers.push((answer(condition), condition));
            }
        }
        self.cells.extend(pick_strongest_answer(row, target, answers.into_iter()));
    }

    pub(crate) fn into_outcome(self) -> Outcome {
        let idle = self.conditions.iter().zip(self.used).filter(|(_, used)| !used);
        let idle = idle.map(|(condition, _)| condition.to_string()).collect();
        Outcome { cells: self.cells, idle, allows_undecided: false }
    }
}

/// Puts conditions to every headline cell of a session that is judged. `targets` are its subjects, in the order of the findings.
pub fn judge_findings(findings: &Findings, targets: &[TargetNames<'_>], conditions: &[Condition]) -> Outcome {
    let mut judging = Judging::new(conditions);
    for (at, row) in
        findings.rows.iter().enumerate().filter(|(_, row)| row.headline && Row::is_judged(&row.probe))
    {
        for (target, (cell, names)) in row.cells.iter().zip(targets).enumerate() {
            let outcome = findings.find_outcome(&row.case, names.name);
            let chooses =
                |selector: &Selector| selector.matches_cell(names, &[&row.case, &row.probe, &row.label]);
            judging.judge_cell((at, target), chooses, |condition| condition.answer(cell, outcome));
        }
    }
    judging.into_outcome()
}

/// Picks, from the answers of several conditions in a cell, the one that a person must read first.
fn pick_strongest_answer<'a>(
    row: usize,
    target: usize,
    answers: impl Iterator<Item = (Ruling, &'a Condition)>,
) -> Option<Judged> {
    let weight = |answer: Ruling| match answer {
        Ruling::Trips => 3,
        Ruling::Undecided => 2,
        Ruling::Missing => 1,
        Ruling::Passes => 0,
    };
    let mut first: Option<(Ruling, &Condition)> = None;
    for (answer, condition) in answers {
        if first.is_none_or(|(known, _)| weight(answer) > weight(known)) {
            first = Some((answer, condition));
        }
    }
    first.map(|(answer, condition)| Judged { row, target, answer, condition: condition.to_string() })
}
