//! A session: environments entered, cases calibrated, rounds run in random order, every result written down.

mod arena;
mod arriving;
mod at_once;
mod before;
mod bring_up;
#[cfg_attr(not(unix), path = "calling/not_here.rs")]
mod calling;
pub mod carrying;
pub mod entered;
pub mod link;
mod live;
mod open;
#[cfg_attr(not(unix), path = "peers/loopback_alone.rs")]
pub mod peers;
mod plan;
mod prepare;
pub(crate) mod protocol;
mod rounds;
mod targets;
mod trials;
#[cfg(unix)]
mod turns;

pub use self::bring_up::{BringUp, Starts};
pub use self::protocol::{
    Caller, DryRun, FullSize, Outlook, begin_session, dry_resume, dry_run, estimate_full_size,
    resume_session, time_starts, trust_environments,
};
pub use crate::ownership::workspace::Setting;

#[cfg(test)]
mod tests;
