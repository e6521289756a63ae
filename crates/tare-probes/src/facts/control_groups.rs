//! Control groups: the limits and the counts of a process's groups and of all their parents, in version 1 and 2 (cgroups(7)).
//!
//! Any of these files may be missing, covered or made up: what cannot be parsed sets no limit and counts nothing.

use std::collections::BTreeMap;
use std::iter::successors;
use std::path::Path;

use tare_data::facts::Facts;
use tare_data::facts::keys::{
    CPU_THROTTLED, LIMIT_BURST, LIMIT_CPU, LIMIT_MEMORY, LIMIT_PROCESSES, LIMIT_PROCESSORS, LIMIT_WEIGHT,
    USUAL,
};
use tare_data::session::limits::{GroupCounts, Quota};

use crate::facts::mounts::Mount;

/// Levels of control groups that are looked at.
const DEEPEST: usize = 32;
/// Controllers of version 1 that limit what is read here, after version 2, which has no name.
const LIMITING: [&str; 5] = ["", "cpu", "cpuset", "memory", "pids"];
/// Values in version 1 that mean no limit are near the largest number of pages.
const NO_MEMORY_LIMIT: u64 = 1 << 60;

/// A function that reads a file of the kernel; none where there is no such file.
pub type Read<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The control group of one controller, below the point where it is mounted, or where a parent is.
#[derive(Debug)]
pub struct Group {
    controller: &'static str,
    /// Every controller of the hierarchy; empty for version 2.
    kinds: String,
    /// The part of the hierarchy that is mounted, and where.
    root: String,
    point: String,
    /// Path below that; none where the group is outside of what is mounted.
    below: Option<String>,
}

/// A level: a group or one of its parents, with the limits that it sets itself.
#[derive(Debug)]
pub struct Level {
    /// Controllers and path, as the reader sees them.
    pub group: String,
    /// 0 for the process's own group.
    pub height: usize,
    pub quota: Option<Quota>,
    /// Periods, those in which it was throttled, and for how many nanoseconds.
    pub counts: Option<[u64; 3]>,
    /// Processors, bytes and numbers, by the facts that have them.
    pub limits: Vec<(&'static str, f64)>,
}

/// Finds the group of version 2 and of each controller that limits something, in the text of /proc/PID/cgroup.
pub(crate) fn find_groups(text: &str, mounts: &[Mount]) -> Vec<Group> {
    let mut found: Vec<Group> = Vec::new();
    for line in text.lines() {
        // `4:memory:/user.slice`, `0::/user.slice`: number, controllers, path.
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(kinds), Some(path)) = (parts.next(), parts.next()) else { continue };
        for controller in kinds.split(',').filter_map(|name| LIMITING.into_iter().find(|of| *of == name)) {
            let holds = |mount: &&Mount| match controller {
                "" => mount.filesystem == "cgroup2",
                name => mount.filesystem == "cgroup" && mount.options.split(',').any(|option| option == name),
            };
            if let Some(mount) = mounts.iter().rfind(holds)
                && found.iter().all(|known| known.controller != controller)
            {
                found.push(Group::from_path(controller, kinds, path, mount));
            }
        }
    }
    found
}

impl Group {
    fn from_path(controller: &'static str, kinds: &str, path: &str, mount: &Mount) -> Group {
        let root = mount.root.trim_end_matches('/').to_owned();
        let below = path.strip_prefix(&root).filter(|below| below.is_empty() || below.starts_with('/'));
        let below =
            below.filter(|_| !path.contains("/..")).map(|below| below.trim_end_matches('/').to_owned());
        let point = mount.point.to_string_lossy().trim_end_matches('/').to_owned();
        Group { controller, kinds: kinds.to_owned(), root, point, below }
    }

    /// Checks if the group itself can be seen. If only a part is mounted that does not have it, its top may be a parent.
    pub fn is_seen(&self) -> bool {
        self.below.is_some()
    }

    /// Checks if it may limit processor time.
    fn is_of_processors(&self) -> bool {
        ["", "cpu"].contains(&self.controller)
    }

