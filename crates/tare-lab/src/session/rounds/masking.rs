//! Lines of a run's output and files, by hashes: as they are, and without what differs from run to run by its nature.

use std::collections::BTreeMap;

use tare_data::foreign::plain::plain_line;
use tare_data::session::outcome::{Captured, FILE_MARK, Lines, MOST_OUTPUT, Part, Said, Written, hash_bytes};

/// Folder of temporary files, whose names are drawn.
const TEMPORARY: &str = "/tmp/";
/// Units behind a number that make it a time.
const UNITS: [&str; 8] = ["ns", "us", "µs", "ms", "s", "sec", "seconds", "min"];
/// Mark in place of what is left out.
const MASK: char = '#';
/// Lines of a part that are compared: with their hashes they fit a line of the record.
const MOST_LINES: usize = 20_000;
/// Characters that are looked at for one that is left out.
const MOST_AHEAD: usize = 64;
/// Longest text of a line that is kept until it is known which lines differ.
const LONGEST: usize = 1_000;

/// Lists the parts of what a run said.
pub fn list_parts(said: Said) -> BTreeMap<Part, Lines> {
    let Said { pid, output, errors, files } = said;
    let captured = |of: Captured| {
        let torn = of.lines.len().checked_sub(1).filter(|_| of.is_cut);
        let lines = hash_lines(of.lines.into_iter(), pid, torn);
        Lines { is_cut: of.is_cut || lines.is_cut, ..lines }
    };
    let mut parts = BTreeMap::from([(Part::Output, captured(output)), (Part::Errors, captured(errors))]);
    // A file is there, and it has its contents.
    let of_file = |Written { path, size, hash }: Written| match size {
        None => vec![format!("{FILE_MARK}{path}")],
        Some(size) => vec![path.clone(), format!("{path}{FILE_MARK}{size} {}", hash.unwrap_or(0))],
    };
    parts
        .extend(files.map(|files| (Part::Files, hash_lines(files.into_iter().flat_map(of_file), pid, None))));
    parts
}

/// Hashes lines; one that comes again is another. What is left out of the line at `torn` makes room for more of it, so that its end is not
/// compared.
fn hash_lines(all: impl Iterator<Item = String>, pid: u32, torn: Option<usize>) -> Lines {
    let mut seen: [BTreeMap<u64, u64>; 2] = Default::default();
    let mut lines = Lines::default();
    for line in all {
        if lines.hashes.len() == MOST_LINES {
            lines.is_cut = true;
            break;
        }
        let mut masked = mask_line(&line, pid);
        if torn == Some(lines.hashes.len()) {
            masked = masked.chars().take(MOST_OUTPUT / 2).collect();
        }
        let mut hashes = [line.as_bytes(), masked.as_bytes()].map(hash_bytes);
        for (hash, seen) in hashes.iter_mut().zip(&mut seen) {
            let times = seen.entry(*hash).or_default();
            *times += 1;
            if *times > 1 {
                *hash = hash_bytes(&[hash.to_le_bytes(), times.to_le_bytes()].concat());
            }
        }
        lines.hashes.push(hashes);
        if line.len() <= LONGEST {
            lines.shown.insert(hashes[0], plain_line(&line));
        }
    }
    lines
}

