//! What programs find inside an environment: whose root folder, and which folder to work in.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The root folder of an environment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RootFolder {
    /// Nothing but the agent; where an environment has no root of its own, what is there.
    #[default]
    Empty,
    /// This machine's own programs and files. Whatever is written there is thrown away.
    Host,
    /// The same with a folder of this machine as the root.
    Folder(PathBuf),
}

/// The folder that a command works in, under the same path inside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Absolute, without symbolic links.
    pub folder: PathBuf,
    /// Whether writes reach the folder itself. Otherwise they are thrown away.
    pub shared: bool,
}

/// What a session has inside every environment whose specification says nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inside {
    #[serde(default)]
    pub root: RootFolder,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Work>,
}

impl Inside {
    /// Whether it is what environments have anyway.
    pub fn is_plain(&self) -> bool {
        *self == Inside::default()
    }
}
