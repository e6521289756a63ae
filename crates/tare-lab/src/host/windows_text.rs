//! Text of Windows programs: UTF-16LE where they write it so, as wsl.exe does unless WSL_UTF8=1; UTF-8 otherwise.

use tare_data::encoding::Utf16Order;

/// Pairs of bytes that decide which it is.
const LOOKED_AT: usize = 512;

/// Decodes output, whatever is wrong with it: a half character at its end is left out, and other bytes
/// that are not text become U+FFFD.
pub fn decode_output(bytes: &[u8]) -> String {
    if !is_utf16(bytes) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    Utf16Order::Little.decode(bytes).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// Recognises UTF-16 by a byte order mark, or by a zero in at least half of the pairs: spaces, digits and
/// line ends occur in every language, and UTF-8 has no zeros in text.
fn is_utf16(bytes: &[u8]) -> bool {
    if Utf16Order::from_mark(bytes) == Some(Utf16Order::Little) {
        return true;
    }
    let pairs = bytes.chunks_exact(2).take(LOOKED_AT);
    let (all, plain) = (pairs.len(), pairs.filter(|pair| pair[0] != 0 && pair[1] == 0).count());
    all > 0 && plain * 2 >= all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn both_encodings_are_read() {
        for text in [
            "  NAME      STATE           VERSION\r\n* Ubuntu    Wird ausgeführt 2\r\n",
            "  名前      状態   2\r\n",
        ] {
            assert_eq!(decode_output(&utf16(text)), text);
            assert_eq!(decode_output(text.as_bytes()), text);
            assert_eq!(decode_output(&[&[0xff, 0xfe][..], &utf16(text)].concat()), text);
        }
    }

    #[test]
    fn torn_text_is_read_as_far_as_it_goes() {
        let whole = utf16("* Ubuntu \u{1f427} 2\r\n");
        for end in 0..whole.len() {
            assert!(decode_output(&whole[..end]).chars().count() <= end.div_ceil(2), "{end}");
        }
        assert_eq!(decode_output(&whole[..5]), "* ");
        // Binary output is nobody's UTF-16.
        assert_eq!(decode_output(&[0; 6]).len(), 6);
    }
}
