//! `root=`: the source of an environment's programs, an option of every specification.

pub use tare_data::session::{Inside, RootFolder, Work};

use tare_data::session::specification::Specification;

use crate::error::LabError;
use crate::provider::options::OptionDescription;

/// Option of every environment, although not all can provide every root.
pub const ROOT: OptionDescription = OptionDescription::new_text(
    "root",
    "empty",
    "source of the programs inside. empty: none but tare's own, or those that the environment has \
     anyway; host: this machine's, with all changes discarded; a path: the same with that folder as the root",
);

/// Parses the root in a specification, if it names one.
pub(crate) fn parse_root(specification: &Specification) -> Result<Option<RootFolder>, LabError> {
    let Some(text) = specification.get_option(ROOT.key) else { return Ok(None) };
    match text {
        "empty" => Ok(Some(RootFolder::Empty)),
        "host" | "/" => Ok(Some(RootFolder::Host)),
        path if path.starts_with('/') => Ok(Some(RootFolder::Folder(path.into()))),
        _ => Err(ROOT
            .invalid_value_error(specification)
            .with_hint("give empty, host, or the absolute path of a folder")),
    }
}

/// Roots that the environments of a provider can have, in addition to their usual one.
#[derive(Clone, Copy, Debug)]
pub enum Roots {
    /// Every root that this machine can show.
    Any,
    /// Only this machine's root, for this reason.
    Host(&'static str),
    /// Only the usual one, for this reason.
    Own(&'static str),
}

impl Roots {
    /// Explains why environments of the provider cannot have this root; none if they can.
    pub(crate) fn refusal_reason(self, root: &RootFolder) -> Option<&'static str> {
        match (self, root) {
            (_, RootFolder::Empty) | (Roots::Any, _) | (Roots::Host(_), RootFolder::Host) => None,
            (Roots::Host(reason) | Roots::Own(reason), _) => Some(reason),
        }
    }
}
