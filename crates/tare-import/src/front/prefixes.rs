//! Beginnings of lines that are not the tool's: stamps of CI, quotation marks of mails, names of containers, marks of
//! comments. A line with a prompt is a command, and is left out.

use std::collections::HashSet;

use super::Excerpt;
use super::prompts::{is_command, is_prompt};
use super::stamps::measure_stamp;

/// Limit on the prefixes of one line; a log that was quoted three times has fewer.
const MOST_PREFIXES: usize = 8;

/// Takes the prefixes off every line. Lines stay lines, so that they can be counted.
pub fn strip_prefixes(text: &str) -> Excerpt {
    let labels = find_labels(text);
    let mut lines = Excerpt::default();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let body = line.trim_end_matches('\n');
        let rest = strip_line(body, &labels);
        if !rest.is_empty() {
            lines.keep(rest, start + body.len() - rest.len());
        }
        lines.keep(&line[body.len()..], start + body.len());
        start += line.len();
    }
    lines
}

/// Strips a line down to what a tool wrote, which is the end of it.
fn strip_line<'a>(line: &'a str, labels: &HashSet<&str>) -> &'a str {
    let mut rest = line;
    for _ in 0..MOST_PREFIXES {
        let trimmed = rest.trim_start();
        if is_prompt(trimmed) || is_fence(trimmed) {
            return "";
        }
        let label = find_label(trimmed).filter(|label| labels.contains(label)).map(str::len);
        match label.or_else(|| measure_prefix(trimmed)) {
            Some(length) => rest = &trimmed[length..],
            None => break,
        }
    }
    rest
}

/// Recognises a line of Markdown that opens or closes a quoted text.
fn is_fence(line: &str) -> bool {
    line.starts_with("```") || line.starts_with("~~~")
}

/// Lines in sequence that begin with the same label make it one that a script wrote.
const LABELLED_LINES: usize = 3;
const LONGEST_LABEL: usize = 64;

/// Label that netperf writes before each interval.
const OWN_LABEL: &str = "Interim result: ";

/// Finds labels of scripts, such as `Client on 10.0.0.1: `.
fn find_labels(text: &str) -> HashSet<&str> {
    let mut labels = HashSet::new();
    let (mut last, mut count) = (None, 0);
    for line in text.lines() {
        let label = find_label(line.trim_start()).filter(|label| !label.contains(OWN_LABEL));
        count = if label == last { count + 1 } else { 1 };
        last = label;
        labels.extend(label.filter(|_| count >= LABELLED_LINES));
    }
    labels
}

/// Finds `client-2: ` or `[OUTPUT] ` at the beginning of a line. iperf3 sets its own sums into brackets.
fn find_label(line: &str) -> Option<&str> {
    let bracketed = line.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    if let Some((word, rest)) = bracketed.filter(|(word, _)| word.len() > 1 && *word != "SUM") {
        let is_word = word.len() <= LONGEST_LABEL && word.chars().all(char::is_alphabetic);
        return is_word.then_some(&line[..line.len() - rest.len()]);
    }
    let label = &line[..line.find(": ")? + 2];
    let is_label = label.len() <= LONGEST_LABEL && label.starts_with(char::is_alphabetic);
    is_label.then_some(label)
}

/// Measures the prefix with which a line begins.
fn measure_prefix(line: &str) -> Option<usize> {
    let stamp = measure_stamp(line);
    stamp.or_else(|| measure_quote(line)).or_else(|| measure_source(line))
}

/// Measures a mark of a quotation or a comment.
fn measure_quote(line: &str) -> Option<usize> {
    let mark = line.chars().next()?;
    let rest = &line[mark.len_utf8()..];
    match mark {
        // `>=64=0.0%` is a line of fio's that was wrapped.
        '>' if !rest.starts_with('=') => Some(1),
        // A table's row ends with the mark too; a bar of a histogram follows it at once.
        '|' if rest.starts_with(" |") => Some(1),
        '|' | '│'
            if (rest.is_empty() || rest.starts_with([' ', '['])) && !rest.trim_end().ends_with(mark) =>
        {
            Some(mark.len_utf8())
        }
        '#' => {
            let marks = line.bytes().take_while(|byte| *byte == b'#').count();
            let rest = &line[marks..];
            match is_command(rest.trim_start()) {
                true => Some(line.len()),
                false => (rest.is_empty() || rest.starts_with(' ')).then_some(marks),
            }
        }
        '/' => line.starts_with("// ").then_some(3),
        _ => None,
    }
}

/// Measures the name of the container or pod that wrote a line: `server-1  | `, `[pod/server/iperf3] `.
fn measure_source(line: &str) -> Option<usize> {
    if line.starts_with("[pod/") {
        return line.find("] ").map(|at| at + 2);
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let name = line.find(|c| !is_name(c))?;
    let mark = line[name..].trim_start().strip_prefix('|')?;
    let is_column = line[..name].contains(|c: char| c.is_ascii_alphabetic()) && line[name..].starts_with(' ');
    (is_column && (mark.is_empty() || mark.starts_with(' '))).then(|| line.len() - mark.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        strip_prefixes(text).as_str().to_owned()
    }

    #[test]
    fn prefixes_are_taken_off_and_lines_stay() {
        let stamped = "2026-01-31T12:00:00.1234567Z [  5]   0.00-1.00   sec";
        assert_eq!(plain(stamped), " [  5]   0.00-1.00   sec");
        assert_eq!(plain("> > # Latency (ms):\n>\n>>  min: 1\n"), " Latency (ms):\n\n  min: 1\n");
        assert_eq!(plain("server-1  | [  5] local"), " [  5] local");
        assert_eq!(plain("[pod/a/iperf3] [  5] local"), "[  5] local");
        assert_eq!(plain("| [ ID] Interval\n|\n"), " [ ID] Interval\n\n");
        assert_eq!(plain("// a\n## b\n#12 3.456 c\n"), "a\n b\nc\n");
    }

    #[test]
    fn labels_of_scripts_are_known_by_their_repetition() {
        let labelled: String = (0..3).map(|i| format!("client-2 says: line {i}\n")).collect();
        assert_eq!(plain(&labelled), "line 0\nline 1\nline 2\n");
        let bracketed: String = (0..3).map(|i| format!("[OUTPUT] [  5] {i}\n")).collect();
        assert_eq!(plain(&bracketed), "[  5] 0\n[  5] 1\n[  5] 2\n");
        let sums = "[SUM]   0.00-1.00   sec\n".repeat(3);
        assert_eq!(plain(&sums), sums);
        let own = "Interim result: 1\n".repeat(4);
        assert_eq!(plain(&own), own);
        let few = "a: 1\na: 2\nb: 3\na: 4\n";
        assert_eq!(plain(few), few);
    }

    #[test]
    fn lines_of_tools_stay_as_they_are() {
        for line in [
            "| Command | Mean [ms] | Min [ms] | Max [ms] | Relative |",
            "       0.480 |**** 17",
            ">=64=0.0%",
            "[  5]   0.00-1.00   sec  1.61 GBytes",
            "    clat (usec): min=1, max=2, avg= 1.50, stdev= 0.10",
            "{\"a\": 1}",
            " ,,\"Test\"",
        ] {
            assert_eq!(plain(line), line);
        }
    }

    #[test]
    fn a_command_is_left_out() {
        assert_eq!(plain("$ dd if=a of=b\n1+0 records in\n"), "\n1+0 records in\n");
        assert_eq!(plain("> # iperf3 -u -c server\n"), "\n");
        assert_eq!(plain("# iperf3 output\n"), " iperf3 output\n");
    }
}
