//! netperf 2.7's protocol, both ends: driving a stock netserver, and answering a stock netperf.

pub mod admission;
mod answering;
pub mod client;
pub mod codec;
pub mod control;
pub mod server;
mod silent;

use tare_data::peer::NETPERF_PORT;

/// Where a netserver listens by default.
pub const PORT: u16 = NETPERF_PORT;
/// What both programs send: "netperf" over and over, and each message begins with its first letter.
pub(crate) const FILL: &[u8; 8] = b"netperf\0";
