//! Book of prices: times of operations on machines without further layers, by processor, kernel and mitigations. Each entry was made
//! by `tare here --make-book`, and entries of several sessions and machines are joined.

mod joining;
mod lookup;
mod making;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use self::joining::join_books;
pub use self::lookup::Found;
pub(super) use self::lookup::{Asked, Missing, find_price};
pub use self::making::{Refusal, make_entry};

/// The only format so far.
const FORMAT: u32 = 1;
/// Longest book that is read, in bytes.
pub const LONGEST: usize = 64 << 10;
/// Months after which a price is not used any more: kernels and their mitigations change.
const OLD_MONTHS: i32 = 24;
/// Entry of machines without a hypervisor.
pub const METAL: &str = "metal";
/// Book that is part of the program.
const SHIPPED: &str = include_str!("shipped.toml");

/// Least and greatest time that starts of these machines typically find an operation to take.
pub type Range = [f64; 2];

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Book {
    format: u32,
    #[serde(default, rename = "entry")]
    pub entries: Vec<Entry>,
}

/// Prices of one kind of machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Vendor, family and model, e.g. `amd-25-1`.
    pub family: String,
    /// `metal`, or the name of the machine's layer, e.g. `kvm`.
    pub under: String,
    /// Major and minor number of the kernel, e.g. `6.12`.
    pub kernel: String,
    /// Mitigations by name, in order.
    pub mitigations: Vec<String>,
    /// Month of the newest session, e.g. `2026-11`.
    pub made: Month,
    /// Salted hashes that tell machines apart, and nothing else of them.
    pub machines: Vec<String>,
    pub sessions: u32,
    /// Times in cycles, by operation.
    pub cycles: BTreeMap<String, Range>,
    /// Times in ns of operations that do not follow the processor's clock.
    #[serde(default)]
    pub ns: BTreeMap<String, Range>,
}

/// A month, as a number of months from the year 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Month(i32);

impl Month {
    /// Computes the month of a time in seconds since 1970.
    pub fn from_unix_seconds(seconds: u64) -> Month {
        // Days to years and months by the civil calendar; see Howard Hinnant's `civil_from_days`.
        let days = (seconds / 86_400) as i64 + 719_468;
        let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let day_of_year = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day_of_year + 2) / 153;
        // Months from March on; those after December are in the next year.
        Month(((era * 400 + year) * 12 + month + 2) as i32)
    }

    fn is_old(self, now: Month) -> bool {
        now.0 - self.0 > OLD_MONTHS
    }
}

impl TryFrom<String> for Month {
    type Error = String;

    fn try_from(text: String) -> Result<Month, String> {
        let parts = text.split_once('-').filter(|(year, month)| year.len() == 4 && month.len() == 2);
        let number = |part: &str| part.parse::<i32>().ok().filter(|number| *number >= 0);
        let read = parts.and_then(|(year, month)| Some((number(year)?, number(month)?)));
        match read {
            Some((year, month @ 1..=12)) => Ok(Month(year * 12 + month - 1)),
            _ => Err(format!("'{text}' is not a month like 2026-11")),
        }
    }
}

impl From<Month> for String {
    fn from(month: Month) -> String {
        format!("{:04}-{:02}", month.0 / 12, month.0 % 12 + 1)
    }
}

impl Book {
    pub fn from_entries(entries: Vec<Entry>) -> Book {
        Book { format: FORMAT, entries }
    }

    /// Reads the book that is part of the program.
    pub fn read_shipped() -> Book {
        parse_book(SHIPPED).unwrap_or_else(|_| Book::from_entries(Vec::new()))
    }

    /// Renders the book as the text that [`parse_book`] reads.
    pub fn to_text(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }
}