    /// Iterates over the paths of the group and those above it. They are made one by one: together they are as long as the square of
    /// a path.
    fn iter_paths(&self) -> impl Iterator<Item = &str> {
        let below = self.below.as_deref().unwrap_or_default();
        successors(Some(below), |below| Some(below.rsplit_once('/')?.0)).take(DEEPEST)
    }

    /// Counts the bytes that are kept of it.
    pub(crate) fn count_bytes(&self) -> usize {
        self.point.len() + self.below.as_ref().map_or(0, String::len)
    }

    fn read_levels(&self, read: Read<'_>) -> impl Iterator<Item = Level> {
        self.iter_paths().enumerate().map(move |(height, below)| {
            let file = |name: &str| read(&format!("{}{below}/{name}", self.point));
            let number = |name: &str| file(name)?.trim().parse::<u64>().ok();
            let of = |version: &str| self.controller == version;
            let quota = match self.controller {
                "" => file("cpu.max").and_then(|text| parse_cpu_max(&text)),
                "cpu" => number("cpu.cfs_quota_us")
                    .zip(number("cpu.cfs_period_us"))
                    .and_then(|(quota_us, period_us)| make_quota(quota_us, period_us)),
                _ => None,
            };
            let counts = self.is_of_processors().then(|| file("cpu.stat")).flatten();
            let memory = if of("memory") { "memory.limit_in_bytes" } else { "memory.max" };
            let set = |kind: &str, name: &str| (of("") || of(kind)).then(|| number(name)).flatten();
            let listed = (of("") || of("cpuset")).then(|| count_listed(file("cpuset.cpus")?.trim()));
            let limits = [
                (LIMIT_CPU, quota.map(Quota::processors)),
                (
                    LIMIT_MEMORY,
                    set("memory", memory).filter(|bytes| *bytes < NO_MEMORY_LIMIT).map(|bytes| bytes as f64),
                ),
                (LIMIT_PROCESSES, set("pids", "pids.max").map(|count| count as f64)),
                (LIMIT_PROCESSORS, listed.flatten().map(|count| count as f64)),
            ];
            Level {
                group: format!("{}:{}{below}/", self.kinds, self.root),
                height,
                quota,
                counts: counts.and_then(|text| parse_counts(&text)),
                limits: limits.into_iter().filter_map(|(key, limit)| Some((key, limit?))).collect(),
            }
        })
    }
}

/// Reads the counts of all groups of a process that have a quota, or had one; None where not all of its groups can be seen.
pub fn read_counts(text: &str, mounts: &[Mount], read: Read<'_>) -> Option<Vec<GroupCounts>> {
    let groups = find_groups(text, mounts);
    let mut of_processors = groups.iter().filter(|group| group.is_of_processors()).peekable();
    of_processors.peek()?;
    let mut all = Vec::new();
    for group in of_processors {
        if !group.is_seen() {
            return None;
        }
        all.extend(group.read_levels(read).filter_map(|Level { group, quota, counts, .. }| {
            let [periods, throttled, throttled_ns] = counts?;
            (quota.is_some() || periods > 0).then_some(GroupCounts {
                group,
                quota,
                periods,
                throttled,
                throttled_ns,
            })
        }));
    }
    Some(all)
}

/// Lowest limits over groups and their parents, by the facts that have them, each with the height of the group that sets it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lowest {
    limits: BTreeMap<&'static str, (f64, usize)>,
    /// Share of the periods since it was made in which the group of the lowest quota was throttled.
    throttled: Option<f64>,
}

impl Lowest {
    pub fn read(groups: &[Group], read: Read<'_>) -> Lowest {
        let mut lowest = Lowest::default();
        for Level { height, counts, limits, .. } in groups.iter().flat_map(|group| group.read_levels(read)) {
            for (key, limit) in limits {
                if lowest.limits.get(key).is_some_and(|(known, _)| *known <= limit) {
                    continue;
                }
                lowest.limits.insert(key, (limit, height));
                if key == LIMIT_CPU {
                    let share = |[periods, throttled, _]: [u64; 3]| throttled as f64 / periods as f64;
                    lowest.throttled = counts.map(share).filter(|share| share.is_finite());
                }
            }
        }
        // In version 1 each group lists processors, and that of a machine all.
        let online = read("/sys/devices/system/cpu/online").and_then(|list| count_listed(list.trim()));
        let all = online.unwrap_or(usize::MAX) as f64;
        lowest.limits.retain(|key, (limit, _)| *key != LIMIT_PROCESSORS || *limit < all);
        lowest
    }

