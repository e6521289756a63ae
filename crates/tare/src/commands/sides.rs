//! The sides of `tare run`: environments, or commands in one of them.

use tare_data::session::specification::NATIVE;
use tare_lab::error::LabError;
use tare_lab::study::Study;

use crate::args::Commands;
use crate::commands::own_launchers;
use crate::own_commands;

/// The sides that arguments choose.
pub struct Chosen {
    /// The commands, if there are any; the baseline first where they are compared.
    pub commands: Option<Study>,
    pub environments: Vec<String>,
    /// The environment that others are compared with, or that all commands run in.
    pub baseline: String,
    pub compares_commands: bool,
}

/// Chooses the sides: with several commands and at most one environment they are the commands, otherwise the environments.
/// `resolve` puts the words behind a name in its place.
pub fn choose_sides(
    given: &Commands,
    against: Option<&str>,
    environments: Vec<String>,
    resolve: impl Fn(&str) -> Result<String, LabError>,
) -> Result<Chosen, LabError> {
    let mut commands = own_commands::make_study(given)?;
    let mut several = commands.as_mut().filter(|study| study.commands.len() > 1);
    let mut baseline = None;
    if let Some(word) = against {
        let resolved = resolve(word)?;
        let is_environment = resolved != word || own_launchers::is_environment(word);
        let is_command = several.as_mut().is_some_and(|study| own_commands::put_first(study, word));
        match (is_command, is_environment) {
            (true, true) => {
                return Err(LabError::usage_error(format!(
                    "--against {word}: both an environment and a command of this session have this name"
                ))
                .with_hint("give the command another name with --command-name"));
            }
            (true, false) => {}
            (false, false) if several.is_some() => {
                let titles = several.iter().flat_map(|study| study.commands.values());
                let titles: Vec<&str> = titles.map(|command| command.title.as_str()).collect();
                return Err(LabError::usage_error(format!(
                    "--against {word}: no environment and no command has this name"
                ))
                .with_hint(format!("the commands are {}", titles.join(", "))));
            }
            (false, _) => baseline = Some(resolved),
        }
    }
    let mut named: Vec<&String> = environments.iter().chain(&baseline).collect();
    named.sort_unstable();
    named.dedup();
    let count = commands.as_ref().map_or(0, |study| study.commands.len());
    let compares_commands = count > 1 && !given.calls && named.len() <= 1;
    let is_baseline = |name: &String| *name == *baseline.as_deref().unwrap_or(NATIVE);
    if given.calls && count > 1 && !environments.is_empty() && environments.iter().all(is_baseline) {
        return Err(LabError::usage_error(
            "--calls compares environments, with a row for each command, and only one is named",
        )
        .with_hint("name another with --in, or leave --calls out to compare the commands with each other"));
    }
    if given.folders.len() > 1 && !compares_commands {
        return Err(LabError::usage_error(
            "several folders are compared in one environment, and not as calls",
        )
        .with_hint("name one with --in, or none: native is the default"));
    }
    let of_commands = named.first().filter(|_| compares_commands).map(|name| (*name).clone());
    let baseline = of_commands.or(baseline).unwrap_or_else(|| NATIVE.to_owned());
    let environments = if compares_commands { Vec::new() } else { environments };
    Ok(Chosen { commands, environments, baseline, compares_commands })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chooses the sides of these words, by environments, baseline and commands.
    fn choose(words: &str, environments: &str, against: Option<&str>) -> Result<String, LabError> {
        let words = words.split(' ').map(str::to_owned).collect();
        let given = Commands { words, ..Commands::default() };
        let environments = environments.split_terminator(',').map(str::to_owned).collect();
        let chosen = choose_sides(&given, against, environments, |name| Ok(name.to_owned()))?;
        let commands = chosen.commands.unwrap().commands.into_values();
        let titles: Vec<String> = commands.map(|command| command.title).collect();
        let kind = if chosen.compares_commands { "commands" } else { "environments" };
        let environments = chosen.environments.join(",");
        Ok(format!("{kind} [{environments}] against {}: {}", chosen.baseline, titles.join(", ")))
    }

    #[test]
    fn several_commands_are_sides_in_one_environment_and_rows_in_several() {
        for (words, environments, against, sides) in [
            ("./a --- ./b", "", None, "commands [] against native: ./a, ./b"),
            ("./a --- ./b", "native", None, "commands [] against native: ./a, ./b"),
            ("./a --- ./b", "gvisor", None, "commands [] against gvisor: ./a, ./b"),
            ("./a --- ./b", "", Some("gvisor"), "commands [] against gvisor: ./a, ./b"),
            ("./a --- ./b", "gvisor", Some("./b"), "commands [] against gvisor: ./b, ./a"),
            ("./a --- ./b", "gvisor", Some("native"), "environments [gvisor] against native: ./a, ./b"),
            (
                "./a --- ./b",
                "native,gvisor",
                Some("./b"),
                "environments [native,gvisor] against native: ./b, ./a",
            ),
            ("./a", "", None, "environments [] against native: ./a"),
            ("./a", "gvisor", Some("./a"), "environments [gvisor] against ./a: ./a"),
        ] {
            assert_eq!(choose(words, environments, against).unwrap(), sides, "{words} in {environments}");
        }
        let neither = choose("./a --- ./b", "", Some("./c")).unwrap_err();
        assert_eq!(neither.hint.as_deref(), Some("the commands are ./a, ./b"));
        let both = choose("bwrap --- ./b", "", Some("bwrap")).unwrap_err();
        assert!(both.to_string().contains("both an environment and a command"), "{both}");
    }

    #[test]
    fn parameters_make_sides_and_folders_are_compared_in_one_environment() {
        let pairs = |pairs: &[&str]| pairs.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let given = |given: Commands| Commands { words: pairs(&["make"]), ..given };
        let choose =
            |given: &Commands, of: &[&str]| choose_sides(given, None, pairs(of), |name| Ok(name.to_owned()));
        // Titles that are alike are told apart by their values.
        let list = Commands {
            parameter_list: pairs(&["n", "1,2"]),
            prepare: Some("touch {n}".into()),
            ..given(Commands::default())
        };
        let chosen = choose(&list, &[]).unwrap();
        let titles: Vec<String> =
            chosen.commands.unwrap().commands.into_values().map(|of| of.title).collect();
        assert!(chosen.compares_commands);
        assert_eq!(titles, ["make (n=1)", "make (n=2)"]);
        let folders = Commands { folders: vec!["src".into(), "tests".into()], ..given(Commands::default()) };
        let chosen = choose(&folders, &[]).unwrap();
        let all: Vec<_> = chosen.commands.unwrap().commands.into_values().collect();
        assert!(chosen.compares_commands && all[0].folder.as_ref().unwrap().ends_with("src"), "{all:?}");
        assert_eq!((all[0].title.as_str(), all[1].title.as_str()), ("src", "tests"));
        assert!(choose(&folders, &["native", "gvisor"]).is_err());
        let calls = Commands { calls: true, ..list };
        assert!(!choose(&calls, &["native", "gvisor"]).unwrap().compares_commands, "values are rows");
        assert!(!choose(&calls, &["gvisor"]).unwrap().compares_commands);
        let alone = choose(&calls, &["native"]).err().unwrap();
        assert!(alone.hint.as_deref().is_some_and(|hint| hint.contains("leave --calls out")), "{alone}");
        let both = Commands { texts: pairs(&["true"]), ..folders };
        assert!(choose(&both, &[]).err().unwrap().to_string().contains("one command"));
    }
}
