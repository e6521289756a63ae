//! A study: which cases are measured, where, and what they show; a TOML file, shipped or the user's.

mod called_commands;
pub(crate) mod calls;
mod keys;
pub mod kinds;
pub(crate) mod label;
pub(crate) mod probes;
pub mod published;
pub mod schema;
pub(crate) mod startup;
pub mod user_command;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use tare_data::names::{Case, Parameters, matches_pattern, parse_size};
use tare_probes::descriptions::USER_COMMAND;
use tare_probes::probe::{Probe, Size};
use tare_record::input;

use crate::error::LabError;
use crate::nearest::add_nearest_hint;
use crate::storage::places::{OWN, parse_place};
use crate::study::keys::not_read;
use crate::study::user_command::{CarriedFile, UserCommand, case_name};
use crate::study::values::{default_margin, default_size};

pub use self::probes::list_probes;
use self::probes::probe_named;

pub static SHIPPED: &[(&str, &str)] = &[
    ("quick", include_str!("../../studies/quick.toml")),
    ("full", include_str!("../../studies/full.toml")),
    ("unixbench", include_str!("../../studies/unixbench.toml")),
    ("sysbench", include_str!("../../studies/sysbench.toml")),
    ("rtt", include_str!("../../studies/rtt.toml")),
    ("inbound", include_str!("../../studies/inbound.toml")),
    ("filesystems", include_str!("../../studies/filesystems.toml")),
    ("share", include_str!("../../studies/share.toml")),
    ("process-creation", include_str!("../../studies/process-creation.toml")),
    ("page-cache", include_str!("../../studies/page-cache.toml")),
    ("ladder", include_str!("../../studies/ladder.toml")),
    ("prices", include_str!("../../studies/prices.toml")),
    ("startup", include_str!("../../studies/startup.toml")),
    ("calls", include_str!("../../studies/calls.toml")),
    ("developer", include_str!("../../studies/developer.toml")),
    ("cdm8-default", include_str!("../../studies/cdm8-default.toml")),
    ("cdm8-nvme", include_str!("../../studies/cdm8-nvme.toml")),
];

/// Limit on the cases of a study: lists of parameters multiply.
const MOST_CASES: usize = 1000;
/// Longest file that is read as a study: the shipped ones have a few kB.
const LONGEST_FILE: u64 = 1 << 20;
/// Time for a session with one command from the command line, and for each further one.
const COMMAND: Duration = Duration::from_secs(60);
const FURTHER_COMMAND: Duration = Duration::from_secs(30);
/// Longest trial by time: what a trial's deadline has room for.
const LONGEST_TRIAL_S: f64 = 300.0;

/// A study, as it stands in its file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Study {
    pub name: String,
    /// Title in one line.
    pub title: String,
    /// Prose: purpose, limits and distortions.
    pub about: String,
    /// Time for a session, e.g. `150s`, `8m`.
    #[serde(deserialize_with = "values::read_time")]
    pub budget: Duration,
    /// The largest relative difference that still counts as the same; 0.02 unless given.
    #[serde(default = "values::default_margin")]
    pub margin: f64,
    /// `short` or `reference`.
    #[serde(default = "values::default_size", deserialize_with = "values::read_size")]
    pub size: Size,
    /// Rounds before which nothing is decided, where the time has room for them: an article's number of runs.
    pub least_rounds: Option<u32>,
    /// Articles whose values stand beside the session's: names, or paths of files.
    #[serde(default)]
    pub published: Vec<String>,
    /// Environments of a session that names none, where they are ready.
    #[serde(default)]
    pub environments: Vec<String>,
    /// Time for a session in the reference size; `budget` unless given.
    #[serde(default, deserialize_with = "values::read_optional_time")]
    pub reference_budget: Option<Duration>,
    #[serde(rename = "case", default)]
    pub cases: Vec<StudyCase>,
    #[serde(rename = "probe", default)]
    pub commands: BTreeMap<String, UserCommand>,
    /// Folder of the study's file, which has the files that it carries along.
    #[serde(skip)]
    pub folder: PathBuf,
}

