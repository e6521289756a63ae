//! A block to paste: answers, versions and the command in at most 25 lines of Markdown, without names of the machine and its user.

mod private;

use tare_analysis::findings::{Cell, Findings};
use tare_data::session::Session;
use tare_data::shell::join_words;

pub use self::private::Private;
use crate::answers::outcomes::describe_without_output;
use crate::language::Language;
use crate::markdown::escape_markdown;
use crate::number::{Figure, format_count};
use crate::text::clean_text;
use crate::{view, words};

/// Limit on the lines of a block.
pub const MOST_LINES: usize = 25;
/// Rows of a table that fit into it.
const MOST_ROWS: usize = 14;
/// Lines of a text that fit into it: two are its fence, four its heading and the command.
const MOST_TEXT: usize = 18;
const ENGLISH: Language = Language::English;

/// Renders a session: heading, command as it was typed, and the answers of its rows. Reasons and warnings are left out, because
/// they may hold what an environment printed.
pub fn paste_session(session: &Session, findings: &Findings, private: &Private) -> String {
    let plain = |text: &str| escape_markdown(&private.strip(text));
    let header = &session.header;
    let heading = view::make_heading(session, findings, ENGLISH);
    let mut lines: Vec<String> = heading.iter().map(|line| plain(line)).collect();
    lines[0] = format!("**tare {}** {}", plain(&header.tare), lines[0]);
    let outcomes = findings.outcomes.iter().take(MOST_ROWS);
    let outcomes = outcomes.map(|of| plain(&describe_without_output(findings, of)));
    let outcomes = outcomes.collect::<Vec<_>>().join(" ");
    lines.extend((!outcomes.is_empty()).then_some([String::new(), outcomes]).into_iter().flatten());
    lines.extend([String::new(), write_command(&header.command, private), String::new()]);
    let row = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let names = findings.subjects.iter().map(|name| plain(&clean_text(name)));
    let baseline = plain(&clean_text(&findings.baseline));
    lines.push(row(["probe".to_owned(), baseline].into_iter().chain(names).collect()));
    lines.push(row(vec!["---".to_owned(); findings.subjects.len() + 2]));
    let rows = view::select_rows(findings, false);
    for shown in rows.iter().take(MOST_ROWS) {
        let level = shown.baseline.as_ref();
        let baseline = level.map_or("not measured".to_owned(), |level| {
            Figure::of_level(level, shown.metric.unit).text_with_half()
        });
        let cells = shown.cells.iter().map(|cell| match cell {
            Cell::Compared(found) => {
                let interval = words::format_interval(found, ENGLISH);
                escape_markdown(format!("{} {interval}", words::format_answer(found, ENGLISH)).trim_end())
            }
            Cell::Observed(level) => Figure::without_interval(level.median, shown.metric.unit).to_text(),
            Cell::Missing(_) => "not measured".to_owned(),
        });
        lines.push(row([plain(&clean_text(&shown.label)), baseline].into_iter().chain(cells).collect()));
    }
    if rows.len() > MOST_ROWS {
        let more = format_count(rows.len() - MOST_ROWS, "more row", "more rows");
        lines.extend([String::new(), more]);
    }
    finish(lines)
}

/// Renders a text of tare's own as a block: its lines as they are, below the version and the command.
pub fn paste_text(version: &str, command: &[String], text: &str, private: &Private) -> String {
    let mut lines = vec![
        format!("**tare {}** {}", escape_markdown(version), write_command(command, private)),
        String::new(),
    ];
    let own: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines.push("```text".to_owned());
    lines.extend(own.iter().take(MOST_TEXT).map(|line| private.strip(line).replace('`', "'")));
    if own.len() > MOST_TEXT {
        lines.push(format!("({})", format_count(own.len() - MOST_TEXT, "more line", "more lines")));
    }
    lines.push("```".to_owned());
    finish(lines)
}

/// Writes the command that was typed, in marks of code.
fn write_command(words: &[String], private: &Private) -> String {
    let line = format!("tare {}", join_words(private.strip_words(words)));
    format!("`{}`", clean_text(&line).replace('`', "'"))
}

