//! Environments: how each is entered, one file a provider.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use tare_data::facts::Facts;

use crate::error::LabError;
use crate::ownership::Owned;
use crate::specification::Specification;

/// A kind of environment: knows whether it can be entered here, and how.
pub trait Provider: Sync {
    /// What it is called on the command line, e.g. `gvisor`.
    fn name(&self) -> &'static str;

    /// One sentence: what it is.
    fn summary(&self) -> &'static str;

    /// What people know that it stands for, and what it has in common with that and what not.
    fn stands_for(&self) -> &'static str;

    /// Options that a specification may give. Any other is refused, with the nearest named.
    fn options(&self) -> &'static [OptionDescription];

    /// Specifications that `tare run` takes by itself where they are ready, e.g. `gvisor`, `gvisor?platform=ptrace`.
    fn by_default(&self) -> &'static [&'static str];

    /// Whether it can be entered here and now: cheap, changes nothing. Ready: facts from outside (version, path).
    fn ready(&self, specification: &Specification) -> Result<Facts, NotReady>;

    /// Prepares an entrance. Everything made on the way is given to `ground` before it is made.
    fn enter(&self, specification: &Specification, ground: &mut dyn Ground) -> Result<Entrance, LabError>;
}

/// An option of a provider.
#[derive(Clone, Copy, Debug)]
pub struct OptionDescription {
    pub key: &'static str,
    /// What holds when it is not given.
    pub default: &'static str,
    /// The values it can take; empty for free text.
    pub values: &'static [&'static str],
    pub about: &'static str,
}

/// Why an environment cannot be entered, and the one command that would make it so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotReady {
    pub reason: String,
    pub command: Option<String>,
}

/// Where a session builds: a scratch folder, the agent's binary, and the journal of what was made.
pub trait Ground {
    /// A folder of this start's own, empty, on a disk; removed after leaving.
    fn folder(&self) -> &std::path::Path;

    /// The static binary to copy in.
    fn agent(&self) -> &std::path::Path;

    /// Host folders to share in: name of the place to path on the host. They appear as places of that name.
    fn shares(&self) -> &BTreeMap<String, PathBuf>;

    /// Writes down what is about to be made.
    fn own(&mut self, thing: Owned) -> Result<(), LabError>;
}

/// How to get in: a command whose standard input and output are the agent's.
#[derive(Debug)]
pub struct Entrance {
    /// Started by the lab with pipes on all three standard streams; lines on standard error become notes.
    /// Must die when its parent dies, or be found through what `ground` owns.
    pub command: Command,
    /// Places by name (`own`, `share` ...) with their paths inside.
    pub places: BTreeMap<String, String>,
    /// Facts taken from outside: versions, flags, file systems under the places.
    pub outside: Facts,
}
