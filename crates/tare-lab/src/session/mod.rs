//! A session: environments entered, cases calibrated, rounds run in random order, every result written down.

mod arena;
pub mod enter;
pub mod link;
#[cfg_attr(not(unix), path = "peers/loopback_alone.rs")]
pub mod peers;
mod plan;
pub(crate) mod protocol;
mod rounds;

pub use self::enter::bring_up::{BringUp, Starts};
pub use self::enter::sides::name_commands;
pub use self::protocol::{
    Caller, DryRun, FullSize, Outlook, begin_session, dry_resume, dry_run, estimate_full_size,
    resume_session, time_starts, trust_environments,
};
pub use crate::ownership::workspace::Setting;

#[cfg(test)]
mod tests;
