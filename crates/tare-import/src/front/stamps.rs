//! Stamps that CI and loggers set before a line: the time in one of its usual forms, and what loggers add to it.

/// Forms of a time: `d` stands for a digit, `A` for a letter, `_` for a digit or a blank; all else for itself.
const TIMES: &[&str] = &[
    "dddd-dd-ddTdd:dd:dd",
    "dddd-dd-dd dd:dd:dd",
    "dddd/dd/dd dd:dd:dd",
    "dddd.dd.dd dd:dd:dd",
    "dd/dd/dddd dd:dd:dd",
    "dd-AAA-dddd dd:dd:dd",
    "AAA _d dd:dd:dd dddd",
    "AAA _d dd:dd:dd",
    "AAA AAA _d dd:dd:dd dddd",
    "AAA AAA _d dd:dd:dd",
    "dd:dd:dd",
];

/// Levels of a log. They stand within this many bytes behind the time, with the logger's name before them.
const LEVELS: &[&str] = &["TRACE", "DEBUG", "INFO", "NOTICE", "WARNING", "WARN", "ERROR", "FATAL"];
const LEVEL_WITHIN: usize = 60;

/// Measures the stamp with which a line begins.
pub fn measure_stamp(line: &str) -> Option<usize> {
    if let Some(length) = measure_build_step(line).or_else(|| measure_job_columns(line)) {
        return Some(length);
    }
    let bracketed = line.strip_prefix('[');
    let text = bracketed.unwrap_or(line);
    // Days and months are the only letters with which a time begins.
    if !text.starts_with(|c: char| c.is_ascii_digit() || c.is_ascii_uppercase()) {
        return None;
    }
    let time = measure_time(text)?;
    let mut length = match bracketed {
        Some(inner) => 1 + time + usize::from(inner[time..].starts_with(']').then_some(true)?),
        None => time,
    };
    // A number goes on where this is part of another word.
    let is_part = |c: char| c.is_alphanumeric() || ".,:-/".contains(c);
    if bracketed.is_none() && line[length..].starts_with(is_part) {
        return None;
    }
    length += measure_logger(&line[length..]);
    Some(length)
}

/// Measures a time with its fraction and its zone.
fn measure_time(text: &str) -> Option<usize> {
    let mut length = TIMES.iter().find_map(|form| measure_form(form, text))?;
    if let Some(fraction) = text[length..].strip_prefix(['.', ',']) {
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        length += if digits > 0 { 1 + digits } else { 0 };
    }
    let zones = ["Z", "+dd:dd", "-dd:dd", "+dddd", "-dddd", " UTC", " +dddd"];
    Some(length + zones.iter().find_map(|form| measure_form(form, &text[length..])).unwrap_or(0))
}

fn measure_form(form: &str, text: &str) -> Option<usize> {
    let bytes = text.as_bytes().get(..form.len())?;
    let fits = form.bytes().zip(bytes).all(|(form, byte)| match form {
        b'd' => byte.is_ascii_digit(),
        b'A' => byte.is_ascii_alphabetic(),
        b'_' => byte.is_ascii_digit() || *byte == b' ',
        literal => literal == *byte,
    });
    fits.then_some(form.len())
}

/// Measures what stands behind a time: GitLab's stream, a system log's host and process, a level with its marks.
fn measure_logger(rest: &str) -> usize {
    let mut length = 0;
    // Container runtimes and TeamCity have the stream behind it, too.
    let streams = [" stdout F ", " stderr F ", " stdout P ", " stderr P ", "i: ", "W: ", "E: "];
    if let Some(stream) = streams.iter().find(|stream| rest.starts_with(**stream)) {
        return stream.len();
    }
    for form in [" ddO", " ddE"] {
        if let Some(stream) = measure_form(form, rest) {
            // A line that goes on has a plus instead of a blank.
            return stream + usize::from(rest[stream..].starts_with('+'));
        }
    }
    let mut words = rest.split_whitespace();
    let process = words.nth(1).filter(|word| word.ends_with("]:") && word.contains('['));
    if let Some(process) = process {
        length = process.as_ptr() as usize - rest.as_ptr() as usize + process.len();
    }
    let after = &rest[length..];
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric());
    let level = LEVELS.iter().find_map(|level| {
        let at = after.find(level).filter(|at| *at < LEVEL_WITHIN)?;
        let end = at + level.len();
        let is_part = is_word(after[..at].chars().next_back()) || is_word(after[end..].chars().next());
        (!is_part).then_some(end)
    });
    if let Some(end) = level {
        let behind = &after[end..];
        let rest = behind.strip_prefix([':', '|', ']', ')']).unwrap_or(behind);
        let rest = [" - ", " | "].iter().find_map(|mark| rest.strip_prefix(mark)).unwrap_or(rest);
        length += after.len() - rest.len();
    }
    let stream =
        ["[stdout]", "[stderr]"].into_iter().find(|stream| rest[length..].trim_start().starts_with(stream));
    match stream {
        Some(stream) => rest.len() - rest[length..].trim_start().len() + stream.len(),
        None => length,
    }
}

/// Measures `#12 3.456 `, as Docker's builder writes.
fn measure_build_step(line: &str) -> Option<usize> {
    let step = line.strip_prefix('#')?;
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let number = digits(step);
    let seconds = step[number..].strip_prefix(' ').filter(|_| number > 0)?;
    let whole = digits(seconds);
    let fraction = seconds[whole..].strip_prefix('.').filter(|_| whole > 0)?;
    let rest = fraction[digits(fraction)..].strip_prefix(' ')?;
    Some(line.len() - rest.len())
}

/// Measures what `gh run view --log` sets before a stamp: the job and the step, each with a tab behind it. Bamboo has one
/// such column.
fn measure_job_columns(line: &str) -> Option<usize> {
    let (_, first) = line.split_once('\t')?;
    let second = first.split_once('\t').map(|(_, second)| second);
    let stamped =
        [Some(first), second].into_iter().flatten().find_map(|rest| Some((rest, measure_time(rest)?)));
    stamped.map(|(rest, time)| line.len() - rest.len() + time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_measured() {
        for (stamp, rest) in [
            ("2026-01-31T12:00:00.1234567Z", " [  5]"),
            ("2026-01-31T12:00:00.123456Z 01O", " min: 1"),
            ("2026-01-31T12:00:00.123456Z 00E+", "min: 1"),
            ("[2026-01-31T12:00:00.123Z]", " min: 1"),
            ("12:10:43 DEBUG| [stdout]", "     clat percentiles (msec):"),
            ("2026-01-31 12:00:00,123 - root - INFO - ", "fsyncs/s: 1"),
            ("Jan 31 12:00:00 host iperf3[12]:", " [  5] local"),
            ("Sat Jan 31 12:00:00 2026", " [  5]   0.00-1.00"),
            ("test (a)\tRun dd\t2026-01-31T12:00:00.1234567Z", " 1+0 records in"),
            ("#7 12.50 ", "CPU speed:"),
            ("build\t31-Jan-2026 12:00:00", "\tCPU speed:"),
            ("2026-01-31T12:00:00.123456789Z stdout F ", "CPU speed:"),
            ("[12:00:00]W: ", "\t CPU speed:"),
        ] {
            assert_eq!(measure_stamp(&format!("{stamp}{rest}")), Some(stamp.len()), "{stamp}");
        }
        for line in ["12:00:00.5.3", "2026-01-31", "[  5]   0.00-1.00", "10.0005s", "", "[", "12:00:00:01"] {
            assert_eq!(measure_stamp(line), None, "{line}");
        }
    }
}
