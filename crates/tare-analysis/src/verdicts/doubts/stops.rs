//! Stops: how often limits of processor time stopped an environment, by the counts of its control groups over its starts.

use std::collections::{BTreeMap, BTreeSet};

use tare_data::session::limits::{GroupCounts, LimitCounts};

use crate::findings::{Reach, Stop};

/// Periods of a group over some stretch of a session.
#[derive(Clone, Copy, Debug, Default)]
struct Periods<'a> {
    all: u64,
    stopped: u64,
    /// The last counts of the group, which have its quota.
    group: Option<&'a GroupCounts>,
}

impl<'a> Periods<'a> {
    /// Adds the periods between two counts of a group. Counts that fell are those of a new one, which began at zero.
    fn add_between(&mut self, before: &GroupCounts, now: &'a GroupCounts) {
        let is_new = now.periods < before.periods || now.throttled < before.throttled;
        let since = |before: u64, now: u64| if is_new { now } else { now - before };
        self.all = self.all.saturating_add(since(before.periods, now.periods));
        self.stopped = self.stopped.saturating_add(since(before.throttled, now.throttled));
        self.group = Some(now);
    }

    fn join(self, other: Periods<'a>) -> Periods<'a> {
        Periods {
            all: self.all.saturating_add(other.all),
            stopped: self.stopped.saturating_add(other.stopped),
            group: other.group.or(self.group),
        }
    }

    fn to_stop(self) -> Option<Stop> {
        Stop::from_periods(self.stopped, self.all, self.group.and_then(|group| group.quota))
    }
}

/// Finds the reach of what is said of an environment beside another: limits that both have stop both alike.
pub(crate) fn find_reach(limits: &[LimitCounts], target: &str, against: &str) -> Reach {
    let shared: BTreeSet<&str> = list_groups(limits, against).collect();
    add_starts(limits, target, |group| !shared.contains(group)).map_or(Reach::Short, Reach::Stopped)
}

/// Finds how often an environment was stopped by any limit, its own or one that all have.
pub(crate) fn find_stop(limits: &[LimitCounts], target: &str) -> Option<Stop> {
    add_starts(limits, target, |_| true)
}

fn list_groups<'a>(limits: &'a [LimitCounts], target: &'a str) -> impl Iterator<Item = &'a str> {
    let of_target = limits.iter().filter(move |counts| counts.target == target);
    of_target.flat_map(|counts| &counts.groups).map(|group| group.group.as_str())
}

/// Adds up the starts of an environment: of each start the group that stopped it most, since a stop of one level often is one of
/// another.
fn add_starts(limits: &[LimitCounts], target: &str, counts_group: impl Fn(&str) -> bool) -> Option<Stop> {
    let mut sum = Periods::default();
    let mut of_start: BTreeMap<&str, Periods<'_>> = BTreeMap::new();
    let mut before: BTreeMap<&str, &GroupCounts> = BTreeMap::new();
    for counts in limits.iter().filter(|counts| counts.target == target) {
        if counts.begins {
            before.clear();
            sum = sum.join(pick_most_stopped(std::mem::take(&mut of_start)));
        }
        for group in counts.groups.iter().filter(|group| counts_group(&group.group)) {
            if let Some(before) = before.insert(&group.group, group) {
                of_start.entry(&group.group).or_default().add_between(before, group);
            }
        }
    }
    sum.join(pick_most_stopped(of_start)).to_stop()
}

fn pick_most_stopped<'a>(of_start: BTreeMap<&str, Periods<'a>>) -> Periods<'a> {
    of_start.into_values().max_by_key(|all| (all.stopped, all.all)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use tare_data::session::limits::Quota;

    use super::*;

    fn counts(target: &str, begins: bool, groups: &[(&str, u64, u64)]) -> LimitCounts {
        let quota = Some(Quota { quota_us: 20_000, period_us: 100_000 });
        let group = |(group, periods, throttled): &(&str, u64, u64)| GroupCounts {
            group: (*group).to_owned(),
            quota,
            periods: *periods,
            throttled: *throttled,
            throttled_ns: 0,
        };
        LimitCounts { target: target.into(), begins, groups: groups.iter().map(group).collect(), idle: None }
    }

    fn shares(limits: &[LimitCounts]) -> [Option<f64>; 2] {
        let reach = find_reach(limits, "box", "native").stop();
        [reach, find_stop(limits, "native")].map(|stop| stop.map(Stop::share))
    }

    #[test]
    fn a_group_that_persists_counts_once_and_a_new_one_from_its_beginning() {
        let persists = [
            counts("native", true, &[("cpu:/", 0, 0)]),
            counts("box", true, &[("cpu:/q", 1_000, 900), ("cpu:/", 0, 0)]),
            counts("box", false, &[("cpu:/q", 1_060, 930)]),
            // Between its starts others were in the group.
            counts("box", true, &[("cpu:/q", 2_000, 1_800)]),
            counts("box", false, &[("cpu:/q", 2_040, 1_810)]),
            counts("native", false, &[("cpu:/", 0, 0)]),
        ];
        assert_eq!(shares(&persists), [Some(0.4), None]);
        let made_anew = [
            counts("box", true, &[("cpu:/1", 3, 3)]),
            counts("box", false, &[("cpu:/1", 53, 23)]),
            counts("box", true, &[("cpu:/2", 2, 2)]),
            counts("box", false, &[("cpu:/2", 52, 22)]),
            // Another group of that name.
            counts("box", false, &[("cpu:/2", 10, 5)]),
        ];
        assert_eq!(shares(&made_anew), [Some(45.0 / 110.0), None]);
    }

    #[test]
    fn a_limit_that_the_baseline_has_too_is_no_difference() {
        let limits = [
            counts("native", true, &[("cpu:/shell", 0, 0)]),
            counts("box", true, &[("cpu:/shell/box", 0, 0), ("cpu:/shell", 0, 0)]),
            counts("box", false, &[("cpu:/shell/box", 50, 0), ("cpu:/shell", 100, 50)]),
            counts("native", false, &[("cpu:/shell", 100, 50)]),
        ];
        assert_eq!(shares(&limits), [None, Some(0.5)]);
    }

    #[test]
    fn what_nobody_could_count_is_no_stop() {
        assert_eq!(shares(&[]), [None, None]);
        // A session that was killed has the first counts alone.
        assert_eq!(shares(&[counts("box", true, &[("cpu:/q", 9, 9)])]), [None, None]);
        let huge = [counts("box", true, &[("q", 0, 0)]), counts("box", false, &[("q", 1, u64::MAX)])];
        assert_eq!(shares(&[huge.clone(), huge].concat()), [Some(1.0), None]);
    }
}
