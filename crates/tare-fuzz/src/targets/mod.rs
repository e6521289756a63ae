//! The list of targets: a target is one file, and two lines here.

mod columns;
mod frames;
mod importers;
mod journal;
mod peer;
mod published;
mod record;
mod studies;
mod surroundings;

use crate::target::Target;

/// Every target.
pub static TARGETS: &[&Target] = &[
    &columns::TARGET,
    &frames::TARGET,
    &importers::TARGET,
    &journal::TARGET,
    &peer::TARGET,
    &published::TARGET,
    &record::TARGET,
    &studies::TARGET,
    &surroundings::TARGET,
];