/// Parses a book, or describes its first mistake.
pub fn parse_book(text: &str) -> Result<Book, String> {
    if text.len() > LONGEST {
        return Err(format!("it has more than {} KiB", LONGEST >> 10));
    }
    let book: Book = toml::from_str(text).map_err(|e| e.message().to_owned())?;
    if book.format != FORMAT {
        return Err(format!("its format is {}, and this tare reads {FORMAT}", book.format));
    }
    for (at, entry) in book.entries.iter().enumerate() {
        check_entry(entry).map_err(|mistake| format!("entry {}: {mistake}", at + 1))?;
    }
    Ok(book)
}

fn check_entry(entry: &Entry) -> Result<(), &'static str> {
    let is_range = |[low, high]: &Range| low.is_finite() && high.is_finite() && *low > 0.0 && low <= high;
    match () {
        () if entry.family.is_empty() || entry.under.is_empty() => Err("family or under is empty"),
        () if entry.machines.is_empty() || entry.sessions == 0 => Err("it has no machine or no session"),
        () if !entry.cycles.values().chain(entry.ns.values()).all(is_range) => {
            Err("a price is not a range of positive numbers")
        }
        () => Ok(()),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn make(family: &str, under: &str, kernel: &str, mitigations: &[&str]) -> Entry {
        Entry {
            family: family.into(),
            under: under.into(),
            kernel: kernel.into(),
            mitigations: mitigations.iter().map(|name| (*name).to_owned()).collect(),
            made: Month::try_from("2026-11".to_owned()).unwrap(),
            machines: vec!["a".into(), "b".into(), "c".into()],
            sessions: 9,
            cycles: [("getppid".to_owned(), [200.0, 250.0])].into(),
            ns: BTreeMap::new(),
        }
    }

    #[test]
    fn a_book_reads_as_it_was_written() {
        let book = Book::from_entries(vec![make("amd-25-1", METAL, "6.12", &["no-pti", "retpoline"])]);
        assert_eq!(parse_book(&book.to_text()), Ok(book));
    }

    #[test]
    fn mistakes_are_named() {
        let refused = |change: &dyn Fn(&mut Entry)| {
            let mut entry = make("amd-25-1", METAL, "6.12", &[]);
            change(&mut entry);
            parse_book(&Book::from_entries(vec![entry]).to_text()).unwrap_err()
        };
        assert!(refused(&|entry| entry.sessions = 0).contains("entry 1: it has no machine or no session"));
        assert!(refused(&|entry| _ = entry.cycles.insert("x".into(), [2.0, 1.0])).contains("range"));
        assert!(refused(&|entry| entry.family.clear()).contains("family"));
        assert!(parse_book("format = 2").unwrap_err().contains("format is 2"));
        assert!(parse_book("format = 1\nnames = 3").is_err());
        assert!(parse_book(&"#".repeat(LONGEST + 1)).unwrap_err().contains("64 KiB"));
    }

    #[test]
    fn months_are_counted() {
        let month = |text: &str| Month::try_from(text.to_owned());
        assert_eq!(String::from(month("2026-11").unwrap()), "2026-11");
        assert!(month("2026-13").is_err() && month("26-1").is_err() && month("2026-11-02").is_err());
        assert!(!month("2026-11").unwrap().is_old(month("2028-11").unwrap()));
        assert!(month("2026-11").unwrap().is_old(month("2028-12").unwrap()));
        let of = |seconds| String::from(Month::from_unix_seconds(seconds));
        assert_eq!([of(0), of(1_709_164_800), of(1_798_761_599)], ["1970-01", "2024-02", "2026-12"]);
        assert_eq!(of(1_798_761_600), "2027-01");
    }

    #[test]
    fn the_shipped_book_is_short_and_of_several_sessions() {
        let book = parse_book(SHIPPED).unwrap();
        assert!(!book.entries.is_empty());
        for entry in &book.entries {
            assert!(entry.sessions > 1, "{} was made in one session", entry.family);
            assert!(
                entry.machines.iter().all(|hash| hash.len() == 8),
                "hashes are short: {:?}",
                entry.machines
            );
        }
    }
}
