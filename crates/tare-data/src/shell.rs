//! Words of a command line as a shell takes them again: shown to be copied, or in a script.

use crate::foreign::plain::is_plain;

/// Quotes a word that a shell would take apart, to be shown. Its line breaks and other characters that are not plain are written
/// as `$'\n'` and by their bytes, so that it is one line, and the same word for bash, zsh and ksh.
pub fn quote_word(word: &str) -> String {
    if is_bare(word) {
        return word.to_owned();
    }
    let quoted = word.chars().map(|c| match c {
        '\'' => r"'\''".to_owned(),
        '\n' => r"'$'\n''".to_owned(),
        c if is_plain(c) => c.to_string(),
        // Three octal digits end by themselves, whatever comes next.
        c => {
            format!("'$'{}''", c.to_string().bytes().map(|byte| format!("\\{byte:03o}")).collect::<String>())
        }
    });
    format!("'{}'", quoted.collect::<String>())
}

/// Joins words into a line that shows them, each quoted.
pub fn join_words<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> String {
    words.into_iter().map(|word| quote_word(word.as_ref())).collect::<Vec<_>>().join(" ")
}

/// Quotes a word for a script. Each character stays: dash knows no `$'\n'`.
pub fn quote_for_script(word: &str) -> String {
    if is_bare(word) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Joins words into a command of a script.
pub fn join_for_script<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> String {
    words.into_iter().map(|word| quote_for_script(word.as_ref())).collect::<Vec<_>>().join(" ")
}

/// Tells whether every shell takes a word as it is.
fn is_bare(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_=.,:/@+".contains(c))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Words with line breaks, controls of both kinds, marks of direction, digits after them, and all that quotes.
    const HOSTILE: [&str; 9] = [
        "",
        "it's",
        "a\n::error file=x::b",
        "\n\n",
        "'\n'; echo ran; '",
        "\u{1b}]0;a\u{7}7",
        "\u{9b}1m\u{202e}e",
        "\r\t\u{7f}0",
        "$'\\n' \\ \\' \"x\" é",
    ];

    #[test]
    fn what_a_shell_would_take_apart_is_quoted() {
        assert_eq!(
            join_words(["--in=native", "sys.*", "", "it's", "a b"]),
            r"--in=native 'sys.*' '' 'it'\''s' 'a b'"
        );
        assert_eq!(join_words(["; curl x|sh", "$(id)", "~"]), "'; curl x|sh' '$(id)' '~'");
    }

    #[test]
    fn a_word_that_is_shown_is_one_plain_line() {
        assert_eq!(quote_word("a\n::error::b"), r"'a'$'\n''::error::b'");
        assert_eq!(quote_word("\u{1b}[2J"), r"''$'\033''[2J'");
        let shown = join_words(HOSTILE);
        assert!(shown.chars().all(is_plain), "{shown:?}");
    }

    #[test]
    fn shells_take_the_same_words_again() {
        let shown: fn(&str) -> String = quote_word;
        for (shell, quote) in [("bash", shown), ("zsh", shown), ("sh", quote_for_script)] {
            for word in HOSTILE {
                let script = format!("printf %s {}", quote(word));
                let mut command = Command::new(shell);
                match command.env("LC_ALL", "C.UTF-8").args(["-c", &script]).output() {
                    Ok(output) => assert_eq!(output.stdout, word.as_bytes(), "{shell}: {script}"),
                    Err(_) => println!("SKIPPED shells_take_the_same_words_again: {shell} is not installed"),
                }
            }
        }
    }
}
