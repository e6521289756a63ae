//! Articles' conclusions, judged by sessions.

use std::collections::BTreeMap;

use tare_analysis::Options;
use tare_analysis::compute_findings;
use tare_analysis::findings::{Cell, ClaimOutcome, Missing, OwnValue, Way};
use tare_analysis::published::{
    EnvironmentKind, Foreseen, Obstacle, Published, Quantity, Subject, foresee_untold, place_beside,
};
use tare_data::metric::Reading;
use tare_data::session::Session;
use tare_data::unit::Direction;

use crate::sessions::{Outcome, compute_jitter, make_case, make_metric, make_session, run_rounds};

fn article(text: &str) -> Published {
    let article: Published = toml::from_str(text).unwrap();
    article.check_consistency().unwrap();
    article
}

/// Builds a session of net.rr to peers, in which WSL2's stand-in takes 2.06 times as long as WSL1's.
fn round_trips(peers: &[&str]) -> Session {
    let cases = peers.iter().map(|peer| {
        let metrics = ["mean", "max"].map(|name| make_metric(name, Reading::TimePerOperation));
        let mut case = make_case("net.rr", &[("protocol", "tcp")], None, metrics.to_vec());
        case.case.peer = Some((*peer).to_owned());
        case.id = case.case.to_string();
        case
    });
    let mut session = make_session(&["wsl2-like", "wsl1-like"], cases.collect(), 18);
    run_rounds(&mut session, 18, |_, target, round| {
        let cost = match target {
            "wsl2-like" => 20.6,
            "wsl1-like" => 10.0,
            _ => 1.0,
        };
        Outcome::Time(1_000.0 * cost * compute_jitter(target, round))
    });
    session
}

#[test]
fn conclusions_are_judged_by_the_session() {
    let session = round_trips(&["host"]);
    let mut findings = compute_findings(&session, &Options::default());
    place_beside(
        &mut findings,
        &session,
        &[article(include_str!("../../../../published/qiita-wsl-rtt.toml"))],
    );
    let [article] = findings.articles.as_slice() else { panic!("{:?}", findings.articles) };
    let claim = |start: &str| article.claims.iter().find(|claim| claim.text.starts_with(start)).unwrap();
    let answers = |start: &str| -> Vec<(&str, ClaimOutcome)> {
        claim(start).checks.iter().map(|check| (check.states.as_str(), check.answer)).collect()
    };
    assert_eq!(answers("So is the mean"), [("0.5", ClaimOutcome::Holds)]);
    assert_eq!(
        answers("Shortest, mean"),
        [("about 2", ClaimOutcome::Holds), ("about 2", ClaimOutcome::SameDirection)],
        "the longest of a thousand trips is not that of ten seconds"
    );
    assert_eq!(answers("To measure round trips"), [("faster", ClaimOutcome::Holds)]);
    assert!(claim("To measure round trips").recommends);
    assert_eq!(answers("WSL2 can add"), [("0.1 to 0.3 ms", ClaimOutcome::NotJudged)]);
    let added = claim("WSL2 can add").checks[0].value.unwrap();
    assert!((added - 10_600.0).abs() < 300.0, "{added}");
    assert!(answers("WSL1 answers").is_empty() && claim("WSL1 answers").needs.is_some());
    let without: Vec<&str> = article.without_row.iter().map(|figure| figure.name.as_str()).collect();
    assert_eq!(
        without,
        [
            "TCP, shortest round trip",
            "UDP, shortest round trip",
            "UDP, mean round trip",
            "UDP, longest round trip"
        ]
    );
}

#[test]
fn two_cases_of_one_environment_are_compared_where_an_article_compares_them() {
    let cases = ["none", "written"].map(|ballast| {
        let time = make_metric("time", Reading::TimePerOperation);
        let parameters = [("ballast", ballast), ("n", "1000"), ("size", "256MiB")];
        make_case("proc.fork_hold", &parameters, None, vec![time])
    });
    let mut session = make_session(&["wsl1-like"], cases.to_vec(), 18);
    run_rounds(&mut session, 18, |case, target, round| {
        let cost = if case.contains("written") { 5.5 } else { 1.0 };
        Outcome::Time(1_000.0 * cost * compute_jitter(target, round))
    });
    let mut findings = compute_findings(&session, &Options::default());
    let article = article(include_str!("../../../../published/qiita-wsl-guest-native.toml"));
    place_beside(&mut findings, &session, &[article]);
    let mut claims = findings.articles[0].claims.iter();
    let claim = claims.find(|claim| claim.text.starts_with("With memory that is written")).unwrap();
    let [check] = claim.checks.as_slice() else { panic!("{:?}", claim.checks) };
    assert_eq!((check.target.as_str(), check.answer), ("wsl1-like", ClaimOutcome::Holds), "{check:?}");
    assert!((check.value.unwrap() - 5.5).abs() < 0.1, "{check:?}");
}

