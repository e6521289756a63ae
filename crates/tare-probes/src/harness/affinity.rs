//! Affinity: which processors a process may run on.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tare_data::failure::{Failure, FailureKind};

/// Lists the processors that this process may run on, in ascending order.
pub fn list_allowed_processors() -> Vec<usize> {
    let Ok(set) = sched_getaffinity(None) else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
}

/// Keeps this process on one processor.
pub fn pin_to_processor(cpu: usize) -> Result<(), Failure> {
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).map_err(|e| {
        let kind = match e {
            rustix::io::Errno::PERM => FailureKind::NotPermitted,
            _ => FailureKind::NotSupported,
        };
        Failure::new(kind, format!("staying on processor {cpu}: {e}"))
    })
}
