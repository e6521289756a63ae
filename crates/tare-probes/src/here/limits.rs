//! Limits: of the control group and each of its parents, of processors, of the process.

use std::collections::BTreeMap;
use std::iter::successors;
use tare_data::facts::keys::{
    CONTROL_GROUP, CPU_ALLOWED, CPU_ONLINE, CPU_THROTTLED, LIMIT_CPU, LIMIT_FILES, LIMIT_MEMORY,
    LIMIT_PROCESSES, MEMORY_TOTAL_BYTES,
};

use super::bounded::{MOST_MOUNTS, read_line, read_proc_itself};
use super::steps::Noting;
use crate::facts::mounts::{Mount, parse_table};
use crate::harness::affinity::list_allowed_processors;

/// Levels of control groups that are looked at.
const DEEPEST: usize = 32;
/// Controllers of version 1 that limit what is noted, after version 2, which has no name.
const LIMITING: [&str; 4] = ["", "cpu", "memory", "pids"];
/// Values in version 1 that mean no limit are near the largest number of pages.
const NO_MEMORY_LIMIT: u64 = 1 << 60;

/// Least limits found, each with the level at which it is set: 0 for the own control group.
#[derive(Default)]
struct Least {
    /// Processors.
    cpu: Option<(f64, usize)>,
    memory: Option<(f64, usize)>,
    processes: Option<(f64, usize)>,
    /// Share of the periods in which the group was throttled, at the level of `cpu`.
    throttled: Option<f64>,
}

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

/// Counts processors in a list such as `0-3,8`.
pub(super) fn count_listed(list: &str) -> Option<usize> {
    list.split(',')
        .map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            Some(last.parse::<usize>().ok()?.checked_sub(first.parse().ok()?)? + 1)
        })
        .sum()
}

fn note_control_groups(noting: &mut Noting<'_>) {
    let Some(groups) = read_line("/proc/self/cgroup") else { return };
    let Some(table) = read_proc_itself("/proc/self/mountinfo", MOST_MOUNTS) else { return };
    let mut least = Least::default();
    let mounts = parse_table(table.as_bytes());
    let found = groups_by_controller(&groups, &mounts);
    for (controller, group) in &found {
        for (level, folder) in group.iter_folders().enumerate() {
            read_level(&mut least, controller, &folder, level);
        }
    }
    noting.add_fact(CONTROL_GROUP, if found.is_empty() { "unseen" } else { "seen" });
    for (key, limit) in
        [(LIMIT_CPU, least.cpu), (LIMIT_MEMORY, least.memory), (LIMIT_PROCESSES, least.processes)]
    {
        if let Some((value, level)) = limit {
            noting.add_fact(key, value.to_string());
            noting.add_fact(&format!("{key}.from"), if level == 0 { "own" } else { "parent" });
        }
    }
    noting.add_fact(CPU_THROTTLED, least.throttled.map(|share| format!("{share:.4}")).unwrap_or_default());
}

/// Finds the own control group of version 2 (an empty name) and of each controller that limits something, where it is mounted.
pub(super) fn groups_by_controller(groups: &str, mounts: &[Mount]) -> BTreeMap<&'static str, Group> {
    let mut found = BTreeMap::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(named), Some(path)) = (parts.next(), parts.next()) else { continue };
        for controller in
            named.split(',').filter_map(|name| LIMITING.into_iter().find(|known| *known == name))
        {
            let holds = |mount: &&Mount| match controller {
                "" => mount.filesystem == "cgroup2",
                name => mount.filesystem == "cgroup" && mount.options.split(',').any(|option| option == name),
            };
            if let Some(mount) = mounts.iter().rfind(holds) {
                found.insert(controller, Group::from_path(path, mount));
            }
        }
    }
    found
}

/// A control group below the point where it is mounted, or where a parent is.
#[derive(Debug)]
pub(super) struct Group {
    point: String,
    below: String,
}

impl Group {
    fn from_path(path: &str, mount: &Mount) -> Group {
        let point = mount.point.to_string_lossy();
        // If only a part is mounted, its top is the group, or one of its parents.
        let below = path.strip_prefix(mount.root.trim_end_matches('/')).filter(|_| !path.contains("/.."));
        let below = below.unwrap_or_default().trim_end_matches('/').to_owned();
        Group { point: point.trim_end_matches('/').to_owned(), below }
    }

    /// Iterates over the group's folder and those above it. They are made one by one: together they are as long as the square of a path.
    fn iter_folders(&self) -> impl Iterator<Item = String> + '_ {
        let levels =
            successors(Some(self.below.as_str()), |below| Some(below.rsplit_once('/')?.0)).take(DEEPEST);
        levels.map(|below| format!("{}{below}", self.point))
    }

    /// Counts the bytes that are kept of it.
    pub(super) fn count_bytes(&self) -> usize {
        self.point.len() + self.below.len()
    }
}

