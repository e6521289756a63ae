//! Readers of foreign data, and the rules that hold for every input: fed by mutation (`main.rs`) and by
//! coverage (`fuzz/`).

mod memory;
pub mod target;
mod targets;

use std::time::{Duration, Instant};

use crate::target::Target;
pub use crate::targets::TARGETS;

/// An input that is worked on for longer has found a loop. The machine may be busy, so it is generous.
const LONGEST: Duration = Duration::from_secs(10);
/// Bytes that an input may have allocated at a time: far above the need of a good one of its size.
const MOST_MEMORY: usize = 64 << 20;

/// Runs one input, and checks the rules that hold for every input.
pub fn check_input(target: &Target, input: &[u8]) -> Result<String, String> {
    let started = Instant::now();
    let before = memory::start_watching();
    let answer = (target.run)(input)?;
    let most = memory::most_since(before);
    if most > MOST_MEMORY {
        return Err(format!("{most} bytes of memory for an input of {} bytes", input.len()));
    }
    if started.elapsed() > LONGEST {
        return Err(format!("more than {} s for an input of {} bytes", LONGEST.as_secs(), input.len()));
    }
    Ok(answer)
}
