//! Typical paces: the times of cases and environments on one machine, for a plan before anything is measured.

use std::collections::BTreeMap;

use serde::Deserialize;
use tare_data::failure::{Failure, FailureKind};
use tare_data::names::Case;
use tare_data::session::Sides;

use crate::session::plan::amount::Pace;
use crate::session::plan::calibrated::Calibrated;
use crate::study::{SelectedCase, startup};

/// The table that is shipped, as ./bench/paces writes it.
const SHIPPED: &str = include_str!("paces.toml");

/// Typical paces of cases in native, and of environments relative to it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Paces {
    /// Machine on which they were measured.
    pub machine: String,
    /// Paces in native, by the name of a case without its place and peer.
    cases: BTreeMap<String, CasePace>,
    environments: BTreeMap<String, EnvironmentPace>,
}

/// Typical time of a case in native.
#[derive(Clone, Copy, Debug, Deserialize)]
struct CasePace {
    #[serde(flatten)]
    work: Work,
    /// Time of a trial besides its work, in milliseconds.
    overhead_ms: f64,
}

/// Typical time of the work of a trial, in microseconds.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Work {
    /// Time of an operation, of which a trial has many.
    OperationUs(f64),
    /// Time of a pass over a fixed amount of work.
    PassUs(f64),
}

/// Typical times of an environment.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EnvironmentPace {
    /// Times that an operation takes as long as in native.
    operation: f64,
    /// Times that the rest of a trial takes as long.
    overhead: f64,
    pub start_s: f64,
    /// True where its trials can take turns with native's.
    pub takes_turns: bool,
}

impl Paces {
    /// Parses the table of typical times that is built in.
    pub fn read_shipped() -> Paces {
        toml::from_str(SHIPPED).expect("a test reads the shipped table")
    }

    /// Finds the typical times of a provider's environments; none where nobody measured one.
    pub fn find_environment(&self, provider: &str) -> Option<EnvironmentPace> {
        self.environments.get(provider).copied()
    }

    /// Estimates the paces of cases on all sides, as a calibration would find them. Also returns the times of each side's environment.
    pub fn estimate_cases(
        &self,
        selected: &[SelectedCase],
        sides: &Sides,
    ) -> (Vec<Option<EnvironmentPace>>, Vec<Calibrated>) {
        let environments: Vec<Option<EnvironmentPace>> =
            sides.iter().map(|side| self.find_environment(side.provider())).collect();
        let turns = |environment: &Option<EnvironmentPace>| environment.is_some_and(|pace| pace.takes_turns);
        let takes_turns: Vec<bool> =
            environments.iter().map(|it| turns(it) && turns(&environments[0])).collect();
        let estimate = |selected: &SelectedCase| {
            let pace = |environment: &Option<EnvironmentPace>| {
                let known = environment.and_then(|pace| self.estimate_pace(&selected.case, pace));
                known.ok_or_else(|| Failure::new(FailureKind::NotSupported, "its time is not known"))
            };
            let paces = environments.iter().map(pace).collect();
            Calibrated { selected: selected.clone(), paces, takes_turns: takes_turns.clone() }
        };
        let cases = selected.iter().map(estimate).collect();
        (environments, cases)
    }

    /// Estimates the pace of a case in an environment; none where nobody measured such a case.
    pub fn estimate_pace(&self, case: &Case, environment: EnvironmentPace) -> Option<Pace> {
        if startup::is_start(case) {
            let start_ns = environment.start_s * 1e9;
            return Some(Pace { operation_ns: start_ns, overhead_ns: 0.0, fixed_ns: Some(start_ns) });
        }
        let CasePace { work, overhead_ms } = self.find_case(case)?;
        let (operation_ns, is_pass) = match work {
            Work::OperationUs(us) => (us * 1e3 * environment.operation, false),
            Work::PassUs(us) => (us * 1e3 * environment.operation, true),
        };
        Some(Pace {
            operation_ns,
            overhead_ns: overhead_ms * 1e6 * environment.overhead,
            fixed_ns: is_pass.then_some(operation_ns),
        })
    }

