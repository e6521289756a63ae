//! The language of a locale.

use super::Language;

/// Environment variables in the order in which POSIX reads them; an empty one counts as unset.
const VARIABLES: [&str; 3] = ["LC_ALL", "LC_MESSAGES", "LANG"];

impl Language {
    /// Finds the language of the locale in the environment; English if tare does not have it.
    pub fn of_environment(variable: impl Fn(&str) -> Option<String>) -> Language {
        let locale = VARIABLES.iter().find_map(|name| variable(name).filter(|value| !value.is_empty()));
        locale.map_or(Language::English, |locale| of_locale(&locale))
    }
}

/// Parses `ja`, `ja_JP` or `ja_JP.UTF-8`. Everything that tare writes is UTF-8, so a locale of another
/// character set gets English, and one that names no character set its language.
fn of_locale(locale: &str) -> Language {
    let (name, _modifier) = locale.split_once('@').unwrap_or((locale, ""));
    let (name, charset) = name.split_once('.').unwrap_or((name, "UTF-8"));
    let language = name.split('_').next().unwrap_or_default();
    let is_utf8 = ["utf-8", "utf8"].contains(&charset.to_ascii_lowercase().as_str());
    if is_utf8 && language == "ja" { Language::Japanese } else { Language::English }
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
