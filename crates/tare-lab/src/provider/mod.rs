//! What a provider of environments is, and what it is given: the interface, apart from the list of providers.

use tare_data::session::specification::Specification;

use crate::error::LabError;
use crate::provider::footprint::Footprint;
use crate::provider::options::OptionDescription;
use crate::provider::root::Roots;

mod entering;
pub mod footprint;
pub(crate) mod naming;
pub mod options;
pub(crate) mod prelude;
pub(crate) mod processor;
pub mod root;

pub use self::entering::*;

/// A kind of environment, described: what it is called, what it takes, and how a specification of it is parsed.
#[derive(Debug)]
pub struct Provider {
    /// The name on the command line, e.g. `gvisor`.
    pub name: &'static str,
    /// One sentence: what it is.
    pub summary: &'static str,
    /// Its card's heading in a report, in about five words; a plan has it with the environment, so that any report can show it.
    pub short_description: &'static str,
    /// What people know that it represents, and how it differs from that.
    pub stands_for: &'static str,
    /// What may follow the name after a colon, e.g. `[user@]host`; none where nothing may.
    pub instance: Option<&'static str>,
    /// Options that a specification may give. Any other is refused, with the nearest named.
    pub options: &'static [OptionDescription],
    /// Whether its processes descend from this program and stay on its processor; a daemon's or another machine's do not.
    pub descends: bool,
    /// Which roots its environments can have.
    pub roots: Roots,
    /// Specifications that `tare run` takes by itself where they are ready, e.g. `gvisor`, `gvisor?platform=ptrace`.
    pub by_default: &'static [&'static str],
    /// Parses a specification whose keys are known to be among `options`; refuses values that cannot be.
    pub parse: fn(&Specification) -> Result<Box<dyn Environment>, LabError>,
    /// What is slow and has to be done once, if anything.
    pub preparation: Option<Preparation>,
    /// Everything that entering does, for `--dry-run`.
    pub footprint: Footprint,
}