    /// Finds the pace of a case, or of its probe with other parameters where these do not say how much work there is.
    fn find_case(&self, case: &Case) -> Option<CasePace> {
        let name = Case { place: None, peer: None, ..case.clone() }.to_string();
        let is_like = |(other, pace): &(&String, &CasePace)| {
            other.split('?').next() == Some(&case.probe) && matches!(pace.work, Work::OperationUs(_))
        };
        let of_probe = || self.cases.iter().find(is_like).map(|(_, pace)| *pace);
        self.cases.get(&name).copied().or_else(of_probe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environments;
    use crate::session::enter::sides::default_subjects;
    use crate::study::Study;

    /// Providers of default subjects that no table has, because the machine of the table does not run them.
    const NOT_MEASURED: [&str; 1] = ["docker"];

    const TABLE: &str = "machine = 'm'
        [cases]
        'file.seq?bs=4KiB' = { pass_us = 2000, overhead_ms = 3 }
        'proc.spawn' = { operation_us = 100, overhead_ms = 2 }
        [environments]
        native = { operation = 1, overhead = 1, start_s = 0.01, takes_turns = true }
        gvisor = { operation = 5, overhead = 10, start_s = 0.5, takes_turns = false }";

    fn case(probe: &str, parameters: &[(&str, &str)], place: Option<&str>) -> Case {
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let parameters = tare_data::names::Parameters(parameters.iter().map(owned).collect());
        Case { probe: probe.into(), parameters, place: place.map(str::to_owned), peer: None }
    }

    #[test]
    fn a_pace_is_that_of_native_times_what_the_environment_takes() {
        let paces: Paces = toml::from_str(TABLE).unwrap();
        let gvisor = paces.find_environment("gvisor").unwrap();
        let pace = |case: Case| paces.estimate_pace(&case, gvisor);
        let spawn = Pace { operation_ns: 5e5, overhead_ns: 2e7, fixed_ns: None };
        assert_eq!(pace(case("proc.spawn", &[], None)), Some(spawn));
        assert_eq!(pace(case("proc.spawn", &[("other", "1")], None)), Some(spawn), "the probe's");
        let pass = Pace { operation_ns: 1e7, overhead_ns: 3e7, fixed_ns: Some(1e7) };
        assert_eq!(pace(case("file.seq", &[("bs", "4KiB")], Some("own"))), Some(pass));
        assert_eq!(pace(case("file.seq", &[("bs", "1MiB")], Some("own"))), None, "another amount of work");
        let start = Pace { operation_ns: 5e8, overhead_ns: 0.0, fixed_ns: Some(5e8) };
        assert_eq!(pace(case("env.start", &[("at_once", "1")], None)), Some(start));
        assert!(paces.find_environment("qemu").is_none());
    }

    #[test]
    fn the_shipped_table_has_the_cases_of_quick_and_full_and_the_default_environments() {
        let paces = Paces::read_shipped();
        let studies = ["quick", "full"].map(|name| Study::from_name(name).unwrap());
        let selected = studies.iter().flat_map(|study| study.expand_cases(None, None).unwrap());
        let name = |case: Case| Case { place: None, peer: None, ..case }.to_string();
        let cases =
            selected.map(|selected| name(selected.case)).filter(|name| !paces.cases.contains_key(name));
        let provider = |text: String| environments::parse_environment(&text).unwrap().specification.provider;
        let providers = default_subjects(&[]).into_iter().chain(["native".to_owned()]).map(provider);
        let is_missing =
            |name: &String| !paces.environments.contains_key(name) && !NOT_MEASURED.contains(&name.as_str());
        let missing: Vec<String> = cases.chain(providers.filter(is_missing)).collect();
        assert_eq!(missing, Vec::<String>::new(), "`./bench/paces --help` says how to measure them");
    }
}
