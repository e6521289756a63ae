//! Filters of system calls and of files: how many, how long, and what a call gets that they do not know.

use super::layers::{Class, Confidence, Evidence, Layer};
use super::signs::View;
use tare_data::facts::keys::{
    CALL_UNKNOWN, CALLS_REFUSED, CALLS_TRIED, LANDLOCK_ROOM, PROCESS_CAPABILITIES, SECCOMP_BY_CALL,
    SECCOMP_FILTERS, SECCOMP_LISTENER, SECCOMP_MODE, SECCOMP_ROOM,
};

/// Instructions that Linux allows to all filters of a process together, and adds for each; see seccomp(2).
const ROOM: i64 = 32_768;
const EACH: i64 = 4;
/// Rulesets of Landlock that Linux allows.
const RULESETS: u64 = 16;

/// Capabilities by their numbers, from capability.h of 6.18.
const CAPABILITIES: &str = "CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE \
    NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE \
    SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL \
    SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE";

/// A system call that is refused here in effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub call: String,
    pub answer: String,
    /// A filter refused it: Linux would have refused the arguments first.
    pub is_by_filter: bool,
}

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
    /// Calls that were tried, and those that are refused, by whomever; a call that does not exist is so only below a filter.
    pub tried: Option<u64>,
    pub refused: Vec<Refused>,
    /// Capabilities that the process does not have; none where that does not show.
    pub missing: Option<Vec<&'static str>>,
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
        tried: integer(CALLS_TRIED),
        refused: list_refused(view, mode == Some(2)),
        missing: u64::from_str_radix(view.text(PROCESS_CAPABILITIES), 16).ok().map(list_missing),
        evidence,
        landlock_evidence: vec![view.evidence(LANDLOCK_ROOM, "room for rulesets is taken")],
    }
}

fn list_refused(view: View<'_>, is_filtered: bool) -> Vec<Refused> {
    let parse = |text: &str| {
        let mut parts = text.split(':');
        let (call, answer) = (parts.next()?, parts.next()?);
        let is_told = answer != "ENOSYS" || is_filtered;
        // A kernel may do without a call, whatever its filters are.
        let is_by_filter = is_filtered && answer != "ENOSYS" && parts.next() == Some("early");
        is_told.then(|| Refused { call: call.to_owned(), answer: answer.to_owned(), is_by_filter })
    };
    view.text(CALLS_REFUSED).split(' ').filter_map(parse).collect()
}

fn list_missing(held: u64) -> Vec<&'static str> {
    let all = CAPABILITIES.split_ascii_whitespace().enumerate();
    all.filter(|(number, _)| held >> number & 1 == 0).map(|(_, name)| name).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use tare_data::facts::Facts;

    fn read(mode: &str, refused: &str, capabilities: &str) -> Filters {
        let mut facts = Facts::default();
        for (key, value) in
            [("seccomp.mode", mode), ("calls.refused", refused), ("process.capabilities", capabilities)]
        {
            facts.add_fact(key, value);
        }
        read_filters(View(&facts))
    }

    #[test]
    fn a_filter_is_named_only_where_linux_would_have_refused_the_arguments_first() {
        let texts = "mount:EPERM:early reboot:EPERM clone3:ENOSYS:early ptrace:killed:early lies";
        let of = |mode| read(mode, texts, "").refused;
        let called = |refused: &[Refused]| -> Vec<(String, bool)> {
            refused.iter().map(|one| (one.call.clone(), one.is_by_filter)).collect()
        };
        let names = |pairs: &[(&str, bool)]| -> Vec<(String, bool)> {
            pairs.iter().map(|(name, is_so)| ((*name).to_owned(), *is_so)).collect()
        };
        let expected = [("mount", true), ("reboot", false), ("clone3", false), ("ptrace", true)];
        assert_eq!(called(&of("2")), names(&expected));
        // Without a filter, another kernel may do without a call, and look at its caller first.
        assert_eq!(called(&of("0")), names(&[("mount", false), ("reboot", false), ("ptrace", false)]));
    }

    #[test]
    fn capabilities_that_are_missing_have_their_names() {
        // Docker's fourteen.
        let missing = read("2", "", "00000000a80425fb").missing.unwrap();
        assert!(missing.contains(&"SYS_ADMIN") && missing.contains(&"BPF") && !missing.contains(&"CHOWN"));
        assert_eq!(missing.len(), 41 - 14);
        assert_eq!(read("0", "", "000001ffffffffff").missing, Some(vec![]));
        assert_eq!(read("0", "", "lies").missing, None);
    }
}
