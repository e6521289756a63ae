//! The nearest word: what somebody probably meant by a name that does not exist.

use crate::error::LabError;

/// Likeness from which an unknown word is taken for a known one (Jaro-Winkler, 1 is equal).
const NEAR: f64 = 0.75;
/// Likeness of what one slip of the finger makes: no less than that of longer words with one.
const ONE_SLIP: f64 = 0.9;

/// Finds the candidate that is most like a word, if it is like enough to be a slip.
pub fn find_nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (likeness(word, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= NEAR)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// Computes how alike two words are; 1 is equal. For short words the measure is too low where two letters
/// change places.
fn likeness(word: &str, candidate: &str) -> f64 {
    let is_one_slip = word.chars().count() > 2 && strsim::osa_distance(word, candidate) == 1;
    let likeness = strsim::jaro_winkler(word, candidate);
    if is_one_slip { likeness.max(ONE_SLIP) } else { likeness }
}

/// Builds an error about an unknown word, with the nearest known word as its hint, else another hint.
pub fn add_nearest_hint<'a>(
    error: LabError,
    given: &str,
    known: impl IntoIterator<Item = &'a str>,
    otherwise: impl Into<String>,
) -> LabError {
    match find_nearest(given, known) {
        Some(name) => error.with_hint(format!("did you mean '{name}'?")),
        None => error.with_hint(otherwise),
    }
}

/// Builds an error about an unknown word whose hint lists the known ones where none is near.
pub fn add_known_words_hint(error: LabError, given: &str, known: &[&str]) -> LabError {
    let all =
        if known.is_empty() { "it has none".into() } else { format!("there are: {}", known.join(", ")) };
    add_nearest_hint(error, given, known.iter().copied(), all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let names = ["native", "container", "gvisor", "proot"];
        assert_eq!(find_nearest("gvisro", names), Some("gvisor"));
        assert_eq!(find_nearest("contaner", names), Some("container"));
        assert_eq!(find_nearest("kubernetes", names), None);
        assert_eq!(find_nearest("rnu", ["report", "run"]), Some("run"));
    }
}
