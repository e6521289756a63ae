//! Text from a record made safe to show, measured in columns and wrapped.

pub mod ascii;
pub(crate) mod csv;
pub(crate) mod json;

pub(crate) use tare_data::foreign::plain::is_plain;
pub use tare_data::foreign::plain::{plain_line, plain_lines};

use tare_data::foreign::plain::REPLACEMENT;
use unicode_linebreak::linebreaks;
use unicode_width::UnicodeWidthChar;

/// Limit on the length of a name, label or reason; a record can contain megabytes.
pub(crate) const LONGEST_TEXT: usize = 240;
/// A joint of a word and its mark until lines are broken; then it is a space.
pub(crate) const GLUE: char = '\u{a0}';

/// Replaces everything in a text from a record that is not plain writing on one line.
///
/// Control characters (escape sequences begin with one), line breaks, marks that turn the reading direction
/// and invisible characters become `\u{fffd}`; a text longer than `LONGEST_TEXT` is cut and ends in `…`.
pub(crate) fn clean_text(text: &str) -> String {
    let mut out: String =
        text.chars().take(LONGEST_TEXT).map(|c| if is_plain(c) { c } else { REPLACEMENT }).collect();
    if text.chars().nth(LONGEST_TEXT).is_some() {
        out.push('…');
    }
    out
}

/// Counts the columns of a text on a terminal.
pub fn count_columns(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// Wraps a text into lines of at most `width` columns, between words if possible, and between the characters
/// of a script without blanks.
///
/// Only a word wider than a line is broken inside. An empty text is one empty line.
pub fn wrap_text(text: &str, width: usize) -> Vec<String> {
    let width = width.max(2);
    let mut lines = Vec::new();
    let mut line = String::new();
    for (is_behind_blank, word) in words(text) {
        let blank = usize::from(is_behind_blank && !line.is_empty());
        if !line.is_empty() && count_columns(&line) + blank + count_columns(word) > width {
            lines.push(std::mem::take(&mut line));
        } else if blank > 0 {
            line.push(' ');
        }
        for c in word.chars() {
            if count_columns(&line) + c.width().unwrap_or(0) > width {
                lines.push(std::mem::take(&mut line));
            }
            line.push(if c == GLUE { ' ' } else { c });
        }
    }
    if !line.is_empty() || lines.is_empty() {
        lines.push(line);
    }
    lines
}

/// Splits a text at the places where it may be broken, and tells for each part whether a blank precedes it.
fn words(text: &str) -> impl Iterator<Item = (bool, &str)> {
    text.split(' ').filter(|word| !word.is_empty()).flat_map(|word| {
        let mut begin = 0;
        breaks(word).into_iter().map(move |end| {
            let part = (begin == 0, &word[begin..end]);
            begin = end;
            part
        })
    })
}

/// Finds the places where a word may be broken, its end last: after a wide character, by the line breaking
/// rules of Unicode. A script with blanks is broken only at blanks.
fn breaks(word: &str) -> Vec<usize> {
    if word.is_ascii() {
        return vec![word.len()];
    }
    // The ends of a range stay together.
    let is_wide = |c: char| c.width() == Some(2) && c != '〜';
    let is_behind_wide = |at: usize| word[..at].chars().next_back().is_some_and(is_wide);
    let all = linebreaks(word).map(|(at, _)| at);
    all.filter(|at| *at == word.len() || is_behind_wide(*at)).collect()
}

/// Wraps a paragraph that begins with `first`; further lines are indented by its width.
pub(crate) fn wrap_paragraph(first: &str, text: &str, width: usize) -> Vec<String> {
    let indent = count_columns(first).min(width / 2);
    let lines = wrap_text(text, width.saturating_sub(indent));
    let blank = " ".repeat(indent);
    let lead = |i| if i == 0 { first } else { blank.as_str() };
    lines.iter().enumerate().map(|(i, line)| format!("{}{line}", lead(i)).trim_end().to_owned()).collect()
}

/// Measures the widest word of a text, in columns.
pub(crate) fn widest_word(text: &str) -> usize {
    words(text).map(|(_, word)| count_columns(word)).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_that_moves_a_cursor_or_hides_is_left() {
        let hostile = "red\u{1b}[31m\r\n\u{202e}txt\u{200b}\u{9b}2J\u{7}\u{e0041}";
        let clean = clean_text(hostile);
        assert_eq!(clean, "red\u{fffd}[31m\u{fffd}\u{fffd}\u{fffd}txt\u{fffd}\u{fffd}2J\u{fffd}\u{fffd}");
        assert_eq!(plain_line(hostile), clean);
        assert_eq!(plain_lines("a\u{1b}\nb\u{85}"), "a\u{fffd}\nb\u{fffd}");
        assert_eq!(super::clean_text("µs ± Ubuntu-22.04 日本"), "µs ± Ubuntu-22.04 日本");
    }

    #[test]
    fn a_megabyte_of_name_is_cut() {
        let cut = clean_text(&"a".repeat(1 << 20));
        assert_eq!(cut.chars().count(), LONGEST_TEXT + 1);
        assert!(cut.ends_with('…'));
    }

    #[test]
    fn words_stay_whole_where_they_fit() {
        assert_eq!(wrap_text("not comparable ¹", 12), ["not", "comparable ¹"]);
        assert_eq!(wrap_text("abcdefgh ij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap_text("", 4), [""]);
        assert_eq!(wrap_text("日本語", 4), ["日本", "語"]);
        assert_eq!(wrap_paragraph("¹ ", "one two", 6), ["¹ one", "  two"]);
    }

    #[test]
    fn japanese_is_broken_where_a_reader_expects_it() {
        // Neither a full stop nor a closing bracket begins a line, and no opening one ends it.
        assert_eq!(wrap_text("測定しました。次に", 12), ["測定しまし", "た。次に"]);
        assert_eq!(wrap_text("値（中央値）です", 4), ["値", "（中", "央", "値）", "です"]);
        // A number keeps its counter, and a word of another script stays whole.
        assert_eq!(wrap_text("差は24.1倍です", 8), ["差は", "24.1倍で", "す"]);
        assert_eq!(wrap_text("containerをnativeと", 12), ["containerを", "nativeと"]);
    }

    proptest! {
        #[test]
        fn every_wrapped_line_fits(text in any::<String>(), width in 2usize..60) {
            for line in wrap_text(&clean_text(&text), width) {
                prop_assert!(count_columns(&line) <= width);
            }
        }
    }
}
