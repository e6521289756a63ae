//! Arguments for showing, exporting and checking results.

use std::path::PathBuf;

use tare_analysis::gate::{Condition, Kind};
use tare_lab::find_nearest;
use tare_report::exports::{self, EXPORTS, Export};

/// Options for showing, exporting and checking results.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Output", group(clap::ArgGroup::new("gate").multiple(true)))]
pub struct View {
    /// Print the result as JSON, as --export json does.
    #[arg(long)]
    pub json: bool,
    /// Print Markdown, for a pull request, as --export markdown does.
    #[arg(long, alias = "md")]
    pub markdown: bool,
    /// Print CSV, one line per cell, as --export csv does.
    #[arg(long)]
    pub csv: bool,
    /// Print a block to paste into an issue: answers, versions and the command, without names of this machine, its user and files.
    #[arg(long, conflicts_with_all = ["json", "markdown", "csv", "facts"])]
    pub paste: bool,
    /// Also write the report as one self-contained HTML file.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Show the figures of these articles next to the session's, and fill their tables from the session,
    /// comma-separated: names, or files that end in .toml.
    #[arg(long, hide_short_help = true, value_name = "NAMES", value_delimiter = ',')]
    pub published: Vec<String>,
    /// Show, instead of results, how each environment differs from the baseline: kernel, processor,
    /// mitigations, clock, limits, file systems, network devices and runtime.
    #[arg(long, hide_short_help = true, conflicts_with_all = ["markdown", "csv"])]
    pub facts: bool,
    /// Show every metric, grouped by family, and how its rounds are distributed.
    #[arg(long, hide_short_help = true)]
    pub wide: bool,
    /// Count slowdowns up to this size as the same when showing results; a record that is read is not shown by
    /// one margin and checked by another, so --fail-if excludes it [default: each case's own margin, usually 2 %].
    #[arg(long, hide_short_help = true, value_name = "PERCENT", value_parser = super::percent::parse_percent)]
    pub margin: Option<f64>,
    /// Correct for multiple comparisons by Holm's method instead of Benjamini and Hochberg's, which finds
    /// fewer differences with more certainty.
    #[arg(long, hide_short_help = true)]
    pub strict: bool,
    /// Write the results in another format ('tare list exports' lists them), to a file or to standard output
    /// (repeatable).
    #[arg(long = "export", value_name = "FORMAT[=FILE]", value_parser = parse_export)]
    pub exports: Vec<Wanted>,
    /// Exit with 6 if a cell is slower, differs, is undecided or missing: KIND[:ENVIRONMENT[:CASE]][>RATIO], with * as a
    /// wildcard (repeatable).
    #[arg(long, group = "gate", value_name = "CONDITION", value_parser = Condition::of_one)]
    pub fail_if: Vec<Condition>,
    /// Exit with 6 unless a cell is shown to take at most this many times as long: ENVIRONMENT[:CASE]=RATIO, as
    /// --fail-if 'slower:ENVIRONMENT>RATIO' does (repeatable).
    #[arg(long, group = "gate", value_name = "BOUND", value_parser = |text: &str| Condition::at_most(text, Kind::Slower))]
    pub at_most: Vec<Condition>,
    /// Let a condition of --fail-if or --at-most pass if it cannot be decided, instead of exiting with 6.
    #[arg(long, hide_short_help = true, requires = "gate")]
    pub allow_undecided: bool,
}

impl View {
    /// Lists all conditions that the results must not meet.
    pub fn list_conditions(&self) -> Vec<Condition> {
        self.fail_if.iter().chain(&self.at_most).cloned().collect()
    }

    /// Lists all exports: those that are named, and those that --json, --markdown and --csv spell.
    pub fn list_exports(&self) -> Vec<Wanted> {
        let spelled = [("json", self.json && !self.facts), ("markdown", self.markdown), ("csv", self.csv)];
        let spelled = spelled.into_iter().filter(|(_, is_given)| *is_given);
        let spelled = spelled.filter_map(|(name, _)| exports::find_export(name));
        spelled.map(|export| Wanted { export, file: None }).chain(self.exports.clone()).collect()
    }

    /// Tells whether standard output gets a document for programs, or Markdown, which is UTF-8 always.
    pub fn is_document(&self) -> bool {
        self.json || self.markdown || self.csv || self.paste
    }
}

/// An export format, and the file to write.
#[derive(Clone)]
pub struct Wanted {
    pub export: &'static Export,
    /// File to write; standard output if none is named.
    pub file: Option<PathBuf>,
}

impl std::fmt::Debug for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={:?}", self.export.name, self.file)
    }
}

fn parse_export(text: &str) -> Result<Wanted, String> {
    let (name, file) = match text.split_once('=') {
        Some((_, "")) => return Err("the name of a file must follow '='".into()),
        Some((name, file)) => (name, Some(PathBuf::from(file))),
        None => (text, None),
    };
    let Some(export) = exports::find_export(name) else {
        let names: Vec<&str> = EXPORTS.iter().map(|export| export.name).collect();
        return Err(match find_nearest(name, names.iter().copied()) {
            Some(near) => format!("unknown format '{name}'; did you mean '{near}'?"),
            None => format!("unknown format '{name}'; the formats are {}", names.join(", ")),
        });
    };
    Ok(Wanted { export, file })
}
