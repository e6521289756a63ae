//! The line with which a netperf test begins: its name, and the setting of the run.

use crate::prelude::*;

/// Recognises the name of the test that follows: `MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 ...`, which a mail may
/// have wrapped, and of versions up to 2.3 `TCP STREAM TEST to 10.0.0.1`.
pub fn is_banner(line: &str, next: &str) -> bool {
    if line.contains(" TEST from ") {
        let is_address = |line: &str| line.contains(" port ") || line.starts_with("port ");
        return is_address(line) || is_address(next);
    }
    let test = line.split_once(" TEST to ").map_or("", |(test, _)| test);
    !test.is_empty() && test.chars().all(|c| c.is_ascii_uppercase() || " /_".contains(c))
}

/// Recognises the rest of a banner that was wrapped.
pub fn continues_banner(line: &str) -> bool {
    ["to ", "port ", "AF_INET", "() ", ": ", "(0.0.0.0) "].iter().any(|beginning| line.starts_with(beginning))
}

#[derive(Default)]
pub struct Banner {
    /// `TCP REQUEST/RESPONSE`; empty without a banner, as `-P 0` has it.
    pub test: String,
    /// Requests that are outstanding besides the one that every test has.
    pub burst: Option<String>,
    pub confidence: Option<String>,
    pub peer: Option<String>,
}

impl Banner {
    pub fn parse(line: &str) -> Banner {
        let test = line.split(" TEST ").next().unwrap_or_default();
        let test = test.trim().strip_prefix("MIGRATED ").unwrap_or(test.trim());
        let field =
            |label| find_text_after(line, label).map(|rest| fit_into_record(cut_before(rest, &[' '])));
        Banner {
            test: fit_into_record(test),
            burst: field("first burst "),
            confidence: find_text_after(line, " : +/-")
                .map(|rest| fit_into_record(&format!("±{}", cut_before(rest, &[':'])))),
            peer: find_text_after(line, " to ").map(|rest| fit_into_record(cut_before(rest, &[' ']))),
        }
    }

    /// Adds the banner's statements to a figure.
    pub fn describe_figure(&self, figure: &mut FigureBuilder) {
        let pairs = [("confidence", &self.confidence), ("peer", &self.peer), ("burst", &self.burst)];
        for (key, value) in pairs {
            figure.add_parameter(key, value.as_deref().unwrap_or_default());
        }
    }
}
