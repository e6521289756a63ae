//! The agent by itself: what the tests start where the program starts its own copy.

#![allow(clippy::disallowed_methods)]

fn main() {
    let arguments: Vec<_> = std::env::args_os().collect();
    let code = tare_probes::agent::run_subcommand(&arguments).unwrap_or_else(|| {
        eprintln!("error: not a subcommand of the agent");
        2
    });
    std::process::exit(code);
}
