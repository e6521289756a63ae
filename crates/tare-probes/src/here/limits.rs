//! Limits: of the control group and each of its parents, of processors, of the process.

use tare_data::facts::Facts;
use tare_data::facts::keys::{CONTROL_GROUP, CPU_ALLOWED, CPU_ONLINE, LIMIT_FILES, MEMORY_TOTAL_BYTES};

use super::bounded::{MOST_MOUNTS, read_line, read_proc_itself};
use super::steps::Noting;
use crate::facts::control_groups::{Group, Lowest, count_listed, find_groups, note_shares};
use crate::facts::inherited;
use crate::facts::mounts::parse_table;
use crate::harness::affinity::list_allowed_processors;

/// Notes what this process may use.
pub fn note_all(noting: &mut Noting<'_>) {
    let allowed = list_allowed_processors().len();
    noting.add_fact(CPU_ALLOWED, if allowed > 0 { allowed.to_string() } else { String::new() });
    let online = read_line("/sys/devices/system/cpu/online").and_then(|list| count_listed(&list));
    noting.add_fact(CPU_ONLINE, online.map(|count| count.to_string()).unwrap_or_default());
    let about = rustix::system::sysinfo();
    noting.add_fact(MEMORY_TOTAL_BYTES, u64::from(about.mem_unit).saturating_mul(about.totalram).to_string());
    for (key, resource) in [
        (LIMIT_FILES, rustix::process::Resource::Nofile),
        ("limit.processes_of_user", rustix::process::Resource::Nproc),
        ("limit.address_space", rustix::process::Resource::As),
    ] {
        let limit = rustix::process::getrlimit(resource).current;
        noting.add_fact(key, limit.map(|limit| limit.to_string()).unwrap_or_default());
    }
    note_control_groups(noting);
    note_network(noting);
}

fn note_control_groups(noting: &mut Noting<'_>) {
    let Some(groups) = read_line("/proc/self/cgroup") else { return };
    let Some(table) = read_proc_itself("/proc/self/mountinfo", MOST_MOUNTS) else { return };
    let groups = find_groups(&groups, &parse_table(table.as_bytes()));
    noting.add_fact(CONTROL_GROUP, if groups.is_empty() { "unseen" } else { "seen" });
    note_scheduling(noting, &groups);
    let lowest = Lowest::read(&groups, &read_line);
    for (key, value, height) in lowest.list_facts() {
        noting.add_fact(key, value);
        noting.add_fact(&format!("{key}.from"), if height == 0 { "own" } else { "parent" });
    }
    if let Some((key, share)) = lowest.throttled_fact() {
        noting.add_fact(key, share);
    }
}

/// Notes how this process and its control groups are scheduled, and what else they inherited.
fn note_scheduling(noting: &mut Noting<'_>, groups: &[Group]) {
    let mut facts = Facts::default();
    inherited::note_process("/proc/self", &read_line, &mut facts);
    note_shares(groups, &read_line, &mut facts);
    facts.0.iter().for_each(|(key, value)| noting.add_fact(key, value));
}

/// Notes whether there is a network besides the loopback, without sending anything.
fn note_network(noting: &mut Noting<'_>) {
    let mut facts = Facts::default();
    crate::facts::network::note_all(&mut facts);
    match facts.get("network.devices") {
        Some("lo") => noting.add_fact("network", "loopback"),
        Some(_) => noting.add_fact("network", "devices"),
        None => {}
    }
}