/// Cases of one probe: every combination of the listed parameters, places and peers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyCase {
    pub probe: String,
    /// A value or a list of values a parameter.
    #[serde(default)]
    pub parameters: BTreeMap<String, toml::Value>,
    /// `own` unless given; for probes that need a place.
    #[serde(default)]
    pub places: Vec<String>,
    /// `loopback` unless given; for probes that need a peer.
    #[serde(default)]
    pub peers: Vec<String>,
    /// Margin of this case, where it differs from the study's.
    pub margin: Option<f64>,
    /// Parameters that it has in the short size alone, over `parameters`.
    #[serde(default)]
    pub short: BTreeMap<String, toml::Value>,
    /// Parameters that it has in the reference size alone, over `parameters`.
    #[serde(default)]
    pub reference: BTreeMap<String, toml::Value>,
    /// In the reference size a trial runs this many seconds, instead of a number of operations.
    pub seconds: Option<f64>,
    /// Metrics that must all be decided before an environment leaves the case; the headline unless given.
    #[serde(default)]
    pub decide: Vec<String>,
}

#[derive(Clone)]
pub struct SelectedCase {
    pub probe: &'static Probe,
    pub case: Case,
    /// ln(1 + margin).
    pub margin: f64,
    /// Length of a trial in seconds; otherwise the plan decides on a number of operations.
    pub seconds: Option<f64>,
    /// Metrics that must all be decided; the headline where none is named.
    pub decide: Vec<String>,
    /// True when a trial does one operation, however short.
    pub once: bool,
}

impl SelectedCase {
    /// Puts the command of a side into its case.
    pub(crate) fn on_side(&self, side: &tare_data::session::Side) -> SelectedCase {
        SelectedCase { case: side.fill_case(&self.case), ..self.clone() }
    }
}

impl Study {
    /// Reads a shipped study by name, or a file by path; several with commas between them are one.
    pub fn from_name(name: &str) -> Result<Study, LabError> {
        let mut names = name.split(',').map(str::trim).filter(|name| !name.is_empty());
        let first = Study::single(names.next().unwrap_or(name))?;
        names.try_fold(first, |all, name| all.join_study(Study::single(name)?))
    }

    /// Joins the cases of both studies, in the time of both.
    pub fn join_study(self, other: Study) -> Result<Study, LabError> {
        let name = format!("{},{}", self.name, other.name);
        if self.size != other.size || (!other.commands.is_empty() && self.folder != other.folder) {
            return Err(LabError::usage_error(format!("the studies {name} cannot be combined"))
                .with_cause("they differ in size, or carry files from different folders"));
        }
        let both = |size| self.budget_in(size).saturating_add(other.budget_in(size));
        let (budget, reference_budget) = (both(Size::Short), Some(both(Size::Reference)));
        let mut both = Study { name, budget, reference_budget, ..self };
        both.title = format!("{}; {}", both.title, other.title);
        both.about = format!("{}\n\n{}", both.about.trim(), other.about.trim());
        both.cases.iter_mut().for_each(|case| case.margin = case.margin.or(Some(both.margin)));
        both.commands.values_mut().for_each(|command| command.margin = command.margin.or(Some(both.margin)));
        for mut case in other.cases {
            case.margin.get_or_insert(other.margin);
            both.cases.push(case);
        }
        for (name, mut command) in other.commands {
            command.margin.get_or_insert(other.margin);
            both.commands.insert(name, command);
        }
        both.least_rounds = both.least_rounds.max(other.least_rounds);
        // Each was chosen for its own cases.
        both.environments.clear();
        both.published.extend(other.published);
        both.published.sort_unstable();
        both.published.dedup();
        Ok(both)
    }

    /// Builds a study from commands of the command line; `title` names them all.
    pub fn of_commands(title: &str, commands: BTreeMap<String, UserCommand>) -> Study {
        let more = commands.len().saturating_sub(1) as u32;
        Study {
            name: title.to_owned(),
            title: title.to_owned(),
            about: "Commands from the command line.".to_owned(),
            budget: COMMAND + FURTHER_COMMAND * more,
            margin: default_margin(),
            size: default_size(),
            published: Vec::new(),
            environments: Vec::new(),
            reference_budget: None,
            least_rounds: None,
            cases: Vec::new(),
            commands,
            folder: PathBuf::new(),
        }
    }

