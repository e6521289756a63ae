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
/// specifications. A file of a launcher becomes one as well.
pub struct Provider {
    /// Name on the command line, e.g. `gvisor`.
    pub name: String,
    /// Summary, in one sentence.
    pub summary: String,
    /// Heading of its card in a report, in about five words. A plan stores it with the environment, so that
    /// any report can show it.
    pub short_description: String,
    /// The well-known system that it represents, and differences from that.
    pub stands_for: String,
    /// Form of the text that may follow the name after a colon, e.g. `[user@]host`, if any.
    pub instance: Option<String>,
    /// Options that a specification may give. Any other is rejected, with the most similar one suggested.
    pub options: Vec<OptionDescription>,
    /// Set if its processes descend from this program and stay on its processor, unlike those of a daemon or
    /// of another machine.
    pub descends: bool,
    /// Kernel that its processes run on.
    pub kernel: KernelFacts,
    /// Roots that its environments can have.
    pub roots: Roots,
    pub by_default: ByDefault,
    /// Parses a specification whose keys are all among `options`, and rejects invalid values.
    pub parse: Box<Parse>,
    /// Everything that entering does, for `--dry-run`.
    pub footprint: Footprint,
}

/// Declares a provider by its fields in this order, of which strings and lists are made its own. All must be there.
macro_rules! provider {
    (name: $name:expr, instance: $instance:expr, parse: $parse:expr, $($field:ident: $value:expr),+ $(,)?) => {
        || $crate::provider::Provider {
            name: $name.into(),
            instance: Option::<&str>::map($instance, str::to_owned),
            parse: Box::new($parse),
            $($field: $value.into()),+
        }
    };
}
pub(crate) use provider;

/// Function that parses a specification.
type Parse = dyn Fn(&Specification) -> Result<Box<dyn Environment>, LabError> + Send + Sync;

/// Specifications of a provider that are used although nobody names them, if they are ready.
#[derive(Clone, Copy, Debug)]
pub struct ByDefault {
    /// Specifications that `tare check` tries, e.g. `gvisor`, `gvisor?platform=ptrace`.
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
