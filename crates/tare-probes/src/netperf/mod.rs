//! A stock netserver 2.7 as the far end of a flow, over its own protocol.

pub mod client;
pub mod codec;
pub mod control;

use tare_data::peer::NETPERF_PORT;

/// Default port of a netserver.
pub const PORT: u16 = NETPERF_PORT;
/// Content of data in both directions, over and over: each message begins with its first letter.
pub(crate) const FILL: &[u8; 8] = b"netperf\0";
