//! The examples of `docs/guide/ci.md`: valid for their services, with commands that tare understands.

use std::fs;
use std::process::Command;

use clap::Parser;

use crate::program::Program;
use crate::reading::{find_reader, repository_root, run_reader};

#[path = "../../src/args.rs"]
#[allow(dead_code)]
mod args;

/// The example that leaves the commands to the repository's action, which it finds in a folder.
const WITH_ACTION: &str = "compare-action.yml";
const ACTION: &str = "tare/action.yml";

/// Extracts the examples of the document, each with its file name.
fn examples() -> Vec<(String, String)> {
    let page = fs::read_to_string(repository_root().join("docs/guide/ci.md")).unwrap();
    let fences = page.split("\n```yaml ").skip(1);
    let parts = fences.map(|fence| {
        let (name, rest) = fence.split_once('\n').unwrap();
        (name.to_owned(), rest.split("\n```").next().unwrap().to_owned() + "\n")
    });
    parts.collect()
}

/// Splits a line as a shell does: blanks, and both kinds of quotes.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    assert_eq!(quote, None, "an open quote in {line}");
    words.extend(word);
    words
}

/// Extracts tare's commands from a text, where they follow a blank, a dash or the start of a line.
fn commands(text: &str) -> Vec<Vec<String>> {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().map(|line| line.trim().trim_start_matches("- ").trim_start_matches("run: "));
    lines.filter(|line| line.starts_with("tare ")).map(words).collect()
}

/// Replaces a variable by the value that an example sets it to.
fn expanded(word: &str, page: &str) -> String {
    let value = |name: &str| page.lines().find_map(|line| line.trim().strip_prefix(&format!("{name}: ")));
    word.strip_prefix('$').and_then(value).unwrap_or(word).to_owned()
}

#[test]
fn tare_understands_its_commands_in_the_examples() {
    let examples = examples();
    assert_eq!(examples.len(), 4, "three for GitHub, one for GitLab");
    let page = fs::read_to_string(repository_root().join("docs/guide/ci.md")).unwrap();
    for (name, text) in &examples {
        if name == WITH_ACTION {
            continue;
        }
        let commands = commands(text);
        assert!(commands.len() >= 2, "{name} runs tare: {commands:?}");
        assert!(commands.iter().flatten().any(|word| word == "--fail-if"), "{name} sets a gate");
    }
    // Commands outside the examples are checked as well.
    for command in commands(&page) {
        let command: Vec<String> = command.iter().map(|word| expanded(word, &page)).collect();
        if let Err(error) = args::Args::try_parse_from(&command) {
            panic!("{command:?}: {error}");
        }
    }
}

#[test]
fn the_services_accept_the_examples() {
    let test = "the_services_accept_the_examples";
    let Some(checker) = find_reader(test, "check-jsonschema") else { return };
    let program = Program::new();
    // actionlint knows a repository by these folders, and reads the action where a workflow names it.
    for folder in [".git", ".github/workflows", "tare"] {
        fs::create_dir_all(program.path(folder)).unwrap();
    }
    let action = (ACTION.to_owned(), fs::read_to_string(repository_root().join("action.yml")).unwrap());
    for (name, text) in [action].into_iter().chain(examples()) {
        let path =
            program.path(&if name == ACTION { name.clone() } else { format!(".github/workflows/{name}") });
        fs::write(&path, text).unwrap();
        let schema = match name.as_str() {
            ACTION => "vendor.github-actions",
            name if name.contains("gitlab") => "vendor.gitlab-ci",
            _ => "vendor.github-workflows",
        };
        let mut command = Command::new(&checker);
        command.args(["--builtin-schema", schema]).arg(&path);
        if schema == "vendor.gitlab-ci" {
            command.args(["--data-transform", "gitlab-ci"]);
        }
        run_reader(command);
        if schema == "vendor.github-workflows"
            && let Some(actionlint) = find_reader(test, "actionlint")
        {
            let mut command = Command::new(actionlint);
            // Other linters that it would call are not ours to require.
            command.args(["-no-color", "-shellcheck=", "-pyflakes="]).arg(&path);
            assert_eq!(run_reader(command), "");
        }
    }
}

#[test]
fn words_are_split_as_a_shell_does() {
    assert_eq!(
        words("tare run --fail-if 'slower:a>2' --x \"b c\""),
        ["tare", "run", "--fail-if", "slower:a>2", "--x", "b c"]
    );
    assert_eq!(
        commands("  - tare x\nrun: tare y \\\n  z\nbare"),
        [vec!["tare", "x"], vec!["tare", "y", "z"]]
    );
}

#[test]
fn the_action_runs_commands_that_tare_understands_and_no_input_is_read_as_script() {
    let action = fs::read_to_string(repository_root().join("action.yml")).unwrap();
    // Values of `env:` are the only places of an input.
    let places = action.lines().filter(|line| line.contains("${{"));
    let names = places.map(|line| line.trim().split_once(": ${{ inputs.").expect("a variable").0);
    assert_eq!(names.collect::<Vec<_>>(), ["BASE", "HEAD", "GATE", "BUDGET", "ENVIRONMENT", "RECORD"]);
    let found = commands(&action);
    assert_eq!(found.len(), 1, "{found:?}");
    let typed = found[0].split(|word| word == "||").next().unwrap();
    let typed: Vec<String> =
        typed.iter().map(|word| word.replace("${conditions[@]}", "--fail-if=differs:head")).collect();
    let typed: Vec<String> = typed.iter().map(|word| word.replace("$BUDGET", "2m")).collect();
    if let Err(error) = args::Args::try_parse_from(&typed) {
        panic!("{typed:?}: {error}");
    }
}
