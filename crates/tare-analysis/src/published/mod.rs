//! Published figures: an article's measurements as it printed them, and the conclusions from them.
//!
//! They come from other machines and days. They are shown next to a session's figures, and never in an
//! interval with them. `beside` finds the rows that an article speaks of, `claims` judges its conclusions by a session.

mod beside;
mod claims;
mod conditions;
mod consistency;
mod figures;
mod foreseen;
mod measured;
mod repeated;
mod stated;
mod tables;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tare_data::named;
use tare_data::peer::PeerKind;
use tare_data::unit::Direction;

pub use crate::article_table::{FigureLine, FigureTable, Line, Table, TableCell, TableForm};
pub use crate::findings::Beside;
pub use crate::quantity::Quantity;
pub use beside::place_beside;
pub use foreseen::{Foreseen, Obstacle, foresee_untold};
pub use repeated::find_repeated_article;

/// An article, a thesis or a report, with the figures that it printed.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Short name, that of its file.
    pub id: String,
    pub title: String,
    pub kind: SourceKind,
    pub url: Option<String>,
    /// The tool that it measured with.
    pub tool: String,
    /// A remark that is needed to read its figures.
    pub note: Option<String>,
    /// The forms of its tables, which are filled from a session.
    #[serde(default)]
    pub tables: Vec<TableForm>,
    /// Study and environments with which tare measures the same.
    pub redo: Option<Redo>,
    /// The environment that others are compared with; none where there is no figure to compare.
    pub reference: Option<String>,
    #[serde(rename = "environment")]
    pub environments: Vec<Environment>,
    /// Sizes on which its figures and claims rest.
    #[serde(rename = "condition", default)]
    pub conditions: Vec<Condition>,
    #[serde(rename = "figure", default)]
    pub figures: Vec<Figure>,
    #[serde(rename = "ratio", default)]
    pub ratios: Vec<StatedRatio>,
    #[serde(rename = "claim", default)]
    pub claims: Vec<Claim>,
}

/// Sizes on which the statements of an article on a probe rest. A statement is judged only by rows that have them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    pub probe: String,
    /// The cases of the probe that it is about: all that have these values.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// The metrics that depend on it; all where none is named.
    #[serde(default)]
    pub metrics: Vec<String>,
    /// Parameters with the article's values.
    #[serde(default)]
    pub sizes: BTreeMap<String, String>,
    /// Things that a size counts, where it is a mere number: `processes` by `n`.
    #[serde(default)]
    pub counts: BTreeMap<String, String>,
    /// Fewest operations of a trial, where it is about the extremes of a long run.
    pub operations: Option<u64>,
}

/// A session that repeats an article's measurements, in environments that correspond to the article's.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Redo {
    /// A shipped study, or several with commas between them.
    pub study: String,
    /// As `tare run --in` takes them; native is the baseline.
    pub environments: Vec<String>,
}

named! {
    /// Kind of a publication.
    pub enum SourceKind {
        Article = "article",
        Thesis = "thesis",
        Report = "report",
    }
}

/// An environment that an article measured in.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    pub id: String,
    pub kind: EnvironmentKind,
    /// Processor, memory and storage.
    pub machine: Option<String>,
    /// Operating system, or kernel.
    pub system: Option<String>,
    pub filesystem: Option<String>,
    pub network: Option<String>,
    pub note: Option<String>,
}

/// The kind of an environment; decides which environment of a session it is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnvironmentKind {
    Wsl1,
    Wsl2,
    /// A guest of a desktop's hypervisor.
    Vm,
    Native,
    /// A program of Windows itself.
    Windows,
}

impl EnvironmentKind {
    pub fn name(self) -> &'static str {
        match self {
            EnvironmentKind::Wsl1 => "WSL1",
            EnvironmentKind::Wsl2 => "WSL2",
            EnvironmentKind::Vm => "guest of a hypervisor",
            EnvironmentKind::Native => "native Linux",
            EnvironmentKind::Windows => "Windows",
        }
    }
}

/// Which rows of a session a figure or a ratio speaks of.
///
/// Parameters that it does not name may have any value: an article's sizes and durations are its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Subject<'a> {
    pub probe: &'a str,
    pub parameters: &'a BTreeMap<String, String>,
    pub place: Option<&'a str>,
    pub peer: Option<PeerKind>,
    pub metric: &'a str,
}

/// A line of an article's table.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Unique within the article.
    pub name: String,
    pub probe: String,
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    pub place: Option<String>,
    pub peer: Option<PeerKind>,
    /// The metric of the probe that is the same; none where tare has none.
    pub metric: Option<String>,
    /// Factor from the metric's value to `unit`, where the metric counts in another: from reads a second of
    /// 16 KiB to MiB a second.
    pub factor: Option<f64>,
    /// Why tare has no such metric.
    pub because: Option<String>,
    /// Line of the tool's own output that has it, as its table names it: `MIN_LATENCY`; empty where there is one only.
    pub line: Option<String>,
    /// Seconds of work that it counts, where the tool's line is a rate.
    pub seconds: Option<f64>,
    pub unit: PrintedUnit,
    pub better: Direction,
    /// Numbers printed for each environment: one a run, or one for all.
    pub values: BTreeMap<String, Vec<f64>>,
    /// Runs behind each printed figure, where the article says so.
    pub runs: Option<u32>,
    /// Digits after the point that every value was printed with, where some end in 0.
    pub decimals: Option<usize>,
}

