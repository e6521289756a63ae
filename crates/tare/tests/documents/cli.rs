//! `docs/reference/cli.md`: the help of every command.

use std::fmt::Write;
use std::process::Command;

use crate::book;

/// Columns of the help in the document.
const COLUMNS: &str = "100";

fn help(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tare"));
    let output = command.args(arguments).arg("--help").env("COLUMNS", COLUMNS).env("NO_COLOR", "1").output();
    let output = output.unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().fold(String::new(), |all, line| all + line.trim_end() + "\n")
}

/// The commands that the program's own help lists, but for `help`.
fn commands(help: &str) -> Vec<String> {
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let rows = list.take_while(|line| !line.is_empty());
    // What goes on with an explanation is indented further.
    let named = rows.filter(|row| row.starts_with("  ") && !row.starts_with("   "));
    let names = named.filter_map(|row| row.split_ascii_whitespace().next()).map(str::to_owned);
    names.filter(|name| name != "help").collect()
}

#[test]
fn the_command_line_is_documented() {
    let _lock = book::lock();
    let all = help(&[]);
    let commands = commands(&all);
    assert!(commands.iter().any(|name| name == "run"), "{commands:?}");
    let mut page = String::from(
        "# The command line\n\
         Generated from `--help` of every command; a test compares it. What was requested goes to standard output,\n\
         progress and notes to standard error. An error is shown as `error:`, `caused by:` and `hint:` on standard\n\
         error.\n\
         \n\
         ## Exit codes\n\
         | code | when |\n\
         |---|---|\n\
         | 0 | done |\n\
         | 1 | a defect of tare |\n\
         | 2 | an option, a name or a study is wrong |\n\
         | 3 | an environment could not be entered |\n\
         | 4 | a file could not be written |\n\
         | 5 | a record could not be read |\n\
         | 6 | a condition of `--fail-if` is met |\n\
         | 130 | interrupted; what was measured until then is in the record |\n",
    );
    write!(page, "\n## tare\n```text\n{}```\n", all.trim_end().to_owned() + "\n").unwrap();
    for name in commands {
        let text = help(&[&name]);
        write!(page, "\n## tare {name}\n```text\n{}\n```\n", text.trim_end()).unwrap();
        for within in self::commands(&text) {
            let text = help(&[&name, &within]);
            write!(page, "\n### tare {name} {within}\n```text\n{}\n```\n", text.trim_end()).unwrap();
        }
    }
    book::keep(&book::root().join("docs/reference/cli.md"), &page);
}