#[test]
fn two_subjects_are_compared_where_an_article_compares_what_they_stand_for() {
    let article = article(include_str!("../../../../published/qiita-wsl-rtt.toml"));
    let session = round_trips(&["loopback", "host"]);
    let mut findings = compute_findings(&session, &Options::default());
    place_beside(&mut findings, &session, &[article]);
    assert!(
        findings.rows[0].published.is_empty(),
        "the article measured to a server: {:?}",
        findings.rows[0]
    );
    let said = |environment: &str| {
        let row = findings.rows[2].published.iter();
        row.clone().find(|beside| beside.environment.as_deref() == Some(environment)).unwrap().clone()
    };
    let beside = said("wsl2");
    assert_eq!(beside.target.as_deref(), Some("wsl2-like"));
    assert_eq!(beside.against_target.as_deref(), Some("wsl1-like"), "the article does not know of native");
    assert!((beside.session_ratio.unwrap() - 2.06).abs() < 0.02, "{beside:?}");
    assert_eq!(beside.contained, Some(true), "236.77 / 114.97: {beside:?}");
    assert_eq!(beside.printed, ["236.77"]);
    let own = |value: &Option<OwnValue>| value.as_ref().map(|own| (own.median / 1_000.0).round());
    assert_eq!((own(&beside.session_value), own(&beside.session_baseline_value)), (Some(21.0), Some(10.0)));
    // An environment that may not be compared with the reference is compared with nothing.
    let targets = &mut findings.rows[2].cells;
    let Cell::Compared(comparison) = targets[1].clone() else { panic!("{targets:?}") };
    targets[1] = Cell::Missing(Missing::NotComparable { reason: "a test".into(), level: comparison.level });
    let article = self::article(include_str!("../../../../published/qiita-wsl-rtt.toml"));
    place_beside(&mut findings, &session, &[article]);
    let row = &findings.rows[2].published;
    assert!(
        row.iter().all(|beside| beside.session_ratio.is_none() && beside.session_value.is_some()),
        "{row:?}"
    );
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
        assert!(article.check_consistency().is_err(), "{to}");
    }
}

/// The shipped articles, with sizes of a session that are theirs.
const ARTICLES: [&str; 5] = [
    include_str!("../../../../published/ascii-wsl2-unixbench.toml"),
    include_str!("../../../../published/mynavi-wsl-filesystems.toml"),
    include_str!("../../../../published/qiita-wsl-guest-native.toml"),
    include_str!("../../../../published/qiita-wsl-rtt.toml"),
    include_str!("../../../../published/tuni-wsl2-linux.toml"),
];

/// Cost of a case in an environment, over that in native.
type Cost = fn(case: &str, target: &str) -> f64;

