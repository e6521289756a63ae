//! Texts for character sets that have ASCII alone in common with UTF-8.

/// Blocks of a sparkline, from the lowest, and their stand-ins.
const BLOCKS: [(char, char); 8] =
    [('▁', '.'), ('▂', ':'), ('▃', '-'), ('▄', '='), ('▅', '+'), ('▆', '*'), ('▇', '#'), ('█', '@')];
/// Marks of notes. A digit behind a number would be read as a part of it.
const MARKS: [(char, char); 10] = [
    ('¹', 'a'),
    ('²', 'b'),
    ('³', 'c'),
    ('⁴', 'd'),
    ('⁵', 'e'),
    ('⁶', 'f'),
    ('⁷', 'g'),
    ('⁸', 'h'),
    ('⁹', 'i'),
    ('⁰', 'j'),
];
/// Other signs that tare prints, each by one of the same width where there is one.
const SIGNS: [(char, &str); 15] = [
    ('µ', "u"),
    ('─', "-"),
    ('±', "+-"),
    ('–', "-"),
    ('−', "-"),
    ('·', "."),
    ('×', "x"),
    ('“', "\""),
    ('”', "\""),
    ('…', "..."),
    ('≤', "<="),
    ('≥', ">="),
    ('━', "="),
    ('╌', "."),
    ('\u{a0}', " "),
];

/// Replaces tare's own signs by ASCII. Names from a record stay as they are: their owner's terminal shows them.
pub fn replace_signs_by_ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let single = BLOCKS.iter().chain(&MARKS).find(|(sign, _)| *sign == c);
        match (single, SIGNS.iter().find(|(sign, _)| *sign == c)) {
            (Some((_, instead)), _) => out.push(*instead),
            (None, Some((_, instead))) => out.push_str(instead),
            (None, None) => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::Language;
    use crate::language::messages::of_program;
    use crate::specimen;
    use crate::terminal::{TerminalOptions, render_terminal};

    #[test]
    fn every_english_message_can_be_said_in_ascii() {
        for message in of_program() {
            let ascii = replace_signs_by_ascii(&message);
            assert!(ascii.is_ascii(), "{message}: {:?}", ascii.chars().find(|c| !c.is_ascii()));
        }
    }

    #[test]
    fn every_english_table_can_be_shown_in_ascii() {
        for wide in [false, true] {
            let options = TerminalOptions { wide, language: Language::English, ..TerminalOptions::default() };
            let text = render_terminal(&specimen::make_session(3), &specimen::make_findings(3), &options);
            let ascii = replace_signs_by_ascii(&text);
            assert!(ascii.is_ascii(), "{:?}", ascii.chars().find(|c| !c.is_ascii()));
            assert_eq!(text.lines().count(), ascii.lines().count());
        }
        assert_eq!(replace_signs_by_ascii("1.76 µs ±0.02 ¹ ▁█"), "1.76 us +-0.02 a .@");
    }
}
