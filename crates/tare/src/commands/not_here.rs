//! Commands that need Linux, where there is none: each says so.

use std::process::ExitCode;

use crate::measuring::needs_linux;

/// A module in place of each command's own.
macro_rules! not_here {
    ($($name:ident($arguments:ty)),+ $(,)?) => {$(
        pub mod $name {
            pub fn run(_: $arguments) -> anyhow::Result<std::process::ExitCode> {
                super::refused(stringify!($name))
            }
        }
    )+};
}

not_here! {
    check(crate::args::Check),
    clean(crate::args::Clean),
    environment(crate::args::Environment),
    run(crate::args::Run),
    serve(crate::args::Serve),
}

/// The error of a command that cannot be run here.
pub fn refused(command: &str) -> anyhow::Result<ExitCode> {
    Err(needs_linux(&format!("tare {command}")).into())
}
