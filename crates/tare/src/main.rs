//! tare: measures the cost of the layers between a program and the hardware.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used))]
#![cfg_attr(test, allow(clippy::disallowed_methods))]
// Code for fleets has no caller on systems without fleets.
#![cfg_attr(not(unix), allow(dead_code))]

// A dynamic program cannot start in an environment that holds nothing else.
#[cfg(all(target_os = "linux", not(target_feature = "crt-static"), not(doc)))]
compile_error!(
    "tare must be static, and these settings make it dynamic: build it in its checkout, whose .cargo/config.toml says \
     so (cargo install --locked --path crates/tare), or set RUSTFLAGS='-C target-feature=+crt-static'"
);

mod args;
mod command_error;
mod commands;
mod exit;
mod invocation;
mod outputs;
mod own_commands;
mod panics;
mod paths;
mod platform;
mod recorded;
mod session_exit;
mod show;
mod signals;
mod surroundings;
mod ui;
mod verbs;
mod words;

use std::ffi::OsString;
use std::process::ExitCode;

use crate::args::{Args, Command};
use crate::command_error::CommandError;
use crate::exit::Exit;

fn main() -> ExitCode {
    panics::print_backtraces();
    // The agent and its trials come first: inside an environment nothing else of the program is wanted.
    let arguments: Vec<_> = std::env::args_os().collect();
    if let Some(code) = verbs::run_inner_subcommand(&arguments) {
        std::process::exit(code);
    }
    platform::keep_from_children();
    platform::keep_own_rights();
    read_arguments(arguments.into_iter().skip(1).collect())
        .and_then(dispatch)
        .unwrap_or_else(|error| error.print())
        .into()
}

/// Prints the help that lists every command.
fn print_whole_help() -> Result<Exit, CommandError> {
    let mut command = args::help::build_whole_command_line(ui::find_language());
    ui::print_text(&command.render_long_help().to_string(), false)?;
    Ok(Exit::Done)
}

/// Reads the words of the command line, and notes a reading that was not the only one.
fn read_arguments(given: Vec<OsString>) -> Result<Args, CommandError> {
    let texts: Option<Vec<String>> = given.iter().map(|word| word.to_str().map(str::to_owned)).collect();
    let Some(texts) = texts else { return words::parse_arguments(given) };
    let machine = words::Machine {
        is_program: &surroundings::is_program,
        is_own_environment: &surroundings::is_own_environment,
        list_records: &surroundings::list_records,
        find_records_folder: &surroundings::find_records_folder,
    };
    let read = words::read_words(&texts, &machine)?;
    if let Some(note) = read.note {
        let language = ui::find_language();
        ui::print_note(&format!("{} {}", language.word("note:"), language.translate_text(&note)));
    }
    invocation::keep_words(&read.words);
    words::parse_arguments(read.words.into_iter().map(OsString::from).collect())
}

fn dispatch(args: Args) -> Result<Exit, CommandError> {
    signals::survive_size_limit()?;
    let Some(command) = args.command else {
        return match args.all {
            true => print_whole_help(),
            false => commands::front_desk::print_front_desk(),
        };
    };
    match command {
        Command::Here(here) => commands::here::run_here(&here),
        Command::Run(run) => commands::run::run_study(*run),
        Command::Report(report) => commands::report::run_report(report),
        Command::Compare(compare) => commands::compare::run_compare(&compare),
        Command::Import(import) => commands::import::run_import(import),
        Command::Fleet(fleet) => commands::fleet::run_fleet(fleet),
        Command::List(list) => commands::list::run_list(list),
        Command::Show(show) => commands::show::run_show(show),
        Command::Check(check) => commands::check::run_check(check),
        Command::Explain(explain) => commands::explain::run_explain(&explain),
        Command::Advise(advise) => commands::advise::run_advise(&advise),
        Command::Ladder(ladder) => commands::ladder::run_ladder(&ladder),
        Command::SelfTest(selftest) => commands::selftest::run_selftest(&selftest),
        Command::Serve(serve) => commands::serve::run_serve(serve),
        Command::Environment(environment) => commands::environment::run_environment(environment),
        Command::Clean(clean) => commands::clean::run_clean(clean),
        Command::Itself(itself) => commands::itself::run_itself(itself),
    }
}