    /// Lists the limits as facts: processors, bytes and processes.
    pub(crate) fn list_facts(&self) -> impl Iterator<Item = (&'static str, String, usize)> {
        self.limits.iter().map(|(key, (limit, height))| (*key, limit.to_string(), *height))
    }

    /// Gives the share of periods as a fact.
    pub(crate) fn throttled_fact(&self) -> Option<(&'static str, String)> {
        Some((CPU_THROTTLED, format!("{:.4}", self.throttled?)))
    }
}

fn make_quota(quota_us: u64, period_us: u64) -> Option<Quota> {
    (quota_us > 0 && period_us > 0).then_some(Quota { quota_us, period_us })
}

/// Parses quota and period in microseconds: `50000 100000`; None for `max 100000`.
pub(crate) fn parse_cpu_max(text: &str) -> Option<Quota> {
    let (quota, period) = text.trim().split_once(' ')?;
    make_quota(quota.parse().ok()?, period.parse().ok()?)
}

/// Counts the processes that limits of memory killed, and those that limits of processes refused, in all of a process's groups and their
/// parents.
pub fn read_refusals(text: &str, mounts: &[Mount], read: Read<'_>) -> [u64; 2] {
    let mut all = [0; 2];
    for group in find_groups(text, mounts) {
        for below in group.iter_paths() {
            let count =
                |name: &str, key: &str| parse_count(&read(&format!("{}{below}/{name}", group.point))?, key);
            // Version 1 has the same count in another file; each is there in one hierarchy alone.
            let killed = ["memory.events", "memory.oom_control"].map(|name| count(name, "oom_kill "));
            all[0] += killed.into_iter().flatten().sum::<u64>();
            all[1] += count("pids.events", "max ").unwrap_or(0);
        }
    }
    all
}

/// Parses the number behind a key in a file of lines.
fn parse_count(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key))?.trim().parse().ok()
}

/// Parses the periods of a group, those in which it was throttled, and the nanoseconds for which it was.
pub(crate) fn parse_counts(text: &str) -> Option<[u64; 3]> {
    let number = |key: &str| parse_count(text, key);
    let of_second = number("throttled_usec ").map(|us| us.saturating_mul(1_000));
    let throttled_ns = number("throttled_time ").or(of_second).unwrap_or(0);
    Some([number("nr_periods ")?, number("nr_throttled ")?, throttled_ns])
}

/// Counts processors in a list such as `0-3,8`.
pub fn count_listed(list: &str) -> Option<usize> {
    list.split(',').try_fold(0usize, |sum, range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let count = last.parse::<usize>().ok()?.checked_sub(first.parse().ok()?)?.checked_add(1)?;
        sum.checked_add(count)
    })
}

/// Notes the limits of a process, by the folder of procfs that it has, and what its groups set besides.
pub fn note_all(process: &Path, mounts: &[Mount], read: Read<'_>, facts: &mut Facts) {
    let Some(text) = read(&process.join("cgroup").to_string_lossy()) else { return };
    let groups = find_groups(&text, mounts);
    for (key, value, _) in Lowest::read(&groups, read).list_facts() {
        facts.add_fact(key, value);
    }
    note_shares(&groups, read, facts);
}

