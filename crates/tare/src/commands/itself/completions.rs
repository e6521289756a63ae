//! `tare self completions`: completion scripts for shells, including every name that tare ships.

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command};
use clap_complete::Shell;
use tare_lab::environments::ladders::LADDERS;
use tare_lab::environments::presets::PRESETS;
use tare_lab::environments::{PROVIDERS, list_providers, parse_environment};
use tare_lab::fleet::shipped::SHIPPED as ENGINES;
use tare_lab::storage::places;
use tare_lab::study::{SHIPPED, list_probes, published};
use tare_report::exports::EXPORTS;

use crate::args::help::command_line;
use crate::args::itself::Completions;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::ui;

pub fn run_completions(args: Completions) -> Result<Exit, CommandError> {
    let mut script = Vec::new();
    let mut command = named(command_line());
    clap_complete::generate(args.shell, &mut command, "tare", &mut script);
    let script = String::from_utf8(script).expect("completions are text");
    ui::print_output(match args.shell {
        Shell::Bash => lists_in_bash(&script),
        Shell::Zsh => lists_in_zsh(script, &command),
        Shell::Fish => files_in_fish(&script) + &names_in_fish(&command),
        _ => script,
    })?;
    Ok(Exit::Done)
}

/// Adds to each argument the names that it accepts, such as probes and environments.
fn named(command: Command) -> Command {
    let name = command.get_name().to_owned();
    let command = command.mut_args(|argument| match names_of(&name, &argument) {
        names if names.is_empty() => argument,
        names => argument.value_parser(PossibleValuesParser::new(names)),
    });
    command.mut_subcommands(named)
}

fn names_of(command: &str, argument: &Arg) -> Vec<&'static str> {
    match (command, argument.get_id().as_str()) {
        (_, "environments" | "against" | "controls") => environments(),
        ("prepare" | "remove", "environment") => {
            let is_prepared =
                |name: &&str| parse_environment(name).is_ok_and(|named| named.preparation().is_some());
            PROVIDERS.iter().map(|p| p.name.as_str()).filter(is_prepared).collect()
        }
        ("show", "name") => list_probes()
            .map(|probe| probe.name)
            .chain(environments())
            .chain(studies())
            .chain(articles())
            .collect(),
        (_, "study") => studies().collect(),
        (_, "ladder") => ladders().collect(),
        ("run" | "print", "what") => studies().collect(),
        (_, "on") => ENGINES.iter().map(|(name, _)| *name).collect(),
        (_, "like" | "published") => articles().collect(),
        (_, "only") => list_probes().map(|probe| probe.name).collect(),
        (_, "places") => places::list_place_names().collect(),
        (_, "exports") => EXPORTS.iter().map(|export| export.name).collect(),
        _ => Vec::new(),
    }
}

fn environments() -> Vec<&'static str> {
    list_providers().map(|p| p.name.as_str()).chain(PRESETS.iter().map(|preset| preset.name)).collect()
}

fn studies() -> impl Iterator<Item = &'static str> {
    SHIPPED.iter().map(|(name, _)| *name)
}

fn ladders() -> impl Iterator<Item = &'static str> {
    LADDERS.iter().map(|ladder| ladder.name)
}

fn articles() -> impl Iterator<Item = &'static str> {
    published::SHIPPED.iter().map(|(name, _)| *name)
}

/// Lists the arguments that accept a file as well as a name.
fn or_files() -> [Vec<&'static str>; 4] {
    [studies().collect(), articles().collect(), ladders().collect(), places::list_place_names().collect()]
}

/// Makes bash complete a list after its last comma. Files work already: bash offers them where no name
/// matches.
fn lists_in_bash(script: &str) -> String {
    let begin = "COMPREPLY=($(compgen -W ";
    let line = |line: &str| match line.trim_start().starts_with(begin) {
        true => line
            .replace(begin, "COMPREPLY=($(compgen -P \"${cur%\"${cur##*,}\"}\" -W ")
            .replace("-- \"${cur}\"))", "-- \"${cur##*,}\"))"),
        false => line.to_owned(),
    };
    script.lines().map(|text| line(text) + "\n").collect()
}

/// Makes zsh complete a list after its last comma, and offer files along with names where both are accepted.
fn lists_in_zsh(mut script: String, command: &Command) -> String {
    for (value, names) in lists(command) {
        let list = format!(":{value}:{{_sequence compadd - {names}}}'");
        script = script.replace(&format!(":{value}:({names})'"), &list);
    }
    for names in or_files() {
        let names = names.join(" ");
        let files = "\"files\\:file\\:_files\"}'";
        let list = format!(":{{_alternative \"names\\:name\\:_sequence compadd - {names}\" {files}");
        for begin in [format!(":({names})'"), format!(":{{_sequence compadd - {names}}}'")] {
            script = script.replace(&begin, &list);
        }
    }
    script
}

/// Lists the options that accept a list: the placeholder of the value, and the names that it may contain.
fn lists(command: &Command) -> Vec<(String, String)> {
    let of = |argument: &Arg| {
        let value = argument.get_value_names().unwrap_or_default().first()?.to_string();
        let names = names_of(command.get_name(), argument).join(" ");
        (argument.get_value_delimiter().is_some() && !names.is_empty()).then_some((value, names))
    };
    let own: Vec<_> = command.get_arguments().filter_map(of).collect();
    own.into_iter().chain(command.get_subcommands().flat_map(lists)).collect()
}

/// Function in fish that completes a list after its last comma.
const LIST_IN_FISH: &str = "
function __fish_tare_list
    set -l before (commandline -ct | string replace -r '^--[^=]+=' '' | string match -r '.*,')
    or return
    for name in $argv
        echo $before$name
    end
end
";

/// Writes the completions that the generated fish script lacks: positional names and lists.
fn names_in_fish(command: &Command) -> String {
    let condition = |name: &str| format!("__fish_tare_using_subcommand {name}");
    let one = |of: &Command, condition: String| -> String {
        let line = |argument: &Arg| {
            let names = names_of(of.get_name(), argument).join(" ");
            let begin = format!("complete -c tare -n \"{condition}\"");
            match (names.is_empty(), argument.get_long(), argument.get_value_delimiter()) {
                (true, ..) | (_, Some(_), None) => String::new(),
                (_, None, _) => format!("{begin} -a \"{names} (__fish_tare_list {names})\"\n"),
                (_, Some(long), Some(_)) => {
                    format!("{begin} -l {long} -r -a \"(__fish_tare_list {names})\"\n")
                }
            }
        };
        of.get_arguments().map(line).collect()
    };
    let mut lines = LIST_IN_FISH.to_owned();
    for subcommand in command.get_subcommands() {
        let above = condition(subcommand.get_name());
        for below in subcommand.get_subcommands() {
            let both = format!("{above}; and __fish_seen_subcommand_from {}", below.get_name());
            lines.push_str(&one(below, both));
        }
        lines.push_str(&one(subcommand, above));
    }
    lines
}

fn files_in_fish(script: &str) -> String {
    let line = |line: &str| {
        let takes_file =
            ["-l place ", "-l published ", "-l like "].iter().any(|option| line.contains(option));
        let line = if takes_file { line.replace(" -r -f -a ", " -r -F -a ") } else { line.to_owned() };
        line + "\n"
    };
    script.lines().map(line).collect()
}