/// Builds a session of the cases that the articles speak of, with an article's sizes or with those of a short session.
fn replay(cost: impl Fn(&str, &str) -> f64, are_small: bool, is_emulated: bool) -> Session {
    let pick = |full: &'static str, small: &'static str| if are_small { small } else { full };
    let rate = || make_metric("rate", Reading::OperationsPerSecond);
    let time = |name: &str| make_metric(name, Reading::TimePerOperation);
    let (file, own) = (pick("1GiB", "32MiB"), Some("own"));
    let held = [("n", pick("1000", "100"))];
    let seq = |bs: &'static str, size: &'static str, place| {
        make_case(
            "file.seq",
            &[("op", "read"), ("bs", bs), ("cache", "warm"), ("size", size)],
            place,
            vec![rate()],
        )
    };
    let buffered = [("op", "write"), ("bs", "1MiB"), ("sync", "none"), ("size", file)];
    let random = [
        ("mode", "rndrw"),
        ("threads", "4"),
        ("total", pick("30GiB", "32MiB")),
        ("files", pick("128", "16")),
    ];
    let mut trip = make_case("net.rr", &[("protocol", "tcp")], None, vec![time("min"), time("mean")]);
    trip.case.peer = Some("host".into());
    let operations = if are_small { 45 } else { 43_000 };
    trip.amount = tare_data::request::Amount::Operations { batch: operations, batches: 1 };
    let mut cases = vec![
        make_case("proc.exec", &[], None, vec![rate()]),
        make_case("proc.fork_hold", &[&held[..], &[("ballast", "none")]].concat(), None, vec![time("time")]),
        make_case("proc.thread_hold", &held, None, vec![time("time")]),
        seq("4KiB", file, own),
        seq("16MiB", file, own),
        seq("512", pick("2GiB", "8MiB"), Some("share")),
        make_case("file.seq", &buffered, own, vec![rate()]),
        make_case("file.random", &random, own, vec![rate()]),
        trip,
    ];
    cases.iter_mut().for_each(|case| case.id = case.case.to_string());
    let mut session = make_session(&["wsl1-like", "wsl2-like", "guest"], cases, 18);
    run_rounds(&mut session, 18, |case, target, round| {
        // A share to a tenth of a percent is found by a quiet session alone.
        let jitter = if case.starts_with("file.random") { 1.0 } else { compute_jitter(target, round) };
        Outcome::Time(1_000.0 * cost(case, target) * jitter)
    });
    if is_emulated {
        for target in ["wsl1-like", "wsl2-like", "guest"] {
            let facts = session.facts.iter_mut().find(|facts| facts.target == target).unwrap();
            facts.outside.add_fact("cpu.emulated", "TCG");
        }
    }
    session
}

/// Judges every claim of every article, with its text.
fn judge_all(session: &Session) -> Vec<(String, String, ClaimOutcome, Option<String>)> {
    let mut findings = compute_findings(session, &Options::default());
    place_beside(&mut findings, session, &ARTICLES.map(article));
    let articles = findings.articles.iter();
    let claims = articles.flat_map(|article| article.claims.iter().map(move |claim| (article, claim)));
    claims
        .flat_map(|(article, claim)| {
            claim.checks.iter().map(move |check| {
                let text = format!("{}: {} {}", claim.text, check.states, check.label);
                (article.source.clone(), text, check.answer, check.because.clone())
            })
        })
        .collect()
}

/// Costs with which the articles' main claims are true.
const AS_PRINTED: Cost = |case, target| match (target, case) {
    ("native", _) => 1.0,
    ("wsl1-like", case) if case.starts_with("proc.fork_hold") => 105.0,
    ("guest", case) if case.starts_with("proc.fork_hold") => 2.0,
    ("wsl1-like", case) if case.starts_with("proc.thread_hold") => 20.0,
    ("guest", case) if case.starts_with("proc.thread_hold") => 1.33,
    ("wsl1-like", case) if case.contains("sync=none") => 10.0,
    ("guest", case) if case.contains("sync=none") => 10.0 / 1.84,
    ("wsl1-like", "proc.exec") => 10.0,
    ("wsl2-like", case) if case.contains("bs=512") => 50.0,
    ("wsl1-like", case) if case.contains("bs=4KiB") => 1.5,
    ("wsl1-like", case) if case.contains("bs=16MiB") => 1.2,
    ("wsl2-like", case) if case.contains("bs=4KiB") => 2.0,
    ("wsl2-like", case) if case.starts_with("net.rr") => 2.0,
    ("wsl2-like", case) if case.starts_with("file.random") => 1.0 / (1.0 - 0.518),
    _ => 1.0,
};

#[test]
fn each_article_holds_where_a_session_is_as_it_says_and_does_not_in_its_mirror_image() {
    let found = judge_all(&replay(AS_PRINTED, false, false));
    let mirrored = judge_all(&replay(|case, target| 1.0 / AS_PRINTED(case, target), false, false));
    for source in ARTICLES.map(|text| article(text).id) {
        let holds = found.iter().filter(|(of, _, answer, _)| *of == source && *answer == ClaimOutcome::Holds);
        let holds: Vec<&String> = holds.map(|(_, text, ..)| text).collect();
        assert!(!holds.is_empty(), "{source}: {found:#?}");
        for text in holds.iter().filter(|text| !text.contains("differ")) {
            let other = mirrored.iter().find(|(of, other, ..)| *of == source && *other == **text).unwrap();
            assert!(matches!(other.2, ClaimOutcome::Opposite), "{text}: {:?}", other.2);
        }
    }
}

