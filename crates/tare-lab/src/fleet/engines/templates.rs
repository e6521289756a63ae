//! Templates: words of commands and texts with names in braces, which are replaced by what they stand for.

use std::collections::BTreeMap;

use crate::error::LabError;

/// Values of names in a template.
pub(crate) type Values = BTreeMap<String, String>;

/// Replaces each `{name}` in a text. Braces around anything else (a shell's `${x}`, YAML's `{}`) stay.
pub(crate) fn fill_template(template: &str, values: &Values) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        match rest.find('}').and_then(|end| Some((end, values.get(&rest[1..end])?))) {
            Some((end, value)) if !filled.ends_with('$') => {
                filled.push_str(value);
                rest = &rest[end + 1..];
            }
            _ => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    filled + rest
}

/// Fills the words of a command. A word that names something empty is left out: `--partition={partition}`
/// where none is given.
pub(crate) fn fill_words(templates: &[String], values: &Values) -> Vec<String> {
    let names_nothing = |template: &&String| {
        values.iter().any(|(name, value)| value.is_empty() && template.contains(&format!("{{{name}}}")))
    };
    templates
        .iter()
        .filter(|template| !names_nothing(template))
        .map(|word| fill_template(word, values))
        .collect()
}

/// Fills a text, and leaves out lines that name something empty.
pub(crate) fn fill_lines(template: &str, values: &Values) -> String {
    let all: Vec<String> = template.lines().map(str::to_owned).collect();
    fill_words(&all, values).iter().map(|line| format!("{line}\n")).collect()
}

/// Parses options as they follow an engine's name: `slurm?partition=long`. Only known ones are taken.
pub(crate) fn parse_options(
    name: &str,
    known: &BTreeMap<String, String>,
    given: &BTreeMap<String, String>,
) -> Result<Values, LabError> {
    let mut values = known.clone();
    for (key, value) in given {
        // Values stand in words of commands and in manifests: nothing that a shell or YAML reads as more than a word.
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-/:,@%+=".contains(c);
        if !value.chars().all(plain) {
            return Err(LabError::usage_error(format!("'{key}' of {name} cannot be '{value}'"))
                .with_hint("give only letters, digits and . _ - / : , @ % + ="));
        }
        match values.get_mut(key) {
            Some(known) => known.clone_from(value),
            None => {
                let keys: Vec<&str> = known.keys().map(String::as_str).collect();
                let error = LabError::usage_error(format!("the engine {name} has no option '{key}'"));
                return Err(crate::nearest::add_known_words_hint(error, key, &keys));
            }
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Values {
        [("node", "n1"), ("none", ""), ("id", "7")].map(|(k, v)| (k.to_owned(), v.to_owned())).into()
    }

    #[test]
    fn names_are_replaced_and_all_else_stays() {
        assert_eq!(
            fill_template("a {node} {id}{id} {} ${node} {other} {", &values()),
            "a n1 77 {} ${node} {other} {"
        );
    }

    #[test]
    fn a_word_without_a_value_is_left_out() {
        let templates = ["x", "--p={none}", "--w={node}"].map(str::to_owned);
        assert_eq!(fill_words(&templates, &values()), ["x", "--w=n1"]);
        assert_eq!(fill_lines("a: {node}\nb: {none}\n", &values()), "a: n1\n");
    }

    #[test]
    fn options_are_those_of_the_engine_and_plain() {
        let known = BTreeMap::from([("partition".to_owned(), String::new())]);
        let given = |key: &str, value: &str| BTreeMap::from([(key.to_owned(), value.to_owned())]);
        assert_eq!(parse_options("slurm", &known, &given("partition", "long")).unwrap()["partition"], "long");
        for (key, value) in
            [("partiton", "x"), ("partition", "a b"), ("partition", "$(x)"), ("partition", "a\nb")]
        {
            assert!(parse_options("slurm", &known, &given(key, value)).is_err(), "{key}={value}");
        }
    }
}
