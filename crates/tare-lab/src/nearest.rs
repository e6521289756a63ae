//! The nearest word: what somebody probably meant by a name that does not exist.

use crate::error::LabError;

/// How like a known word an unknown one must be to be taken for it (Jaro-Winkler, 1 is the same).
const NEAR: f64 = 0.75;

/// The candidate that is most like a word, if it is like enough to be a slip.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= NEAR)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// An error about a word that is not among the known ones, with the nearest of them as its hint, else another.
pub fn unlike<'a>(
    error: LabError,
    given: &str,
    known: impl IntoIterator<Item = &'a str>,
    otherwise: impl Into<String>,
) -> LabError {
    match nearest(given, known) {
        Some(name) => error.hint(format!("did you mean '{name}'?")),
        None => error.hint(otherwise),
    }
}

/// The same, which otherwise lists the known ones.
pub fn unknown(error: LabError, given: &str, known: &[&str]) -> LabError {
    let all =
        if known.is_empty() { "it has none".into() } else { format!("there are: {}", known.join(", ")) };
    unlike(error, given, known.iter().copied(), all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let names = ["native", "container", "gvisor", "proot"];
        assert_eq!(nearest("gvisro", names), Some("gvisor"));
        assert_eq!(nearest("contaner", names), Some("container"));
        assert_eq!(nearest("kubernetes", names), None);
    }
}