/// Leaves out times, the process number, addresses and names of temporary files.
fn mask_line(line: &str, pid: u32) -> String {
    let mut masked = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let is_word_before = masked.chars().next_back().is_some_and(|c| c.is_ascii_alphanumeric());
        // Behind a colon it is a place in a file: x.c:12:30.
        let token = if is_word_before { 0 } else { count_masked(rest, (pid, masked.ends_with(':'))) };
        if token > 0 {
            masked.push(MASK);
            rest = &rest[token..];
        } else {
            masked.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    masked
}

/// Counts the bytes at the beginning of a text that are left out. It looks no further than `MOST_AHEAD`: a line may be one long list.
fn count_masked(text: &str, (pid, is_behind_colon): (u32, bool)) -> usize {
    let text = text.char_indices().nth(MOST_AHEAD).map_or(text, |(end, _)| &text[..end]);
    let span = |text: &str, is: fn(char) -> bool| text.find(|c| !is(c)).unwrap_or(text.len());
    if let Some(address) = text.strip_prefix("0x") {
        let digits = span(address, |c| c.is_ascii_hexdigit());
        return if digits > 0 { 2 + digits } else { 0 };
    }
    if let Some(name) = text.strip_prefix(TEMPORARY) {
        return TEMPORARY.len() + span(name, |c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
    }
    if !text.starts_with(|c: char| c.is_ascii_digit()) {
        return 0;
    }
    // A clock time, a date, or a number with a unit of time.
    let number = span(text, |c| c.is_ascii_digit() || matches!(c, '.' | ':' | '-' | ',' | 'T' | 'Z' | '+'));
    let (digits, after) = (text[..number].trim_end_matches(|c: char| !c.is_ascii_digit()), &text[number..]);
    if !is_behind_colon && is_moment(digits) {
        return digits.len();
    }
    let word = after.trim_start_matches(' ');
    let unit = &word[..span(word, char::is_alphabetic)];
    let is_near = after.len() - word.len() <= 1;
    if digits.len() == number && is_near && UNITS.contains(&unit) {
        return number;
    }
    let whole = span(text, |c| c.is_ascii_alphanumeric());
    if pid > 0 && text[..whole] == pid.to_string() { whole } else { 0 }
}

/// Tells whether digits and what is between them are a clock time or a date, and no version, range or place in a file.
fn is_moment(digits: &str) -> bool {
    let whole = digits.split(['.', ',']).next().unwrap_or_default();
    let parts: Vec<usize> = whole.split([':', '-', 'T', 'Z', '+']).map(str::len).collect();
    let fits = |(at, length): (usize, &usize)| match at {
        0 => [1, 2, 4].contains(length),
        2 => [2, 4].contains(length),
        _ => *length == 2,
    };
    parts.len() >= if whole.contains(':') { 2 } else { 3 } && parts.iter().enumerate().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_process_numbers_addresses_and_temporary_names_are_left_out_and_nothing_else() {
        for (line, masked) in [
            ("done in 1.25s", "done in #s"),
            ("3 tests in 12 ms", "3 tests in # ms"),
            ("at 12:30:01 on 2026-11-28", "at # on #"),
            ("2026-11-28T12:30:01Z start", "#Z start"),
            ("pid 4711, 47110 and a4711", "pid #, 47110 and a4711"),
            ("0xdeadbeef in /tmp/x.A9z/log", "# in #/log"),
            ("4 passed, 1 failed; v1.2.3", "4 passed, 1 failed; v1.2.3"),
            ("at 9:05, 00:01:02.5, 28-11-2026", "at #, #, #"),
            ("2026-11-28T12:30:01.5+01:00 x", "# x"),
            ("x.c:12:30: error; lines 10-20", "x.c:12:30: error; lines 10-20"),
            ("app 1.2.3-4, 1.2.3-5", "app 1.2.3-4, 1.2.3-5"),
            ("größer 5", "größer 5"),
        ] {
            assert_eq!(mask_line(line, 4711), masked);
        }
    }

    #[test]
    fn the_end_of_a_line_that_was_cut_is_not_compared() {
        let hash = |time: &str, is_cut| {
            let mut line = format!("{time} ms {}", "abcdefg".repeat(MOST_OUTPUT / 7));
            line.truncate(MOST_OUTPUT);
            let output = Captured { lines: vec![line], is_cut };
            list_parts(Said { output, ..Said::default() })[&Part::Output].hashes[0][1]
        };
        assert_eq!(hash("9", true), hash("1000", true));
        assert_ne!(hash("9", false), hash("1000", false));
    }

    #[test]
    fn a_line_that_comes_again_is_another_and_a_file_is_its_name_and_its_contents() {
        let lines = hash_lines(["x", "x"].map(str::to_owned).into_iter(), 1, None);
        assert_ne!(lines.hashes[0], lines.hashes[1]);
        let written = |hash| Written { path: "out".into(), size: Some(3), hash: Some(hash) };
        let of = |hash| {
            list_parts(Said { files: Some(vec![written(hash)]), ..Said::default() })[&Part::Files].clone()
        };
        let [one, other] = [1, 2].map(of);
        assert_eq!(one.hashes[0], other.hashes[0]);
        assert_ne!(one.hashes[1], other.hashes[1]);
    }
}
