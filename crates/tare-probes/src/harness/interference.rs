//! Interference: what else went on while a trial ran, as far as the environment reports it.

#![allow(unsafe_code, reason = "getrusage fills a struct")]

use tare_data::session::Interference;

#[cfg(unix)]
use crate::harness::kernel_files::read_text;
use crate::harness::stopwatch::now_ns;

/// Length of the canary's chain: about 0.35 ms at 3 GHz, long against a clock read, short against a trial.
const CANARY_ADDITIONS: u64 = 1 << 20;
/// Length of a tick in /proc/stat: the kernel's interface to programs has always had 100 a second on Linux.
#[cfg(unix)]
pub(crate) const TICK_NS: u64 = 10_000_000;

/// Watch over a trial: the counters that it reads at the beginning and at the end.
#[derive(Debug)]
pub struct Watch {
    of_machine: Option<Machine>,
    of_process: Option<Usage>,
}

/// Counters of a kernel, over all that runs there.
#[derive(Clone, Copy, Debug, Default)]
struct Machine {
    steal_ns: Option<u64>,
    pressure_cpu_ns: Option<u64>,
    pressure_io_ns: Option<u64>,
}

/// Counters of getrusage(2), of this process and of the children that it has waited for, and the scheduler's of this process alone.
#[derive(Clone, Copy, Debug)]
struct Usage {
    run_delay_ns: Option<u64>,
    switches_voluntary: u64,
    switches_forced: u64,
    faults_minor: u64,
    faults_major: u64,
}

impl Watch {
    /// Watches this process and the kernel below it, which may be the environment's own.
    pub fn of_all() -> Watch {
        Watch { of_process: usage(), ..Watch::of_machine() }
    }

    /// Watches the kernel alone: for the host, whose own process has nothing to do with the trial.
    pub fn of_machine() -> Watch {
        Watch { of_machine: Some(Machine::read()), of_process: None }
    }

    /// Watches this process alone: for a side of a pair, whose kernel the host watches for both.
    pub fn of_process() -> Watch {
        Watch { of_machine: None, of_process: usage() }
    }

    pub fn stop(self) -> Interference {
        let machine = self.of_machine.map(|before| (before, Machine::read()));
        let machine = |field: fn(&Machine) -> Option<u64>| {
            machine.and_then(|(before, after)| increase(field(&before), field(&after)))
        };
        let usages = self.of_process.map(|before| (before, usage()));
        let process = |field: fn(&Usage) -> u64| {
            usages.and_then(|(before, after)| increase(Some(field(&before)), after.as_ref().map(field)))
        };
        let delays = usages
            .and_then(|(before, after)| increase(before.run_delay_ns, after.and_then(|u| u.run_delay_ns)));
        Interference {
            steal_ns: machine(|m| m.steal_ns),
            pressure_cpu_ns: machine(|m| m.pressure_cpu_ns),
            pressure_io_ns: machine(|m| m.pressure_io_ns),
            switches_voluntary: process(|u| u.switches_voluntary),
            switches_forced: process(|u| u.switches_forced),
            run_delay_ns: delays,
            batches_interrupted: None,
            faults_minor: process(|u| u.faults_minor),
            faults_major: process(|u| u.faults_major),
            canary_ns: None,
        }
    }
}

/// Counts the context switches that were forced on this process and its children so far; none where that is not counted.
pub(crate) fn count_forced_switches() -> u64 {
    usage().map_or(0, |usage| usage.switches_forced)
}

/// Counts the batches on which more context switches were forced than on the typical one, the first aside, which warms up. Processes
/// that hand something to each other on one processor force switches on each other in every batch.
pub(crate) fn count_interrupted(forced: &[u64]) -> u64 {
    let counted = forced.get(1..).unwrap_or_default();
    let mut sorted = counted.to_vec();
    sorted.sort_unstable();
    let typical = sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(0);
    counted.iter().filter(|forced| **forced > typical).count() as u64
}

/// Subtracts two readings of a counter; None where it is not reported, or went down.
fn increase(before: Option<u64>, after: Option<u64>) -> Option<u64> {
    after?.checked_sub(before?)
}

impl Machine {
    #[cfg(unix)]
    fn read() -> Machine {
        Machine {
            steal_ns: read_text("/proc/stat").and_then(|text| steal_ns(&text)),
            pressure_cpu_ns: read_text("/proc/pressure/cpu").and_then(|text| pressure_ns(&text)),
            pressure_io_ns: read_text("/proc/pressure/io").and_then(|text| pressure_ns(&text)),
        }
    }

    /// Windows has no such counters.
    #[cfg(windows)]
    fn read() -> Machine {
        Machine::default()
    }
}

/// Sums steal over all processors: the eighth number of the first line (proc_stat(5)).
#[cfg(unix)]
fn steal_ns(text: &str) -> Option<u64> {
    parse_ticks(text)?.get(7)?.checked_mul(TICK_NS)
}

/// Parses the ticks of all processors together: the numbers of the first line of /proc/stat.
#[cfg(unix)]
pub(crate) fn parse_ticks(text: &str) -> Option<Vec<u64>> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_ascii_whitespace().map_while(|text| text.parse().ok()).collect();
    // A kernel that has never been idle nor busy does not count (gVisor).
    ticks.iter().any(|&ticks| ticks > 0).then_some(ticks)
}

