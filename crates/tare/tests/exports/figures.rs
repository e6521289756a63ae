//! Figures of a record, which are the same in every form.

use serde_json::Value;
use tare_data::unit::Unit;
use tare_report::language::Language;
use tare_report::number::Figure;

use crate::program::{Program, Said};
use crate::reading::repository_root;

/// A session of three environments.
const RECORD: &str = "fixtures/sessions/container-gvisor.tare";
/// Greatest difference of a number in the page, which has six digits.
const SIX_DIGITS: f64 = 5e-6;

/// Shows the record in a form and a language, in lines wide enough for all environments.
fn report(arguments: &[&str], locale: &str) -> String {
    let program = Program::new();
    let record = repository_root().join(RECORD);
    let given = [&["report", record.to_str().unwrap()], arguments].concat();
    let mut command = program.tare_command(&given);
    let said = Said::from_output(command.env("LC_ALL", locale).output().unwrap());
    assert_eq!(said.code, Some(0), "{said:?}");
    match arguments {
        ["--html", file] => std::fs::read_to_string(program.path(file)).unwrap(),
        _ => said.out,
    }
}

const ENGLISH: &str = "C.UTF-8";
const JAPANESE: &str = "ja_JP.UTF-8";

/// A value of an environment in a row.
struct Measured<'a> {
    row: &'a Value,
    environment: &'a str,
    level: &'a Value,
    /// Absent for the baseline.
    cell: Option<&'a Value>,
}

impl Measured<'_> {
    fn figure(&self) -> String {
        let unit: Unit = serde_json::from_value(self.row["metric"]["unit"].clone()).unwrap();
        // A subject's value is the baseline's times the factor, where there is one.
        let by_factor = self.cell.and_then(|cell| cell["comparison"]["value"].as_f64());
        let value = by_factor.unwrap_or_else(|| self.level["median"].as_f64().unwrap());
        Figure::without_interval(value, unit).to_text()
    }
}

/// Lists everything that has a value, in the order of the document.
fn list_measured(document: &Value) -> Vec<Measured<'_>> {
    let mut all = Vec::new();
    for row in document["rows"].as_array().unwrap() {
        let environment = document["baseline"].as_str().unwrap();
        if row["baseline"].is_object() {
            all.push(Measured { row, environment, level: &row["baseline"], cell: None });
        }
        for cell in row["cells"].as_array().unwrap() {
            let level = [&cell["comparison"]["level"], &cell["observed"], &cell["missing"]["level"]];
            if let Some(level) = level.into_iter().find(|level| level.is_object()) {
                let environment = cell["environment"].as_str().unwrap();
                all.push(Measured { row, environment, level, cell: Some(cell) });
            }
        }
    }
    all
}

fn close(a: f64, b: f64, share: f64, what: &str) {
    assert!(a == b || (a / b - 1.0).abs() <= share, "{what}: {a} and {b}");
}

/// Unpacks the data of a page, as its script does.
fn unpack_page(page: &str) -> Value {
    let open = "id=\"tare-data\">";
    let from = page.find(open).unwrap() + open.len();
    let to = from + page[from..].find("</script>").unwrap();
    let packed: Value = serde_json::from_str(&page[from..to]).unwrap();
    unpack_value(&packed, &packed["root"])
}

fn unpack_value(packed: &Value, value: &Value) -> Value {
    match value {
        Value::String(place) => packed["texts"][usize::from_str_radix(place, 36).unwrap()].clone(),
        Value::Array(items) => {
            let values = items[1..].iter().map(|item| unpack_value(packed, item));
            match items[0].as_i64() {
                Some(-1) => values.collect(),
                shape => {
                    let keys = packed["shapes"][shape.unwrap() as usize].as_array().unwrap().iter();
                    Value::Object(keys.map(|key| key.as_str().unwrap().to_owned()).zip(values).collect())
                }
            }
        }
        other => other.clone(),
    }
}

