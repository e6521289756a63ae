//! The answer of a gate in words.

use tare_analysis::gate::{Answer, Outcome};

use crate::number::counted;

/// One line: whether the gate is shut, by how many cells, and how many could not be decided or compared.
pub fn line(outcome: &Outcome) -> String {
    let all = counted(outcome.cells.len(), "cell", "cells");
    let count = |answer| outcome.count(answer);
    let head = match count(Answer::Trips) {
        0 if outcome.is_shut() => return format!("gate shut: none of {all} could be compared"),
        0 => format!("gate open: none of {all} trips it"),
        tripped => {
            format!("gate shut: {tripped} of {all} {}", if tripped == 1 { "trips it" } else { "trip it" })
        }
    };
    let undecided = match count(Answer::Undecided) {
        0 => "all others are decided".to_owned(),
        some => format!("{some} could not be decided"),
    };
    let missing = match count(Answer::Missing) {
        0 => String::new(),
        some => format!(", {some} could not be compared"),
    };
    format!("{head}; {undecided}{missing}")
}

#[cfg(test)]
mod tests {
    use tare_analysis::gate::Judged;

    use super::*;

    #[test]
    fn what_cannot_be_told_is_never_passed_over() {
        let cell = |answer| Judged { row: 0, lane: 0, answer, condition: "slower".into() };
        let of = |answers: &[Answer]| {
            line(&Outcome { cells: answers.iter().map(|a| cell(*a)).collect(), idle: vec![] })
        };
        use Answer::*;
        assert_eq!(of(&[Passes, Passes]), "gate open: none of 2 cells trips it; all others are decided");
        assert_eq!(
            of(&[Passes, Undecided, Undecided, Missing]),
            "gate open: none of 4 cells trips it; 2 could not be decided, 1 could not be compared"
        );
        assert_eq!(of(&[Trips, Undecided]), "gate shut: 1 of 2 cells trips it; 1 could not be decided");
        assert_eq!(of(&[Missing, Missing]), "gate shut: none of 2 cells could be compared");
    }
}