impl Figure {
    pub fn subject(&self) -> Option<Subject<'_>> {
        self.metric.as_deref().map(|metric| self.subject_of(metric))
    }

    /// Makes the subject of its rows of a metric.
    fn subject_of<'a>(&'a self, metric: &'a str) -> Subject<'a> {
        let (probe, parameters) = (&self.probe, &self.parameters);
        Subject { probe, parameters, place: self.place.as_deref(), peer: self.peer, metric }
    }

    /// Formats the numbers of an environment as they were printed.
    pub fn format_printed(&self, environment: &str) -> Vec<String> {
        let values = self.values.get(environment).into_iter().flatten();
        let text = |value: &f64| match self.decimals {
            Some(decimals) => format!("{value:.decimals$}"),
            None => value.to_string(),
        };
        values.map(text).collect()
    }

    /// Digits after the point of its numbers.
    fn count_decimals(&self) -> usize {
        let digits = |value: &f64| value.to_string().split_once('.').map_or(0, |(_, digits)| digits.len());
        self.decimals.or_else(|| self.values.values().flatten().map(digits).max()).unwrap_or(0)
    }

    /// Averages the numbers printed for an environment.
    pub fn mean(&self, environment: &str) -> Option<f64> {
        let values = self.values.get(environment).filter(|values| !values.is_empty())?;
        Some(values.iter().sum::<f64>() / values.len() as f64)
    }

    /// Divides the numbers of an environment by those of another; none where that is 0.
    pub(crate) fn value_ratio(&self, environment: &str, against: &str) -> Option<f64> {
        let ratio = self.mean(environment)? / self.mean(against)?;
        (ratio.is_finite() && ratio > 0.0).then_some(ratio)
    }
}

named! {
    /// A unit as an article prints it.
    pub enum PrintedUnit {
        Microseconds = "us",
        Milliseconds = "ms",
        Seconds = "s",
        PerSecond = "/s",
        Events = "events",
        /// 10^6 bytes.
        Megabytes = "MB",
        /// 10^6 bytes a second, as dd counts.
        MegabytesPerSecond = "MB/s",
        MebibytesPerSecond = "MiB/s",
    }
}

impl PrintedUnit {
    /// Gives its microseconds; none where it is not a unit of time.
    fn time_us(self) -> Option<f64> {
        match self {
            PrintedUnit::Microseconds => Some(1.0),
            PrintedUnit::Milliseconds => Some(1e3),
            PrintedUnit::Seconds => Some(1e6),
            _ => None,
        }
    }
}

/// A ratio that an article gives without the figures behind it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatedRatio {
    pub name: String,
    pub probe: String,
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    pub place: Option<String>,
    pub peer: Option<PeerKind>,
    pub metric: String,
    pub better: Direction,
    pub environment: String,
    pub against: String,
    /// `environment` over `against`, as stated.
    pub value: f64,
}

impl StatedRatio {
    pub fn subject(&self) -> Subject<'_> {
        let (place, metric) = (self.place.as_deref(), self.metric.as_str());
        Subject { probe: &self.probe, parameters: &self.parameters, place, peer: self.peer, metric }
    }
}

/// A conclusion of an article.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// In our own words.
    pub text: String,
    /// True for the choice that the article recommends.
    #[serde(default)]
    pub recommends: bool,
    /// Tests of it by the article's figures; empty where it printed none that would tell.
    #[serde(rename = "check", default)]
    pub checks: Vec<Check>,
    /// Results that a session would show where the conclusion holds, for one without figures.
    #[serde(rename = "expect", default)]
    pub expectations: Vec<Expectation>,
    /// The requirement for a session to judge it, where no session can yet.
    pub needs: Option<String>,
}

/// A comparison of two environments that comes out so where a conclusion holds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    pub probe: String,
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    pub place: Option<String>,
    pub peer: Option<PeerKind>,
    pub metric: String,
    pub environment: String,
    pub against: String,
    /// The place of `against`, where it is another of the same environment.
    pub against_place: Option<String>,
    /// Parameters of `against`, where the two are cases of one environment: blocks of another size.
    #[serde(default)]
    pub against_parameters: BTreeMap<String, String>,
    pub is: Expected,
}

impl Expectation {
    pub fn subject(&self) -> Subject<'_> {
        let (place, metric) = (self.place.as_deref(), self.metric.as_str());
        Subject { probe: &self.probe, parameters: &self.parameters, place, peer: self.peer, metric }
    }
}

/// The expected result of `environment` compared with `against`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expected {
    Slower,
    Faster,
    /// Within a tenth: articles say "hardly differs".
    Same,
    /// By more than a tenth, whichever way.
    Different,
}

impl Expected {
    pub fn name(self) -> &'static str {
        match self {
            Expected::Slower => "slower",
            Expected::Faster => "faster",
            Expected::Same => "the same",
            Expected::Different => "different",
        }
    }
}

/// A figure of a conclusion, and its computation.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// `Figure::name`.
    pub figure: String,
    pub of: Quantity,
    pub environment: String,
    /// The other environment, for a quantity between two.
    pub against: Option<String>,
    /// `Figure::name` of the other figure, for a quantity between two figures of one environment.
    pub over: Option<String>,
    /// The run of each environment that the article goes by; the mean of all runs where it names none.
    pub run: Option<Run>,
    /// As the article states it: `0.89 %`, `9.2 ms`, `130 to 180 us`, `over 9 ms`. The computed one is
    /// rounded to its digits.
    pub states: String,
}

/// Which of several runs an article goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Run {
    Least,
    Greatest,
}

impl Published {
    pub(crate) fn find_figure(&self, name: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.name == name)
    }

    pub fn find_environment(&self, id: &str) -> Option<&Environment> {
        self.environments.iter().find(|environment| environment.id == id)
    }
}
