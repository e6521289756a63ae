//! Looking a price up: the wider the less is known of the machine, and not at all where nothing is comparable.

use std::collections::BTreeSet;

use super::{Book, Entry, METAL, Month, Range};

/// Factors by which a range is wider at each end. They are guesses until there are books of many machines.
const OTHER_KERNEL: f64 = 1.25;
const OTHER_MODEL: f64 = 1.6;
const FEW_MACHINES: f64 = 1.5;
/// Machines from which on their own range is as wide as it should be.
const ENOUGH_MACHINES: usize = 3;

/// The machine whose prices are looked up.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked<'a> {
    pub family: &'a str,
    /// Major and minor number of the machine's kernel; empty where it does not show.
    pub kernel: &'a str,
    /// Mitigations of that kernel; None where they cannot be read.
    pub mitigations: Option<Vec<&'a str>>,
    /// The layer of this machine itself, which is preferred where there is no entry of metal.
    pub under: &'a str,
    /// Hashes by which this machine may be among those of an entry.
    pub hashes: &'a [String],
    pub now: Month,
}

/// A price that was found, as wide as it has to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub range: Range,
    pub family: String,
    pub under: String,
    pub kernel: String,
    /// Machines that it was made on.
    pub machines: usize,
    /// It was made on this machine alone, and is not widened for others.
    pub is_own: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// No entry is of this family, or none has the operation.
    Unknown,
    /// All of them are too old.
    Old,
}

/// Finds the price of an operation; `take` gives its range in an entry.
pub fn find_price(
    book: &Book,
    asked: &Asked<'_>,
    take: impl Fn(&Entry) -> Option<Range>,
) -> Result<Found, Missing> {
    let priced = book.entries.iter().filter_map(|entry| Some((entry, take(entry)?)));
    let related: Vec<(&Entry, Range)> = priced
        .filter(|(entry, _)| entry.family == asked.family || is_related(&entry.family, asked.family))
        .collect();
    let fresh = related.iter().filter(|(entry, _)| !entry.made.is_old(asked.now));
    let is_mitigated = |entry: &Entry| {
        asked.mitigations.as_ref().is_some_and(|names| names.iter().eq(entry.mitigations.iter()))
    };
    let exact: Vec<_> = fresh.clone().filter(|(entry, _)| entry.family == asked.family).copied().collect();
    let is_of_this = |entry: &Entry| {
        let is_named = entry.machines.iter().all(|machine| asked.hashes.contains(machine));
        is_named && (asked.mitigations.is_none() || is_mitigated(entry))
    };
    let own: Vec<_> = exact.iter().filter(|(entry, _)| is_of_this(entry)).copied().collect();
    let is_own = !own.is_empty();
    let (known, mut wider) = match (is_own, exact.is_empty()) {
        (true, _) => (own, 1.0),
        (false, false) => (exact, 1.0),
        (false, true) => (fresh.copied().collect(), OTHER_MODEL),
    };
    let under = choose_under(&known, asked.under).ok_or(match related.is_empty() {
        true => Missing::Unknown,
        false => Missing::Old,
    })?;
    let known: Vec<_> = known.into_iter().filter(|(entry, _)| entry.under == under).collect();
    let narrow = |keep: &dyn Fn(&Entry) -> bool| -> Vec<(&Entry, Range)> {
        known.iter().filter(|(entry, _)| keep(entry)).copied().collect()
    };
    let all = [
        narrow(&|entry| entry.kernel == asked.kernel && is_mitigated(entry)),
        narrow(&is_mitigated),
        narrow(&|entry| entry.kernel == asked.kernel),
        narrow(&|_| true),
    ];
    let chosen = all.into_iter().find(|entries| !entries.is_empty()).unwrap_or_default();
    let is_hidden = is_own && asked.kernel.is_empty();
    if !is_hidden && chosen.iter().any(|(entry, _)| entry.kernel != asked.kernel) {
        wider *= OTHER_KERNEL;
    }
    let machines: BTreeSet<&String> = chosen.iter().flat_map(|(entry, _)| &entry.machines).collect();
    if !is_own && machines.len() < ENOUGH_MACHINES {
        wider *= FEW_MACHINES;
    }
    let low = chosen.iter().map(|(_, range)| range[0]).fold(f64::INFINITY, f64::min);
    let high = chosen.iter().map(|(_, range)| range[1]).fold(0.0, f64::max);
    let (first, _) = chosen.first().ok_or(Missing::Unknown)?;
    Ok(Found {
        range: [low / wider, high * wider],
        family: first.family.clone(),
        under,
        kernel: first.kernel.clone(),
        machines: machines.len(),
        is_own,
    })
}

/// Tells whether two processors have the same vendor and family: `amd-25-1` and `amd-25-97`. Parts of arm64 have no families.
fn is_related(one: &str, other: &str) -> bool {
    let family = |name: &str| -> Option<String> {
        let (family, _) = name.rsplit_once('-')?;
        (!name.starts_with("arm-") && family.contains('-')).then(|| family.to_owned())
    };
    family(one).is_some_and(|one| Some(one) == family(other))
}

