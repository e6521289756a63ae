//! Pauses: how long a program computes before a call for that call to have another price.

/// Computing that is long enough for the processor of what serves calls to have gone to sleep as well.
pub const LONG_PAUSE_NS: u64 = 100_000;
/// Computing that is long enough for a layer to have gone to sleep before the next call.
pub const PAUSE_NS: u64 = 15_000;
/// Computing that is long enough for a layer to have stopped looking for the next call at every moment.
pub const SHORT_PAUSE_NS: u64 = 2_000;