/// Notes how groups and their parents share processors, the own group first. Where one cannot be seen, nothing is known.
pub(crate) fn note_shares(groups: &[Group], read: Read<'_>, facts: &mut Facts) {
    let groups: Vec<&Group> = groups.iter().filter(|group| group.is_of_processors()).collect();
    if groups.is_empty() || !groups.iter().all(|group| group.is_seen()) {
        return;
    }
    for (key, [first, second], usual) in [
        (LIMIT_WEIGHT, ["cpu.shares", "cpu.weight"], ["1024", "100"]),
        (LIMIT_BURST, ["cpu.cfs_burst_us", "cpu.max.burst"], ["0"; 2]),
        ("limit.idle", ["cpu.idle"; 2], ["0"; 2]),
    ] {
        let of_levels = groups.iter().flat_map(|group| {
            let (name, usual) =
                if group.controller.is_empty() { (second, usual[1]) } else { (first, usual[0]) };
            let value = move |below: &str| read(&format!("{}{below}/{name}", group.point));
            group.iter_paths().filter_map(value).filter(move |value| value.trim() != usual)
        });
        let set: Vec<String> = of_levels.map(|value| value.trim().to_owned()).collect();
        facts.add_fact(key, if set.is_empty() { USUAL.to_owned() } else { set.join(" ") });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(filesystem: &str, root: &str, point: &str, options: &str) -> Mount {
        let (number, source) = ("0:1".into(), filesystem.into());
        let [root, filesystem, options] = [root, filesystem, options].map(str::to_owned);
        Mount { number, root, point: point.into(), filesystem, source, options }
    }

    fn second() -> Mount {
        mount("cgroup2", "/", "/sys/fs/cgroup", "rw")
    }

    /// Reads made-up files in place of the kernel's.
    fn with_files<T>(files: &[(&str, &str)], act: impl FnOnce(Read<'_>) -> T) -> T {
        let files: BTreeMap<&str, &str> = files.iter().copied().collect();
        act(&|path| files.get(path).map(|text| (*text).to_owned()))
    }

    #[test]
    fn every_parent_of_a_control_group_is_looked_at() {
        let list_paths = |path: &str, mount: &Mount| {
            let group = Group::from_path("", "", path, mount);
            let paths: Vec<String> =
                group.iter_paths().map(|below| format!("{}{below}", group.point)).collect();
            (paths, group.is_seen())
        };
        let expected =
            ["/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup"].map(str::to_owned).to_vec();
        assert_eq!(list_paths("/a/b", &second()), (expected, true));
        assert_eq!(list_paths("/", &second()).0, ["/sys/fs/cgroup"]);
        // A part of the hierarchy is mounted, as in Docker with version 1.
        let part = mount("cgroup", "/docker/a1", "/sys/fs/cgroup/memory", "rw,memory");
        let paths = ["/sys/fs/cgroup/memory/x", "/sys/fs/cgroup/memory"];
        assert_eq!(list_paths("/docker/a1/x", &part).0, paths);
        // Control groups outside of the namespace, and of the part.
        for (path, mount) in [("/../../x", &second()), ("/docker/a11", &part)] {
            let (paths, is_seen) = list_paths(path, mount);
            assert_eq!((paths.len(), is_seen), (1, false), "{path}");
        }
        let mounts = [part, mount("cgroup", "/", "/sys/fs/cgroup/cpu", "rw,cpu,cpuacct"), second()];
        let found = find_groups("4:memory:/docker/a1\n3:cpu,cpuacct:/x\n2:pids:/\n0::/y", &mounts);
        assert_eq!(found.iter().map(|group| group.controller).collect::<Vec<_>>(), ["memory", "cpu", ""]);
        assert!(list_paths(&"/a".repeat(1_000), &second()).0.len() == DEEPEST);
    }

    #[test]
    fn counts_of_version_2_are_those_of_each_level_with_a_limit() {
        let files = [
            ("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n"),
            ("/sys/fs/cgroup/a/b/cpu.stat", "usage_usec 9\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n"),
            ("/sys/fs/cgroup/a/cpu.max", "20000 100000\n"),
            ("/sys/fs/cgroup/a/cpu.stat", "usage_usec 9\nnr_periods 50\nnr_throttled 47\nthrottled_usec 3\n"),
            ("/sys/fs/cgroup/cpu.stat", "usage_usec 9\n"),
        ];
        let counts = with_files(&files, |read| read_counts("0::/a/b\n", &[second()], read).unwrap());
        let [parent] = &counts[..] else { panic!("{counts:?}") };
        let quota = Some(Quota { quota_us: 20_000, period_us: 100_000 });
        assert_eq!((parent.group.as_str(), parent.quota), (":/a/", quota));
        assert_eq!((parent.periods, parent.throttled, parent.throttled_ns), (50, 47, 3_000));
    }

    #[test]
    fn shares_are_those_of_each_level_that_sets_them() {
        let first = mount("cgroup", "/", "/cg/cpu", "rw,cpu,cpuacct");
        let files = [
            ("/cg/cpu/a/b/cpu.shares", "512\n"),
            ("/cg/cpu/a/cpu.shares", "1024\n"),
            ("/cg/cpu/a/cpu.cfs_burst_us", "900\n"),
            ("/sys/fs/cgroup/a/cpu.weight", "20\n"),
            ("/sys/fs/cgroup/a/cpu.idle", "1\n"),
            ("/sys/fs/cgroup/cpu.weight", "100\n"),
        ];
        let shares = |line: &str, mounts: &[Mount]| {
            with_files(&[&files[..], &[("/proc/7/cgroup", line)]].concat(), |read| {
                let mut facts = Facts::default();
                note_all("/proc/7".as_ref(), mounts, read, &mut facts);
                ["limit.weight", "limit.burst_us", "limit.idle"].map(|key| facts.get(key).map(str::to_owned))
            })
        };
        let some = |values: [&str; 3]| values.map(|value| Some(value.to_owned()));
        assert_eq!(shares("4:cpu,cpuacct:/a/b\n", &[first]), some(["512", "900", "usual"]));
        assert_eq!(shares("0::/a\n", &[second()]), some(["20", "usual", "1"]));
        assert_eq!(shares("0::/\n", &[second()]), some(["usual"; 3]));
        assert_eq!(shares("0::/../x\n", &[second()]), [None, None, None], "unknown is not none");
        assert_eq!(shares("0::/a\n", &[]), [None, None, None]);
    }

    #[test]
    fn refusals_of_both_versions_are_added_up_over_parents() {
        let mounts = [mount("cgroup", "/", "/cg/memory", "rw,memory"), second()];
        let files = [
            ("/cg/memory/m/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"),
            ("/sys/fs/cgroup/a/memory.events", "low 0\nmax 9\noom 4\noom_kill 3\n"),
            ("/sys/fs/cgroup/a/pids.events", "max 5\n"),
            ("/sys/fs/cgroup/pids.events", "max 6\n"),
            ("/sys/fs/cgroup/other/pids.events", "max 70\n"),
        ];
        let refusals = with_files(&files, |read| read_refusals("9:memory:/m\n0::/a\n", &mounts, read));
        assert_eq!(refusals, [5, 11]);
    }

    #[test]
    fn counts_of_version_1_are_in_the_hierarchy_of_processor_time() {
        let mounts =
            [mount("cgroup", "/", "/cg/cpu", "rw,cpu,cpuacct"), mount("cgroup", "/", "/cg/memory", "memory")];
        let files = [
            ("/cg/cpu/q/cpu.cfs_quota_us", "20000\n"),
            ("/cg/cpu/q/cpu.cfs_period_us", "100000\n"),
            ("/cg/cpu/q/cpu.stat", "nr_periods 4\nnr_throttled 3\nthrottled_time 77\n"),
            ("/cg/cpu/cpu.cfs_quota_us", "-1\n"),
            ("/cg/memory/m/memory.limit_in_bytes", "9223372036854771712\n"),
            ("/cg/memory/memory.limit_in_bytes", "300000000\n"),
        ];
        let text = "9:memory:/m\n4:cpu,cpuacct:/q\n";
        with_files(&files, |read| {
            let counts = read_counts(text, &mounts, read).unwrap();
            let [only] = &counts[..] else { panic!("{counts:?}") };
            assert_eq!((only.group.as_str(), only.periods, only.throttled_ns), ("cpu,cpuacct:/q/", 4, 77));
            let lowest = Lowest::read(&find_groups(text, &mounts), read);
            let limits = BTreeMap::from([("limit.cpu", (0.2, 0)), ("limit.memory", (300e6, 1))]);
            let expected = Lowest { limits, throttled: Some(0.75) };
            assert_eq!(lowest, expected);
        });
    }

    #[test]
    fn what_cannot_be_read_is_unknown_and_what_sets_no_limit_is_none() {
        with_files(&[], |read| {
            assert_eq!(read_counts("0::/a\n", &[second()], read), Some(Vec::new()), "nothing counts");
            assert_eq!(read_counts("0::/../a\n", &[second()], read), None, "it is out of sight");
            assert_eq!(read_counts("0::/a\n", &[], read), None, "nothing is mounted");
            assert_eq!(read_counts("", &[second()], read), None);
        });
    }

    #[test]
    fn hostile_files_set_no_limit() {
        for text in
            ["", "nr_periods x\nnr_throttled 1", "nr_periods 99999999999999999999\nnr_throttled 1", "\0"]
        {
            assert_eq!(parse_counts(text), None, "{text:?}");
        }
        assert_eq!(parse_counts("nr_throttled 7\nnr_periods 5"), Some([5, 7, 0]));
        let most = format!("nr_periods 1\nnr_throttled 1\nthrottled_usec {}", u64::MAX);
        assert_eq!(parse_counts(&most), Some([1, 1, u64::MAX]));
        for text in ["", "max 100000", "1 0", "0 1", "-1 100000", "1e9 1", "20000"] {
            assert_eq!(parse_cpu_max(text), None, "{text:?}");
        }
    }

    #[test]
    fn processors_are_counted_in_ranges() {
        assert_eq!(count_listed("0-3,8"), Some(5));
        assert_eq!(count_listed("0"), Some(1));
        for text in ["3-0", "many", "0-18446744073709551615", "0-18446744073709551614,0-18446744073709551614"]
        {
            assert_eq!(count_listed(text), None, "{text}");
        }
    }

    #[test]
    fn the_least_limit_counts() {
        let files = [
            ("/sys/fs/cgroup/own/cpu.max", "max 100000\n"),
            ("/sys/fs/cgroup/own/memory.max", "536870912\n"),
            ("/sys/fs/cgroup/own/pids.max", "max\n"),
            ("/sys/fs/cgroup/cpu.max", "150000 100000\n"),
            ("/sys/fs/cgroup/cpu.stat", "usage_usec 1\nnr_periods 200\nnr_throttled 6\n"),
            ("/sys/fs/cgroup/memory.max", "1073741824\n"),
            ("/sys/fs/cgroup/own/cpuset.cpus", "\n"),
            ("/sys/fs/cgroup/cpuset.cpus", "0,2-3\n"),
            ("/sys/devices/system/cpu/online", "0-3\n"),
        ];
        let lowest = with_files(&files, |read| Lowest::read(&find_groups("0::/own", &[second()]), read));
        let limits =
            [("limit.cpu", (1.5, 1)), ("limit.memory", (536_870_912.0, 0)), ("limit.processors", (3.0, 1))];
        let expected = Lowest { limits: limits.into(), throttled: Some(0.03) };
        assert_eq!(lowest, expected);
        let first = [
            ("/cg/a/b/cpuset.cpus", "0-3\n"),
            ("/cg/a/cpuset.cpus", "1\n"),
            ("/cg/cpuset.cpus", "0-3\n"),
            ("/sys/devices/system/cpu/online", "0-3\n"),
        ];
        let mounts = [mount("cgroup", "/", "/cg", "rw,cpuset")];
        let processors =
            |line: &str| with_files(&first, |read| Lowest::read(&find_groups(line, &mounts), read));
        let processors = |line: &str| processors(line).list_facts().next();
        assert_eq!(processors("5:cpuset:/a/b"), Some(("limit.processors", "1".to_owned(), 1)));
        assert_eq!(processors("5:cpuset:/"), None, "all of the machine's");
    }
}
