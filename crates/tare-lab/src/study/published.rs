//! Published articles: those that are shipped, as TOML that is built into the program, and the user's files.

use std::collections::BTreeSet;
use std::path::Path;

use tare_analysis::published::{EnvironmentKind, Published};
use tare_data::session::specification::NATIVE;
use tare_record::input;

use crate::error::LabError;
use crate::nearest::add_nearest_hint;
use crate::study::keys::not_read;

/// Shipped articles: name and file. A test compares this list with the folder.
pub const SHIPPED: &[(&str, &str)] = &[
    ("qiita-wsl-rtt", include_str!("../../published/qiita-wsl-rtt.toml")),
    ("mynavi-wsl-filesystems", include_str!("../../published/mynavi-wsl-filesystems.toml")),
    ("ascii-wsl2-unixbench", include_str!("../../published/ascii-wsl2-unixbench.toml")),
    ("qiita-wsl-guest-native", include_str!("../../published/qiita-wsl-guest-native.toml")),
    ("tuni-wsl2-linux", include_str!("../../published/tuni-wsl2-linux.toml")),
];

const HINT: &str = "compare it with a shipped article: tare show tuni-wsl2-linux";
/// Longest file that is read as an article: the shipped ones have 5 kB.
const LONGEST_FILE: u64 = 1 << 20;

/// Reads a shipped article by name, or a file by a path that ends in `.toml`.
pub fn read_article(name: &str) -> Result<Published, LabError> {
    if let Some((_, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
        return parse_article(text, name);
    }
    if name.ends_with(".toml") {
        let text = input::read_text(Path::new(name), LONGEST_FILE).map_err(|e| {
            LabError::usage_error(format!("cannot read the published figures {name}")).with_cause(e)
        })?;
        return parse_article(&text, name);
    }
    let error = LabError::usage_error(format!("there is no article '{name}'"));
    let named = |(shipped, _): &&(&str, &str)| name.len() > 1 && shipped.contains(name);
    match SHIPPED.iter().filter(named).map(|(shipped, _)| *shipped).collect::<Vec<_>>().as_slice() {
        [] => {}
        [one] => return Err(error.with_hint(format!("did you mean '{one}'?"))),
        several => return Err(error.with_hint(format!("there are {}", several.join(", ")))),
    }
    let otherwise = "tare list articles names them all; your own file must end in .toml";
    Err(add_nearest_hint(error, name, SHIPPED.iter().map(|(name, _)| *name), otherwise))
}

/// Reads an article; `origin` names it in errors.
pub fn parse_article(text: &str, origin: &str) -> Result<Published, LabError> {
    let cannot = || LabError::usage_error(format!("cannot read the published figures {origin}"));
    let article: Published = toml::from_str(text).map_err(|e| not_read(cannot(), &e, || HINT.into()))?;
    article.check_consistency().map_err(|reason| cannot().with_cause(reason).with_hint(HINT))?;
    Ok(article)
}

/// Lists the environments of an article where Windows has them: copies of a distribution, since one is of either version.
pub fn list_windows_environments(article: &Published, distribution: &str) -> Vec<String> {
    let copy = |version: u8| format!("wsl:{distribution}?clone=yes&version={version}");
    let version = |kind| match kind {
        EnvironmentKind::Wsl1 => Some(1),
        EnvironmentKind::Wsl2 => Some(2),
        EnvironmentKind::Vm | EnvironmentKind::Native | EnvironmentKind::Windows => None,
    };
    let versions: BTreeSet<u8> = article.environments.iter().filter_map(|of| version(of.kind)).collect();
    std::iter::once(NATIVE.to_owned()).chain(versions.into_iter().map(copy)).collect()
}

pub fn list_shipped_articles() -> Result<Vec<Published>, LabError> {
    SHIPPED.iter().map(|(name, text)| parse_article(text, name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::probes::probe_named;

    #[test]
    fn every_shipped_article_is_read_and_every_file_is_shipped() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../published");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort_unstable();
        let mut listed: Vec<String> = SHIPPED.iter().map(|(name, _)| format!("{name}.toml")).collect();
        listed.sort_unstable();
        assert_eq!(files, listed);
        for (article, (name, _)) in list_shipped_articles().unwrap().iter().zip(SHIPPED) {
            assert_eq!(article.id, *name);
        }
    }

    #[test]
    fn articles_speak_of_probes_parameters_and_metrics_that_there_are() {
        for article in list_shipped_articles().unwrap() {
            let figures = article.figures.iter().map(|f| (&f.probe, &f.parameters, f.metric.as_deref()));
            let ratios = article.ratios.iter().map(|r| (&r.probe, &r.parameters, Some(r.metric.as_str())));
            for (probe, parameters, metric) in figures.chain(ratios) {
                let probe = probe_named(probe).unwrap();
                for key in parameters.keys() {
                    assert!(probe.parameters.iter().any(|p| p.name == key), "{}: {key}", article.id);
                }
                if let Some(metric) = metric {
                    assert!(probe.metrics.iter().any(|m| m.name == metric), "{}: {metric}", article.id);
                }
            }
        }
    }

    #[test]
    fn a_wrong_key_names_the_nearest_and_a_wrong_reference_is_refused() {
        let (_, text) = SHIPPED.last().unwrap();
        let error = parse_article(&text.replace("reference =", "referense ="), "x").unwrap_err();
        assert_eq!(error.hint.as_deref(), Some("did you mean 'reference'?"));
        let error =
            parse_article(&text.replace("reference = \"linux\"", "reference = \"minix\""), "x").unwrap_err();
        assert!(error.to_string().contains("no environment is called 'minix'"), "{error}");
        assert_eq!(
            read_article("tuni-wsl2").unwrap_err().hint.as_deref(),
            Some("did you mean 'tuni-wsl2-linux'?")
        );
    }
}