/// Chooses which machines to compare with: those without a hypervisor, else those with that of this one, else any.
fn choose_under(known: &[(&Entry, Range)], own: &str) -> Option<String> {
    let has = |under: &str| known.iter().any(|(entry, _)| entry.under == under);
    [METAL, own].into_iter().find(|under| has(under)).map(str::to_owned).or_else(|| {
        let (first, _) = known.first()?;
        Some(first.under.clone())
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::make;
    use super::*;

    fn asked<'a>(family: &'a str, kernel: &'a str, mitigations: Option<Vec<&'a str>>) -> Asked<'a> {
        let now = Month::try_from("2027-01".to_owned()).unwrap();
        Asked { family, kernel, mitigations, under: "kvm", hashes: &[], now }
    }

    fn range(book: &Book, asked: &Asked<'_>) -> Result<Range, Missing> {
        find_price(book, asked, |entry| entry.cycles.get("getppid").copied()).map(|found| found.range)
    }

    #[test]
    fn ranges_are_wider_the_less_is_known() {
        let mut other = make("amd-25-1", METAL, "6.12", &["pti"]);
        other.cycles.insert("getppid".into(), [100.0, 400.0]);
        let book = Book::from_entries(vec![make("amd-25-1", METAL, "6.12", &["no-pti"]), other]);
        let same = Some(vec!["no-pti"]);
        assert_eq!(range(&book, &asked("amd-25-1", "6.12", same.clone())), Ok([200.0, 250.0]));
        assert_eq!(range(&book, &asked("amd-25-1", "6.18", same.clone())), Ok([160.0, 312.5]));
        assert_eq!(range(&book, &asked("amd-25-1", "6.12", None)), Ok([100.0, 400.0]));
        assert_eq!(range(&book, &asked("amd-25-1", "6.12", Some(vec!["else"]))), Ok([100.0, 400.0]));
        assert_eq!(range(&book, &asked("amd-25-97", "6.12", same.clone())), Ok([125.0, 400.0]));
        assert_eq!(range(&book, &asked("intel-6-106", "6.12", same)), Err(Missing::Unknown));
    }

    #[test]
    fn an_entry_of_one_machine_is_half_as_wide_again() {
        let mut entry = make("amd-25-1", "kvm", "6.12", &[]);
        entry.machines.truncate(1);
        let book = Book::from_entries(vec![entry]);
        let found = find_price(&book, &asked("amd-25-1", "6.12", Some(vec![])), |entry| {
            entry.cycles.get("getppid").copied()
        })
        .unwrap();
        assert_eq!((found.range, found.machines), ([200.0 / 1.5, 375.0], 1));
        assert_eq!(found.under, "kvm");
    }

    #[test]
    fn an_entry_of_this_machine_alone_is_no_wider_for_others() {
        let mut own = make("amd-25-1", "kvm", "6.12", &["pti"]);
        own.machines = vec!["mine".into()];
        let metal = make("amd-25-1", METAL, "6.12", &["pti"]);
        let book = Book::from_entries(vec![metal, own.clone()]);
        let hashes = ["mine".to_owned()];
        let of_this =
            |kernel, mitigations| Asked { hashes: &hashes, ..asked("amd-25-1", kernel, mitigations) };
        let find = |asked: &Asked<'_>| {
            let found = find_price(&book, asked, |entry| entry.cycles.get("getppid").copied()).unwrap();
            (found.range, found.under, found.is_own)
        };
        let same = Some(vec!["pti"]);
        assert_eq!(find(&of_this("6.12", same.clone())), ([200.0, 250.0], "kvm".into(), true));
        assert_eq!(find(&of_this("6.18", same.clone())), ([160.0, 312.5], "kvm".into(), true));
        // A layer's kernel answers for the machine's, which is the one of the entry.
        assert_eq!(find(&of_this("", None)), ([200.0, 250.0], "kvm".into(), true));
        assert!(!find(&of_this("6.12", Some(vec!["no-pti"]))).2, "it was started otherwise since");
        assert_eq!(find(&asked("amd-25-1", "6.12", same.clone())).1, METAL);
        // Together with others, nobody knows which end is whose.
        own.machines.push("other".into());
        let joined = Book::from_entries(vec![own]);
        let found = find_price(&joined, &of_this("6.12", same), |entry| entry.cycles.get("getppid").copied());
        assert_eq!(found.map(|found| (found.range, found.is_own)), Ok(([200.0 / 1.5, 375.0], false)));
    }

    #[test]
    fn machines_without_a_hypervisor_come_first() {
        let guest = make("amd-25-1", "hyper-v", "6.12", &[]);
        let mut metal = make("amd-25-1", METAL, "6.1", &[]);
        metal.cycles.insert("getppid".into(), [100.0, 110.0]);
        let asked = asked("amd-25-1", "6.12", Some(vec![]));
        let both = Book::from_entries(vec![guest.clone(), metal]);
        assert_eq!(range(&both, &asked), Ok([80.0, 137.5]));
        assert_eq!(range(&Book::from_entries(vec![guest]), &asked), Ok([200.0, 250.0]));
    }

    #[test]
    fn old_entries_tell_nothing() {
        let mut entry = make("amd-25-1", METAL, "6.12", &[]);
        entry.made = Month::try_from("2024-01".to_owned()).unwrap();
        let book = Book::from_entries(vec![entry]);
        assert_eq!(range(&book, &asked("amd-25-1", "6.12", Some(vec![]))), Err(Missing::Old));
    }

    #[test]
    fn families_are_of_one_vendor() {
        assert!(is_related("amd-25-1", "amd-25-33") && is_related("intel-6-106", "intel-6-143"));
        assert!(!is_related("amd-25-1", "amd-26-1") && !is_related("amd-25", "amd-26"));
        assert!(!is_related("arm-0x41-0xd0c", "arm-0x41-0xd40"));
    }
}
