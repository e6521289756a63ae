//! Work that lasts, in every form of a report: a session of known costs, as people and programs read it.

use serde_json::Value;
use tare_analysis::findings::Findings;
use tare_analysis::{Options, compute_findings};
use tare_data::session::Session;
use tare_data::session::limits::{GroupCounts, LimitCounts, Quota};
use tare_specimen::make_lasting;

use crate::exports::{EXPORTS, Source};
use crate::language::Language;
use crate::terminal::{TerminalOptions, render_terminal};

fn make() -> (Session, Findings) {
    let session = make_lasting();
    let findings = compute_findings(&session, &Options::default());
    (session, findings)
}

fn exported(name: &str, session: &Session, findings: &Findings) -> String {
    let export = EXPORTS.iter().find(|export| export.name == name).unwrap();
    String::from_utf8((export.render)(&Source { session, findings, gate: None })).unwrap()
}

fn render(session: &Session, findings: &Findings, wide: bool, language: Language) -> String {
    let options = TerminalOptions { width: 160, wide, language, ..TerminalOptions::default() };
    let text = render_terminal(session, findings, &options).replace('\u{a0}', " ");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_table_names_what_was_excluded_and_short_answers_say_so() {
    let (session, findings) = make();
    let text = render(&session, &findings, false, Language::English);
    assert!(text.contains("100 ns same same, short! same, short+"), "{text}");
    assert!(text.contains("! = for short operations: work that lasts takes another time; "), "{text}");
    assert!(text.contains("+ = for short operations: of work that lasts nothing is excluded; "), "{text}");
    assert!(text.contains("1.00 µs same 10x (9.8 to 10x) ~1.03x, not sure (0.88 to 1.22x)"), "{text}");
    assert!(text.contains("all 6 answers are decided") && text.contains(" 180 runs "), "{text}");
    assert!(
        text.contains(
            "q20 work that lasts takes 5x (4.9 to 5.1x). noisy in short operations, same in 2 of 2."
        ),
        "{text}"
    );
    let line = "Lasting work (stretches of 0.3 s, beside short turns): container 0.98 to 1.03x, q20 4.9 to 5.1x, noisy 0.76 to 1.39x.";
    assert!(text.ends_with(line) && !text.contains("calls and forks"), "{text}");
    let text = render(&session, &findings, false, Language::Japanese);
    assert!(text.contains("(0.3秒ずつ、短い交代との比): container 0.98〜1.03倍、q20 4.9〜5.1倍、"), "{text}");
    assert!(text.contains("続く計算、全プロセッサ") || text.contains("続く計算、全プロ"), "{text}");
}

#[test]
fn an_environment_whose_stretches_failed_is_not_said_to_be_unlooked_at() {
    let (mut session, _) = make();
    session.stretches.retain(|stretch| stretch.target != "noisy");
    let findings = compute_findings(&session, &Options::default());
    let text = render(&session, &findings, false, Language::English);
    assert!(text.ends_with("q20 4.9 to 5.1x, noisy not known."), "{text}");
}

#[test]
fn the_wide_table_and_markdown_have_every_kind_of_work() {
    let (session, findings) = make();
    let markdown = crate::markdown::render_markdown(&session, &findings).replace('\\', "");
    let wide = render(&session, &findings, true, Language::English);
    for text in [&wide, &markdown] {
        assert!(text.contains("Lasting arithmetic: container 0.98 to 1.03x, q20 4.9 to 5.1x, "), "{text}");
        assert!(text.contains("Lasting arithmetic, all processors: container "), "{text}");
        assert!(text.contains("Lasting calls and forks: container "), "{text}");
    }
    assert!(wide.contains("for short operations; work that lasts takes 5x (4.9 to"), "{wide}");
    assert!(wide.contains("for short operations; what work may miss"), "{wide}");
    assert!(
        ["arithmetic that 997 ns", "calls and forks 997 ns"].iter().all(|label| wide.contains(label)),
        "{wide}"
    );
    let japanese = render(&session, &findings, true, Language::Japanese);
    assert!(japanese.contains("続く処理 (呼び出しとfork): container"), "{japanese}");
}

#[test]
fn programs_read_the_same() {
    let (session, findings) = make();
    let document: Value = serde_json::from_str(&crate::json::render_json(&session, &findings)).unwrap();
    assert_eq!(crate::json::tests::complaint(&document), None);
    let costs = document["lasting"].as_array().unwrap();
    assert_eq!(costs.len(), 9);
    let outcomes: Vec<_> = costs[..3].iter().map(|cost| cost["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["excludes", "differs", "open"]);
    assert_eq!([&costs[1]["environment"], &costs[1]["work"]], ["q20", "arithmetic"]);
    let [ratio, low, high] = ["ratio", "low", "high"].map(|end| costs[1]["ratio"][end].as_f64().unwrap());
    assert!(4.85 < low && low < ratio && ratio < high && high < 5.15, "{costs:?}");
    assert_eq!((&costs[1]["stretches"], costs[1]["seconds"].as_f64()), (&Value::from(8), Some(2.4)));
    let reaches: Vec<_> =
        (0..3).map(|at| document["rows"][0]["cells"][at]["reach"].as_str().unwrap()).collect();
    assert_eq!(reaches, ["lasting", "differs", "open"]);
    let page = crate::html::render_html(&session, &findings, &crate::html::Options::default());
    assert!(page.contains("Lasting arithmetic: container 0.98 to 1.03x, q20 4.9 to 5.1x, "));
    let text = exported("openmetrics", &session, &findings);
    let labels = "environment=\"q20\",work=\"arithmetic\",of=\"ratio\"";
    assert!(text.contains(&format!("tare_lasting_ratio{{{labels}}} {ratio}\n")), "{text}");
    assert!(text.contains(&format!("tare_lasting_low_ratio{{{labels}}} {low}\n")), "{text}");
    assert!(text.contains("tare_reach=\"differs\"} 1"), "{text}");
    let text = exported("csv", &session, &findings);
    let line = text.lines().find(|line| line.contains("lasting.processors") && line.contains("q20")).unwrap();
    assert!(line.contains(",slower,,lasting,"), "{line}");
    assert!(
        text.lines().any(|line| line.contains("sys.getppid") && line.contains(",q20,same,,differs,")),
        "{text}"
    );
}

#[test]
fn a_limit_that_counters_show_costs_what_stretches_measure() {
    let (mut session, _) = make();
    let quota = Some(Quota { quota_us: 20_000, period_us: 100_000 });
    let count = |begins: bool, periods: u64| LimitCounts {
        target: "q20".into(),
        begins,
        groups: vec![GroupCounts {
            group: ":/q/".into(),
            quota,
            periods,
            throttled: periods,
            throttled_ns: 0,
        }],
        idle: None,
    };
    session.limits = vec![count(true, 0), count(false, 100)];
    let findings = compute_findings(&session, &Options::default());
    let text = render(&session, &findings, false, Language::English);
    let warning = "! q20: its answers hold for short operations; throttled in 100 % of periods: work that lasts takes 5x (4.9 to 5.1x)";
    assert!(text.contains(warning), "{text}");
    let text = render(&session, &findings, false, Language::Japanese);
    assert!(text.contains("続く処理は5倍 (4.9〜5.1倍)か"), "{text}");
}

#[test]
fn a_session_without_stretches_says_that_it_did_not_look_unless_its_runs_last() {
    let (mut session, _) = make();
    session.stretches.clear();
    let mut findings = compute_findings(&session, &Options::default());
    let text = render(&session, &findings, false, Language::English);
    assert!(
        text.ends_with("Lasting work (stretches of 0.3 s): not looked at.") && !text.contains(", short"),
        "{text}"
    );
    for row in &mut findings.rows {
        row.probe = "user.build".into();
        row.baseline.as_mut().unwrap().median = 4e8;
    }
    let text = render(&session, &findings, false, Language::English);
    assert!(!text.contains("Lasting"), "{text}");
}
