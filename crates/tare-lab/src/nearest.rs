//! The nearest word: what somebody probably meant by a name that does not exist.

/// The candidate that takes the fewest edits, if it takes few enough to be a slip.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (edits(word, candidate), candidate))
        .min()
        .filter(|(edits, candidate)| *edits <= 1 + candidate.len().max(word.len()) / 4)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein's distance: insertions, deletions and substitutions.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
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
