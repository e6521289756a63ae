//! A gate: conditions that a script sets on findings, and the cells that trip them, pass or cannot be decided.

use std::fmt;
use std::str::FromStr;

use tare_data::names::matches;

use crate::findings::{Cell, Comparison, Findings, Row, Verdict};

/// What a condition is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A cell is shown to be slower than the baseline.
    Slower,
    /// A cell is compared, and whether it is slower cannot be said.
    Undecided,
    /// A cell has no comparison.
    Missing,
    /// A cell is slower than it was in an older record.
    Regressed,
}

impl Kind {
    /// Kinds that are asked of one record, and of two.
    const OF_ONE: [Kind; 3] = [Kind::Slower, Kind::Undecided, Kind::Missing];
    const OF_TWO: [Kind; 3] = [Kind::Regressed, Kind::Undecided, Kind::Missing];

    /// The word of the grammar.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Slower => "slower",
            Kind::Undecided => "undecided",
            Kind::Missing => "missing",
            Kind::Regressed => "regressed",
        }
    }
}

/// Which cells of which environments: `ENV`, `ENV:CASE` or everything, with `*` for any part of either.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selector(Option<String>);

impl Selector {
    /// Whether a cell is chosen. An environment may be named as its column is headed, or as it is entered (`oci:crun`);
    /// a case by its probe or by all that fixes it.
    pub fn chooses(&self, target: &TargetNames, case: &str, probe: &str) -> bool {
        let Some(pattern) = &self.0 else { return true };
        let chosen = |target: &str| {
            matches(pattern, target)
                || matches(pattern, &format!("{target}:{case}"))
                || matches(pattern, &format!("{target}:{probe}"))
        };
        chosen(target.name) || chosen(target.specification)
    }
}

/// What an environment can be called.
#[derive(Clone, Copy, Debug)]
pub struct TargetNames<'a> {
    pub name: &'a str,
    pub specification: &'a str,
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

    fn parse(text: &str, kinds: &[Kind]) -> Result<Condition, String> {
        let (rest, beyond) = match text.rsplit_once('>') {
            Some((rest, ratio)) => (rest, Some(parse_ratio(ratio)?)),
            None => (text, None),
        };
        let (word, selector) = match rest.split_once(':') {
            Some((word, selector)) => (word, Some(selector)),
            None => (rest, None),
        };
        let Some(kind) = kinds.iter().copied().find(|kind| kind.word() == word) else {
            let words: Vec<&str> = kinds.iter().map(|kind| kind.word()).collect();
            return Err(format!("'{word}' is no condition; there are {}", words.join(", ")));
        };
        if selector == Some("") {
            return Err(format!("an environment follows '{word}:', e.g. {word}:gvisor"));
        }
        if beyond.is_some() && matches!(kind, Kind::Undecided | Kind::Missing) {
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
        f.write_str(self.kind.word())?;
        self.selector.0.iter().try_for_each(|selector| write!(f, ":{selector}"))?;
        self.beyond.iter().try_for_each(|ratio| write!(f, ">{ratio}"))
    }
}

fn parse_ratio(text: &str) -> Result<f64, String> {
    let ratio = text.trim_end_matches('x').parse::<f64>().ok();
    // NaN is no ratio either.
    ratio
        .filter(|ratio| (1.0..f64::INFINITY).contains(ratio))
        .ok_or_else(|| format!("'{text}' is no ratio of at least 1, e.g. 1.5"))
}

/// What a condition says of one cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The condition holds: the gate is tripped.
    Trips,
    /// It is shown not to hold.
    Passes,
    /// The figures do not say.
    Undecided,
    /// There is no comparison.
    Missing,
}

impl Condition {
    /// What this condition says of a cell of one record.
    pub fn answer(&self, cell: &Cell) -> Answer {
        let Cell::Compared(comparison) = cell else {
            return if self.kind == Kind::Missing { Answer::Trips } else { Answer::Missing };
        };
        match self.kind {
            Kind::Missing => Answer::Passes,
            Kind::Slower => is_slower(comparison, self.beyond),
            Kind::Undecided => match is_slower(comparison, None) {
                Answer::Undecided => Answer::Trips,
                Answer::Trips | Answer::Passes | Answer::Missing => Answer::Passes,
            },
            // Asked of two records only; one says nothing of it.
            Kind::Regressed => Answer::Missing,
        }
    }
}