/// Reads the time in which some task waited, after `total=` on the line `some` (PSI, the kernel's psi.rst).
#[cfg(unix)]
fn pressure_ns(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    let total: u64 = line.rsplit_once("total=")?.1.trim().parse().ok()?;
    total.checked_mul(1_000)
}

/// Parses the second number of /proc/PID/schedstat (the kernel's sched-stats.rst), which is of the process's first thread.
#[cfg(unix)]
fn parse_run_delay(text: &str) -> Option<u64> {
    let mut numbers = text.split_ascii_whitespace().map_while(|number| number.parse::<u64>().ok());
    // A process that never ran is on a kernel that does not count.
    let ran = numbers.next().filter(|ran_ns| *ran_ns > 0);
    ran.and_then(|_| numbers.next())
}

#[cfg(unix)]
fn usage() -> Option<Usage> {
    let own = read_rusage(libc::RUSAGE_SELF)?;
    let children = read_rusage(libc::RUSAGE_CHILDREN)?;
    // No process starts without a page fault: a kernel that reports none does not count them (gVisor).
    if own.ru_minflt == 0 {
        return None;
    }
    let both = |field: fn(&libc::rusage) -> libc::c_long| {
        u64::try_from(field(&own)).unwrap_or(0) + u64::try_from(field(&children)).unwrap_or(0)
    };
    Some(Usage {
        run_delay_ns: read_text("/proc/self/schedstat").and_then(|text| parse_run_delay(&text)),
        switches_voluntary: both(|u| u.ru_nvcsw),
        switches_forced: both(|u| u.ru_nivcsw),
        faults_minor: both(|u| u.ru_minflt),
        faults_major: both(|u| u.ru_majflt),
    })
}

/// Reads nothing: Windows counts other things of a process.
#[cfg(windows)]
fn usage() -> Option<Usage> {
    None
}

#[cfg(unix)]
pub(crate) fn read_rusage(of: libc::c_int) -> Option<libc::rusage> {
    // SAFETY: an all-zero rusage is valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the struct lives through the call.
    (unsafe { libc::getrusage(of, &mut usage) } == 0).then_some(usage)
}

/// Reads the user and system time that the kernel counts for a process or for its children that have ended, in ns.
#[cfg(unix)]
pub(crate) fn read_processor_time(of: libc::c_int) -> Option<(u64, u64)> {
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    read_rusage(of).map(|used| (ns(used.ru_utime), ns(used.ru_stime)))
}

/// Measures a chain of additions in which each waits for the one before: only the processor's clock matters.
pub fn measure_canary() -> u64 {
    let mut sum = 0u64;
    let started_ns = now_ns();
    for _ in 0..CANARY_ADDITIONS {
        sum = add_one(sum);
    }
    let ended_ns = now_ns();
    assert_eq!(sum, CANARY_ADDITIONS, "the processor cannot count");
    ended_ns.saturating_sub(started_ns)
}

/// Adds one in a way that the compiler can neither remove nor fold with the next.
#[inline(always)]
fn add_one(mut sum: u64) -> u64 {
    // SAFETY: adds within a register.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        core::arch::asm!("add {0}, 1", inout(reg) sum, options(pure, nomem, nostack));
        #[cfg(target_arch = "aarch64")]
        core::arch::asm!("add {0}, {0}, #1", inout(reg) sum, options(pure, nomem, nostack));
        #[cfg(target_arch = "riscv64")]
        core::arch::asm!("addi {0}, {0}, 1", inout(reg) sum, options(pure, nomem, nostack));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_interrupted_by_more_switches_than_the_typical_one() {
        assert_eq!(count_interrupted(&[9, 0, 0, 1, 0, 2]), 2, "the first warms up");
        assert_eq!(count_interrupted(&[14, 14, 14, 14, 15, 14, 13]), 1, "two processes on one processor");
        assert_eq!((count_interrupted(&[]), count_interrupted(&[3]), count_interrupted(&[0, 3])), (0, 0, 0));
    }

    #[test]
    fn steal_is_the_eighth_number() {
        assert_eq!(steal_ns("cpu  1 2 3 4 5 6 7 80 9 10\ncpu0 1\n"), Some(800_000_000));
        assert_eq!(steal_ns("cpu  1 2 3\n"), None);
        assert_eq!(steal_ns(""), None);
        assert_eq!(steal_ns("cpu  0 0 0 0 0 0 0 0 0 0\n"), None);
    }

    #[test]
    fn pressure_is_what_some_task_waited() {
        let text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=41\nfull avg10=0.00 total=7\n";
        assert_eq!(pressure_ns(text), Some(41_000));
        assert_eq!(pressure_ns("nonsense"), None);
    }

    #[test]
    fn the_run_delay_is_the_second_number() {
        assert_eq!(parse_run_delay("67580 629740 1\n"), Some(629_740));
        for text in ["0 0 0", "", "67580", "67580 x 1", "-1 5 1"] {
            assert_eq!(parse_run_delay(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_counter_that_goes_back_is_not_reported() {
        assert_eq!(increase(Some(3), Some(5)), Some(2));
        assert_eq!(increase(Some(5), Some(3)), None);
        assert_eq!(increase(None, Some(3)), None);
    }

    #[test]
    fn the_canary_counts_right() {
        assert!(measure_canary() > 0);
    }
}
