//! Kinds of work, by what they consist of: those that are shipped, and the user's files. Their parts are a study.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tare_analysis::advice::{Kind, Kinds};
use tare_record::input;

use crate::error::LabError;
use crate::nearest::add_nearest_hint;
use crate::study::keys::not_read;
use crate::study::values::{default_margin, default_size};
use crate::study::{LONGEST_FILE, Study, StudyCase};

/// The shipped kinds, as the file that a user begins with.
pub const SHIPPED: &str = include_str!("kinds.toml");

const HINT: &str = "tare advise --print-kinds prints a file to begin with";
/// Time for a session of all kinds, which have a dozen cases together.
const BUDGET: Duration = Duration::from_secs(240);

/// Reads the kinds of a user's file, or the shipped ones.
pub fn read_kinds(file: Option<&Path>) -> Result<Vec<Kind>, LabError> {
    let Some(file) = file else { return parse(SHIPPED, "that are shipped") };
    let origin = file.display().to_string();
    let text = input::read_text(file, LONGEST_FILE).map_err(|e| {
        LabError::usage_error(format!("cannot read the kinds of work {origin}")).with_cause(e)
    })?;
    parse(&text, &origin)
}

fn parse(text: &str, origin: &str) -> Result<Vec<Kind>, LabError> {
    let cannot = || LabError::usage_error(format!("cannot read the kinds of work {origin}"));
    let kinds: Kinds = toml::from_str(text).map_err(|e| not_read(cannot(), &e, || HINT.into()))?;
    kinds.check_kinds().map_err(|reason| cannot().with_cause(reason).with_hint(HINT))?;
    Ok(kinds.kinds)
}

/// Selects the kinds with these names, in the order of the file; all where none is given.
pub fn select_kinds(kinds: Vec<Kind>, names: &[String]) -> Result<Vec<Kind>, LabError> {
    if let Some(name) = names.iter().find(|name| kinds.iter().all(|kind| kind.name != **name)) {
        let error = LabError::usage_error(format!("there is no kind of work '{name}'"));
        let known: Vec<&str> = kinds.iter().map(|kind| kind.name.as_str()).collect();
        return Err(add_nearest_hint(error, name, known.clone(), format!("there are {}", known.join(", "))));
    }
    let is_named = |kind: &Kind| names.is_empty() || names.contains(&kind.name);
    Ok(kinds.into_iter().filter(is_named).collect())
}

/// Builds the study that is needed to judge these kinds.
pub fn make_study(kinds: &[Kind]) -> Study {
    let case = |part: &tare_analysis::advice::Part| StudyCase {
        probe: part.probe.clone(),
        parameters: part.parameters.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect(),
        places: part.place.iter().cloned().collect(),
        peers: Vec::new(),
        margin: None,
        short: Default::default(),
        reference: Default::default(),
        seconds: None,
        decide: Vec::new(),
    };
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name.as_str()).collect();
    Study {
        name: "advise".to_owned(),
        title: format!("Parts of {}", names.join(", ")),
        about: "Parts of kinds of work: tare advise puts them together.".to_owned(),
        budget: BUDGET,
        margin: default_margin(),
        size: default_size(),
        least_rounds: None,
        published: Vec::new(),
        environments: Vec::new(),
        reference_budget: None,
        cases: kinds.iter().flat_map(|kind| &kind.parts).map(case).collect(),
        commands: Default::default(),
        folder: PathBuf::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_kinds_are_cases_that_there_are() {
        let kinds = read_kinds(None).unwrap();
        let selected = make_study(&kinds).expand_cases(None, None).unwrap();
        assert!(selected.len() >= kinds.len(), "{}", selected.len());
        for kind in &kinds {
            for part in &kind.parts {
                let is_it = |case: &tare_data::names::Case| {
                    let has = |(key, value): (&String, &String)| case.parameters.0.get(key) == Some(value);
                    case.probe == part.probe && part.parameters.iter().all(has)
                };
                assert!(
                    selected.iter().any(|selected| is_it(&selected.case)),
                    "{}: {}",
                    kind.name,
                    part.probe
                );
            }
        }
    }

    #[test]
    fn a_file_that_is_wrong_says_where() {
        let wrong = parse("[[kind]]\nname = 'a'\ntitle = 'a'\nbasis = ''\n", "a.toml").unwrap_err();
        assert!(wrong.to_string().contains("cannot read the kinds of work a.toml"), "{wrong}");
        let text = "[[kind]]\nname='a'\ntitle='a'\nbasis=''\n[[kind.part]]\nshare=0.5\nprobe='sys.getppid'\n";
        let wrong = format!("{:?}", parse(text, "a.toml").unwrap_err());
        assert!(wrong.contains("add up to 0.5"), "{wrong}");
        let unknown = select_kinds(read_kinds(None).unwrap(), &["biuld".into()]).unwrap_err();
        assert!(format!("{unknown:?}").contains("build"), "{unknown:?}");
    }
}
