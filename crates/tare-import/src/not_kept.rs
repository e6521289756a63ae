//! Numbers that a file states and an import does not keep: found by comparing the two, so that no importer
//! has to report them.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use tare_data::imported::Imported;

use super::json;
use super::text::{Text, fit_into_record};

/// Limit on the kinds of lines that are listed one by one.
const MOST_KINDS: usize = 20;
/// Limit on the kinds that are distinguished: the lines of an unknown log may all differ.
const MOST_TOLD_APART: usize = 1000;

/// Lines with these are about the output itself: whose it is, how it counts, and the ports it took.
const FURNITURE: &[&str] = &[
    "(C) 20",
    "* MB/s = ",
    "* KB = ",
    "] local ",
    "Connecting to host ",
    "Accepted connection from ",
    " TEST from ",
    "Server listening on ",
];
/// A number with as many digits is a result, or a size that no other number of its line restates.
const RESULT_DIGITS: usize = 3;

/// Lines of one shape, or numbers of one place in JSON.
struct Kind {
    first: String,
    count: usize,
}

/// In order of their first appearance.
#[derive(Default)]
struct Kinds {
    found: Vec<Kind>,
    places: HashMap<String, usize>,
    /// Lines of further kinds.
    others: usize,
}

impl Kinds {
    fn add(&mut self, shape: String, first: impl FnOnce() -> String) {
        if let Some(place) = self.places.get(&shape) {
            self.found[*place].count += 1;
        } else if self.found.len() < MOST_TOLD_APART {
            self.places.insert(shape, self.found.len());
            self.found.push(Kind { first: first(), count: 1 });
        } else {
            self.others += 1;
        }
    }
}

/// Lists everything that was not kept, the most frequent first.
pub fn list_not_kept(texts: &[Text], imported: &Imported) -> Vec<String> {
    let known = known(imported);
    let (mut lines, mut fields) = (Kinds::default(), Kinds::default());
    texts.iter().for_each(|text| find_lost(text, &known, &mut lines, &mut fields));
    let like = |Kind { first, count }: Kind| match count {
        1 => first,
        2 => format!("{first} (and a line like it)"),
        count => format!("{first} (and {} lines like it)", count - 1),
    };
    let numbers = |Kind { first, count }: Kind| match count {
        1 => first,
        count => format!("{first} ({count} numbers)"),
    };
    let others = lines.others + fields.others;
    for kinds in [&mut lines, &mut fields] {
        kinds.found.sort_by_key(|kind| std::cmp::Reverse(kind.count));
    }
    let all = lines.found.into_iter().map(like).chain(fields.found.into_iter().map(numbers));
    let mut all: Vec<String> = all.collect();
    let more = all.len().saturating_sub(MOST_KINDS) + others;
    all.truncate(MOST_KINDS);
    if more > 0 {
        all.push(format!("{more} more"));
    }
    all
}

/// Finds the lines of one output, and the numbers of its document, that were not kept.
fn find_lost(text: &Text, known: &HashSet<String>, lines: &mut Kinds, fields: &mut Kinds) {
    let whole = text.as_str();
    let (before, document) = whole.split_at(json::find_json_start(text).unwrap_or(whole.len()));
    let mut values = serde_json::Deserializer::from_str(document).into_iter::<IgnoredAny>();
    let is_json = values.next().is_some_and(|value| value.is_ok());
    let end = if is_json { values.byte_offset() } else { 0 };
    for line in before.lines().chain(document[end..].lines()) {
        if is_lost(line, known) {
            lines.add(shape(line), || fit_into_record(line));
        }
    }
    let mut reader = serde_json::Deserializer::from_str(&document[..end]);
    let walk = Walk { path: &mut Vec::new(), known, fields, in_list: false };
    // It was read once: an error here is the end of a text without JSON.
    let _ = walk.deserialize(&mut reader);
}

/// Collects every number and address that was kept, by its value where it has one.
fn known(imported: &Imported) -> HashSet<String> {
    // Nothing is lost with a zero: it begins an interval, or fills the place of a measurement.
    let mut known = HashSet::from([value("0")]);
    let mut add = |text: &str| known.extend(tokens(text).into_iter().map(value));
    imported.version.iter().for_each(|version| add(version));
    for (key, value) in imported.parameters.iter().chain(imported.figures.iter().flat_map(|f| &f.parameters))
    {
        add(key);
        add(value);
    }
    for figure in &imported.figures {
        add(&figure.name);
        for stated in &figure.values {
            add(&stated.written);
            add(&stated.statistic.to_string());
        }
    }
    known
}

