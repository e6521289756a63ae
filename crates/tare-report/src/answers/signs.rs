//! Signs of one character behind an answer: what must be known of how it came about, explained once.

use tare_analysis::findings::{Comparison, Findings, Row};
use tare_data::warning::Warning;

use crate::language::{Language, message};
use crate::words;

/// A sign behind an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// The answer is of short operations, and work that lasts takes another time.
    Overturned,
    /// The answer is of short operations, as far as is known.
    Open,
    Emulated,
    More,
}

impl Sign {
    /// Signs in the order in which they follow an answer.
    pub const ALL: [Sign; 4] = [Sign::Overturned, Sign::Open, Sign::Emulated, Sign::More];

    /// Returns the character, which every character set can show.
    pub const fn character(self) -> char {
        match self {
            Sign::Overturned => '!',
            Sign::Open => '+',
            Sign::Emulated => '^',
            Sign::More => '*',
        }
    }

    /// Returns the explanation.
    pub const fn meaning(self) -> &'static str {
        match self {
            Sign::Overturned => message!("for short operations: work that lasts takes another time"),
            Sign::Open => message!("for short operations: of work that lasts nothing is excluded"),
            Sign::Emulated => message!("on an emulated processor: a real one gives another number"),
            Sign::More => message!(
                "there is more to it (stalls, groups, few launches, a short time, the mean): tare report --wide"
            ),
        }
    }
}

/// Lists the signs of a comparison in the environment at an index.
pub fn list_signs(findings: &Findings, target: usize, comparison: &Comparison) -> Vec<Sign> {
    let has = |sign: &Sign| match sign {
        Sign::Overturned => comparison.answer().is_overturned(),
        Sign::Open => comparison.answer().is_of_short() && !comparison.answer().is_overturned(),
        Sign::Emulated => findings.subjects.get(target).is_some_and(|name| is_emulated(findings, name)),
        Sign::More => words::has_more_to_know(comparison),
    };
    Sign::ALL.into_iter().filter(has).collect()
}

/// Writes the signs of a comparison.
pub fn write_signs(findings: &Findings, target: usize, comparison: &Comparison) -> String {
    list_signs(findings, target, comparison).into_iter().map(Sign::character).collect()
}

/// Explains those of the signs that occur in rows, each once.
pub fn explain_signs(findings: &Findings, rows: &[&Row], language: Language, signs: &[Sign]) -> Vec<String> {
    let cells = rows.iter().flat_map(|row| row.cells.iter().enumerate());
    let found: Vec<Sign> =
        cells.filter_map(|(at, cell)| Some(list_signs(findings, at, cell.comparison()?))).flatten().collect();
    let explained = signs.iter().filter(|sign| found.contains(sign));
    explained.map(|sign| format!("{} = {}", sign.character(), language.word(sign.meaning()))).collect()
}

/// Checks if a session warns that an environment's processor is emulated.
pub fn is_emulated(findings: &Findings, target: &str) -> bool {
    let about = |(name, warning): &(Option<String>, Warning)| {
        name.as_deref() == Some(target) && matches!(warning, Warning::EmulatedProcessor)
    };
    findings.warnings.iter().any(about)
}
