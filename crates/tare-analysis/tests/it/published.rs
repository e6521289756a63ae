//! What articles conclude, recomputed from their own figures.

use tare_analysis::Options;
use tare_analysis::findings;
use tare_analysis::findings::{Cell, Missing};
use tare_analysis::published::{Checked, Conclusion, Published, place_beside, recompute};
use tare_data::metric::Reading;

use crate::sessions::{Outcome, case, jitter, metric, run, session};

fn article(text: &str) -> Published {
    let article: Published = toml::from_str(text).unwrap();
    article.check().unwrap();
    article
}

fn thesis() -> Published {
    article(include_str!("../../../../published/tuni-wsl2-linux.toml"))
}

/// Everything that is checked, as what is stated, what is computed to three decimals, and the conclusion.
fn checks(article: &Published) -> Vec<(String, String, Conclusion)> {
    let recomputed = recompute(article);
    let all = recomputed.claims.into_iter().flat_map(|(_, checks)| checks);
    all.map(|Checked { check, computed, conclusion, .. }| {
        (check.states.clone(), format!("{computed:.3}"), conclusion)
    })
    .collect()
}

/// The ratio of two environments, to three significant digits.
fn ratio(article: &Published, figure: &str, environment: &str, against: &str) -> String {
    let recomputed = recompute(article);
    let (_, pairs) = recomputed.ratios.iter().find(|(f, _)| f.name == figure).unwrap();
    let pair = pairs.iter().find(|p| p.environment == environment && p.against == against).unwrap();
    format!("{:.2e}", pair.ratio.unwrap())
}

#[test]
fn the_thesis_differs_between_runs_and_platforms_as_it_says() {
    use Conclusion::*;
    let expected = [
        ("0.89 %", "0.893", Follows),
        ("0.02 %", "0.019", Follows),
        ("6.7 %", "6.657", Follows),
        // Of the smaller total of each, as the thesis says; the means would give 51.89 %.
        ("51.8 %", "51.835", Follows),
    ];
    let expected = expected.map(|(states, computed, c)| (states.to_owned(), computed.to_owned(), c));
    assert_eq!(checks(&thesis()), expected);
}

#[test]
fn processes_of_wsl_cost_what_the_table_says() {
    let article = article(include_str!("../../../../published/qiita-wsl-guest-native.toml"));
    for (figure, environment, against, expected) in [
        ("time a process", "wsl", "guest", 4.53 / 0.082),
        ("time a process", "wsl", "native", 4.53 / 0.0448),
        ("time a process", "guest", "native", 0.082 / 0.0448),
        ("memory a process", "wsl", "native", 2.19 / 0.105),
        ("time a thread", "wsl", "native", 0.248 / 0.0108),
        ("time a thread", "wsl", "guest", 0.248 / 0.0167),
        ("read, warm", "wsl", "native", 2170.0 / 12100.0),
        ("read, cold", "guest", "native", 677.0 / 489.0),
        ("write, direct", "guest", "native", 423.0 / 151.0),
    ] {
        assert_eq!(ratio(&article, figure, environment, against), format!("{expected:.2e}"), "{figure}");
    }
    assert_eq!(ratio(&article, "time a process", "wsl", "native"), "1.01e2");
    assert_eq!(ratio(&article, "time a process", "wsl", "guest"), "5.52e1");
}

#[test]
fn round_trips_of_wsl2_are_twice_those_of_wsl1() {
    let article = article(include_str!("../../../../published/qiita-wsl-rtt.toml"));
    assert_eq!(ratio(&article, "TCP, shortest round trip", "wsl2", "wsl1"), "2.15e0");
    assert_eq!(ratio(&article, "TCP, mean round trip", "wsl2", "wsl1"), "2.06e0");
    assert_eq!(ratio(&article, "TCP, longest round trip", "wsl2", "wsl1"), "2.54e0");
    let checks = checks(&article);
    assert_eq!(checks.len(), 7);
    let (cut, follows): (Vec<_>, Vec<_>) =
        checks.iter().partition(|(.., conclusion)| *conclusion == Conclusion::CutOff);
    assert!(follows.iter().all(|(.., conclusion)| *conclusion == Conclusion::Follows), "{checks:?}");
    // 3599 us, of which the article prints 3.5 ms.
    assert!(matches!(cut.as_slice(), [(states, ..)] if states == "3.5 ms"), "{cut:?}");
    assert!(follows.iter().any(|(states, ..)| states == "over 9 ms"));
}

