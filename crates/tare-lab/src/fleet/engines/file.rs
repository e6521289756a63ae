//! The file of an engine: its templates, as they are written in TOML.

use std::collections::BTreeMap;

use serde::Deserialize;
use tare_data::shell::join_words;

/// An engine as its file has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Templates {
    /// Summary in one line: where it starts jobs, and what it needs.
    pub(super) about: String,
    /// Prints names of nodes, with white space or commas between them.
    #[serde(default)]
    pub(super) nodes: Vec<String>,
    /// Starts a job on a node.
    pub(super) submit: Vec<String>,
    /// Standard input of `submit`.
    pub(super) script: String,
    /// Prints the ids of all jobs that wait or run. Without it a job is what `submit` does while it runs.
    #[serde(default)]
    pub(super) state: Vec<String>,
    /// Ends a job.
    #[serde(default)]
    pub(super) cancel: Vec<String>,
    /// Prints why a job ended, where the engine knows it.
    #[serde(default)]
    pub(super) why: Vec<String>,
    /// Texts before and after an id in the output of `submit`; without it, all of its first line.
    #[serde(default)]
    pub(super) id_between: Option<[String; 2]>,
    /// The fleet's folder as nodes see it.
    #[serde(default = "same_folder")]
    pub(super) folder: String,
    /// Time for which a job may be unknown before it counts as ended.
    #[serde(default = "usual_settle")]
    pub(super) settle: String,
    /// Options by name with their defaults.
    #[serde(default)]
    pub(super) options: BTreeMap<String, String>,
}

fn same_folder() -> String {
    "{folder}".into()
}

fn usual_settle() -> String {
    "5s".into()
}

impl Templates {
    /// Lists the commands that continuing a fleet runs on this machine, quoted for a shell.
    pub(super) fn list_commands(&self) -> String {
        let Templates { submit, state, cancel, why, .. } = self;
        let all = [submit, state, cancel, why].into_iter().filter(|words| !words.is_empty());
        all.map(|words| format!("run {}", join_words(words))).collect::<Vec<_>>().join("\n")
    }
}
