//! Plain writing: text without anything that could move a cursor, turn the reading direction or hide.

/// Replacement for every other character.
pub const REPLACEMENT: char = '\u{fffd}';

/// Cleans a text of any length into one line: notes, and output of environments and runtimes.
pub fn plain_line(text: &str) -> String {
    text.chars().map(|c| if is_plain(c) { c } else { REPLACEMENT }).collect()
}

/// Cleans a text of any length, and keeps its lines.
pub fn plain_lines(text: &str) -> String {
    text.split('\n').map(plain_line).collect::<Vec<_>>().join("\n")
}

/// Tells whether a character is visible, does not move the cursor and ends no line.
pub fn is_plain(c: char) -> bool {
    let hidden = matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}');
    !hidden && !c.is_control()
}
