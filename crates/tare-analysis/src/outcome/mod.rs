//! Outcomes: whether a command does the same on two sides, by the first run of each start.
//!
//! A start is a unit, however many runs it has: a command may leave something behind that its next run finds. Times are judged
//! elsewhere, and by other means.

mod ends;
mod family;
mod lines;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tare_data::batch::{ENDED, RunEnd};
use tare_data::session::outcome::{Lines, Part};
use tare_data::session::{PlannedCase, Role, Session};

use self::ends::{Table, count_needed};
use self::family::{Hypothesis, LEVEL, reject};
pub use self::lines::{Change, Difference};
use self::lines::{Separation, choose, separate};
use crate::statistics::binomial::fisher::compute_share_p;

/// Things that are compared of a command on two sides: the end, and each part.
pub const PARTS: usize = 1 + Part::ALL.len();
/// Differences of a part that are named.
const MOST_NAMED: usize = 3;

/// The outcome of a command on one side, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    Same,
    /// Some part, or the end, is another.
    Differs,
    /// It fails in every start of a side, and in none of the other.
    FailsOnly,
    /// It fails more often on a side.
    MoreOften,
    /// It was seen to fail, and the sides cannot be told apart.
    NowAndThen,
    /// It fails in every start of both.
    FailsEverywhere,
    /// No difference was seen, and so few starts could not show one.
    TooFew,
}

impl Word {
    /// Tells whether the sides are told apart.
    pub fn is_difference(self) -> bool {
        matches!(self, Word::Differs | Word::FailsOnly | Word::MoreOften)
    }
}

/// Starts of a side, and those whose run ended so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Count {
    pub so: u32,
    pub starts: u32,
}

/// The outcome of a command on two sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CommandOutcome {
    pub case: String,
    pub label: String,
    #[serde(rename = "environment")]
    pub target: String,
    #[serde(rename = "baseline")]
    pub against: String,
    pub word: Word,
    /// The side on which it fails, alone or more often.
    pub fails_in: Option<String>,
    /// The end that tells most; none where all runs did their work.
    pub end: Option<RunEnd>,
    /// True where some end tells the sides apart, be it a failure or not; it is `end` where the word is [`Word::Differs`].
    pub is_end_told: bool,
    /// Starts that ended so: of the baseline, and of the environment.
    pub counts: [Count; 2],
    /// Starts whose run failed, whatever its end: of the baseline, and of the environment.
    pub failed: [u32; 2],
    /// Starts of each side that would tell such shares apart; none where no number would.
    pub needed: Option<u32>,
    pub differences: Vec<Difference>,
    /// Parts that were compared.
    pub compared: Vec<Part>,
    /// Parts that vary within a side.
    pub unsteady: Vec<Part>,
    /// True where output was longer than what is compared.
    pub is_cut: bool,
    /// The last line that a run wrote which failed.
    pub last_line: Option<String>,
}

/// Tells whether these starts of each side can show a difference where this number of things is compared.
pub fn is_enough(starts: [u32; 2], things: usize) -> bool {
    let [a, b] = starts.map(u64::from);
    ends::least_share_p([a, 0], [a, b]) <= LEVEL / things.max(1) as f64
}

/// Tells whether an end is not that of a run that did its work.
pub fn fails(planned: &PlannedCase, end: RunEnd) -> bool {
    let expected = planned.case.parameters.get_integer("expect_exit").ok();
    end != RunEnd::ExitCode(expected.and_then(|code| code.try_into().ok()).unwrap_or(0))
}

/// The first run of a start.
#[derive(Clone, Copy)]
struct First<'a> {
    end: RunEnd,
    parts: Option<&'a BTreeMap<Part, Lines>>,
}

