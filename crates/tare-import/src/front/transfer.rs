//! Quoted-printable, in which archives keep the text of mails: `=3D` for an equals sign, and long lines cut behind one.

use super::Excerpt;

/// Length that encoders fill before they cut a line, and some bytes less.
const FULL_LINE: usize = 70;

/// Decodes a text of which every equals sign is an escape or cuts a line; any other stays as it is.
pub fn decode_transfer(original: &str) -> Excerpt {
    let decoded = is_encoded(original).then(|| decode_escapes(original)).flatten();
    decoded.unwrap_or_else(|| {
        let mut plain = Excerpt::default();
        plain.keep(original, 0);
        plain
    })
}

/// Recognises the encoding by an escape, or by full lines that are cut. `KEY=20` could be a number.
fn is_encoded(text: &str) -> bool {
    let parts = || text.match_indices('=').map(|(at, _)| text.split_at(at));
    let is_valid = |rest| parse_escape(rest).is_some() || measure_cut(rest).is_some();
    let is_escape = |(before, rest): (&str, _)| match parse_escape(rest) {
        Some(b' ' | b'\t') => !before.ends_with(|c: char| c.is_alphanumeric() || c == '_'),
        escape => escape.is_some(),
    };
    let is_full =
        |(before, _): (&str, _)| before.len() - before.rfind('\n').map_or(0, |end| end + 1) >= FULL_LINE;
    let mut cuts = parts().filter(|(_, rest)| measure_cut(rest).is_some()).peekable();
    parts().all(|(_, rest)| is_valid(rest))
        && (parts().any(is_escape) || (cuts.peek().is_some() && cuts.all(is_full)))
}

/// Parses `=3D`: the byte that it stands for. Only bytes that a mail may not have are encoded: an equals sign, a blank at
/// the end of a line, an escape or a return, and those that are not ASCII. Anything else stays, such as `IOPS=50`.
fn parse_escape(text: &str) -> Option<u8> {
    let digits = text.get(1..3)?;
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'A'..=b'F');
    let byte = digits.bytes().all(is_digit).then(|| u8::from_str_radix(digits, 16).ok()).flatten()?;
    let is_at_end = || text[3..].trim_start_matches('\r').starts_with('\n');
    let is_encoded = match byte {
        b'=' | b'\x1b' | b'\r' | 0x80.. => true,
        b' ' | b'\t' => is_at_end(),
        _ => false,
    };
    is_encoded.then_some(byte)
}

/// Measures an equals sign with the end of the line that it cuts.
fn measure_cut(text: &str) -> Option<usize> {
    let rest = text[1..].trim_start_matches([' ', '\t', '\r']);
    rest.starts_with('\n').then(|| text.len() - rest.len() + 1)
}

/// Decodes escapes; None where UTF-8 is broken.
fn decode_escapes(text: &str) -> Option<Excerpt> {
    let mut plain = Excerpt::default();
    let mut at = 0;
    while let Some(sign) = text[at..].find('=').map(|found| at + found) {
        plain.keep(&text[at..sign], at);
        if let Some(length) = measure_cut(&text[sign..]) {
            at = sign + length;
            continue;
        }
        let mut bytes = Vec::new();
        at = sign;
        while let Some(byte) = parse_escape(&text[at..]).filter(|_| text[at..].starts_with('=')) {
            bytes.push(byte);
            at += 3;
            // A character may be cut, too.
            if let Some(length) = text[at..].starts_with('=').then(|| measure_cut(&text[at..])).flatten() {
                at += length;
            }
        }
        plain.put(std::str::from_utf8(&bytes).ok()?, sign);
    }
    plain.keep(&text[at..], at);
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        decode_transfer(text).as_str().to_owned()
    }

    #[test]
    fn escapes_and_cut_lines_are_put_together() {
        assert_eq!(plain("min=3D1, st=\ndev=3D2\n"), "min=1, stdev=2\n");
        assert_eq!(plain("=C2=A0a=C2=\n=A0b =\r\nc"), "\u{a0}a\u{a0}b c");
        let full = "x".repeat(75);
        assert_eq!(plain(&format!("{full}=\ny\n")), format!("{full}y\n"));
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        for text in
            ["dd if=/dev/zero bs=3D", "a =\nb", "=FF=3D", "=====\n", "no sign", "min=3d1", "a=20\n", "a=85\n"]
        {
            assert_eq!(plain(text), text);
        }
    }

    #[test]
    fn places_are_those_of_the_original() {
        let excerpt = decode_transfer("a=3Db=\nc");
        let origins: Vec<usize> = (0..4).map(|offset| excerpt.find_origin(offset)).collect();
        assert_eq!((excerpt.as_str(), origins), ("a=bc", vec![0, 1, 4, 7]));
    }
}