/// Finds a line whose longest number was not kept, or another long one. Short ones are percentiles and
/// roundings.
fn is_lost(line: &str, known: &HashSet<String>) -> bool {
    if FURNITURE.iter().any(|part| line.contains(part)) {
        return false;
    }
    let line = without_restatements(line);
    let tokens = tokens(&line);
    let digits = |token: &str| token.bytes().filter(u8::is_ascii_digit).count();
    let longest = tokens.iter().map(|token| digits(token)).max().unwrap_or(0);
    let is_known = |token: &&&str| known.contains(&value(token));
    let mut long = tokens.iter().filter(|token| digits(token) >= RESULT_DIGITS);
    let mut longest = tokens.iter().filter(|token| digits(token) == longest).peekable();
    (longest.peek().is_some() && !longest.any(|token| is_known(&token)))
        || !long.all(|token| is_known(&token))
}

/// Removes brackets, which repeat sizes and rates in other units.
fn without_restatements(line: &str) -> String {
    let mut depth = 0_usize;
    let outside = |c: &char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    };
    line.chars().filter(outside).collect()
}

/// Finds numbers, and addresses and versions as a whole: digits, with marks between them.
fn tokens(text: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
    // A single comma between digits is a decimal mark; several, or one together with a point, separate fields.
    let is_decimal = |part: &str| part.matches(',').count() == 1 && !part.contains('.');
    let parts = text.split(|c: char| !is_part(c)).map(|part| part.trim_matches(['.', ',']));
    let fields = parts.flat_map(|part| part.split(move |c| c == ',' && !is_decimal(part)));
    fields.filter(|part| !part.is_empty()).collect()
}

/// Normalises a number for comparison: 2.50 is 2.5, with a comma too.
fn value(token: &str) -> String {
    token.replace(',', ".").parse::<f64>().map_or_else(|_| token.to_owned(), |value| value.to_string())
}

/// Removes the numbers of a line, and draws repeated marks once.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    for c in line.chars() {
        let c = if c.is_ascii_digit() { '#' } else { c };
        if c.is_alphabetic() || !shape.ends_with(c) {
            shape.push(c);
        }
    }
    shape
}

/// The search for numbers of a document that were not kept, which does not hold it. Zeros in place of a
/// measurement are skipped.
struct Walk<'a> {
    path: &'a mut Vec<String>,
    known: &'a HashSet<String>,
    fields: &'a mut Kinds,
    in_list: bool,
}

impl Walk<'_> {
    fn inner(&mut self, in_list: bool) -> Walk<'_> {
        Walk { path: self.path, known: self.known, fields: self.fields, in_list }
    }

    fn number(self, number: f64) {
        if number != 0.0 && !self.known.contains(&number.to_string()) {
            // The object that holds it: a place for each of fio's bins would bury the others.
            let own = usize::from(!self.in_list);
            let depth = self.path.len().saturating_sub(own).max(1).min(self.path.len());
            let place = self.path[..depth].join(".");
            self.fields.add(place.clone(), || fit_into_record(&place));
        }
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut access: A) -> Result<(), A::Error> {
        while let Some(key) = access.next_key::<String>()? {
            self.path.push(fit_into_record(&key));
            access.next_value_seed(self.inner(false))?;
            self.path.pop();
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut access: A) -> Result<(), A::Error> {
        while access.next_element_seed(self.inner(true))?.is_some() {}
        Ok(())
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        self.number(number);
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.number(number as f64);
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.number(number as f64);
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_lost_when_a_number_of_it_is_not_among_the_figures() {
        let known: HashSet<String> = ["6553600", "0.5", "127.0.0.1"].map(value).into();
        assert!(!is_lost("6553600 bytes (6.6 MB, 6.2 MiB) copied, 0,50 s", &known));
        assert!(is_lost("[ 1s ] thds: 1 eps: 75924.11", &known));
        assert!(!is_lost("to 127.0.0.1 port 0", &known));
        assert!(!is_lost("no number", &known));
        assert!(is_lost("sleep,0.5,0.123456,7", &known) && !is_lost("sleep,0.5,6553600,1", &known));
        assert_eq!(shape("   0.010 |**** 17"), shape("  0.123 |** 4"));
    }
}