/// Whether a comparison shows a cost beyond the margin, or beyond a ratio.
///
/// A verdict that may be chance among so many cells trips nothing: it counts as undecided.
fn is_slower(comparison: &Comparison, beyond: Option<f64>) -> Answer {
    let shown = comparison.verdict == Verdict::Slower && comparison.coloured;
    match beyond {
        None => match comparison.verdict {
            Verdict::Slower if shown => Answer::Trips,
            Verdict::Same | Verdict::Faster | Verdict::FasterUnclear => Answer::Passes,
            Verdict::Slower | Verdict::SlowerUnclear | Verdict::Inconclusive => Answer::Undecided,
        },
        Some(ratio) if comparison.high <= ratio => Answer::Passes,
        Some(ratio) if shown && comparison.low > ratio => Answer::Trips,
        Some(_) => Answer::Undecided,
    }
}

/// What all conditions of a gate say of one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    /// Index of the row, and of the subject environment.
    pub row: usize,
    pub target: usize,
    /// Tripped if any condition is; else undecided if any is, else missing if any is.
    pub answer: Answer,
    /// The first condition that gave the answer, as it was written.
    pub condition: String,
}

/// What a gate says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// One for each cell that some condition chose, in the order of the rows, then of the environments.
    pub cells: Vec<Judged>,
    /// Conditions that chose no cell at all: a name is wrong.
    pub idle: Vec<String>,
}

impl Outcome {
    /// How many cells have this answer.
    pub fn count(&self, answer: Answer) -> usize {
        self.cells.iter().filter(|cell| cell.answer == answer).count()
    }

    /// Whether the gate is shut: a condition holds, or nothing that was chosen could be compared at all.
    pub fn is_shut(&self) -> bool {
        self.count(Answer::Trips) > 0
            || (!self.cells.is_empty() && self.count(Answer::Missing) == self.cells.len())
    }

    /// What is said of a cell; none where no condition chose it.
    pub fn of(&self, row: usize, target: usize) -> Option<&Judged> {
        self.cells.iter().find(|cell| (cell.row, cell.target) == (row, target))
    }
}

/// Puts conditions to every headline cell of a session. `environments` are its subjects, in the order of the findings.
pub fn judge(findings: &Findings, targets: &[TargetNames<'_>], conditions: &[Condition]) -> Outcome {
    let headlines = findings.rows.iter().enumerate().filter(|(_, row)| row.headline);
    let cells = headlines.flat_map(|(at, row)| {
        let targets = row.cells.iter().zip(targets).enumerate();
        targets.map(move |(target, (cell, names))| (at, target, row, cell, names))
    });
    let mut outcome = Outcome::default();
    let mut used = vec![false; conditions.len()];
    for (at, target, row, cell, names) in cells {
        let chosen = conditions.iter().enumerate().filter(|(_, c)| chooses(c, names, row));
        let answers = chosen.map(|(i, condition)| {
            used[i] = true;
            (condition.answer(cell), condition)
        });
        outcome.cells.extend(strongest(at, target, answers));
    }
    let idle = conditions.iter().zip(used).filter(|(_, used)| !used);
    outcome.idle = idle.map(|(condition, _)| condition.to_string()).collect();
    outcome
}

fn chooses(condition: &Condition, target: &TargetNames<'_>, row: &Row) -> bool {
    condition.selector.chooses(target, &row.case, &row.probe)
}

/// Of what several conditions say of a cell, the answer that a person must hear first.
pub fn strongest<'a>(
    row: usize,
    target: usize,
    answers: impl Iterator<Item = (Answer, &'a Condition)>,
) -> Option<Judged> {
    let weight = |answer: Answer| match answer {
        Answer::Trips => 3,
        Answer::Undecided => 2,
        Answer::Missing => 1,
        Answer::Passes => 0,
    };
    let mut first: Option<(Answer, &Condition)> = None;
    for (answer, condition) in answers {
        if first.is_none_or(|(known, _)| weight(answer) > weight(known)) {
            first = Some((answer, condition));
        }
    }
    first.map(|(answer, condition)| Judged { row, target, answer, condition: condition.to_string() })
}