#[test]
fn documents_have_the_same_numbers() {
    let document: Value = serde_json::from_str(&report(&["--json"], ENGLISH)).unwrap();
    let measured = list_measured(&document);
    assert!(measured.len() > 20, "{}", measured.len());
    let table = report(&["--csv"], ENGLISH);
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
    let column = |name: &str| lines[0].iter().position(|head| *head == name).unwrap();
    let metrics = report(&["--export", "openmetrics"], ENGLISH);
    for of in &measured {
        let (row, what) =
            (of.row, format!("{} {} in {}", of.row["case"], of.row["metric"]["name"], of.environment));
        let is = |line: &Vec<&str>, name: &str, value: &Value| *value == line[column(name)];
        // Labels with a comma are quoted: columns after them are counted from the end.
        let line = lines.iter().find(|line| {
            line.len() == lines[0].len()
                && is(line, "case", &row["case"])
                && is(line, "metric", &row["metric"]["name"])
                && is(line, "environment", &of.environment.into())
        });
        let Some(line) = line else { continue };
        let number = |name: &str| line[column(name)].parse::<f64>().unwrap();
        for (name, value) in
            [("median", "median"), ("median_low", "low"), ("median_high", "high"), ("rounds", "rounds")]
        {
            close(number(name), of.level[value].as_f64().unwrap(), 0.0, &format!("{what}, {name}"));
        }
        let labels = |family: &str| {
            let start = format!("{family}{{environment=\"{}\",case={}", of.environment, row["case"]);
            let metric = format!("metric={},", row["metric"]["name"]);
            let line = metrics.lines().find(|line| line.starts_with(&start) && line.contains(&metric));
            line.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap())
        };
        if row["metric"]["unit"] == "nanoseconds" {
            let seconds = labels("tare_time_seconds").unwrap();
            close(seconds * 1e9, of.level["median"].as_f64().unwrap(), 1e-9, &what);
        }
        if let Some(slowdown) = of.cell.and_then(|cell| cell["comparison"]["slowdown"].as_f64()) {
            close(labels("tare_slowdown_ratio").unwrap(), slowdown, 0.0, &what);
            close(number("slowdown"), slowdown, 0.0, &what);
        }
    }
    let page = unpack_page(&report(&["--html", "p.html"], ENGLISH));
    let on_page = list_measured(&page["report"]);
    assert_eq!(on_page.len(), measured.len());
    for (of, here) in measured.iter().zip(&on_page) {
        let what = format!("{} in {}", of.row["case"], of.environment);
        for name in ["median", "low", "high", "rounds"] {
            close(here.level[name].as_f64().unwrap(), of.level[name].as_f64().unwrap(), SIX_DIGITS, &what);
        }
        // A page leaves out the intervals of further metrics, but not their numbers.
        let texts = ["answer", "words", "short", "signs", "interval"].into_iter();
        for name in texts.filter(|name| *name != "interval" || of.row["headline"] == true) {
            assert_eq!(here.cell.map(|cell| &cell[name]), of.cell.map(|cell| &cell[name]), "{what}");
        }
    }
}

#[test]
fn tables_have_the_figures_of_the_document_in_both_languages() {
    let document: Value = serde_json::from_str(&report(&["--json"], ENGLISH)).unwrap();
    let flat = |text: &str| text.replace('\\', "").split_whitespace().collect::<Vec<_>>().join(" ");
    let forms = [
        (Language::English, flat(&report(&["--wide"], ENGLISH))),
        (Language::English, flat(&report(&["--markdown"], ENGLISH))),
        (Language::Japanese, flat(&report(&["--wide"], JAPANESE))),
    ];
    let default = [(Language::English, ENGLISH), (Language::Japanese, JAPANESE)]
        .map(|(language, locale)| (language, flat(&report(&[], locale))));
    let junit = report(&["--export", "junit"], ENGLISH).replace("&lt;", "<");
    for of in list_measured(&document).iter().filter(|of| of.row["headline"] == true) {
        let figure = of.figure();
        let what = format!("{figure} of {} in {}", of.row["label"], of.environment);
        for (language, text) in &forms {
            assert!(text.contains(&figure), "{what} is not in {language:?}: {text}");
        }
        let Some(cell) = of.cell else {
            assert!(default.iter().all(|(_, text)| text.contains(&figure)), "{what}");
            continue;
        };
        let [words, interval] = ["words", "interval"].map(|name| cell[name].as_str().unwrap_or_default());
        assert!(
            forms[0].1.contains(words) && junit.contains(&format!("{words} {interval}")),
            "{what}: {words}"
        );
        assert!(forms[0].1.contains(interval) && forms[1].1.contains(interval), "{what}: {interval}");
    }
    let measured_s = document["session"]["measured_s"].as_f64().unwrap();
    let all = list_measured(&document);
    let rounds = || all.iter().map(|of| of.level["rounds"].as_u64().unwrap());
    let (least, most) = (rounds().min().unwrap(), rounds().max().unwrap());
    for (language, text) in forms.iter().chain(&default) {
        let duration = language.format_duration(measured_s);
        assert!(text.contains(&duration), "{duration} is not in {text}");
        let numbers = [least, most].map(|number| number.to_string());
        assert!(numbers.iter().all(|number| text.contains(number.as_str())), "{least} to {most} in {text}");
    }
    let page = unpack_page(&report(&["--html", "p.html"], ENGLISH));
    close(page["report"]["session"]["measured_s"].as_f64().unwrap(), measured_s, SIX_DIGITS, "duration");
}
