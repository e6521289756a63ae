//! Bytes as text: hex digits, the UTF-16 of Windows programs, and as much of a text as there is room for.

use std::char::DecodeUtf16Error;

pub fn encode_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Decodes exactly `N` bytes from hex digits.
pub fn hex_bytes<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, at) in bytes.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(&text[at..at + 2], 16).ok()?;
    }
    Some(bytes)
}

/// Cuts a text so that it takes at most this many bytes as JSON.
pub fn clip_text(mut text: String, most: usize) -> String {
    let mut written = 0;
    let end = text.char_indices().find_map(|(at, c)| {
        written += match c {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            c if c < ' ' => 6,
            c => c.len_utf8(),
        };
        (written > most).then_some(at)
    });
    text.truncate(end.unwrap_or(text.len()));
    text
}

/// Byte order of UTF-16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Utf16Order {
    Little,
    Big,
}

impl Utf16Order {
    /// Reads the order from a byte order mark at the start of the bytes.
    pub fn from_mark(bytes: &[u8]) -> Option<Utf16Order> {
        match bytes {
            [0xff, 0xfe, ..] => Some(Utf16Order::Little),
            [0xfe, 0xff, ..] => Some(Utf16Order::Big),
            _ => None,
        }
    }

    /// Decodes UTF-16 without its byte order mark; half a unit at the end is left out.
    pub fn decode(self, bytes: &[u8]) -> impl Iterator<Item = Result<char, DecodeUtf16Error>> {
        let marked = usize::from(Utf16Order::from_mark(bytes) == Some(self)) * 2;
        let unit = move |pair: &[u8]| match self {
            Utf16Order::Little => u16::from_le_bytes([pair[0], pair[1]]),
            Utf16Order::Big => u16::from_be_bytes([pair[0], pair[1]]),
        };
        char::decode_utf16(bytes[marked..].chunks_exact(2).map(unit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_digits_go_there_and_back() {
        assert_eq!(encode_hex(&[0, 0x1f, 0xff]), "001fff");
        assert_eq!(hex_bytes("001fFF"), Some([0, 0x1f, 0xff]));
        assert_eq!(hex_bytes::<2>("001fff"), None);
        assert_eq!(hex_bytes::<2>("+1é"), None);
    }

    #[test]
    fn both_orders_of_utf16_are_decoded() {
        let units: Vec<u16> = "\u{feff}a \u{1f427}".encode_utf16().collect();
        let little: Vec<u8> = units.iter().copied().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = units.iter().copied().flat_map(u16::to_be_bytes).collect();
        for bytes in [little, big] {
            let order = Utf16Order::from_mark(&bytes).unwrap();
            assert_eq!(order.decode(&bytes).collect::<Result<String, _>>().unwrap(), "a \u{1f427}");
            let torn = &bytes[..bytes.len() - 1];
            assert!(order.decode(torn).last().unwrap().is_err(), "half a surrogate pair");
            assert_eq!(order.decode(&bytes[..7]).count(), 2, "half a unit");
        }
    }

    #[test]
    fn a_text_is_clipped_to_what_it_takes_when_written() {
        for text in ["\u{1}\u{8}\u{c}", "\"\\\n\r\t", "aé\u{2028}\u{1f427}\u{7f}"] {
            let written = serde_json::to_string(text).unwrap().len() - 2;
            for most in 0..written {
                let clipped = clip_text(text.to_owned(), most);
                assert!(serde_json::to_string(&clipped).unwrap().len() - 2 <= most, "{text:?} {most}");
            }
            assert_eq!(clip_text(text.to_owned(), written), text);
        }
    }
}
