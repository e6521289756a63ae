//! Lines that tell two sides apart: those that all starts of one have, and none of the other.
//!
//! A line that varies within a side separates nothing. All lines of a part are one hypothesis: some line separates the starts. Its p is
//! the share of all ways to deal the starts to the sides that some line would separate.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use tare_data::session::outcome::{FILE_MARK, Lines, Part};

use super::family::Hypothesis;

/// Starts of both sides that a set of bits holds.
const MOST_STARTS: usize = u128::BITS as usize;

/// A line or a file that all starts of one side have, and none of the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    pub part: Part,
    pub change: Change,
    /// Empty where the line is long, and was not kept.
    pub text: String,
}

/// Kinds of differences of the side that is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    Missing,
    Added,
    /// A file that both have, with other contents.
    Changed,
}

/// Lines of a part on two sides.
pub struct Separation {
    pub hypothesis: Hypothesis,
    /// Texts of lines that only the first side has, and only the second.
    only: [Vec<String>; 2],
    /// False where a line comes in some starts of a side and not in others.
    pub is_steady: bool,
    pub is_cut: bool,
}

/// Looks for lines that separate the starts of two sides.
pub fn separate(sides: &[Vec<&Lines>; 2]) -> Separation {
    let most = MOST_STARTS / 2;
    let sides = sides.each_ref().map(|side| &side[..side.len().min(most)]);
    let [first, second] = sides.map(<[_]>::len);
    let starts = || sides.into_iter().flatten().enumerate();
    // A line is there as it is, or as it would be without times and the like.
    let mut there: BTreeMap<u64, u128> = BTreeMap::new();
    for (at, lines) in starts() {
        for hash in lines.hashes.iter().flatten() {
            *there.entry(*hash).or_default() |= 1 << at;
        }
    }
    let bits = |count: usize| if count == 0 { 0 } else { u128::MAX >> (MOST_STARTS - count) };
    let (all, of_first) = (bits(first + second), bits(first));
    let (mut dealt, mut is_steady) = (BTreeSet::new(), true);
    let mut only: [BTreeMap<u64, String>; 2] = Default::default();
    for (_, lines) in starts() {
        for [hash, masked] in &lines.hashes {
            let here = there[hash] | there[masked];
            let split = [here & of_first, here & !of_first & all];
            is_steady &=
                (split[0] == 0 || split[0] == of_first) && (split[1] == 0 || split[1] == all & !of_first);
            if here.count_ones() as usize == first {
                dealt.insert(here);
            }
            if here.count_ones() as usize == second {
                dealt.insert(all & !here);
            }
            let side = [of_first, all & !of_first].iter().position(|side| *side == here);
            if let Some(side) = side {
                only[side].insert(*hash, lines.shown.get(hash).cloned().unwrap_or_default());
            }
        }
    }
    let least = (dealt.len() as f64 / count_ways(first + second, first)).min(1.0);
    let least = if dealt.is_empty() { 1.0 } else { least };
    let p = if dealt.contains(&of_first) { least } else { 1.0 };
    Separation {
        hypothesis: Hypothesis { p, least },
        only: only.map(|only| only.into_values().collect()),
        is_steady,
        is_cut: starts().any(|(_, lines)| lines.is_cut),
    }
}

/// Counts the ways to choose some of all starts.
fn count_ways(all: usize, some: usize) -> f64 {
    (0..some).map(|at| (all - at) as f64 / (some - at) as f64).product()
}

/// Chooses some differences of a part to be named, those with a text first.
pub fn choose(part: Part, found: &Separation, most: usize) -> Vec<Difference> {
    let mut all: Vec<Difference> = Vec::new();
    for (change, texts) in [Change::Missing, Change::Added].into_iter().zip(&found.only) {
        for text in texts {
            let one = match part {
                Part::Files => describe_file(change, text),
                Part::Output | Part::Errors => Difference { part, change, text: text.clone() },
            };
            if !all.contains(&one) {
                all.push(one);
            }
        }
    }
    // Contents of a file that is not there on one side are no further difference.
    let whole: BTreeSet<String> =
        all.iter().filter(|one| one.change != Change::Changed).map(|one| one.text.clone()).collect();
    all.retain(|one| one.change != Change::Changed || !whole.contains(&one.text));
    all.sort_by_key(|one| one.text.is_empty());
    all.truncate(most);
    all
}

/// Reads the line of a file: its path, its path and contents, or that it is removed.
fn describe_file(change: Change, line: &str) -> Difference {
    let opposite = if change == Change::Missing { Change::Added } else { Change::Missing };
    let (change, text) = match (line.strip_prefix(FILE_MARK), line.rsplit_once(FILE_MARK)) {
        (Some(path), _) => (opposite, path),
        (None, Some((path, _))) => (Change::Changed, path),
        (None, None) => (change, line),
    };
    Difference { part: Part::Files, change, text: text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(texts: &[&str]) -> Lines {
        let hash = |text: &str| tare_data::session::outcome::hash_bytes(text.as_bytes());
        let shown = texts.iter().map(|text| (hash(text), (*text).to_owned())).collect();
        Lines { hashes: texts.iter().map(|text| [hash(text); 2]).collect(), is_cut: false, shown }
    }

    fn of(sides: [&[Lines]; 2]) -> Separation {
        separate(&sides.map(|side| side.iter().collect::<Vec<_>>()))
    }

    #[test]
    fn a_line_that_one_side_always_has_separates_and_what_varies_does_not() {
        let full: Vec<Lines> = (0..6).map(|at| lines(&["ring: ok", &format!("at {at}")])).collect();
        let less: Vec<Lines> = (6..12).map(|at| lines(&[&format!("at {at}")])).collect();
        let found = of([&full, &less]);
        assert!((found.hypothesis.p - 2.0 / 924.0).abs() < 1e-9 && !found.is_steady);
        let [one] = &choose(Part::Output, &found, 3)[..] else { panic!("one difference") };
        assert_eq!((one.change, one.text.as_str()), (Change::Missing, "ring: ok"));
        assert_eq!(of([&full, &full]).hypothesis, Hypothesis { p: 1.0, least: 1.0 });
        let steady = vec![lines(&["a", "b"]); 6];
        assert!(of([&steady, &steady]).is_steady);
    }

    #[test]
    fn lines_that_would_separate_other_deals_cost() {
        // A line in three starts of each side would separate another deal of them.
        let side = |own: &str| -> Vec<Lines> {
            (0..6).map(|at| if at < 3 { lines(&[own, "half"]) } else { lines(&[own]) }).collect()
        };
        let found = of([&side("a"), &side("b")]);
        assert!((found.hypothesis.p - 4.0 / 924.0).abs() < 1e-9);
    }

    #[test]
    fn a_file_is_missing_added_or_changed() {
        let before = vec![lines(&["out", "out//3 1", "log", "log//2 5", "//gone"]); 5];
        let after = vec![lines(&["log", "log//2 6"]); 5];
        let found = choose(Part::Files, &of([&before, &after]), 9);
        let mut found: Vec<(Change, &str)> =
            found.iter().map(|one| (one.change, one.text.as_str())).collect();
        found.sort_by_key(|(_, text)| *text);
        assert_eq!(found, [(Change::Added, "gone"), (Change::Changed, "log"), (Change::Missing, "out")]);
    }
}
