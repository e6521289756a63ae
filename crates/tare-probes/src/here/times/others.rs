//! Others: the processor time that other programs use while something is measured, as the kernel counts it.

use crate::harness::interference::{TICK_NS, parse_ticks, read_processor_time};
use crate::here::bounded::read_beginning;

/// Bytes of /proc/stat that are read: its first lines have the processors, and machines with more of them are cut off.
const MOST_BYTES: usize = 1 << 18;
/// Numbers of a line of /proc/stat in which a processor worked: user, nice, system, interrupts of both kinds (proc_stat(5)).
const WORKED: [usize; 5] = [0, 1, 2, 5, 6];
/// Numbers in which it did nothing, waited for a disk, or was stolen.
const RESTED: [usize; 3] = [3, 4, 7];

/// Processor time since the machine started, in ns: everybody's, and this process's and its children's.
pub struct Used {
    worked_ns: u64,
    rested_ns: u64,
    own_ns: u64,
    processors: u64,
}

impl Used {
    /// Reads the time used so far; none where the kernel does not count it.
    pub fn read() -> Option<Used> {
        let (worked_ns, rested_ns, processors) = parse_stat(&read_beginning("/proc/stat", MOST_BYTES)?)?;
        let own = [libc::RUSAGE_SELF, libc::RUSAGE_CHILDREN].map(read_processor_time);
        let own_ns = own.into_iter().flatten().map(|(user_ns, system_ns)| user_ns + system_ns).sum();
        Some(Used { worked_ns, rested_ns, own_ns, processors })
    }

    /// Computes the share of all processors' time that others used since `before`, over `elapsed_ns`, at the least. Work is counted by
    /// samples, of which there are few in so short a time, and rest is not.
    pub fn others_since(&self, before: &Used, elapsed_ns: u64) -> f64 {
        let own_ns = self.own_ns.saturating_sub(before.own_ns);
        let rested_ns = self.rested_ns.saturating_sub(before.rested_ns);
        let all_ns = (self.processors * elapsed_ns).saturating_sub(rested_ns);
        let all_ns = all_ns.min(self.worked_ns.saturating_sub(before.worked_ns));
        self.share_of(all_ns.saturating_sub(own_ns), elapsed_ns)
    }

    /// Computes the share that a time has of all processors' time over `elapsed_ns`.
    pub fn share_of(&self, ns: u64, elapsed_ns: u64) -> f64 {
        ns as f64 / (self.processors * elapsed_ns.max(1)) as f64
    }
}

/// Finds the time that all processors worked and rested, in ns, and their number.
fn parse_stat(text: &str) -> Option<(u64, u64, u64)> {
    let processors = text.lines().skip(1).take_while(|line| line.starts_with("cpu")).count() as u64;
    let ticks = parse_ticks(text)?;
    let sum_ns = |fields: &[usize]| {
        let ticks = fields.iter().try_fold(0u64, |sum, at| sum.checked_add(*ticks.get(*at)?))?;
        ticks.checked_mul(TICK_NS)
    };
    let (worked_ns, rested_ns) = (sum_ns(&WORKED)?, sum_ns(&RESTED)?);
    (worked_ns > 0 && processors > 0).then_some((worked_ns, rested_ns, processors))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_counts_the_time_of_everybody() {
        let text = "cpu  10 20 30 4000 500 6 7 800 9 1\ncpu0 1 2\ncpu1 1 2\nintr 5\n";
        assert_eq!(parse_stat(text), Some((73 * TICK_NS, 5300 * TICK_NS, 2)));
        for none in ["", "cpu  1 2 3\ncpu0 1\n", "cpu  0 0 0 0 0 0 0 0\ncpu0 0\n", "cpu  1 2 3 4 5 6 7 8\n"] {
            assert_eq!(parse_stat(none), None, "{none}");
        }
    }

    #[test]
    fn time_of_others_is_that_of_all_but_ones_own() {
        let before = Used { worked_ns: 5_000, rested_ns: 900, own_ns: 100, processors: 2 };
        let after = Used { worked_ns: 6_400, rested_ns: 1_500, own_ns: 500, processors: 2 };
        assert_eq!(after.others_since(&before, 1_000), 0.5);
        // Ticks are coarser than the time of one's own.
        assert_eq!(Used { worked_ns: 5_000, ..after }.others_since(&before, 1_000), 0.0);
        let rested = Used { rested_ns: 2_500, ..after };
        assert_eq!(rested.others_since(&before, 1_000), 0.0, "too many samples met work");
    }
}
