//! The language of a locale.

use super::Language;

/// Environment variables in the order in which POSIX reads them; an empty one counts as unset.
const VARIABLES: [&str; 3] = ["LC_ALL", "LC_MESSAGES", "LANG"];
/// Variables that choose the character set, in the same order.
const CHARACTERS: [&str; 3] = ["LC_ALL", "LC_CTYPE", "LANG"];

impl Language {
    /// Finds the language of the locale in the environment; English if tare does not have it.
    pub fn of_environment(variable: impl Fn(&str) -> Option<String>) -> Language {
        find_locale(&VARIABLES, variable).map_or(Language::English, |locale| of_locale(&locale))
    }
}

/// Tells whether the locale in the environment has a character set without tare's signs: C, POSIX, EUC-JP. Without a locale,
/// as in most containers, terminals show UTF-8.
pub fn is_limited_to_ascii(variable: impl Fn(&str) -> Option<String>) -> bool {
    find_locale(&CHARACTERS, variable).is_some_and(|locale| {
        let charset = locale.split_once('@').map_or(locale.as_str(), |(name, _)| name).split_once('.');
        match charset {
            Some((_, charset)) => !is_utf_8(charset),
            None => ["C", "POSIX"].contains(&locale.as_str()),
        }
    })
}

fn find_locale(names: &[&str], variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    names.iter().find_map(|name| variable(name).filter(|value| !value.is_empty()))
}

fn is_utf_8(charset: &str) -> bool {
    ["utf-8", "utf8"].contains(&charset.to_ascii_lowercase().as_str())
}

/// Parses `ja`, `ja_JP` or `ja_JP.UTF-8`. Everything that tare writes is UTF-8, so a locale of another
/// character set gets English, and one that names no character set its language.
fn of_locale(locale: &str) -> Language {
    let (name, _modifier) = locale.split_once('@').unwrap_or((locale, ""));
    let (name, charset) = name.split_once('.').unwrap_or((name, "UTF-8"));
    let language = name.split('_').next().unwrap_or_default();
    if is_utf_8(charset) && language == "ja" { Language::Japanese } else { Language::English }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(variables: &[(&str, &str)]) -> Language {
        Language::of_environment(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_first_variable_that_is_not_empty_decides() {
        use Language::*;
        assert_eq!(with(&[]), English);
        assert_eq!(with(&[("LANG", "ja_JP.UTF-8")]), Japanese);
        assert_eq!(with(&[("LC_ALL", "C"), ("LANG", "ja_JP.UTF-8")]), English);
        assert_eq!(with(&[("LC_ALL", ""), ("LC_MESSAGES", "ja_JP.utf8"), ("LANG", "C")]), Japanese);
        assert_eq!(with(&[("LC_MESSAGES", "en_GB.UTF-8"), ("LANG", "ja_JP.UTF-8")]), English);
    }

    #[test]
    fn a_locale_without_utf_8_has_ascii_alone() {
        let with = |locale: Option<&str>| {
            is_limited_to_ascii(|name| locale.filter(|_| name == "LC_ALL").map(str::to_owned))
        };
        for locale in ["C", "POSIX", "ja_JP.eucJP", "de_DE.ISO-8859-1@euro"] {
            assert!(with(Some(locale)), "{locale}");
        }
        for locale in ["C.UTF-8", "ja_JP.utf8", "en_GB.UTF-8@x", "ja_JP"] {
            assert!(!with(Some(locale)), "{locale}");
        }
        assert!(!with(None), "most containers have no locale");
    }

    #[test]
    fn a_character_set_other_than_utf_8_gets_english() {
        for (locale, language) in [
            ("ja", Language::Japanese),
            ("ja_JP", Language::Japanese),
            ("ja_JP.UTF-8@cjknarrow", Language::Japanese),
            ("ja_JP.eucJP", Language::English),
            ("ja_JP.SJIS", Language::English),
            ("jam_JM.UTF-8", Language::English),
            ("C.UTF-8", Language::English),
            ("POSIX", Language::English),
            ("de_DE.UTF-8", Language::English),
        ] {
            assert_eq!(of_locale(locale), language, "{locale}");
        }
    }
}