    fn single(name: &str) -> Result<Study, LabError> {
        if let Some((_, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
            return Study::parse(text, name);
        }
        if name.ends_with(".toml") {
            let text = input::read_text(Path::new(name), LONGEST_FILE)
                .map_err(|e| LabError::usage_error(format!("cannot read the study {name}")).with_cause(e))?;
            let mut study = Study::parse(&text, name)?;
            study.folder = Path::new(name).parent().unwrap_or(Path::new("")).to_owned();
            return Ok(study);
        }
        let names: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
        let otherwise = format!("shipped are {}; your own file must end in .toml", names.join(", "));
        Err(add_nearest_hint(
            LabError::usage_error(format!("there is no study '{name}'")),
            name,
            names,
            otherwise,
        ))
    }

    /// Finds a shipped study by name; None when it is, or holds, a user's own.
    pub fn find_shipped(name: &str) -> Result<Option<Study>, LabError> {
        let is_shipped = |name: &str| SHIPPED.iter().any(|(shipped, _)| *shipped == name);
        name.split(',').all(is_shipped).then(|| Study::from_name(name)).transpose()
    }

    /// Reads a study; `origin` names it in errors.
    pub fn parse(text: &str, origin: &str) -> Result<Study, LabError> {
        let study: Study = toml::from_str(text).map_err(|e| {
            not_read(LabError::usage_error(format!("cannot read the study {origin}")), &e, schema::list_keys)
        })?;
        if study.cases.is_empty() && study.commands.is_empty() {
            return Err(LabError::usage_error(format!("the study {origin} has no case"))
                .with_hint("name a probe under [[case]], or a command under [probe.NAME]"));
        }
        Ok(study)
    }

    /// Returns the time that a session of this size has.
    pub fn budget_in(&self, size: Size) -> Duration {
        self.reference_budget.filter(|_| size == Size::Reference).unwrap_or(self.budget)
    }

    /// Collects the files that its commands carry along.
    pub fn collect_carried_files(&self) -> Result<Vec<CarriedFile>, LabError> {
        let files = self.commands.iter().map(|(name, command)| Ok(command.make_case(name, &self.folder)?.1));
        Ok(files.collect::<Result<Vec<_>, LabError>>()?.concat())
    }

    /// Expands every case, in the order of the file. `places` and `size` override the study's.
    pub fn expand_cases(
        &self,
        places: Option<&[String]>,
        size: Option<Size>,
    ) -> Result<Vec<SelectedCase>, LabError> {
        let size = size.unwrap_or(self.size);
        let everywhere = places.map(read_places).transpose()?;
        let mut selected: Vec<SelectedCase> = Vec::new();
        for study_case in &self.cases {
            let probe = probe_named(&study_case.probe)?;
            let margin = libm::log(1.0 + study_case.margin.unwrap_or(self.margin));
            let combinations = combinations(probe, study_case, size)?;
            let seconds = study_case.seconds(size, &self.name)?;
            study_case.decide.iter().try_for_each(|metric| known_metric(probe, metric))?;
            let places = everywhere.clone().map_or_else(|| read_places(&study_case.places), Ok)?;
            for place in somewhere(probe.needs_place(), &places, OWN) {
                for parameters in &combinations {
                    for peer in somewhere(probe.needs_peer(), &study_case.peers, "loopback") {
                        let (parameters, place) = (parameters.clone(), place.clone());
                        let case = Case { probe: probe.name.into(), parameters, place, peer };
                        let decide = study_case.decide.clone();
                        selected.push(SelectedCase { probe, case, margin, seconds, decide, once: false });
                    }
                }
            }
            self.not_too_many(&selected)?;
        }
        for (name, command) in &self.commands {
            let (parameters, _) = command.make_case(name, &self.folder)?;
            let probe = probe_named(USER_COMMAND)?;
            let margin = libm::log(1.0 + command.margin.unwrap_or(self.margin));
            let places = everywhere.clone().map_or_else(|| read_places(&command.places), Ok)?;
            for place in somewhere(true, &places, OWN) {
                let (probe_name, parameters) = (case_name(name), parameters.clone());
                let case = Case { probe: probe_name, parameters, place, peer: None };
                let decide = Vec::new();
                selected.push(SelectedCase { probe, case, margin, seconds: None, decide, once: false });
            }
        }
        self.not_too_many(&selected)?;
        once_each(&mut selected);
        place_by_place(&mut selected);
        starts_stand_alone(&selected)?;
        Ok(selected)
    }

    fn not_too_many(&self, selected: &[SelectedCase]) -> Result<(), LabError> {
        if selected.len() <= MOST_CASES {
            return Ok(());
        }
        let what = format!("the study {} has more than {MOST_CASES} cases", self.name);
        Err(LabError::usage_error(what))
    }
}

impl StudyCase {
    /// Returns the duration of a trial in a size, if it is fixed.
    fn seconds(&self, size: Size, study: &str) -> Result<Option<f64>, LabError> {
        match self.seconds {
            Some(seconds) if !(seconds > 0.0 && seconds <= LONGEST_TRIAL_S) => {
                let what = format!("{seconds} seconds of {} in the study {study}", self.probe);
                Err(LabError::usage_error(what)
                    .with_cause(format!("a trial takes more than 0 and at most {LONGEST_TRIAL_S} seconds")))
            }
            seconds => Ok(seconds.filter(|_| size == Size::Reference)),
        }
    }
}

fn read_places(names: &[String]) -> Result<Vec<String>, LabError> {
    names.iter().map(|name| parse_place(name)).collect()
}

/// Keeps the first of several cases that are one.
fn once_each(selected: &mut Vec<SelectedCase>) {
    let mut seen = BTreeSet::new();
    selected.retain(|selected| seen.insert(selected.case.clone()));
}

/// Refuses starts among other cases: a start takes the environment away in which the others run.
fn starts_stand_alone(selected: &[SelectedCase]) -> Result<(), LabError> {
    let starts = selected.iter().filter(|selected| startup::is_start(&selected.case));
    for start in starts.clone() {
        let cannot = |bad| LabError::usage_error(format!("cannot measure {}", start.case)).with_cause(bad);
        startup::at_once(&start.case).map_err(cannot)?;
    }
    if [0, selected.len()].contains(&starts.count()) {
        return Ok(());
    }
    let what = format!("{} is in a study with other cases", startup::PROBE.name);
    Err(LabError::usage_error(what)
        .with_cause("each of its trials starts a new environment")
        .with_hint("measure it alone: tare run startup"))
}

/// Puts the rows of a place together within each run of a probe's cases; both keep the order of the study.
fn place_by_place(selected: &mut [SelectedCase]) {
    for cases in selected.chunk_by_mut(|a, b| a.case.probe == b.case.probe) {
        let places: Vec<Option<String>> = cases.iter().map(|selected| selected.case.place.clone()).collect();
        cases.sort_by_key(|selected| places.iter().position(|place| *place == selected.case.place));
    }
}

/// Combines the listed parameter values over the probe's defaults.
fn combinations(probe: &Probe, selected: &StudyCase, size: Size) -> Result<Vec<Parameters>, LabError> {
    let mut all = vec![probe.default_parameters(size)];
    let of_size = match size {
        Size::Short => &selected.short,
        Size::Reference => &selected.reference,
    };
    // Keys of the other size must be right as well: a slip there would show a year later.
    let other =
        selected.short.keys().chain(selected.reference.keys()).filter(|key| !of_size.contains_key(*key));
    other.into_iter().try_for_each(|key| known_parameter(probe, key))?;
    let common = selected.parameters.iter().filter(|(key, _)| !of_size.contains_key(*key));
    for (key, value) in common.chain(of_size) {
        known_parameter(probe, key)?;
        let values = texts(value).ok_or_else(|| {
            LabError::usage_error(format!(
                "parameter '{key}' of {} is neither a value nor a list of values",
                probe.name
            ))
        })?;
        values.iter().try_for_each(|value| readable(probe, key, value))?;
        all = all
            .iter()
            .flat_map(|base| {
                values.iter().map(|value| {
                    let mut parameters = base.clone();
                    parameters.0.insert(key.clone(), value.clone());
                    parameters
                })
            })
            .take(MOST_CASES + 1)
            .collect();
    }
    Ok(all)
}

fn known_parameter(probe: &Probe, key: &str) -> Result<(), LabError> {
    known(probe, "parameter", key, probe.parameters.iter().map(|p| p.name))
}

/// Refuses what begins like a number where a number belongs and is none: in every environment it would fail much later.
fn readable(probe: &Probe, key: &str, value: &str) -> Result<(), LabError> {
    let is_number = |text: &str| parse_size(text).is_some() || text.parse::<f64>().is_ok();
    let wants_number = probe.parameters.iter().any(|p| p.name == key && is_number(p.short));
    if !wants_number || is_number(value) || !value.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(());
    }
    let what = format!("parameter {key}={value} of {} is not a number", probe.name);
    Err(LabError::usage_error(what)
        .with_hint("write a whole number, or one with a binary suffix: 4096, 4KiB, 1MiB"))
}

