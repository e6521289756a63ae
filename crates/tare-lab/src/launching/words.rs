//! The words of a launcher: split as a shell would without expansion, and written into a specification, whose own signs they may
//! contain.

use crate::error::LabError;

/// Limits on the number of words, and on the bytes of all of them.
const MOST_WORDS: usize = 64;
const MOST_BYTES: usize = 4096;
/// Signs that a list of specifications or a specification has for itself, and their code in it.
const CODED: [(char, &str); 3] = [('%', "%25"), (',', "%2C"), ('?', "%3F")];

/// Splits the words that a specification has.
pub fn split_words(coded: &str) -> Result<Vec<String>, LabError> {
    let text = decode_words(coded);
    let wrong = |cause: &str| {
        LabError::usage_error(format!("cannot read the words of the launcher '{text}'"))
            .with_cause(cause.to_owned())
            .with_hint(
                "give the words that come before a command, e.g. --enter box='bwrap --dev-bind / / --'",
            )
    };
    if text.len() > MOST_BYTES {
        return Err(wrong(&format!("they take {} bytes, and may take {MOST_BYTES}", text.len())));
    }
    let words = shlex::split(&text).ok_or_else(|| wrong("a quotation has no end"))?;
    match words.first() {
        None => Err(wrong("there are none")),
        Some(first) if first.is_empty() || first.starts_with('-') => {
            Err(wrong("the first is not the name of a program"))
        }
        Some(_) if words.len() > MOST_WORDS => {
            Err(wrong(&format!("there are {}, of {MOST_WORDS} at most", words.len())))
        }
        Some(_) => Ok(words),
    }
}

/// Codes words so that a specification may have them, also in a list with commas.
pub fn encode_words(text: &str) -> String {
    let coded = |sign: char| CODED.iter().find(|(plain, _)| *plain == sign).map(|(_, code)| *code);
    text.chars().fold(String::new(), |mut all, sign| {
        match coded(sign) {
            Some(code) => all.push_str(code),
            None => all.push(sign),
        }
        all
    })
}

fn decode_words(text: &str) -> String {
    // The percent sign last: a code that it makes was not one.
    CODED.iter().rev().fold(text.to_owned(), |text, (plain, code)| text.replace(code, &plain.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_by_a_shell_that_expands_nothing() {
        assert_eq!(split_words("a 'b c' \"d\\\"\" $HOME *").unwrap(), ["a", "b c", "d\"", "$HOME", "*"]);
        for (text, why) in [
            ("", "there are none"),
            ("'a", "no end"),
            ("-x", "not the name of a program"),
            (&"a ".repeat(65), "of 64 at most"),
            (&"a".repeat(5000), "may take 4096"),
        ] {
            assert!(split_words(text).unwrap_err().to_string().contains(why), "{text}");
        }
    }

    #[test]
    fn every_sign_comes_back() {
        for text in ["a,b?c=d&e", "100% %2C %25", "%", "?,%?,"] {
            let coded = encode_words(text);
            assert!(!coded.contains([',', '?']), "{coded}");
            assert_eq!(decode_words(&coded), text);
        }
        assert_eq!(decode_words("date +%s"), "date +%s");
    }
}
