//! Filters of system calls and of files: how many, how long, and what a call gets that they do not know.

use super::layers::{Class, Confidence, Evidence, Layer};
use super::signs::View;
use tare_data::facts::keys::{
    CALL_UNKNOWN, LANDLOCK_ROOM, SECCOMP_BY_CALL, SECCOMP_FILTERS, SECCOMP_LISTENER, SECCOMP_MODE,
    SECCOMP_ROOM,
};

/// Instructions that Linux allows to all filters of a process together, and adds for each; see seccomp(2).
const ROOM: i64 = 32_768;
const EACH: i64 = 4;
/// Rulesets of Landlock that Linux allows.
const RULESETS: u64 = 16;

/// Filters that are in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filters {
    /// Mode of seccomp: 0, 1 or 2; none where it does not show.
    pub mode: Option<u64>,
    pub count: Option<u64>,
    /// Estimate of the instructions of all filters, from the room that is left.
    pub instructions: Option<u64>,
    /// Answer to a call that no Linux has; none for the usual one, or where it does not show.
    pub unknown_call: Option<String>,
    /// Layers of Landlock; none where it does not show.
    pub rulesets: Option<u64>,
    /// A program outside answers some calls in the kernel's place.
    pub is_supervised: bool,
    evidence: Vec<Evidence>,
    landlock_evidence: Vec<Evidence>,
}

pub(super) fn read_filters(view: View<'_>) -> Filters {
    let integer = |key: &str| view.0.get_integer(key);
    let mode = integer(SECCOMP_MODE).or_else(|| integer(SECCOMP_BY_CALL));
    let count = integer(SECCOMP_FILTERS);
    let mode_from = if integer(SECCOMP_MODE).is_some() { SECCOMP_MODE } else { SECCOMP_BY_CALL };
    let unknown_call = match view.text(CALL_UNKNOWN) {
        "" | "ENOSYS" => None,
        other => Some(other.to_owned()),
    };
    let is_supervised = view.text(SECCOMP_LISTENER) == "EBUSY";
    let proves = "the kernel takes no second listener: a program outside answers some calls";
    let mut evidence = vec![view.evidence(mode_from, "the kernel says that a filter is in force")];
    evidence.extend(is_supervised.then(|| view.evidence(SECCOMP_LISTENER, proves)));
    Filters {
        mode,
        count,
        instructions: (mode == Some(2)).then(|| count_instructions(view, count)).flatten(),
        unknown_call,
        rulesets: count_rulesets(view.text(LANDLOCK_ROOM)),
        is_supervised,
        evidence,
        landlock_evidence: vec![view.evidence(LANDLOCK_ROOM, "room for rulesets is taken")],
    }
}

/// Estimates instructions from the room left, less what the kernel adds for each filter.
fn count_instructions(view: View<'_>, count: Option<u64>) -> Option<u64> {
    let mut parts = view.text(SECCOMP_ROOM).split(' ');
    let (added, filters, why) = (parts.next()?, parts.next()?, parts.next()?);
    let (added, filters): (i64, i64) = (added.parse().ok()?, filters.parse().ok()?);
    let in_force = i64::try_from(count.unwrap_or(1)).ok()?;
    let rest = ROOM.checked_sub(added)?.checked_sub(EACH.checked_mul(filters.checked_add(in_force)?)?)?;
    (why == "ENOMEM" && rest > 0).then(|| rest.unsigned_abs())
}

fn count_rulesets(room: &str) -> Option<u64> {
    let (stacked, why) = room.split_once(' ')?;
    (why == "E2BIG").then(|| stacked.parse().ok())?.and_then(|stacked: u64| RULESETS.checked_sub(stacked))
}

impl Filters {
    pub(super) fn layers(&self) -> Vec<Layer> {
        let layer = |name, variant, evidence: &Vec<Evidence>| Layer {
            class: Class::Filter,
            name,
            variant,
            confidence: Confidence::Sure,
            evidence: evidence.clone(),
        };
        let seccomp = self.mode.filter(|mode| [1, 2].contains(mode)).map(|_| {
            let count = self.count.map(|count| count.to_string()).unwrap_or_default();
            layer("seccomp", count, &self.evidence)
        });
        let landlock = self
            .rulesets
            .filter(|rulesets| *rulesets > 0)
            .map(|rulesets| layer("landlock", rulesets.to_string(), &self.landlock_evidence));
        seccomp.into_iter().chain(landlock).collect()
    }
}
