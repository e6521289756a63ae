//! Characters that terminals, editors and pages add to a text: colours, odd blanks, marks of emphasis, entities of
//! HTML, and returns of the carriage.

use super::Excerpt;

/// Takes these characters off, or puts the plain ones in their place.
pub fn strip_characters(original: &str) -> Excerpt {
    let mut plain = Excerpt::default();
    let (mut at, mut from, mut is_bold) = (0, 0, false);
    loop {
        at += original.as_bytes()[at..].iter().take_while(|byte| is_plain(**byte)).count();
        let Some(c) = original[at..].chars().next() else { break };
        let odd = match c {
            '*' => strip_emphasis(original, at, &mut is_bold).map(|length| (length, Plain::Nothing)),
            _ => find_odd_character(&original[at..]),
        };
        is_bold &= c != '\n';
        let Some((length, replacement)) = odd else {
            at += c.len_utf8();
            continue;
        };
        plain.keep(&original[from..at], from);
        match replacement {
            Plain::Nothing => {}
            Plain::Blank => plain.put(" ", at),
            Plain::LineEnd => plain.put("\n", at),
            Plain::Character(c) => plain.put(c.encode_utf8(&mut [0; 4]), at),
        }
        at += length;
        from = at;
    }
    plain.keep(&original[from..], from);
    plain
}

/// Recognises most bytes of a text, which are never odd.
fn is_plain(byte: u8) -> bool {
    (b' '..0x7f).contains(&byte) && !b"*[^&<".contains(&byte)
}

enum Plain {
    Nothing,
    Blank,
    LineEnd,
    Character(char),
}

/// Finds the length in bytes of an odd character, or of a sequence of them, with which a text begins.
fn find_odd_character(rest: &str) -> Option<(usize, Plain)> {
    let first = rest.chars().next()?;
    let length = first.len_utf8();
    match first {
        '\n' | '\t' => None,
        '\x1b' => Some((1 + measure_escape(&rest[1..]), Plain::Nothing)),
        '\u{9b}' => Some((length + measure_control(&rest[length..]).unwrap_or(0), Plain::Nothing)),
        // As `cat -v` and some viewers of logs draw an escape.
        '^' => measure_control(rest.strip_prefix("^[[")?).map(|length| (3 + length, Plain::Nothing)),
        // The escape itself is lost where a page leaves out what cannot be drawn.
        '[' => {
            let colour = measure_lost_colour(&rest[1..]).map(|length| 1 + length);
            colour.or_else(|| measure_tag(rest)).map(|length| (length, Plain::Nothing))
        }
        '<' => measure_tag(rest).map(|length| (length, Plain::Nothing)),
        '\r' => {
            // Some copies double the return before a line's end.
            let returns = rest.bytes().take(LONGEST_SEQUENCE).take_while(|byte| *byte == b'\r').count();
            let is_end = rest[returns..].starts_with('\n');
            Some((if is_end { returns + 1 } else { 1 }, Plain::LineEnd))
        }
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\x0b' | '\x0c' => {
            Some((length, Plain::Blank))
        }
        '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{ad}' => Some((length, Plain::Nothing)),
        '&' => find_entity(rest),
        c if c.is_control() => Some((length, Plain::Nothing)),
        _ => None,
    }
}

/// Limit on the bytes of a sequence that is taken for one; terminals write shorter ones.
const LONGEST_SEQUENCE: usize = 256;

/// Measures what follows an escape: a control sequence, a command to the terminal with its end, or one character.
fn measure_escape(rest: &str) -> usize {
    match rest.chars().next() {
        Some('[') => 1 + measure_control(&rest[1..]).unwrap_or(0),
        // A title, a link, or a stamp of Buildkite's, up to a bell or `ESC \`.
        Some(']' | '_' | 'P' | '^') => {
            let bounded = rest.char_indices().map(|(at, _)| at).take_while(|at| *at < LONGEST_SEQUENCE);
            let mut ends = bounded.map(|at| &rest[at..]);
            let end = ends.find(|end| end.starts_with('\x07') || end.starts_with("\x1b\\"));
            end.map_or(1, |end| rest.len() - end.len() + if end.starts_with('\x07') { 1 } else { 2 })
        }
        Some('(' | ')') => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
        Some(c) if c.is_ascii() && c != '\n' => 1,
        _ => 0,
    }
}

/// Measures a control sequence behind its bracket: parameters, and a letter that ends it.
fn measure_control(rest: &str) -> Option<usize> {
    let parameters =
        rest.bytes().take(LONGEST_SEQUENCE).take_while(|byte| (0x20..0x40).contains(byte)).count();
    let end = *rest.as_bytes().get(parameters)?;
    (0x40..0x7f).contains(&end).then_some(parameters + 1)
}

