//! Interference: what else went on while a trial ran, on one side of the boundary.

use serde::{Deserialize, Serialize};

/// Counters over one trial. What a kernel does not report is absent, never zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interference {
    /// Processor time that the hypervisor took, over all processors.
    pub steal_ns: Option<u64>,
    /// Time in which some task waited for a processor (PSI).
    pub pressure_cpu_ns: Option<u64>,
    /// Time in which some task waited for a disk (PSI).
    pub pressure_io_ns: Option<u64>,
    /// Context switches by which the trial gave up the processor itself.
    pub switches_voluntary: Option<u64>,
    /// Context switches that were forced on it.
    pub switches_forced: Option<u64>,
    pub faults_minor: Option<u64>,
    pub faults_major: Option<u64>,
    /// Time of a fixed chain of dependent additions just before the trial; shows throttling and neighbours
    /// where no counter does.
    pub canary_ns: Option<u64>,
}