/// Builds a session of an article's own figures and ratios, each a case of its own, or of their mirrors: what took n times as long takes
/// an nth.
fn make_up(article: &Published, is_mirrored: bool) -> Session {
    let stand_in = |id: &str| match article.find_environment(id).unwrap().kind {
        EnvironmentKind::Wsl1 => "wsl1-like",
        EnvironmentKind::Wsl2 => "wsl2-like",
        EnvironmentKind::Vm => "guest",
        EnvironmentKind::Native => "native",
        EnvironmentKind::Windows => "windows",
    };
    let (mut cases, mut costs) = (Vec::new(), BTreeMap::new());
    let mut add = |subject: Subject<'_>, better: Direction, values: BTreeMap<&'static str, f64>| {
        let number = cases.len().to_string();
        let mut parameters = subject.parameters.clone();
        for condition in article.conditions.iter().filter(|of| of.probe == subject.probe) {
            if condition.parameters.iter().all(|(key, value)| parameters.get(key) == Some(value)) {
                parameters.extend(condition.sizes.clone());
            }
        }
        // Figures of one test would be one case.
        parameters.insert("made_up".into(), number);
        let parameters: Vec<(&str, &str)> =
            parameters.iter().map(|(key, value)| (&**key, &**value)).collect();
        let reading = match better {
            Direction::Lower => Reading::TimePerOperation,
            Direction::Higher => Reading::OperationsPerSecond,
        };
        let metric = make_metric(subject.metric, reading);
        let mut case = make_case(subject.probe, &parameters, subject.place, vec![metric]);
        case.case.peer = subject.peer.map(|_| "host".to_owned());
        case.amount = tare_data::request::Amount::Operations { batch: 100_000, batches: 1 };
        case.id = case.case.to_string();
        let is_cost = (better == Direction::Lower) != is_mirrored;
        let cost = move |value: f64| if is_cost { value } else { 1.0 / value };
        costs.insert(case.id.clone(), values.into_iter().map(|(name, value)| (name, cost(value))).collect());
        cases.push(case);
    };
    for figure in &article.figures {
        let mut values = BTreeMap::new();
        for id in article.environments.iter().map(|of| &of.id).rev() {
            values.extend(figure.mean(id).map(|value| (stand_in(id), value)));
        }
        figure.subject().into_iter().for_each(|subject| add(subject, figure.better, values.clone()));
    }
    for ratio in &article.ratios {
        let values = [(stand_in(&ratio.environment), ratio.value), (stand_in(&ratio.against), 1.0)];
        add(ratio.subject(), ratio.better, values.into());
    }
    let mut session = make_session(&["wsl1-like", "wsl2-like", "guest"], cases, 18);
    run_rounds(&mut session, 18, |case, target, round| {
        let values: &BTreeMap<&str, f64> = &costs[case];
        let target = if target == "again" { "native" } else { target };
        // An environment without a figure is as quick as one that has it.
        let cost = values.get(target).or(values.values().next()).unwrap();
        Outcome::Time(1e6 * cost * (1.0 + (compute_jitter(target, round) - 1.0) / 100.0))
    });
    session
}

#[test]
fn records_of_an_article_s_own_figures_point_its_way_and_their_mirrors_the_other_way() {
    let mut judged = 0;
    for article in ARTICLES.map(article) {
        let [own, mirror] = [false, true].map(|is_mirrored| {
            let session = make_up(&article, is_mirrored);
            let mut findings = compute_findings(&session, &Options::default());
            place_beside(&mut findings, &session, std::slice::from_ref(&article));
            findings.articles.into_iter().next().map(|beside| beside.claims).unwrap_or_default()
        });
        for ((claim, own), mirror) in article.claims.iter().zip(&own).zip(&mirror) {
            let is_relative = |of: Quantity| matches!(of, Quantity::More | Quantity::Less | Quantity::Ratio);
            let has_figures = claim.checks.iter().any(|check| is_relative(check.of));
            if has_figures || own.way() != Way::Unknown {
                assert_eq!(own.way(), Way::Same, "{}: {}: {:#?}", article.id, claim.text, own.checks);
                // Two that are alike are so the other way round as well.
                let are_alike = claim.checks.iter().any(|check| check.states == "about 1");
                let expected = if are_alike { Way::Same } else { Way::Other };
                assert_eq!(mirror.way(), expected, "{}: {}: {:#?}", article.id, claim.text, mirror.checks);
                judged += 1;
            }
        }
    }
    assert!(judged >= 17, "{judged} conclusions of all articles");
}

