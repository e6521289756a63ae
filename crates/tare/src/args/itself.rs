//! Arguments of `tare self`.

use std::path::PathBuf;

use clap::Subcommand;

/// Print shell completions, manual pages and licences.
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
    /// Print the licence of tare and of every library linked into it.
    #[command(alias = "licenses")]
    Licences,
}

/// Print completions for a shell.
#[derive(Debug, clap::Args)]
pub struct Completions {
    /// Print completions for this shell.
    pub shell: clap_complete::Shell,
}

/// Write one manual page per command into a folder.
#[derive(Debug, clap::Args)]
pub struct Man {
    /// Write the pages into this folder, which must exist.
    pub folder: PathBuf,
}
