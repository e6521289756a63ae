//! Figures that another tool measured: its own statistics as it stated them, never mixed with tare's samples.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::names::{Case, Parameters};
use crate::peer::PeerKind;
use crate::unit::Unit;

/// The contents of one file of another tool's output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Imported {
    /// The tool, as it calls itself: `netperf`, `CrystalDiskMark`.
    pub tool: String,
    /// Its version, where the output names it.
    pub version: Option<String>,
    /// Parameters of the run as a whole.
    pub parameters: BTreeMap<String, String>,
    /// Environment in which the tool ran, as the user who imports it states. It is not checked.
    pub environment: Option<String>,
    pub source: Source,
    pub figures: Vec<ImportedFigure>,
    /// Lines with numbers that are not among the figures, with the count of similar lines, or their position
    /// in JSON.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_kept: Vec<String>,
}

/// The file that figures came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its name, without the folder.
    pub name: String,
    pub bytes: u64,
    /// SHA-256 of its bytes, in hex.
    pub sha256: String,
}

/// Figure that the tool measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImportedFigure {
    /// In the tool's words: `TCP REQUEST/RESPONSE`, `SEQ 1MiB Q8T1 read`.
    pub name: String,
    /// Parameters of this figure alone.
    pub parameters: BTreeMap<String, String>,
    /// The probe of tare that measures the same thing, if there is one.
    pub counterpart: Option<Counterpart>,
    pub values: Vec<Stated>,
}

/// A probe of tare, with the parameters that the tool's output fixes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counterpart {
    pub probe: String,
    pub parameters: Parameters,
    /// Position of the other end, if the output names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<PeerKind>,
}

/// Statistic that a tool states.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stated {
    pub statistic: Statistic,
    /// In `unit`; finite.
    pub value: f64,
    /// None where the output does not name it, or names one that tare does not know.
    pub unit: Option<Unit>,
    /// As it is written in the output, with the tool's own unit: `25.80 us`.
    pub written: String,
    /// The metric of the counterpart that is defined in the same way, if there is one.
    pub metric: Option<String>,
}

/// Relation of a stated value to the values that the tool saw.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    Minimum,
    Mean,
    /// In 0..=100, as tools write it.
    Percentile(f64),
    Maximum,
    StandardDeviation,
    /// Time over operations: a mean of operations that were not timed one by one.
    TimePerOperation,
    Rate,
    /// Bytes or bits over time.
    Throughput,
    /// Count, or number of bytes, over the whole run.
    Count,
    /// Duration of the run.
    Elapsed,
    /// A number that the tool makes of others.
    Score,
    /// A single value, which the output does not describe further.
    Value,
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Statistic::Percentile(percent) => write!(f, "p{percent}"),
            Statistic::Minimum => f.write_str("min"),
            Statistic::Mean => f.write_str("mean"),
            Statistic::Maximum => f.write_str("max"),
            Statistic::StandardDeviation => f.write_str("sd"),
            Statistic::TimePerOperation => f.write_str("time"),
            Statistic::Rate => f.write_str("rate"),
            Statistic::Throughput => f.write_str("throughput"),
            Statistic::Count => f.write_str("count"),
            Statistic::Elapsed => f.write_str("elapsed"),
            Statistic::Score => f.write_str("score"),
            Statistic::Value => f.write_str("value"),
        }
    }
}

/// Key of a parameter that remarks on the values, and sets nothing up.
pub const REMARK: &str = "remark";

impl ImportedFigure {
    /// Lists the parameters by which the run was set up, without remarks on its values.
    pub fn settings(&self) -> impl Iterator<Item = (&String, &String)> {
        self.parameters.iter().filter(|(key, _)| *key != REMARK)
    }

    /// Returns the remark on the values, if there is one.
    pub fn remark(&self) -> Option<&str> {
        self.parameters.get(REMARK).map(String::as_str)
    }
}

impl Counterpart {
    /// Compares with a case of a session: this probe, the same kind of peer, and every parameter that the
    /// output fixes.
    ///
    /// Sizes are compared as sizes: `4KiB` is `4096`. A case of before round trips had these parameters
    /// speaks TCP, one request at a time.
    pub fn matches_case(&self, case: &Case) -> bool {
        self.probe == case.probe
            && self.peer.is_none_or(|peer| case.peer.as_deref().map(PeerKind::from_name) == Some(peer))
            && self.parameters.0.iter().all(|(key, value)| {
                let unnamed = match key.as_str() {
                    "protocol" => Some("tcp"),
                    "burst" => Some("1"),
                    "rate" => Some("0"),
                    _ => None,
                };
                case.parameters.0.get(key).map(String::as_str).or(unnamed).is_some_and(|other| {
                    let sizes = (crate::names::parse_size(value), crate::names::parse_size(other));
                    value == other || matches!(sizes, (Some(a), Some(b)) if a == b)
                })
            })
    }
}

impl fmt::Display for Counterpart {
    /// Formats `net.rr?request=1&response=1`, as cases are named.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parameters = self.parameters.clone();
        let case = Case { probe: self.probe.clone(), parameters, place: None, peer: None };
        case.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counterpart_fits_cases_with_the_parameters_it_fixes() {
        let parameters = |pairs: &[(&str, &str)]| {
            Parameters(pairs.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect())
        };
        let counterpart = Counterpart {
            probe: "file.queue".into(),
            parameters: parameters(&[("bs", "4096"), ("op", "read")]),
            peer: None,
        };
        let fits = |probe: &str, pairs: &[(&str, &str)]| {
            let (probe, parameters) = (probe.to_owned(), parameters(pairs));
            counterpart.matches_case(&Case { probe, parameters, place: None, peer: None })
        };
        assert!(fits("file.queue", &[("bs", "4KiB"), ("op", "read"), ("depth", "32")]));
        assert!(!fits("file.seq", &[("bs", "4KiB"), ("op", "read"), ("depth", "32")]));
        assert!(!fits("file.queue", &[("bs", "4KiB"), ("op", "write")]));
        assert!(!fits("file.queue", &[("bs", "4KiB")]), "an unknown parameter does not fit");
        assert_eq!(counterpart.to_string(), "file.queue?bs=4096&op=read");
    }

    #[test]
    fn a_result_to_a_server_is_not_one_of_a_loopback() {
        let counterpart = |peer| Counterpart { probe: "net.rr".into(), parameters: Default::default(), peer };
        let case = |peer: &str| Case {
            probe: "net.rr".into(),
            parameters: Default::default(),
            place: None,
            peer: Some(peer.into()),
        };
        let (inside, outside) = (counterpart(Some(PeerKind::Loopback)), counterpart(Some(PeerKind::Outside)));
        assert!(inside.matches_case(&case("loopback")) && !inside.matches_case(&case("host")));
        assert!(
            outside.matches_case(&case("host"))
                && outside.matches_case(&case("nas"))
                && !outside.matches_case(&case("loopback"))
        );
        assert!(
            counterpart(None).matches_case(&case("loopback"))
                && counterpart(None).matches_case(&case("host"))
        );
    }

    #[test]
    fn statistics_are_named_as_metrics_are() {
        assert_eq!(Statistic::Percentile(99.9).to_string(), "p99.9");
        assert_eq!(Statistic::Percentile(50.0).to_string(), "p50");
        assert_eq!(Statistic::StandardDeviation.to_string(), "sd");
    }
}