fn read_level(least: &mut Least, controller: &str, folder: &str, level: usize) {
    let read = |file: &str| read_line(&format!("{folder}/{file}"));
    let number = |file: &str| read(file)?.parse::<f64>().ok();
    let cpu = match controller {
        "" => read("cpu.max").and_then(|text| parse_cpu_max(&text)),
        "cpu" => number("cpu.cfs_quota_us").filter(|quota| *quota > 0.0).zip(number("cpu.cfs_period_us")),
        _ => None,
    };
    if let Some((quota, period)) = cpu.filter(|(_, period)| *period > 0.0)
        && lower(&mut least.cpu, quota / period, level)
    {
        least.throttled = read("cpu.stat").and_then(|text| parse_throttled(&text));
    }
    let memory = match controller {
        "" => number("memory.max"),
        "memory" => number("memory.limit_in_bytes").filter(|bytes| *bytes < NO_MEMORY_LIMIT as f64),
        _ => None,
    };
    memory.map(|bytes| lower(&mut least.memory, bytes, level));
    if ["", "pids"].contains(&controller) {
        number("pids.max").map(|processes| lower(&mut least.processes, processes, level));
    }
}

/// Keeps the lower limit, and tells whether it is the new one.
fn lower(kept: &mut Option<(f64, usize)>, value: f64, level: usize) -> bool {
    let is_lower = kept.is_none_or(|(known, _)| value < known);
    if is_lower {
        *kept = Some((value, level));
    }
    is_lower
}

/// Parses quota and period in microseconds: `50000 100000`; None for `max 100000`.
pub(super) fn parse_cpu_max(text: &str) -> Option<(f64, f64)> {
    let (quota, period) = text.split_once(' ')?;
    Some((quota.parse().ok()?, period.parse().ok()?))
}

/// Computes the share of periods in which a group was throttled; None before the first period.
pub(super) fn parse_throttled(text: &str) -> Option<f64> {
    let number = |key: &str| text.lines().find_map(|line| line.strip_prefix(key))?.trim().parse::<f64>().ok();
    number("nr_periods ")
        .filter(|periods| *periods > 0.0)
        .and_then(|periods| Some(number("nr_throttled ")? / periods))
}

/// Notes whether there is a network besides the loopback, without sending anything.
fn note_network(noting: &mut Noting<'_>) {
    let mut facts = tare_data::facts::Facts::default();
    crate::facts::network::note_all(&mut facts);
    match facts.get("network.devices") {
        Some("lo") => noting.add_fact("network", "loopback"),
        Some(_) => noting.add_fact("network", "devices"),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(filesystem: &str, root: &str, point: &str, options: &str) -> Mount {
        let (number, source) = ("0:1".into(), filesystem.into());
        Mount {
            number,
            root: root.into(),
            point: point.into(),
            filesystem: filesystem.into(),
            source,
            options: options.into(),
        }
    }

    #[test]
    fn every_parent_of_a_control_group_is_looked_at() {
        let list_levels =
            |path: &str, mount: &Mount| Group::from_path(path, mount).iter_folders().collect::<Vec<_>>();
        let whole = mount("cgroup2", "/", "/sys/fs/cgroup", "rw");
        let expected = ["/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup"];
        assert_eq!(list_levels("/a/b", &whole), expected);
        assert_eq!(list_levels("/", &whole), ["/sys/fs/cgroup"]);
        // A part of the hierarchy is mounted, as in Docker with version 1.
        let part = mount("cgroup", "/docker/a1", "/sys/fs/cgroup/memory", "rw,memory");
        assert_eq!(list_levels("/docker/a1/x", &part), ["/sys/fs/cgroup/memory/x", "/sys/fs/cgroup/memory"]);
        // A control group outside of the namespace.
        assert_eq!(list_levels("/../../x", &whole), ["/sys/fs/cgroup"]);
        let mounts = [part, mount("cgroup", "/", "/sys/fs/cgroup/cpu", "rw,cpu,cpuacct"), whole];
        let found = groups_by_controller("4:memory:/docker/a1\n3:cpu,cpuacct:/x\n2:pids:/\n0::/y", &mounts);
        assert_eq!(found.keys().collect::<Vec<_>>(), [&"", &"cpu", &"memory"]);
        let of_cpu: Vec<String> = found["cpu"].iter_folders().collect();
        assert_eq!(of_cpu, ["/sys/fs/cgroup/cpu/x", "/sys/fs/cgroup/cpu"]);
    }

    #[test]
    fn the_least_limit_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        std::fs::create_dir(path.join("own")).unwrap();
        std::fs::write(path.join("own/cpu.max"), "max 100000\n").unwrap();
        std::fs::write(path.join("own/memory.max"), "536870912\n").unwrap();
        std::fs::write(path.join("own/pids.max"), "max\n").unwrap();
        std::fs::write(path.join("cpu.max"), "150000 100000\n").unwrap();
        std::fs::write(path.join("cpu.stat"), "usage_usec 1\nnr_periods 200\nnr_throttled 6\n").unwrap();
        std::fs::write(path.join("memory.max"), "1073741824\n").unwrap();
        let mut least = Least::default();
        read_level(&mut least, "", path.join("own").to_str().unwrap(), 0);
        read_level(&mut least, "", path.to_str().unwrap(), 1);
        assert_eq!((least.cpu, least.throttled), (Some((1.5, 1)), Some(0.03)));
        assert_eq!((least.memory, least.processes), (Some((536_870_912.0, 0)), None));
    }

    #[test]
    fn processors_are_counted_in_ranges() {
        assert_eq!(count_listed("0-3,8"), Some(5));
        assert_eq!(count_listed("0"), Some(1));
        assert_eq!(count_listed("3-0"), None);
        assert_eq!(count_listed("many"), None);
    }
}
