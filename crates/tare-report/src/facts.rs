//! Facts beside the reference's, as text and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};
use tare_analysis::facts::{Difference, LaneDifferences};

use crate::text::{clean, wrap};

/// What stands where a lane, or the reference, does not know a fact.
const UNKNOWN: &str = "unknown";
/// Columns in which a fact begins.
const INDENT: usize = 4;

/// Every lane's differences as paragraphs: the fact, how it is here, how it is in the reference.
pub fn render(reference: &str, lanes: &[LaneDifferences], width: usize) -> String {
    let mut text = String::new();
    for lane in lanes {
        let _ = writeln!(text, "{} differs from {} in", clean(&lane.lane), clean(reference));
        for difference in &lane.differences {
            paragraph(&mut text, difference, reference, width);
        }
        if lane.differences.is_empty() {
            text.push_str("  nothing that is known of it\n");
        }
        text.push('\n');
    }
    if lanes.is_empty() {
        text.push_str("there is nothing to compare the reference with\n");
    }
    text
}

fn paragraph(text: &mut String, difference: &Difference, reference: &str, width: usize) {
    let _ = writeln!(text, "  {}", clean(&difference.key));
    let mut line = |words: String| {
        for line in wrap(&words, width.saturating_sub(INDENT).max(1)) {
            let _ = writeln!(text, "{:INDENT$}{line}", "");
        }
    };
    match &difference.words {
        Some((more, less)) => {
            let list = |sign: &str, words: &[String]| {
                words.iter().map(|word| format!("{sign}{}", clean(word))).collect::<Vec<_>>().join(" ")
            };
            [list("+", more), list("-", less)].into_iter().filter(|list| !list.is_empty()).for_each(line);
        }
        None => {
            let value = |value: &Option<String>| value.as_deref().map_or(UNKNOWN.to_owned(), clean);
            line(value(&difference.here));
            line(format!("{}: {}", clean(reference), value(&difference.reference)));
        }
    }
}

/// One JSON document: every lane's differences; a fact that is not known is null.
pub fn json(reference: &str, lanes: &[LaneDifferences]) -> String {
    let lanes: Vec<Value> = lanes
        .iter()
        .map(|lane| {
            let differences: Vec<Value> = lane.differences.iter().map(difference).collect();
            json!({ "lane": lane.lane, "differences": differences })
        })
        .collect();
    format!("{:#}\n", json!({ "reference": reference, "lanes": lanes }))
}

fn difference(difference: &Difference) -> Value {
    let mut value =
        json!({ "fact": difference.key, "here": difference.here, "reference": difference.reference });
    if let Some((more, less)) = &difference.words {
        value["more"] = json!(more);
        value["less"] = json!(less);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lanes() -> Vec<LaneDifferences> {
        let release = Difference {
            key: "kernel.release".into(),
            here: Some("4.4.0\u{1b}[2J".into()),
            reference: None,
            words: None,
        };
        let flags = Difference {
            key: "cpu.flags".into(),
            here: Some("sse".into()),
            reference: Some("avx sse".into()),
            words: Some((Vec::new(), vec!["avx".into()])),
        };
        vec![LaneDifferences { lane: "gvisor".into(), differences: vec![flags, release] }]
    }

    #[test]
    fn lists_are_shown_by_what_is_more_and_less_and_nothing_reaches_the_terminal_raw() {
        let text = render("native", &lanes(), 80);
        assert_eq!(
            text,
            "gvisor differs from native in\n  cpu.flags\n    -avx\n  kernel.release\n    4.4.0\u{fffd}[2J\n    native: unknown\n\n"
        );
    }

    #[test]
    fn the_document_has_both_sides() {
        let document: Value = serde_json::from_str(&json("native", &lanes())).unwrap();
        assert_eq!(document["lanes"][0]["differences"][0]["less"], json!(["avx"]));
        assert_eq!(document["lanes"][0]["differences"][1]["reference"], Value::Null);
    }
}
