//! Articles repeated by `--like`: every figure is in the report, next to the session's value or a reason why
//! it is missing.

use std::collections::BTreeMap;

use serde_json::Value;
use tare_analysis::published::{Figure, Published};
use tare_lab::study::published::{SHIPPED, read_article};

use crate::program::Program;

/// Runs a short session like an article, in native and in its stand-in for WSL1 if that is ready.
fn report(program: &Program, article: &Published) -> Value {
    let checked = program.run_tare(&["check", "--in", "wsl1-like", "--json"]).parse_json();
    let is_wsl1 = |e: &Value| e["environment"] == "wsl1-like" && e["ready"] == true;
    let is_ready = list(&checked["environments"]).iter().any(is_wsl1);
    let targets = if is_ready { "native,wsl1-like?net=host" } else { "native" };
    if !is_ready {
        println!("SKIPPED what stands for WSL1: it is not ready");
    }
    let record = format!("{}.tare", article.id);
    let arguments = ["run", "--like", &article.id, "--in", targets, "--rounds", "1", "--record", &record];
    let said = program.run_tare(&[&arguments[..], &["--json"]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    serde_json::from_str(&said.out).unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn texts(value: &Value) -> Vec<&str> {
    list(value).iter().filter_map(Value::as_str).collect()
}

/// Tells whether an article's printed figure is next to a row, with the session's value or the reason why it
/// is missing.
fn is_beside_a_row(report: &Value, figure: &Figure, environment: &str, printed: &[String]) -> bool {
    let rows = list(&report["rows"]).iter().filter(|row| {
        row["probe"] == figure.probe.as_str() && row["metric"]["name"].as_str() == figure.metric.as_deref()
    });
    rows.flat_map(|row| list(&row["published"]).iter().map(move |beside| (row, beside))).any(
        |(row, beside)| {
            let found = [("environment", "printed"), ("reference", "reference_printed")]
                .into_iter()
                .any(|(name, runs)| beside[name] == environment && texts(&beside[runs]) == printed);
            let target = &beside["session_environment"];
            let is_missing = |cell: &Value| cell["environment"] == *target && cell["missing"].is_object();
            found
                && (target.is_null()
                    || beside["session_value"].is_object()
                    || list(&row["cells"]).iter().any(is_missing)
                    || row["baseline_missing"].is_object())
        },
    )
}

fn holds_all(report: &Value, article: &Published) {
    let beyond = list(&report["articles"]).iter().find(|of| of["source"] == article.id.as_str()).unwrap();
    let without: BTreeMap<&str, &Value> = list(&beyond["without_row"])
        .iter()
        .map(|figure| (figure["name"].as_str().unwrap(), &figure["words"]))
        .collect();
    for figure in &article.figures {
        for environment in figure.values.keys() {
            let beside = is_beside_a_row(report, figure, environment, &figure.format_printed(environment));
            let reason = without.get(figure.name.as_str());
            assert!(beside || reason.is_some(), "{}: {} in {environment}", article.id, figure.name);
        }
    }
    for ratio in &article.ratios {
        let rows = list(&report["rows"]).iter().flat_map(|row| list(&row["published"]));
        let is_it = |beside: &Value| {
            beside["source"] == article.id.as_str() && beside["environment"] == ratio.environment.as_str()
        };
        let is_there = rows.clone().any(is_it) || without.contains_key(ratio.name.as_str());
        assert!(is_there, "{}: {}", article.id, ratio.name);
    }
    let claims = list(&beyond["claims"]);
    assert_eq!(claims.len(), article.claims.len(), "{}", article.id);
    let words = |check: &Value| check["words"].as_str().is_some_and(|words| !words.is_empty());
    assert!(claims.iter().flat_map(|claim| list(&claim["checks"])).all(words));
}

#[test]
fn every_article_is_one_command() {
    let program = Program::new();
    for (name, _) in SHIPPED {
        let article = read_article(name).unwrap();
        let report = report(&program, &article);
        holds_all(&report, &article);
        // Text has it as well: a conclusion is never left out.
        let said = program.run_tare(&["report", &format!("{name}.tare"), "--published", name]);
        assert_eq!(said.code, Some(0), "{said:?}");
        let text = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
        for claim in &article.claims {
            assert!(text.contains(&claim.text), "{name}: {}", claim.text);
        }
        for figure in &article.figures {
            // A table has an environment of each kind, and the mean of several runs.
            let is_first = |id: &&String| {
                let kind = article.find_environment(id).unwrap().kind;
                article.environments.iter().find(|of| of.kind == kind).unwrap().id == **id
            };
            for environment in figure.values.keys().filter(is_first) {
                let decimals = figure.decimals.unwrap_or(0);
                let mean = format!("{:.decimals$}", figure.mean(environment).unwrap());
                let mut printed = figure.format_printed(environment).into_iter();
                let is_there = text.contains(&mean) || printed.all(|value| text.contains(&value));
                assert!(is_there, "{name}: {} in {environment}", figure.name);
            }
        }
    }
}

#[test]
fn a_budget_that_fits_no_round_of_an_article_is_refused_with_what_would_fit() {
    let program = Program::new();
    let run = |budget: &str| {
        let article = ["run", "--like", "ascii-wsl2-unixbench", "--in", "native,wsl1-like", "--dry-run"];
        program.run_tare(&[&article[..], &["--budget", budget]].concat())
    };
    let refused = run("5s");
    assert_eq!(refused.code, Some(2), "{refused:?}");
    for words in ["ascii-wsl2-unixbench does not fit into --budget 5 s", "one round take about", "--in"] {
        assert!(refused.err.contains(words), "{words}: {refused:?}");
    }
    assert_eq!(run("30m").code, Some(0));
}

#[test]
fn full_size_says_beforehand_how_long_it_takes_and_refuses_too_little() {
    let program = Program::new();
    let said = program.run_tare(&["run", "--like", "qiita-wsl-rtt", "--full-size", "--dry-run"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let text = said.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let announced = "qiita-wsl-rtt in full size: trials and files are as long as there. A round takes 2 min 8 s at least, \
                     and the 50 rounds that an answer needs 1 h 46 min. The session ends after 2 h 30 min at the latest";
    assert!(text.contains(announced), "{text}");
    let short = program.run_tare(&["run", "--like", "qiita-wsl-rtt", "--full-size", "--budget", "1m"]);
    assert_eq!(short.code, Some(2), "{short:?}");
    let both = "qiita-wsl-rtt in full size does not fit into --budget 1 min";
    assert!(short.err.contains(both) && short.err.contains("one round of it takes 2 min 8 s"), "{short:?}");
    // Files of petabytes: no disk has room.
    let study = "name='huge'\ntitle='t'\nabout='a'\nbudget='1m'\n[[case]]\nprobe='file.seq'\n\
                 reference={ size='1000000GiB' }\n";
    std::fs::write(program.path("huge.toml"), study).unwrap();
    let large = program.run_tare(&["run", "huge.toml", "--full-size", "--in", "native"]);
    assert_eq!(large.code, Some(4), "{large:?}");
    assert!(large.err.contains("huge.toml in full size does not fit on the disk of "), "{large:?}");
    assert!(large.err.contains("--scratch FOLDER names a larger disk"), "{large:?}");
    let old = program.run_tare(&["run", "--reference"]);
    assert_eq!(old.code, Some(2), "{old:?}");
}
