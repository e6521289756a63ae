//! Fields and lines of CSV, for spreadsheets and data frames.

use super::clean_text;

/// Writes a heading and its lines.
pub(crate) fn write_lines(head: &[&str], lines: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(head).expect("a vector takes every byte");
    lines.for_each(|line| writer.write_record(line).expect("every line has the head's fields"));
    let bytes = writer.into_inner().expect("a vector takes every byte");
    String::from_utf8(bytes).expect("fields are UTF-8")
}

/// Formats a number in full; empty if there is none.
pub(crate) fn format_number(value: Option<f64>) -> String {
    value.filter(|v| v.is_finite()).map(|v| v.to_string()).unwrap_or_default()
}

/// Formats a text that a spreadsheet keeps as text.
pub(crate) fn escape_text(text: &str) -> String {
    let text = clean_text(text);
    // Spreadsheets skip spaces, and some take the full-width forms for the plain ones.
    let is_formula = text.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']);
    if is_formula { format!("'{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_taken_for_a_formula() {
        for formula in ["=1", " =1", "\u{3000}+1", "＝1", "＋1", "－1", "＠A1", "-1", "@A1"] {
            assert!(escape_text(formula).starts_with('\''), "{formula:?}");
        }
        assert_eq!(escape_text("write 4 KiB"), "write 4 KiB");
    }
}
