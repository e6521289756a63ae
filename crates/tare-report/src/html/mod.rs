//! The findings as one page that has its code and data inside, and loads nothing from a network.
//!
//! The page itself is built from `report-ui/` and committed; here it is given its data. A record is untrusted:
//! its strings are data in a JSON block, escaped so that they cannot end it, and the page's code only ever
//! puts them into text nodes. A content security policy in the page allows its own script alone, by hash.

mod beside;
mod bill;
mod data;
mod pack;
mod starts;

use serde_json::ser::Formatter;
use std::io;

use tare_analysis::findings::Findings;
use tare_data::session::Session;

pub use self::data::Options;
use self::data::Page;
use self::pack::pack_value;
use crate::carried::PAGE;
use crate::language::{Language, say};
use crate::text::clean_text;
use crate::text::json::{render_formatted_json, write_escaped};

/// Placeholder for the data in the template.
const DATA_PLACE: &str = "__TARE_DATA__";
/// Placeholder for the title in the template.
const TITLE_PLACE: &str = "__TARE_TITLE__";

/// Language attribute in the template.
const IN_ENGLISH: &str = "<html lang=\"en\">";
/// Suffix of every title.
const BRAND: &str = " · tare";

/// Element before the title of a page that its session rewrites: the browser reloads it every ten seconds.
const RELOADS: &str = "<meta http-equiv=\"refresh\" content=\"10\">\n";

pub fn render_html(session: &Session, findings: &Findings, options: &Options) -> String {
    let language = options.language;
    fill(
        &title(findings, language),
        &Page::from_findings(session, findings, options),
        options.running.is_some(),
        language,
    )
}

/// Builds the title for the browser's tab and for links to the report: the compared environments.
fn title(findings: &Findings, language: Language) -> String {
    let baseline = clean_text(&findings.baseline);
    let subjects: Vec<String> = findings.subjects.iter().map(|name| clean_text(name)).collect();
    match subjects.as_slice() {
        [] => say!(language, "{baseline} alone", baseline) + BRAND,
        subjects => {
            let subjects = language.join_with_and(subjects);
            say!(language, "{subjects} compared with {baseline}", subjects, baseline) + BRAND
        }
    }
}

fn fill(title: &str, page: &Page, is_running: bool, language: Language) -> String {
    let data = render_formatted_json(&pack_value(page), Compact);
    let (before, after) = PAGE.split_once(DATA_PLACE).expect("the template has a place for its data");
    let mut before = before.replacen(TITLE_PLACE, &as_text(title), 1);
    before = before.replacen(IN_ENGLISH, &format!("<html lang=\"{}\">", language.language_tag()), 1);
    if is_running {
        before = before.replacen("<title>", &format!("{RELOADS}<title>"), 1);
    }
    format!("{before}{data}{after}")
}

fn as_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Formatter that escapes, and writes numbers with six significant digits: nobody sees more, and they are
/// most of the page.
struct Compact;

impl Formatter for Compact {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        write_escaped(writer, fragment)
    }

    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        // Through text and back: what remains is the shortest number that reads as these digits.
        let rounded: f64 = format!("{value:.5e}").parse().unwrap_or(value);
        if rounded == rounded.trunc() && rounded.abs() < 1e15 {
            return write!(writer, "{}", rounded as i64);
        }
        write!(writer, "{}", serde_json::Number::from_f64(rounded).map_or("null".into(), |n| n.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specimen;

    pub(super) fn data_of(page: &str) -> serde_json::Value {
        let open = "<script type=\"application/json\" id=\"tare-data\">";
        let from = page.find(open).expect("the page has data") + open.len();
        let to = from + page[from..].find("</script>").expect("the data ends");
        pack::unpack_value(&serde_json::from_str(&page[from..to]).expect("the data is JSON"))
    }

    #[test]
    fn a_page_holds_its_data_and_refuses_everything_from_outside() {
        let page = render_html(&specimen::make_session(3), &specimen::make_findings(3), &Options::default());
        assert!(page.starts_with("<!doctype html>"));
        assert!(page.contains("<title>container, gvisor and wsl2-like compared with native · tare</title>"));
        let alone = render_html(&specimen::make_session(0), &specimen::make_findings(0), &Options::default());
        assert!(alone.contains("<title>native alone · tare</title>"));
        assert!(page.contains("default-src 'none'; script-src 'sha256-"));
        let data = data_of(&page);
        assert_eq!(data["report"]["rows"][0]["cells"][1]["comparison"]["slowdown"], 24.13);
        let rounds = &data["rounds"][0];
        assert_eq!(rounds.as_array().unwrap().len(), 4, "the baseline and three environments");
        assert!(rounds[1].as_array().unwrap().iter().all(|part| part.as_i64().unwrap().abs() <= 1000));
        for outside in ["src=\"http", "href=\"http", "url(http", "@import"] {
            assert!(!page.contains(outside), "{outside}");
        }
    }

    #[test]
    fn hostile_names_end_neither_the_data_nor_the_title() {
        let mut session = specimen::make_session(1);
        let hostile = "</script></title><script>alert(1)</script><!--";
        session.plan.study = hostile.into();
        let mut findings = specimen::make_findings(1);
        findings.rows[0].label = hostile.into();
        findings.baseline = hostile.into();
        findings.subjects[0] = hostile.into();
        let innocent =
            render_html(&specimen::make_session(1), &specimen::make_findings(1), &Options::default());
        let page = render_html(&session, &findings, &Options::default());
        assert_eq!(page.matches("<script").count(), innocent.matches("<script").count());
        assert_eq!(page.matches("</script").count(), innocent.matches("</script").count());
        assert_eq!(page.matches("<!--").count(), innocent.matches("<!--").count());
        assert_eq!(data_of(&page)["report"]["rows"][0]["label"], hostile);
    }

    #[test]
    fn only_the_page_of_a_running_session_reloads_itself() {
        let page = |running| {
            let options = Options { running, ..Options::default() };
            render_html(&specimen::make_session(1), &specimen::make_findings(1), &options)
        };
        let running = page(Some("41 s elapsed"));
        assert_eq!(running.matches(RELOADS).count(), 1);
        assert!(running.find(RELOADS) < running.find("<title>"));
        assert_eq!(data_of(&running)["running"], "41 s elapsed");
        let ended = page(None);
        assert!(!ended.contains("http-equiv=\"refresh\""));
        assert!(data_of(&ended)["running"].is_null());
        for page in [running, ended] {
            assert!(
                page.contains("default-src 'none'; script-src 'sha256-") && !page.contains("connect-src")
            );
        }
    }

    #[test]
    fn numbers_keep_six_digits() {
        let text = |v: f64| render_formatted_json(&v, Compact);
        assert_eq!(text(24.129_999_99), "24.13");
        assert_eq!(text(173.0), "173");
        assert_eq!(text(0.000_123_456_78), "0.000123457");
        assert_eq!(text(f64::NAN), "null");
        assert_eq!(text(1e300), "1e+300");
    }
}