/// Measures `1;32m` or `0K` behind a bracket.
fn measure_lost_colour(rest: &str) -> Option<usize> {
    let numbers = rest.bytes().take(16).take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
    let is_end = match rest.as_bytes().get(numbers)? {
        b'm' => numbers > 0,
        b'K' => numbers == 1,
        _ => false,
    };
    is_end.then_some(numbers + 1)
}

/// Recognises two asterisks that set a number in bold, at a byte of a text.
fn strip_emphasis(text: &str, at: usize, is_bold: &mut bool) -> Option<usize> {
    let behind = text[at..].strip_prefix("**")?;
    let (before, next) = (text[..at].chars().next_back(), behind.chars().next());
    let is_open = next.is_some_and(|c| c.is_ascii_digit()) && !matches!(before, Some('*' | '|'));
    let is_close = *is_bold && before.is_some_and(|c| !c.is_whitespace());
    *is_bold = is_open && !is_close;
    (is_open || is_close).then_some(2)
}

/// Tags of pages and forums around a text, in small letters and without a slash.
const TAGS: &[&str] = &["br", "p", "pre", "code", "quote", "blockquote", "samp", "div", "tt", "font", "b"];

const LONGEST_TAG: usize = 10;

/// Measures a tag without attributes: `<pre>`, `</code>`, `<br />`, `[CODE]`.
fn measure_tag(rest: &str) -> Option<usize> {
    let end = if rest.starts_with('<') { '>' } else { ']' };
    let inner = rest[1..].strip_prefix('/').unwrap_or(&rest[1..]);
    let letters = inner.bytes().take(LONGEST_TAG).take_while(u8::is_ascii_alphabetic).count();
    TAGS.iter().find(|tag| tag.eq_ignore_ascii_case(&inner[..letters]))?;
    let behind = inner[letters..].trim_start_matches([' ', '/']).strip_prefix(end)?;
    Some(rest.len() - behind.len())
}

/// Entities of HTML that a page's source, or a forum that escapes twice, leaves in a text.
const ENTITIES: &[(&str, char)] = &[
    ("&gt;", '>'),
    ("&lt;", '<'),
    ("&amp;", '&'),
    ("&quot;", '"'),
    ("&apos;", '\''),
    ("&nbsp;", ' '),
    ("&plusmn;", '±'),
    ("&hellip;", '…'),
];

fn find_entity(rest: &str) -> Option<(usize, Plain)> {
    if let Some((entity, c)) = ENTITIES.iter().find(|(entity, _)| rest.starts_with(entity)) {
        return Some((entity.len(), Plain::Character(*c)));
    }
    let number = rest.strip_prefix("&#")?;
    let digits = number.bytes().take(6).take_while(u8::is_ascii_digit).count();
    number[digits..].strip_prefix(';')?;
    let c = number[..digits].parse().ok().and_then(char::from_u32).filter(|c| !c.is_control())?;
    let plain = if c == '\u{a0}' { Plain::Blank } else { Plain::Character(c) };
    Some((2 + digits + 1, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        strip_characters(text).as_str().to_owned()
    }

    #[test]
    fn colours_and_odd_blanks_are_taken_off() {
        assert_eq!(plain("\x1b[1;32m 12.9 ms\x1b[0m ± \u{9b}32m1.8"), " 12.9 ms ± 1.8");
        assert_eq!(plain("[1;32m 12.9 ms[0m [  5] [2m5 runs[0m ^[[0K."), " 12.9 ms [  5] 5 runs .");
        assert_eq!(plain("\x1b]0;title\x07a \x1b_bk;t=17\x07b\x1b(B"), "a b");
        assert_eq!(plain("1\u{a0}024\u{3000}kB\u{200b}/s"), "1 024 kB/s");
        assert_eq!(plain("a\r\nb\rc\r\r\nd"), "a\nb\nc\nd");
        assert_eq!(plain("(84&#37;) 3 &gt; 2 &#27; &unknown; &"), "(84%) 3 > 2 &#27; &unknown; &");
    }

    #[test]
    fn tags_of_pages_are_taken_off() {
        assert_eq!(
            plain("[CODE]<pre>a<br />\n</pre>[/code]<blockquote></blockquote> < 2781.35 us> [b [ 1s ] a<b"),
            "a\n < 2781.35 us> [b [ 1s ] a<b"
        );
    }

    #[test]
    fn emphasis_is_taken_off_numbers_alone() {
        assert_eq!(plain("= **11541.068** and **121.880 usec**"), "= 11541.068 and 121.880 usec");
        assert_eq!(plain("0.1 |** 4\nls **/*.rs"), "0.1 |** 4\nls **/*.rs");
    }

    #[test]
    fn places_are_those_of_the_original() {
        let excerpt = strip_characters("\x1b[1mä\x1b[0m\u{3000}x\r\ny");
        assert_eq!(excerpt.as_str(), "ä x\ny");
        let origins = [0, 2, 3, 4, 5].map(|offset| excerpt.find_origin(offset));
        assert_eq!(origins, [4, 10, 13, 14, 16]);
    }
}
