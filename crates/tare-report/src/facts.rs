//! Differences between environments' facts and the baseline's, as text and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};
use tare_analysis::facts::{Difference, TargetDifferences};

use crate::json::render_pretty_json;
use crate::text::{clean_text, wrap_text};

/// Text for a fact that an environment or the baseline does not know.
const UNKNOWN: &str = "unknown";
/// Indentation of a fact, in columns.
const INDENT: usize = 4;

/// Renders every environment's differences as paragraphs: the fact, its value here, its value in the
/// baseline.
pub fn render_facts(baseline: &str, targets: &[TargetDifferences], width: usize) -> String {
    let mut text = String::new();
    for target in targets {
        let _ = writeln!(text, "{} differs from {} in", clean_text(&target.target), clean_text(baseline));
        for difference in &target.differences {
            paragraph(&mut text, difference, baseline, width);
        }
        if target.differences.is_empty() {
            text.push_str("  no known fact\n");
        }
        text.push('\n');
    }
    if targets.is_empty() {
        text.push_str("There is no environment besides the baseline.\n");
    }
    text
}

fn paragraph(text: &mut String, difference: &Difference, baseline: &str, width: usize) {
    let _ = writeln!(text, "  {}", clean_text(&difference.key));
    let mut line = |words: String| {
        for line in wrap_text(&words, width.saturating_sub(INDENT).max(1)) {
            let _ = writeln!(text, "{:INDENT$}{line}", "");
        }
    };
    match &difference.words {
        Some((more, less)) => {
            let list = |sign: &str, words: &[String]| {
                words.iter().map(|word| format!("{sign}{}", clean_text(word))).collect::<Vec<_>>().join(" ")
            };
            [list("+", more), list("-", less)].into_iter().filter(|list| !list.is_empty()).for_each(line);
        }
        None => {
            let value = |value: &Option<String>| value.as_deref().map_or(UNKNOWN.to_owned(), clean_text);
            line(value(&difference.here));
            line(format!("{}: {}", clean_text(baseline), value(&difference.baseline)));
        }
    }
}

/// Writes one JSON document: every environment's differences; an unknown fact is null.
pub fn render_facts_json(baseline: &str, targets: &[TargetDifferences]) -> String {
    let targets: Vec<Value> = targets
        .iter()
        .map(|target| {
            let differences: Vec<Value> = target.differences.iter().map(difference).collect();
            json!({ "environment": target.target, "differences": differences })
        })
        .collect();
    render_pretty_json(&json!({ "baseline": baseline, "environments": targets }))
}

fn difference(difference: &Difference) -> Value {
    let mut value =
        json!({ "fact": difference.key, "here": difference.here, "baseline": difference.baseline });
    if let Some((more, less)) = &difference.words {
        value["more"] = json!(more);
        value["less"] = json!(less);
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets() -> Vec<TargetDifferences> {
        let release = Difference {
            key: "kernel.release".into(),
            here: Some("4.4.0\u{1b}[2J".into()),
            baseline: None,
            words: None,
        };
        let flags = Difference {
            key: "cpu.flags".into(),
            here: Some("sse".into()),
            baseline: Some("avx sse".into()),
            words: Some((Vec::new(), vec!["avx".into()])),
        };
        vec![TargetDifferences { target: "gvisor".into(), differences: vec![flags, release] }]
    }

    #[test]
    fn lists_are_shown_by_what_is_more_and_less_and_nothing_reaches_the_terminal_raw() {
        let text = render_facts("native", &targets(), 80);
        assert_eq!(
            text,
            "gvisor differs from native in\n  cpu.flags\n    -avx\n  kernel.release\n    4.4.0\u{fffd}[2J\n    native: unknown\n\n"
        );
    }

    #[test]
    fn the_document_has_both_sides() {
        let document: Value = serde_json::from_str(&render_facts_json("native", &targets())).unwrap();
        assert_eq!(document["environments"][0]["differences"][0]["less"], json!(["avx"]));
        assert_eq!(document["environments"][0]["differences"][1]["baseline"], Value::Null);
    }
}
