//! The meaning of a word that is a name: an everyday name, an environment, a study or an article.

use tare_lab::environments::everyday::{EVERYDAY, Name};
use tare_lab::environments::list_providers;
use tare_lab::environments::presets::PRESETS;
use tare_lab::study::{SHIPPED, published};

/// Writes a word as the table has it.
fn plain(word: &str) -> String {
    word.trim().to_lowercase().replace([' ', '_'], "-")
}

/// Finds a word of the table, whatever its case.
pub fn find_name(word: &str) -> Option<&'static Name> {
    let word = plain(word);
    EVERYDAY.names.iter().find(|name| name.words.contains(&word))
}

/// Lists every word of the table that names an environment.
pub fn list_names() -> impl Iterator<Item = &'static str> {
    EVERYDAY.names.iter().flat_map(|name| name.words.iter().map(String::as_str))
}

/// Lists the names of environments, in the order of lists.
pub fn list_environments() -> impl Iterator<Item = &'static str> {
    list_providers().map(|provider| provider.name.as_str()).chain(PRESETS.iter().map(|preset| preset.name))
}

/// Finds the specification of an environment that a word names, with that name's own letters.
pub fn find_environment(word: &str) -> Option<String> {
    let end = word.find([':', '?']).unwrap_or(word.len());
    let (name, rest) = word.split_at(end);
    let known = list_environments().find(|known| *known == plain(name))?;
    Some(format!("{known}{rest}"))
}

/// Leaves words out that only stand between names: docker vs podman.
pub fn leave_out_fillers<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let is_filler = |word: &&&str| ["vs", "vs.", "versus", "and", "against", "with"].contains(*word);
    words.iter().filter(|word| !is_filler(word)).copied().collect()
}

/// Finds the environment that a word names, or that an everyday name leads to first.
pub fn find_layer(word: &str) -> Option<String> {
    find_environment(word).or_else(|| find_name(word)?.environments.first().cloned())
}

/// Tells whether a word names a shipped study, several of them, or a file of one.
pub fn is_study(word: &str) -> bool {
    word.split(',').all(|part| SHIPPED.iter().any(|(name, _)| *name == part) || is_file_of(part, "toml"))
}

/// Tells whether a word is the name of a file with this ending.
pub fn is_file_of(word: &str, ending: &str) -> bool {
    word.len() > ending.len() + 1
        && word.ends_with(ending)
        && word[..word.len() - ending.len()].ends_with('.')
}

/// Lists the shipped articles whose names begin with a word, or else the one that has a tool's figures.
pub fn list_articles(word: &str) -> Vec<&'static str> {
    let (plain, by_tool) = (plain(word), find_name(word).and_then(|name| name.article.as_deref()));
    let begin = find_articles(|name| plain.len() > 1 && name.starts_with(plain.as_str()));
    if begin.is_empty() { find_articles(|name| by_tool == Some(name)) } else { begin }
}

/// Lists the articles that a value of `--like` may mean: a part of the name is enough there, where no command can stand.
pub fn list_near_articles(word: &str) -> Vec<&'static str> {
    let (plain, by_name) = (plain(word), list_articles(word));
    if by_name.is_empty() {
        find_articles(|name| plain.len() > 1 && name.contains(plain.as_str()))
    } else {
        by_name
    }
}

fn find_articles(is_meant: impl Fn(&str) -> bool) -> Vec<&'static str> {
    published::SHIPPED.iter().map(|(name, _)| *name).filter(|name| is_meant(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_lab::environments::parse_environment;

    #[test]
    fn every_way_on_from_a_name_is_there() {
        let mut seen = std::collections::BTreeSet::new();
        for name in &EVERYDAY.names {
            for word in &name.words {
                assert!(seen.insert(word) && plain(word) == *word, "{word}");
                assert!(list_environments().all(|known| known != *word || *word == "wsl"), "{word}");
            }
            for environment in name.environments.iter().filter(|text| !text.contains(['\'', ':'])) {
                assert!(parse_environment(environment).is_ok(), "{environment}");
            }
            assert!(name.studies.iter().all(|study| is_study(study)), "{:?}", name.studies);
            let article = |id: &str| published::SHIPPED.iter().any(|(shipped, _)| *shipped == id);
            assert!(name.article.as_deref().is_none_or(article), "{:?}", name.article);
        }
    }
}