fn finish(mut lines: Vec<String>) -> String {
    lines.truncate(MOST_LINES);
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use tare_analysis::outcome::{CommandOutcome, Word};
    use tare_data::batch::RunEnd;

    use super::*;
    use crate::specimen;

    fn private() -> Private {
        Private::new(
            "buildhost.example.org",
            &["janedoe".to_owned()],
            "/home/janedoe",
            "/home/janedoe/secret-project",
        )
    }

    #[test]
    fn nothing_planted_reaches_a_block() {
        let token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";
        let mut session = specimen::make_session(3);
        let mut findings = specimen::make_findings(3);
        let command = [
            "run",
            "--in",
            "native,ssh:janedoe@buildhost",
            "--peer",
            "tare://buildhost:7/#deadbeef",
            "--record",
        ];
        session.header.command = command.map(str::to_owned).to_vec();
        session.header.command.extend(
            [
                "/home/janedoe/x.tare",
                "--",
                "./old",
                "/home/janedoe/secret-project/new",
                "../other",
                "~/notes",
            ]
            .map(str::to_owned),
        );
        session.header.command.extend([
            format!("API_KEY={token}"),
            format!("--token={token}"),
            "--password".into(),
            "hunter2".into(),
        ]);
        session.header.command.extend([
            token.to_owned(),
            "https://janedoe:pw@buildhost/x".into(),
            "/usr/bin/env".into(),
        ]);
        findings.rows[0].label = format!("make -C /home/janedoe/work TOKEN={token}");
        findings.rows[1].label = "BuildHost and JANEDOE's `x` in /srv/Jane Doe/y".to_owned();
        findings.subjects[0] = "ssh:janedoe@buildhost".to_owned();
        let output = format!(
            "You are on buildhost, as janedoe, in /home/janedoe; {token}\nsee /proc/self and /srv/data\n"
        );
        for block in [
            paste_session(&session, &findings, &private()),
            paste_text("0.1.0", &session.header.command, &output, &private()),
        ] {
            let lower = block.to_lowercase();
            for planted in [
                "janedoe",
                "buildhost",
                "/home",
                "ghp_",
                "hunter2",
                "deadbeef",
                "/srv",
                "jane doe",
                "~/",
                "pw@",
                "other",
                "notes",
            ] {
                assert!(!lower.contains(planted), "{planted}: {block}");
            }
            assert!(
                block.contains("tare run --in") && block.contains("/usr/bin/env") && block.contains("./new"),
                "{block}"
            );
            assert!(block.lines().count() <= MOST_LINES, "{block}");
        }
    }

    #[test]
    fn what_a_command_does_is_in_the_block_and_what_it_prints_is_not() {
        let mut findings = specimen::make_findings(1);
        let case = findings.rows[0].case.clone();
        let outcome = specimen::make_outcome(&case, ["native", "container"], Word::FailsEverywhere);
        let (label, end) = ("/home/janedoe/suite".into(), Some(RunEnd::ExitCode(1)));
        let last_line = Some("secret of the output".into());
        findings.outcomes = vec![CommandOutcome { label, end, last_line, ..outcome }; 20];
        let block = paste_session(&specimen::make_session(1), &findings, &private());
        assert!(block.contains("container and native fail alike\\: exit code 1 in 10 of 10"), "{block}");
        assert!(!block.contains("secret") && !block.contains("jane"), "{block}");
        assert!(block.lines().count() <= MOST_LINES && block.contains("| probe |"), "{block}");
    }

    #[test]
    fn a_block_has_answers_versions_and_the_command() {
        let block = paste_session(&specimen::make_session(3), &specimen::make_findings(3), &private());
        assert!(
            block.starts_with("**tare ") && block.contains("Linux") && block.contains("\n`tare "),
            "{block}"
        );
        assert!(block.contains("| probe |"), "{block}");
        let long: String = (0..60).map(|at| format!("line {at}\n")).collect();
        let block = paste_text("0.1.0", &["here".to_owned()], &long, &private());
        assert_eq!((block.lines().count(), block.contains("42 more lines")), (23, true), "{block}");
        assert!(block.trim_end().ends_with("```"), "{block}");
    }
}
