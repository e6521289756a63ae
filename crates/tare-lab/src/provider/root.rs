//! `root=`: whose programs an environment has, as every specification can have it.

pub use tare_data::session::{Inside, RootFolder, Work};

use crate::error::LabError;
use crate::provider::options::OptionDescription;
use crate::provider::specification::Specification;

/// The option that every environment takes; most can do what it asks for.
pub const ROOT: OptionDescription = OptionDescription::text(
    "root",
    "empty",
    "what every environment takes: whose programs are inside. empty: none but tare's own, or what the environment has \
     anyway; host: this machine's, and whatever is written is thrown away; a path: the same with that folder as the root",
);

/// The root that a specification names, if it names one.
pub(crate) fn of(specification: &Specification) -> Result<Option<RootFolder>, LabError> {
    let Some(text) = specification.option(ROOT.key) else { return Ok(None) };
    match text {
        "empty" => Ok(Some(RootFolder::Empty)),
        "host" | "/" => Ok(Some(RootFolder::Host)),
        path if path.starts_with('/') => Ok(Some(RootFolder::Folder(path.into()))),
        _ => Err(ROOT.refused(specification).hint("give empty, host, or the absolute path of a folder")),
    }
}

/// Which roots the environments of a provider can have beside their own.
#[derive(Clone, Copy, Debug)]
pub enum Roots {
    /// Whatever this machine can show.
    Any,
    /// This machine's own, and for this reason no other folder.
    Host(&'static str),
    /// None, for this reason.
    Own(&'static str),
}

impl Roots {
    /// Why environments of the provider cannot have a root.
    pub(crate) fn refusal(self, root: &RootFolder) -> Option<&'static str> {
        match (self, root) {
            (_, RootFolder::Empty) | (Roots::Any, _) | (Roots::Host(_), RootFolder::Host) => None,
            (Roots::Host(reason) | Roots::Own(reason), _) => Some(reason),
        }
    }
}
