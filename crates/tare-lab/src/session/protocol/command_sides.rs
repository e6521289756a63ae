//! Commands as sides: the cases of several commands become those of one, which each side fills with its own command.

use tare_data::names::Parameters;
use tare_probes::descriptions::USER_COMMAND;

use crate::study::SelectedCase;

/// Parameter with the name of a command in its study.
const NAME: &str = "name";
/// Parameters of a case that stand for no command, where they differ between sides.
const NOBODYS: [(&str, &str); 4] = [(NAME, "command"), ("title", ""), ("command", "[]"), ("folder", "")];

/// Makes one case of those that the commands have in common, in their order, and a side of each command: the parameters of its cases
/// that others have not.
pub(super) fn divide_commands(selected: Vec<SelectedCase>) -> (Vec<SelectedCase>, Vec<Parameters>) {
    let mut commands: Vec<Vec<SelectedCase>> = Vec::new();
    let name_of = |selected: &SelectedCase| selected.case.parameters.get_text(NAME).map(str::to_owned).ok();
    let (of_commands, mut others): (Vec<_>, Vec<_>) =
        selected.into_iter().partition(|selected| selected.probe.name == USER_COMMAND);
    for selected in of_commands {
        match commands.iter_mut().find(|cases| name_of(&cases[0]) == name_of(&selected)) {
            Some(cases) => cases.push(selected),
            None => commands.push(vec![selected]),
        }
    }
    let Some(first) = commands.first() else { return (others, Vec::new()) };
    let value = |cases: &[SelectedCase], key: &str| cases[0].case.parameters.0.get(key).cloned();
    let differs = |key: &&String| commands.iter().any(|cases| value(cases, key) != value(first, key));
    let keys: Vec<&String> = first[0].case.parameters.0.keys().filter(differs).collect();
    let own = |cases: &Vec<SelectedCase>| {
        Parameters(keys.iter().filter_map(|key| Some(((*key).clone(), value(cases, key)?))).collect())
    };
    let sides = commands.iter().map(own).collect();
    for mut selected in first.clone() {
        let nobodys = NOBODYS.iter().filter(|(key, _)| keys.iter().any(|differs| *differs == key));
        let nobodys = nobodys.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        selected.case.parameters.0.extend(nobodys);
        selected.case.probe = USER_COMMAND.to_owned();
        others.push(selected);
    }
    (others, sides)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::asked::{Measured, Request};
    use crate::study::Study;
    use crate::study::user_command::UserCommand;

    #[test]
    fn commands_become_sides_of_one_case_and_counts_stay_cases() {
        let command = |words: &str| UserCommand {
            command: vec![words.to_owned()],
            title: words.to_owned(),
            prepare: vec!["sync".to_owned()],
            ..UserCommand::default()
        };
        let commands =
            BTreeMap::from([("1-old".to_owned(), command("./old")), ("2-new".to_owned(), command("./new"))]);
        let study = Study::of_commands("./old, ./new", commands);
        let mut request = Request::new(Measured::Commands(study), "native", "x".into());
        request.at_once = vec![1, 4];
        request.compares_commands = true;
        let selection = request.make_selection().unwrap();
        let cases = selection.cases();
        assert_eq!(cases.len(), 2, "one for each count");
        let text = |at: usize, key: &str| cases[at].parameters.get_text(key).unwrap().to_owned();
        assert_eq!(
            (text(0, "command"), text(0, "title"), text(1, "copies")),
            ("[]".into(), "".into(), "4".into())
        );
        assert_eq!(text(0, "prepare"), "[\"sync\"]", "what all have stays in the case");
        let sides: Vec<&str> = selection.commands.iter().map(|of| of.get_text("title").unwrap()).collect();
        assert_eq!(sides, ["./old", "./new"]);
        let keys: Vec<&String> = selection.commands[1].0.keys().collect();
        assert_eq!(keys, ["command", "name", "title"]);
        assert_eq!(selection.commands[1].get_text("command").unwrap(), "[\"./new\"]");
    }
}
