//! Arguments of `tare self`.

use std::path::PathBuf;

use clap::Subcommand;

/// Print completions, manual pages and licences of tare itself.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  tare self completions bash > ~/.local/share/bash-completion/completions/tare
  tare self completions fish > ~/.config/fish/completions/tare.fish
  tare self man ~/.local/share/man/man1")]
pub struct Itself {
    #[command(subcommand)]
    pub command: ItselfCommand,
}

#[derive(Debug, Subcommand)]
pub enum ItselfCommand {
    Completions(Completions),
    Man(Man),
    /// Print the licence of tare, and those of everything that is linked into it.
    #[command(alias = "licenses")]
    Licences,
}

/// Print completions for a shell.
#[derive(Debug, clap::Args)]
pub struct Completions {
    /// The shell that reads them.
    pub shell: clap_complete::Shell,
}

/// Write the manual pages, one for each command, into a folder.
#[derive(Debug, clap::Args)]
pub struct Man {
    /// An existing folder.
    pub folder: PathBuf,
}
