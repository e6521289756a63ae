//! The list of targets: a target is one file, and two lines here.

mod importers;
mod netperf;
mod peer;
mod record;

use crate::target::Target;

/// Every target.
pub static TARGETS: &[&Target] = &[&importers::TARGET, &netperf::TARGET, &peer::TARGET, &record::TARGET];
