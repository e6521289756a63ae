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
mod habits;
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
mod ui;
mod verbs;

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
    dispatch(habits::parse_arguments()).unwrap_or_else(|error| error.print()).into()
}

fn dispatch(args: Args) -> Result<Exit, CommandError> {
    signals::survive_size_limit()?;
    let Some(command) = args.command else { return Ok(commands::first::print_first_steps()) };
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