#[test]
fn two_subjects_are_compared_where_an_article_compares_what_they_stand_for() {
    let article = article(include_str!("../../../../published/qiita-wsl-rtt.toml"));
    let mean = metric("mean", Reading::TimePerOperation);
    let mut session = session(
        &["wsl2-like", "wsl1-like"],
        vec![case("net.rr", &[("protocol", "tcp")], None, vec![mean])],
        18,
    );
    run(&mut session, 18, |_, target, round| {
        let cost = match target {
            "wsl2-like" => 20.6,
            "wsl1-like" => 10.0,
            _ => 1.0,
        };
        Outcome::Time(1_000.0 * cost * jitter(target, round))
    });
    let mut findings = findings(&session, &Options::default());
    place_beside(&mut findings, &session, &[article]);
    let said = |environment: &str| {
        let row = findings.rows[0].published.iter();
        row.clone().find(|beside| beside.environment.as_deref() == Some(environment)).unwrap().clone()
    };
    let beside = said("wsl2");
    assert_eq!(beside.target.as_deref(), Some("wsl2-like"));
    assert_eq!(beside.against_target.as_deref(), Some("wsl1-like"), "the article does not know of native");
    assert!((beside.session_ratio.unwrap() - 2.06).abs() < 0.02, "{beside:?}");
    assert_eq!(beside.contained, Some(true), "236.77 / 114.97: {beside:?}");
    // An environment that may not be compared with the reference is compared with nothing.
    let targets = &mut findings.rows[0].cells;
    let Cell::Compared(comparison) = targets[1].clone() else { panic!("{targets:?}") };
    targets[1] = Cell::Missing(Missing::NotComparable { reason: "a test".into(), level: comparison.level });
    let article = self::article(include_str!("../../../../published/qiita-wsl-rtt.toml"));
    place_beside(&mut findings, &session, &[article]);
    let row = &findings.rows[0].published;
    assert!(row.iter().all(|beside| beside.session_ratio.is_none()), "{row:?}");
}

#[test]
fn what_does_not_follow_is_said() {
    let mut thesis = thesis();
    let mut state = |claim: usize, states: &str| thesis.claims[claim].checks[0].states = states.into();
    state(0, "0.90 %");
    state(2, "6.8 %");
    state(3, "52.5 %");
    let conclusions: Vec<Conclusion> = checks(&thesis).into_iter().map(|(.., c)| c).collect();
    use Conclusion::*;
    assert_eq!(conclusions, [DoesNotFollow, Follows, WithinRuns, DoesNotFollow]);
}

#[test]
fn a_ratio_to_nothing_is_none() {
    let thesis = thesis();
    let recomputed = recompute(&thesis);
    let (_, pairs) = recomputed.ratios.iter().find(|(f, _)| f.name == "fileio, shortest event").unwrap();
    assert_eq!(pairs[0].ratio, None, "sysbench printed 0.00 ms");
}

#[test]
fn a_check_that_cannot_be_computed_is_refused() {
    let text = include_str!("../../../../published/tuni-wsl2-linux.toml");
    for (from, to) in [
        ("states = \"6.7 %\"", "states = \"some %\""),
        ("of = \"more\"", "of = \"value\""),
        ("figure = \"cpu, events in 60 s\"", "figure = \"gpu\""),
        ("values = { wsl2 = [75448, 76127]", "values = { wsl2 = []"),
    ] {
        let article: Published = toml::from_str(&text.replace(from, to)).unwrap();
        assert!(article.check().is_err(), "{to}");
    }
}
