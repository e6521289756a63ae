//! The interface of environment providers, without the list of providers.

use tare_data::session::specification::Specification;

use crate::error::LabError;
use crate::provider::footprint::Footprint;
use crate::provider::options::OptionDescription;
use crate::provider::root::Roots;

pub(crate) mod call;
mod entering;
pub mod footprint;
mod host_path;
pub(crate) mod images;
mod kernel_kind;
pub(crate) mod namespaces;
pub(crate) mod naming;
pub mod options;
pub(crate) mod prelude;
pub(crate) mod processor;
pub(crate) mod proof;
pub mod root;
pub(crate) mod shared_memory;

pub use self::entering::*;
pub use self::host_path::{HostPath, Published};
pub use self::kernel_kind::KernelKind;

/// Description of a kind of environment: its names and options, and the function that parses its
/// specifications.
#[derive(Debug)]
pub struct Provider {
    /// Name on the command line, e.g. `gvisor`.
    pub name: &'static str,
    /// Summary, in one sentence.
    pub summary: &'static str,
    /// Heading of its card in a report, in about five words. A plan stores it with the environment, so that
    /// any report can show it.
    pub short_description: &'static str,
    /// The well-known system that it represents, and differences from that.
    pub stands_for: &'static str,
    /// Form of the text that may follow the name after a colon, e.g. `[user@]host`, if any.
    pub instance: Option<&'static str>,
    /// Options that a specification may give. Any other is rejected, with the most similar one suggested.
    pub options: &'static [OptionDescription],
    /// Set if its processes descend from this program and stay on its processor, unlike those of a daemon or
    /// of another machine.
    pub descends: bool,
    /// Kernel that its processes run on: decides how their trials can take turns with another environment's.
    pub kernel: KernelKind,
    /// Roots that its environments can have.
    pub roots: Roots,
    /// Specifications that `tare run` uses by default if they are ready, e.g. `gvisor`,
    /// `gvisor?platform=ptrace`.
    pub by_default: &'static [&'static str],
    /// Parses a specification whose keys are all among `options`, and rejects invalid values.
    pub parse: fn(&Specification) -> Result<Box<dyn Environment>, LabError>,
    /// Slow setup that has to be done once, if any.
    pub preparation: Option<Preparation>,
    /// Everything that entering does, for `--dry-run`.
    pub footprint: Footprint,
}