/// Counts the conclusions of an article by the way in which a session's results point.
fn count_ways(session: &Session, article: &str) -> [usize; 3] {
    let mut findings = compute_findings(session, &Options::default());
    place_beside(&mut findings, session, &[self::article(article)]);
    let claims = &findings.articles[0].claims;
    [Way::Same, Way::Other, Way::Unknown].map(|way| claims.iter().filter(|claim| claim.way() == way).count())
}

#[test]
fn short_sessions_tell_the_direction_and_their_mirror_images_the_other() {
    let article = include_str!("../../../../published/qiita-wsl-guest-native.toml");
    assert_eq!(count_ways(&replay(AS_PRINTED, true, false), article), [3, 0, 7]);
    let mirrored = replay(|case, target| 1.0 / AS_PRINTED(case, target), true, false);
    assert_eq!(count_ways(&mirrored, article), [0, 3, 7]);
    assert_eq!(count_ways(&replay(AS_PRINTED, true, true), article), [0, 0, 10], "by an emulated processor");
    // All of that was known beforehand.
    let foresee = |are_emulated: bool| {
        let of = |name: &str, is_emulated| Foreseen { specification: name.to_owned(), is_emulated };
        let others = ["wsl1-like?net=host", "guest"].map(|name| of(name, are_emulated));
        let environments: Vec<Foreseen> = std::iter::once(of("native", false)).chain(others).collect();
        foresee_untold(&self::article(article), &environments)
    };
    assert_eq!(foresee(false), []);
    let emulated = foresee(true);
    let are_emulated = emulated.iter().all(|of| matches!(of, Obstacle::Emulated(_)));
    assert!(emulated.len() == 10 && are_emulated, "{emulated:?}");
}

#[test]
fn a_conclusion_without_its_environment_names_it() {
    let session = round_trips(&["host"]);
    let mut findings = compute_findings(&session, &Options::default());
    let article = article(include_str!("../../../../published/qiita-wsl-guest-native.toml"));
    place_beside(&mut findings, &session, &[article]);
    assert_eq!(findings.articles[0].claims[0].unmeasured, ["guest"]);
}

#[test]
fn the_opposite_of_a_claim_does_not_hold() {
    // The article's guest writes 1.84 times as fast as WSL; here it is 29 times slower.
    let session = replay(
        |case, target| {
            if target == "guest" && case.contains("sync=none") { 290.0 } else { AS_PRINTED(case, target) }
        },
        false,
        false,
    );
    let found = judge_all(&session);
    let writes = found.iter().filter(|(_, text, ..)| text.starts_with("Into the page cache"));
    let writes: Vec<ClaimOutcome> = writes.map(|(.., answer, _)| *answer).collect();
    assert_eq!(
        writes,
        [ClaimOutcome::Opposite, ClaimOutcome::Holds],
        "native is ten times as fast all the same"
    );
}

#[test]
fn nothing_holds_at_other_sizes_and_nothing_is_judged_by_an_emulated_processor() {
    let reasons = |found: &[(String, String, ClaimOutcome, Option<String>)], part: &str| {
        found.iter().filter(|(.., because)| because.as_deref().is_some_and(|b| b.contains(part))).count()
    };
    let small = judge_all(&replay(AS_PRINTED, true, false));
    let sized = small.iter().filter(|(_, text, ..)| !text.contains("exec") && !text.contains("mean"));
    for (source, text, answer, because) in sized {
        assert!(
            *answer != ClaimOutcome::Holds || source == "qiita-wsl-rtt" || source == "ascii-wsl2-unixbench",
            "{text}: {because:?}"
        );
    }
    assert!(reasons(&small, "size 32MiB, there 1GiB") > 0, "{small:#?}");
    assert!(
        reasons(&small, "100 processes, there 1000") > 0 && reasons(&small, "45 operations, there 40000") > 0
    );
    let emulated = judge_all(&replay(AS_PRINTED, false, true));
    assert!(
        emulated
            .iter()
            .all(|(.., answer, _)| matches!(answer, ClaimOutcome::NotJudged | ClaimOutcome::Undecided)),
        "{emulated:#?}"
    );
    assert!(reasons(&emulated, "is emulated") > 10);
}
