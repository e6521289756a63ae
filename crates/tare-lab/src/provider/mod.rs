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
pub use self::kernel_kind::{KernelFacts, KernelKind, Settling};

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
    /// Kernel that its processes run on.
    pub kernel: KernelFacts,
    /// Roots that its environments can have.
    pub roots: Roots,
    pub by_default: ByDefault,
    /// Parses a specification whose keys are all among `options`, and rejects invalid values.
    pub parse: fn(&Specification) -> Result<Box<dyn Environment>, LabError>,
    /// Slow setup that has to be done once, if any.
    pub preparation: Option<Preparation>,
    /// Everything that entering does, for `--dry-run`.
    pub footprint: Footprint,
}

/// Specifications of a provider that are used although nobody names them, if they are ready.
#[derive(Clone, Copy, Debug)]
pub struct ByDefault {
    /// Those that `tare check` tries, e.g. `gvisor`, `gvisor?platform=ptrace`.
    pub tried: &'static [&'static str],
    /// Subjects of a session that names none, each with its rank: one of each architecture before a second of any. A guest whose
    /// processor is a program has none: it takes most of the time of all, and its figures are of no real machine.
    pub ranked: &'static [(u32, &'static str)],
    /// Set if it stays where the time is short, whatever was named before it.
    pub stays: bool,
}

impl ByDefault {
    /// A provider that must be named.
    pub const NEVER: ByDefault = ByDefault { tried: &[], ranked: &[], stays: false };
}
