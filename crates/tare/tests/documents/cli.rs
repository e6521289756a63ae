//! `docs/reference/cli.md`: the help of every command.

use std::fmt::Write;
use std::process::Command;

use crate::book;
use crate::commands::args::help::command_line;
use crate::exit::Exit;

/// Columns of the help in the document.
const COLUMNS: &str = "100";

fn help(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tare"));
    let output = command
        .args(arguments)
        .arg("--help")
        .env("LC_ALL", "C.UTF-8")
        .env("COLUMNS", COLUMNS)
        .env("NO_COLOR", "1")
        .output();
    let output = output.unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().fold(String::new(), |all, line| all + line.trim_end() + "\n")
}

/// Lists the subcommands that the help shows.
fn shown(command: &clap::Command) -> impl Iterator<Item = &clap::Command> {
    command.get_subcommands().filter(|command| !command.is_hide_set())
}

#[test]
fn the_command_line_is_documented() {
    let _lock = book::lock_documents();
    let mut page = String::from(
        "# The command line\n\
         Generated from `--help` of every command; a test compares it. What was requested goes to standard output,\n\
         progress and notes to standard error. An error is shown as `error:`, `caused by:` and `hint:` on standard\n\
         error.\n\
         \n\
         ## Exit codes\n\
         In order of precedence: where several apply, the process ends with the first.\n\
         \n\
         | code | when |\n\
         |---|---|\n",
    );
    for exit in Exit::ALL {
        writeln!(page, "| {} | {} |", exit.code(), exit.meaning()).unwrap();
    }
    write!(page, "\n## tare\n```text\n{}\n```\n", help(&[]).trim_end()).unwrap();
    write!(
        page,
        "\n## Every command: tare help --all\n```text\n{}\n```\n",
        help(&["help", "--all"]).trim_end()
    )
    .unwrap();
    for command in shown(&command_line()) {
        let name = command.get_name();
        write!(page, "\n## tare {name}\n```text\n{}\n```\n", help(&[name]).trim_end()).unwrap();
        for within in shown(command) {
            let text = help(&[name, within.get_name()]);
            write!(page, "\n### tare {name} {}\n```text\n{}\n```\n", within.get_name(), text.trim_end())
                .unwrap();
        }
    }
    book::compare_or_rewrite(&book::repository_root().join("docs/reference/cli.md"), &page);
}
