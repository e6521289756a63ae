//! Limits of the process that found the facts.

use tare_data::facts::Facts;
use tare_data::facts::keys::{
    CONTROL_GROUP, CPU_ALLOWED, CPU_ONLINE, CPU_STOLEN, CPU_THROTTLED, LIMIT_CPU, LIMIT_FILES, LIMIT_MEMORY,
    LIMIT_PROCESSES, MEMORY_TOTAL_BYTES, PROCESS_STORE_BYPASS, USUAL,
};
use tare_data::warning::Setting;

use super::signs::View;
use super::times::burst::{Throttling, find_throttling};

/// A number of open files below which builds and servers fail.
const FEW_FILES: u64 = 256;
/// Share of throttled periods that is felt.
const MUCH_THROTTLED: f64 = 0.01;
/// Share of the processors' time given to others that is felt.
const MUCH_STOLEN: f64 = 0.05;
/// A limit of memory near the machine's own is none.
const NEARLY_ALL: f64 = 0.98;

/// A quota that is seen explains gaps that leave at least this share of it: other programs of the group use some.
const EXPLAINED: f64 = 0.7;

/// A limit, with the level that sets it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    pub value: f64,
    /// A parent of the process's own control group sets it.
    pub from_parent: bool,
}

/// Limits that were seen. One that is absent may still be there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// Processors that a control group grants.
    pub cpu: Option<Limit>,
    /// Share of periods in which the control group was stopped.
    pub throttled: Option<f64>,
    /// Standstills at equal distances, whoever makes them.
    pub standing: Option<Throttling>,
    /// Share of the processors' time that a hypervisor gave to others.
    pub stolen: Option<f64>,
    /// A limit that showed by its gaps alone: no control group that can be read explains it.
    pub hidden_cpu: Option<Throttling>,
    /// Processors that the process may run on, and those of the machine.
    pub allowed: Option<u64>,
    pub online: Option<u64>,
    pub memory: Option<Limit>,
    pub memory_total: Option<u64>,
    pub processes: Option<Limit>,
    pub files: Option<u64>,
    pub loopback_only: bool,
    /// Settings of the scheduler that are not the usual ones.
    pub settings: Vec<(Setting, String)>,
    pub store_bypass_off: bool,
    /// Control groups could be read.
    pub control_groups: bool,
}

/// Reads the limits among facts.
pub fn read_limits(facts: &Facts) -> Limits {
    let view = View(facts);
    let limit = |key: &str| {
        let from_parent = view.text(&format!("{key}.from")) == "parent";
        view.number(key).map(|value| Limit { value, from_parent })
    };
    let total = facts.get_integer(MEMORY_TOTAL_BYTES);
    let cpu = limit(LIMIT_CPU);
    let is_unexplained = |found: &Throttling| cpu.is_none_or(|cpu| found.cpus.high < EXPLAINED * cpu.value);
    let below_total = |limit: &Limit| total.is_none_or(|total| limit.value < NEARLY_ALL * total as f64);
    Limits {
        cpu,
        hidden_cpu: find_throttling(view).filter(is_unexplained),
        throttled: view.number(CPU_THROTTLED),
        standing: find_throttling(view),
        stolen: view.number(CPU_STOLEN),
        allowed: facts.get_integer(CPU_ALLOWED),
        online: facts.get_integer(CPU_ONLINE),
        memory: limit(LIMIT_MEMORY).filter(below_total),
        memory_total: total,
        processes: limit(LIMIT_PROCESSES),
        files: facts.get_integer(LIMIT_FILES).filter(|files| *files < FEW_FILES),
        loopback_only: view.text("network") == "loopback",
        settings: [Setting::Nice, Setting::Class, Setting::Weight]
            .into_iter()
            .filter_map(|setting| Some((setting, setting.find_value(facts)?.to_owned())))
            .filter(|(_, value)| ![USUAL, "0"].contains(&value.as_str()))
            .collect(),
        store_bypass_off: view.text(PROCESS_STORE_BYPASS) == "disabled",
        control_groups: view.text(CONTROL_GROUP) == "seen",
    }
}

/// Tells whether throttling is felt.
pub fn is_throttled(limits: &Limits) -> bool {
    limits.throttled.is_some_and(|share| share >= MUCH_THROTTLED)
}

/// Tells whether others take so much of the processors' time that it is felt.
pub fn is_stolen(limits: &Limits) -> bool {
    limits.stolen.is_some_and(|share| share >= MUCH_STOLEN)
}
