//! Words of a command line as a POSIX shell takes them again.

/// Quotes a word that a shell would take apart.
pub fn quote_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,:/@+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Joins words into a line for a shell.
pub fn join_words<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> String {
    words.into_iter().map(|word| quote_word(word.as_ref())).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_shell_would_take_apart_is_quoted() {
        assert_eq!(
            join_words(["--in=native", "sys.*", "", "it's", "a b"]),
            r"--in=native 'sys.*' '' 'it'\''s' 'a b'"
        );
        assert_eq!(join_words(["; curl x|sh", "$(id)", "~"]), "'; curl x|sh' '$(id)' '~'");
    }
}
