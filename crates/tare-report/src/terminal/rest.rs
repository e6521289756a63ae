//! The line below the table of a session that ended early: what is open, and the command that settles it.

use tare_analysis::findings::{Findings, Row};
use tare_data::session::Ending;
use tare_data::shell::quote_word;

use crate::language::{Language, say};
use crate::text::clean_text;
use crate::words::{describe_cell, find_comparison, translate_row_title};

/// Describes what a session that ended early left open, with the seconds that would settle all of it where they are known, and the command
/// that does; none of another session.
pub fn describe_rest(
    findings: &Findings,
    record: &str,
    rest_s: Option<f64>,
    language: Language,
) -> Option<String> {
    let of_row = |row: &'_ Row| -> Vec<String> {
        let cells = row.cells.iter().zip(&findings.subjects);
        let open = cells.filter(|(cell, _)| {
            find_comparison(cell).is_some_and(|comparison| !comparison.answer().kind().is_decided())
        });
        let title = translate_row_title(row, language);
        let name =
            |subject: &str| if findings.subjects.len() > 1 { format!(", {subject}") } else { String::new() };
        open.map(|(cell, subject)| format!("{title}{}: {}", name(subject), describe_cell(cell, language)))
            .collect()
    };
    let headlines = findings.rows.iter().filter(|row| row.headline && !row.is_of_session());
    let all: Vec<String> = headlines.flat_map(of_row).collect();
    let first = all.first().filter(|_| findings.ending == Ending::Early)?;
    let more = match all.len() - 1 {
        0 => String::new(),
        count => format!("; {}", say!(language, "{count} more are open", count)),
    };
    let open = clean_text(&format!("{first}{more}"));
    let command = format!("tare run --resume {}", quote_word(&clean_text(record)));
    let time = language.format_duration(rest_s.unwrap_or_default());
    Some(match rest_s {
        None => say!(language, "{open}; no time that we know would settle it", open),
        Some(_) if all.len() == 1 => {
            say!(language, "{open}; {time} more would settle it: {command}", open, time, command)
        }
        Some(_) => say!(language, "{open}; {time} more would settle all: {command}", open, time, command),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specimen::make_findings;

    #[test]
    fn what_is_open_is_named_where_a_session_ended_early() {
        let mut findings = make_findings(2);
        let rest =
            |findings: &Findings, rest_s| describe_rest(findings, "a b.tare", rest_s, Language::English);
        assert_eq!(rest(&findings, Some(90.0)), None, "it is complete");
        findings.ending = Ending::Early;
        let known = rest(&findings, Some(90.0)).unwrap();
        assert!(known.starts_with("TCP round trip, container: at most 4 % slower"), "{known}");
        assert!(known.ends_with("1 min 30 s more would settle it: tare run --resume 'a b.tare'"), "{known}");
        let unknown = rest(&findings, None).unwrap();
        assert!(unknown.ends_with("no time that we know would settle it"), "{unknown}");
    }
}
