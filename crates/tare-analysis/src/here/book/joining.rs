//! Joining books: entries of the same kind of machine become one, with the ends of all their ranges.

use std::collections::BTreeMap;

use super::{Book, Entry, Range};

/// Joins books. The same book twice counts as two sessions: the caller names each once.
pub fn join_books(books: Vec<Book>) -> Book {
    let mut joined: Vec<Entry> = Vec::new();
    for entry in books.into_iter().flat_map(|book| book.entries) {
        match joined.iter_mut().find(|known| is_same_kind(known, &entry)) {
            Some(known) => add_entry(known, entry),
            None => joined.push(entry),
        }
    }
    joined.sort_by(|one, other| key(one).cmp(&key(other)));
    Book::from_entries(joined)
}

fn key(entry: &Entry) -> (&str, &str, &str, &[String]) {
    (&entry.family, &entry.under, &entry.kernel, &entry.mitigations)
}

fn is_same_kind(one: &Entry, other: &Entry) -> bool {
    key(one) == key(other)
}

fn add_entry(known: &mut Entry, other: Entry) {
    known.made = known.made.max(other.made);
    known.sessions = known.sessions.saturating_add(other.sessions);
    known.machines.extend(other.machines);
    known.machines.sort_unstable();
    known.machines.dedup();
    widen_all(&mut known.cycles, other.cycles);
    widen_all(&mut known.ns, other.ns);
}

/// Widens ranges by those of another session. An operation that one of them lacks stays out: its range would be of fewer machines.
fn widen_all(known: &mut BTreeMap<String, Range>, other: BTreeMap<String, Range>) {
    known.retain(|operation, _| other.contains_key(operation));
    for (operation, [low, high]) in other {
        if let Some(range) = known.get_mut(&operation) {
            *range = [range[0].min(low), range[1].max(high)];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::make;
    use super::super::{METAL, Month};
    use super::*;

    #[test]
    fn sessions_add_up_and_machines_count_once() {
        let mut one = make("amd-25-1", METAL, "6.12", &["pti"]);
        one.machines = vec!["b".into()];
        one.cycles.insert("exec".into(), [1.0, 2.0]);
        let mut other = make("amd-25-1", METAL, "6.12", &["pti"]);
        other.machines = vec!["a".into(), "b".into()];
        other.made = Month::try_from("2027-02".to_owned()).unwrap();
        other.cycles = [("getppid".to_owned(), [150.0, 220.0])].into();
        let apart = make("amd-25-1", METAL, "6.18", &["pti"]);
        let joined =
            join_books([one, other.clone(), apart].map(|entry| Book::from_entries(vec![entry])).into());
        assert_eq!(joined.entries.len(), 2);
        let entry = &joined.entries[0];
        assert_eq!((entry.sessions, entry.made), (18, other.made));
        assert_eq!(entry.machines, ["a", "b"]);
        assert_eq!(entry.cycles, [("getppid".to_owned(), [150.0, 250.0])].into());
    }
}