/// A comparison while the family that it belongs to is not yet complete.
struct Compared<'a> {
    planned: &'a PlannedCase,
    names: [&'a str; 2],
    firsts: [Vec<First<'a>>; 2],
    tables: Vec<Table>,
    parts: Vec<(Part, Separation)>,
}

/// Compares the outcomes of every command in every environment with those that it is compared with.
pub fn compare_outcomes(session: &Session) -> Vec<CommandOutcome> {
    let mut all = Vec::new();
    let targets = &session.plan.targets;
    for planned in
        session.plan.cases.iter().filter(|planned| planned.case.probe.starts_with(tare_data::names::USER))
    {
        for at in targets.list_role(Role::Subject) {
            let Some(partner) = targets.partner_of(at) else { continue };
            let names = [partner, at].map(|at| targets[at].name.as_str());
            let firsts = names.map(|name| list_firsts(session, &planned.id, name));
            // Without starts for it, and without a failure, nobody looked.
            let is_kept = session.outcomes.iter().any(|run| run.case == planned.id);
            let is_seen = is_kept || firsts.iter().flatten().any(|first| fails(planned, first.end));
            if is_seen && firsts.iter().all(|firsts| !firsts.is_empty()) {
                all.push(Compared::new(planned, names, firsts));
            }
        }
    }
    let hypotheses: Vec<Hypothesis> = all.iter().flat_map(Compared::list_hypotheses).collect();
    let mut rejected = reject(&hypotheses).into_iter();
    let things = hypotheses.iter().filter(|one| one.least < 1.0).count();
    all.into_iter()
        .map(|compared| {
            let count = compared.tables.len() + compared.parts.len();
            let of_this: Vec<bool> = rejected.by_ref().take(count).collect();
            compared.describe(&of_this, things)
        })
        .collect()
}

/// Lists the first run of every start of a command in an environment: those that were kept, and of the others the first that has an end.
fn list_firsts<'a>(session: &'a Session, case: &str, target: &str) -> Vec<First<'a>> {
    let kept = session.outcomes.iter().filter(|run| run.case == case && run.target == target);
    let mut firsts: Vec<First<'a>> = kept
        .map(|run| First { end: run.end, parts: Some(&run.parts).filter(|parts| !parts.is_empty()) })
        .collect();
    let mut seen = BTreeSet::new();
    for trial in session.trials.iter().filter(|trial| trial.case == case && trial.target == target) {
        if seen.contains(&trial.start) {
            continue;
        }
        if let Some(end) = trial.batches.iter_series(ENDED).find_map(|batch| RunEnd::from_batch(&batch)) {
            seen.insert(trial.start);
            firsts.push(First { end, parts: None });
        }
    }
    firsts
}

impl<'a> Compared<'a> {
    fn new(planned: &'a PlannedCase, names: [&'a str; 2], firsts: [Vec<First<'a>>; 2]) -> Self {
        let ends = firsts.each_ref().map(|firsts| firsts.iter().map(|first| first.end).collect::<Vec<_>>());
        let of_part = |part: Part| {
            let sides = firsts.each_ref().map(|firsts| {
                firsts.iter().filter_map(|first| first.parts?.get(&part)).collect::<Vec<&Lines>>()
            });
            sides.iter().all(|side| !side.is_empty()).then(|| (part, separate(&sides)))
        };
        let parts = Part::ALL.into_iter().filter_map(of_part).collect();
        Compared { planned, names, tables: Table::list(&ends), parts, firsts }
    }

    fn list_hypotheses(&self) -> impl Iterator<Item = Hypothesis> {
        let of_ends = self.tables.iter().map(Table::hypothesis);
        of_ends.chain(self.parts.iter().map(|(_, found)| found.hypothesis))
    }

