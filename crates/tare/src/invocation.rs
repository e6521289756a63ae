//! The invocation: the words that this program was called with, and when.

use tare_lab::session::peers::redacted;

/// The arguments after the program's name, as a shell takes them again; without secrets.
pub fn words() -> Vec<String> {
    std::env::args().skip(1).map(|word| quoted(&redacted(&word))).collect()
}

/// The time of day, RFC 3339 with offset.
pub fn now() -> String {
    jiff::Zoned::now().strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

/// Quotes a word that a shell would take apart.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,:/@+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The word that [`quoted`] quoted.
pub fn unquoted(word: &str) -> String {
    match word.strip_prefix('\'').and_then(|word| word.strip_suffix('\'')) {
        Some(inner) => inner.replace("'\\''", "'"),
        None => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_word_is_found_again() {
        for word in ["--in=native", "sys.*", "", "it's", "'", "a b"] {
            assert_eq!(unquoted(&quoted(word)), word);
        }
        assert_eq!(quoted("sys.*"), "'sys.*'");
    }
}