fn known_metric(probe: &Probe, name: &str) -> Result<(), LabError> {
    known(probe, "metric", name, probe.metrics.iter().map(|m| m.name))
}

/// Refuses a name that a probe has not among `names`, and names the nearest.
fn known<'a>(
    probe: &Probe,
    what: &str,
    name: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Result<(), LabError> {
    if names.clone().any(|known| known == name) {
        return Ok(());
    }
    let error = LabError::usage_error(format!("the probe {} has no {what} '{name}'", probe.name));
    Err(add_nearest_hint(error, name, names, format!("tare show {} lists its {what}s", probe.name)))
}

fn texts(value: &toml::Value) -> Option<Vec<String>> {
    let text = |value: &toml::Value| match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        _ => None,
    };
    match value {
        toml::Value::Array(values) => values.iter().map(text).collect(),
        value => text(value).map(|text| vec![text]),
    }
}

fn somewhere(needed: bool, named: &[String], default: &str) -> Vec<Option<String>> {
    match (needed, named) {
        (false, _) => vec![None],
        (true, []) => vec![Some(default.to_owned())],
        (true, named) => named.iter().cloned().map(Some).collect(),
    }
}

/// Keeps the cases whose probe (or whole name) matches a pattern; all when there are no patterns.
pub fn select_cases(selected: Vec<SelectedCase>, patterns: &[String]) -> Result<Vec<SelectedCase>, LabError> {
    let cases: Vec<&Case> = selected.iter().map(|selected| &selected.case).collect();
    each_names_one(patterns, &cases, "study")?;
    Ok(selected.into_iter().filter(|selected| is_selected(patterns, &selected.case)).collect())
}

