//! Namespaces: each the first of its kind, another one, or not to be told.

use std::collections::BTreeMap;
use tare_data::facts::keys::{
    KERNEL_RELEASE, NAMESPACE_NET_COOKIE, PROCESS_NUMBER, PROCESS_SECOND, PROCESS_USER, PROCESS_USERS,
    SYSTEM_PROCESSES, VDSO_RELEASE,
};
use tare_data::named;

use super::signs::{View, parse_release};

named! {
    /// Relation of a namespace to the first of its kind.
    pub enum Namespace {
        /// The one that the kernel began with.
        First = "first",
        Own = "own",
        Unknown = "unknown",
    }
}

/// Numbers of the first namespaces, from Linux' proc_ns.h and, for mounts and networks, nsfs.h of 6.18.
pub(super) const FIRST: [(&str, u64); 8] = [
    ("cgroup", 4_026_531_835),
    ("ipc", 4_026_531_839),
    ("mnt", 4_026_531_832),
    ("net", 4_026_531_833),
    ("pid", 4_026_531_836),
    ("time", 4_026_531_834),
    ("user", 4_026_531_837),
    ("uts", 4_026_531_838),
];
/// Release since which the first namespaces of mounts and networks have fixed numbers.
const FIXED_SINCE: u32 = 618;
/// Lowest number that earlier kernels give out. At boot, the first namespaces of mounts and networks get one soon after it.
const AT_BOOT: u64 = 4_026_531_840;
const AT_BOOT_MOUNTS: u64 = 2;
const AT_BOOT_NETWORKS: u64 = 200;
/// Cookie of the first network before that release. Later ones give some out at boot.
const FIRST_COOKIE: u64 = 1;
const COOKIES_AT_BOOT: u64 = 16;
/// Users of the first namespace: all of them, unchanged.
const ALL_USERS: &str = "0 0 4294967295";
/// A process with so low a number, in a system with many more tasks, did not get it from the first namespace.
const LOW_NUMBER: f64 = 300.0;
const TASKS_PER_NUMBER: f64 = 2.0;

/// Compares the namespaces of the process with those that the kernel began with.
pub(super) fn compare_with_first(view: View<'_>) -> BTreeMap<&'static str, Namespace> {
    // uname(2) can be told to lie, the vDSO cannot.
    let release = parse_release(view.text(VDSO_RELEASE)).or_else(|| parse_release(view.text(KERNEL_RELEASE)));
    let is_fixed = release.is_some_and(|release| release >= FIXED_SINCE);
    let by_number = |kind: &str, first: u64| {
        let number = view.0.get_integer(&format!("namespace.{kind}"))?;
        Some(match kind {
            _ if number == first => Namespace::First,
            "mnt" if !is_fixed && is_at_boot(number, AT_BOOT_MOUNTS) => Namespace::Unknown,
            "net" if !is_fixed => {
                by_cookie(view, is_fixed).unwrap_or(match is_at_boot(number, AT_BOOT_NETWORKS) {
                    true => Namespace::Unknown,
                    false => Namespace::Own,
                })
            }
            _ => Namespace::Own,
        })
    };
    let of_kind = |(kind, first): (&'static str, u64)| {
        let found = by_number(kind, first).or_else(|| match kind {
            "net" => by_cookie(view, is_fixed),
            "pid" => by_processes(view),
            "user" => by_users(view),
            _ => None,
        });
        (kind, found.unwrap_or(Namespace::Unknown))
    };
    FIRST.into_iter().map(of_kind).collect()
}

fn is_at_boot(number: u64, count: u64) -> bool {
    (AT_BOOT..=AT_BOOT + count).contains(&number)
}

fn by_cookie(view: View<'_>, is_fixed: bool) -> Option<Namespace> {
    match view.0.get_integer(NAMESPACE_NET_COOKIE)? {
        FIRST_COOKIE if !is_fixed => Some(Namespace::First),
        _ if !is_fixed => Some(Namespace::Own),
        cookie if cookie > COOKIES_AT_BOOT => Some(Namespace::Own),
        _ => None,
    }
}

fn by_processes(view: View<'_>) -> Option<Namespace> {
    if view.text(PROCESS_SECOND) == "kthreadd" {
        return Some(Namespace::First);
    }
    let (number, tasks) = (view.number(PROCESS_NUMBER)?, view.number(SYSTEM_PROCESSES)?);
    (number < LOW_NUMBER && number * TASKS_PER_NUMBER < tasks).then_some(Namespace::Own)
}

fn by_users(view: View<'_>) -> Option<Namespace> {
    match view.text(PROCESS_USERS) {
        "" => None,
        ALL_USERS => Some(Namespace::First),
        _ => Some(Namespace::Own),
    }
}

/// User of a process, by numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    pub number: u64,
    /// Its number outside the namespace of users, where it is another.
    pub outside: Option<u64>,
}

pub(super) fn read_user(view: View<'_>) -> Option<User> {
    let number = view.0.get_integer(PROCESS_USER)?;
    let map: Vec<u64> = view.text(PROCESS_USERS).split(' ').filter_map(|text| text.parse().ok()).collect();
    let outside = map.chunks_exact(3).find_map(|part| {
        let at = number.checked_sub(part[0]).filter(|at| *at < part[2])?;
        part[1].checked_add(at)
    });
    Some(User { number, outside: outside.filter(|outside| *outside != number) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_data::facts::Facts;

    #[test]
    fn a_user_has_another_number_outside_where_the_map_gives_one() {
        let read = |number: &str, map: &str| {
            let mut facts = Facts::default();
            facts.add_fact("process.user", number);
            facts.add_fact("process.users", map);
            read_user(View(&facts)).map(|user| (user.number, user.outside))
        };
        assert_eq!(read("0", "0 100000 65536"), Some((0, Some(100_000))));
        assert_eq!(read("7", "0 1000 1 1 100000 65536"), Some((7, Some(100_006))));
        assert_eq!(read("0", ALL_USERS), Some((0, None)));
        assert_eq!(read("65534", "0 0 1 5"), Some((65_534, None)), "it has no number outside");
        assert_eq!(read("1", "0 18446744073709551615 9"), Some((1, None)));
        assert_eq!(read("", "0 0 1"), None);
    }
}