    /// Finds the word for what was rejected: ends first, then parts.
    fn describe(self, rejected: &[bool], things: usize) -> CommandOutcome {
        let (of_ends, of_parts) = rejected.split_at(self.tables.len());
        let starts = self.firsts.each_ref().map(|firsts| firsts.len() as u32);
        let failed = self
            .firsts
            .each_ref()
            .map(|firsts| firsts.iter().filter(|first| fails(self.planned, first.end)).count() as u32);
        let told = self.tables.iter().zip(of_ends).filter(|(_, rejected)| **rejected).map(|(table, _)| table);
        let told: Vec<&Table> = told.collect();
        let is_part = of_parts.contains(&true);
        let level = LEVEL / things.max(1) as f64;
        let share = |side: usize| f64::from(failed[side]) / f64::from(starts[side]);
        let more = usize::from(share(1) > share(0));
        let are_shares_told = compute_share_p(failed.map(u64::from), starts.map(u64::from)) <= level;
        let word = match failed {
            _ if !told.is_empty() && failed[more] == starts[more] && failed[1 - more] == 0 => Word::FailsOnly,
            // Shares of one that fails are told apart; otherwise it fails alike, and in another way.
            _ if share(0) != share(1)
                && (told.iter().any(|table| table.is_pair) || !told.is_empty() && are_shares_told) =>
            {
                Word::MoreOften
            }
            _ if !told.is_empty() || is_part => Word::Differs,
            failed if failed == starts => Word::FailsEverywhere,
            failed if failed != [0, 0] => Word::NowAndThen,
            _ if is_enough(starts, things) && self.has_enough_parts(things) => Word::Same,
            _ => Word::TooFew,
        };
        // The most frequent end need not be the one that differs.
        let least = told.iter().min_by(|a, b| a.hypothesis().p.total_cmp(&b.hypothesis().p));
        let differing = least.filter(|_| word == Word::Differs).map(|table| table.end);
        let end = differing.or_else(|| self.find_telling_end(more));
        let counts = [0, 1].map(|side| Count {
            so: self.firsts[side].iter().filter(|first| Some(first.end) == end).count() as u32,
            starts: starts[side],
        });
        let is_in_one = matches!(word, Word::FailsOnly | Word::MoreOften);
        let needed = (word == Word::NowAndThen).then(|| count_needed(failed, starts, level)).flatten();
        let mut differences = Vec::new();
        for ((part, found), _) in self.parts.iter().zip(of_parts).filter(|(_, rejected)| **rejected) {
            differences.extend(choose(*part, found, MOST_NAMED));
        }
        CommandOutcome {
            case: self.planned.id.clone(),
            label: self.planned.label.clone(),
            target: self.names[1].to_owned(),
            against: self.names[0].to_owned(),
            word,
            fails_in: is_in_one.then(|| self.names[more].to_owned()),
            end,
            is_end_told: !told.is_empty(),
            counts,
            failed,
            needed,
            differences,
            compared: self.parts.iter().map(|(part, _)| *part).collect(),
            unsteady: self
                .parts
                .iter()
                .filter(|(_, found)| !found.is_steady)
                .map(|(part, _)| *part)
                .collect(),
            is_cut: self.parts.iter().any(|(_, found)| found.is_cut),
            last_line: self.find_last_line(),
        }
    }

    /// Tells whether the starts whose output was kept could have shown a difference: fewer than all are.
    fn has_enough_parts(&self, things: usize) -> bool {
        let kept =
            self.firsts.each_ref().map(|firsts| firsts.iter().filter(|first| first.parts.is_some()).count());
        self.parts.is_empty() || is_enough(kept.map(|kept| kept as u32), things.max(1))
    }

    /// Finds the failing end that is most frequent on the side where it fails more often, or else on the other.
    fn find_telling_end(&self, more: usize) -> Option<RunEnd> {
        let most_frequent = |side: usize| {
            let mut counts: BTreeMap<RunEnd, usize> = BTreeMap::new();
            let failing = self.firsts[side].iter().filter(|first| fails(self.planned, first.end));
            failing.for_each(|first| *counts.entry(first.end).or_default() += 1);
            counts.into_iter().max_by_key(|(_, count)| *count).map(|(end, _)| end)
        };
        most_frequent(more).or_else(|| most_frequent(1 - more))
    }

    fn find_last_line(&self) -> Option<String> {
        let failing = self.firsts.iter().flatten().filter(|first| fails(self.planned, first.end));
        failing.filter_map(|first| first.parts).find_map(|parts| {
            [Part::Errors, Part::Output].into_iter().find_map(|part| {
                let lines = parts.get(&part)?;
                lines.shown.get(&lines.hashes.last()?[0]).cloned()
            })
        })
    }
}