/// Matches a case against the patterns; true where there are none. `*` matches any part of a name.
pub fn is_selected(patterns: &[String], case: &Case) -> bool {
    patterns.is_empty() || patterns.iter().any(|pattern| names(pattern, case))
}

/// Refuses a pattern that names nothing `of` this study or session: it is a slip.
pub fn each_names_one(patterns: &[String], cases: &[&Case], of: &str) -> Result<(), LabError> {
    match patterns.iter().find(|pattern| !cases.iter().any(|case| names(pattern, case))) {
        None => Ok(()),
        Some(pattern) => {
            let error = LabError::usage_error(format!("'{pattern}' names no probe of this {of}"));
            Err(named_nothing(error, pattern, cases))
        }
    }
}

/// Adds what was probably meant: a probe, a family of them, or a case that was named in part.
fn named_nothing(error: LabError, pattern: &str, cases: &[&Case]) -> LabError {
    if let Some((probe, part)) = pattern.split_once('?').filter(|(_, part)| !part.is_empty()) {
        let part = part.trim_matches('*');
        return error.with_hint(format!(
            "cases are named whole, as tare show STUDY prints them, or in part with *: '{probe}?*{part}*'"
        ));
    }
    let families = cases.iter().filter_map(|case| Some(format!("{}.*", case.probe.split_once('.')?.0)));
    let families: BTreeSet<String> = families.collect();
    let probes = cases.iter().map(|case| case.probe.as_str());
    let known: Vec<&str> = match pattern.ends_with(".*") {
        true => families.iter().map(String::as_str).collect(),
        false => probes.collect(),
    };
    add_nearest_hint(error, pattern, known, "tare list probes names them all")
}

fn names(pattern: &str, case: &Case) -> bool {
    matches_pattern(pattern, &case.probe) || matches_pattern(pattern, &case.to_string())
}

#[cfg(test)]
mod tests;
