//! Engines: who starts jobs on nodes, as templates in TOML. Nothing here knows one of them.

mod command;
mod file;
pub(crate) mod job_id;
mod templates;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use rustix::fs::{MemfdFlags, memfd_create};
use tare_data::foreign::Foreign;
use tare_data::session::specification::Specification;
use tare_data::shell::{join_for_script, join_words};
use tare_probes::peer::Secret;
use tare_record::input;

use self::file::Templates;
use self::job_id::JobId;
use self::templates::{Values, fill_lines, fill_template, fill_words, parse_options};
use crate::duration;
use crate::error::{ErrorKind, LabError};
use crate::fleet::plan::PlannedEngine;
use crate::fleet::shipped::SHIPPED;
use crate::host::processes;
use crate::host::programs::{self, Programs};
use crate::nearest::add_nearest_hint;
use crate::node_names::is_node_name;

/// Longest file that is read as an engine.
const LONGEST_FILE: u64 = 1 << 20;
/// Time in which an engine must answer a question, or take a job.
const ANSWER_WAIT: Duration = Duration::from_secs(60);
/// Random digits in the name of a job of two nodes.
const OWN_DIGITS: usize = 8;
/// Characters of a reason that are kept: it stands in a line of a table.
const LONGEST_REASON: usize = 300;

/// Placeholder for a secret in a job that is printed.
pub const SECRET: &str = "SECRET";

/// An engine with the options that it was given.
#[derive(Clone, Debug)]
pub struct Engine {
    name: String,
    text: String,
    templates: Templates,
    options: Values,
    pub(crate) settle: Duration,
}

/// A job of a fleet, in words that templates have names for.
pub struct Job<'a> {
    pub folder: &'a Path,
    /// The fleet's name for its jobs.
    pub name: &'a str,
    /// Nodes; of a pair the one that measures, then the one that serves.
    pub nodes: Vec<&'a str>,
    /// Session of a cell, or round of a pair.
    pub number: u32,
    pub plan_sha256: &'a str,
    /// SHA-256 of the program that measures.
    pub binary_sha256: &'a str,
    /// Scratch folder on the node, where the plan names one.
    pub scratch: Option<&'a str>,
    pub limit: Duration,
    /// Destination of its output.
    pub log: &'a Path,
}

/// A job as it would be submitted, for a person to read.
pub struct Printed {
    pub command: String,
    pub script: String,
    /// True when the script contains [`SECRET`].
    pub has_secret: bool,
}

/// A job that was started.
pub(crate) enum Started {
    /// The engine's, by its id.
    Submitted(JobId),
    /// It runs as long as this process.
    Attached(Child),
}

impl Engine {
    /// Reads a shipped engine, or a file that ends in .toml, with options: `slurm?partition=long`.
    pub fn from_name(on: &str) -> Result<Engine, LabError> {
        let specification = on.parse::<Specification>()?;
        let name = match &specification.instance {
            Some(instance) => format!("{}:{instance}", specification.provider),
            None => specification.provider.clone(),
        };
        if let Some((_, text)) = SHIPPED.iter().find(|(shipped, _)| *shipped == name) {
            return Engine::parse(&name, text, &specification.options);
        }
        if !name.ends_with(".toml") {
            let names: Vec<&str> = SHIPPED.iter().map(|(name, _)| *name).collect();
            let otherwise = format!("shipped are {}; your own file must end in .toml", names.join(", "));
            return Err(add_nearest_hint(
                LabError::usage_error(format!("there is no engine '{name}'")),
                &name,
                names,
                otherwise,
            ));
        }
        let text = input::read_text(Path::new(&name), LONGEST_FILE)
            .map_err(|e| LabError::usage_error(format!("cannot read the engine {name}")).with_cause(e))?;
        Engine::parse(&name, &text, &specification.options)
    }

    /// Reads the engine of a plan, as it was when the plan was made.
    pub fn from_plan(planned: &PlannedEngine) -> Result<Foreign<Engine>, LabError> {
        let parse = |on: &String, text: &String| {
            let specification = on.parse::<Specification>()?;
            Engine::parse(&specification.provider.clone(), text, &specification.options)
        };
        planned.on.map_with(&planned.toml, parse).transpose()
    }

    /// Lists the commands that it runs on this machine, quoted for a shell.
    pub(crate) fn list_commands(&self) -> String {
        self.templates.list_commands()
    }

    fn parse(name: &str, text: &str, given: &BTreeMap<String, String>) -> Result<Engine, LabError> {
        let wrong = |because: String| {
            LabError::usage_error(format!("cannot read the engine {name}")).with_cause(because)
        };
        let templates: Templates = toml::from_str(text).map_err(|e| wrong(e.to_string()))?;
        let of_pair = templates.pair.as_ref().map(|pair| &pair.submit);
        if std::iter::once(&templates.submit).chain(of_pair).any(Vec::is_empty) {
            return Err(wrong("'submit' is empty".into()));
        }
        if templates.state.is_empty() != templates.cancel.is_empty() {
            return Err(wrong("'state' and 'cancel' need each other".into()));
        }
        templates.show_no_secret().map_err(wrong)?;
        let settle = duration::parse_positive_duration(&templates.settle)
            .ok_or_else(|| wrong(format!("settle '{}' is not a time, e.g. 5s", templates.settle)))?;
        let options = parse_options(name, &templates.options, given)?;
        Ok(Engine { name: name.to_owned(), text: text.to_owned(), templates, options, settle })
    }

    /// Tells whether it starts pairs of nodes.
    pub fn has_pairs(&self) -> bool {
        self.templates.pair.is_some()
    }

    /// Tells whether its jobs of two nodes bring their own secret, which then is in no folder.
    pub fn brings_secrets(&self) -> bool {
        self.secret_file().is_some()
    }

    fn secret_file(&self) -> Option<&str> {
        self.templates.pair.as_ref()?.secret.as_deref()
    }

    /// Returns its file, as the plan keeps it.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its summary in one line: where it starts jobs, and what it needs.
    pub fn summary(&self) -> &str {
        &self.templates.about
    }

    /// Lists the nodes as the engine does, each once.
    pub fn list_nodes(&self, programs: &Programs) -> Result<Vec<String>, LabError> {
        let nobody = || LabError::usage_error(format!("the engine {} lists no nodes", self.name));
        if self.templates.nodes.is_empty() {
            return Err(nobody().with_hint("name them: --nodes n1,n2,n3"));
        }
        let text = self.ask(&self.templates.nodes, &self.options, programs)?;
        let names = text.split([',', ' ', '\n', '\t', '\r']).filter(|name| !name.is_empty());
        let mut seen = BTreeSet::new();
        let names: Vec<String> = names.filter(|name| seen.insert(*name)).map(str::to_owned).collect();
        if let Some(name) = names.iter().find(|name| !is_node_name(name)) {
            return Err(nobody().with_cause(format!("'{name}' is not the name of a node")));
        }
        if names.is_empty() { Err(nobody()) } else { Ok(names) }
    }

    /// Prints a job as it would be submitted.
    pub(crate) fn render_job(&self, job: &Job<'_>) -> Result<Printed, LabError> {
        let ((submit, script), values) = (self.start_of(job)?, self.values(job, SECRET)?);
        let has_secret = !values["secret"].is_empty();
        Ok(Printed {
            command: join_words(fill_words(submit, &values)),
            script: fill_lines(script, &values),
            has_secret,
        })
    }

    /// Submits a job to the engine, or starts it as a process that the driver waits for.
    pub(crate) fn start_job(
        &self,
        job: &Job<'_>,
        log: &dyn Fn() -> io::Result<File>,
        programs: &Programs,
    ) -> Result<Started, LabError> {
        let secret = fresh()?;
        let ((submit, script), values) = (self.start_of(job)?, self.values(job, &secret)?);
        let mut command = self.command(submit, &values, programs)?;
        // A command that refuses the secret may quote it.
        let failed = |e: io::Error| self.failed("submit").with_cause(e.to_string().replace(&secret, SECRET));
        let script = in_memory(&fill_lines(script, &values)).map_err(failed)?;
        if self.templates.state.is_empty() {
            return self.attach(command, script, log).map(Started::Attached);
        }
        let answer = programs::ask_with(&mut command, script.into(), ANSWER_WAIT).map_err(failed)?;
        match self.id(&answer) {
            Some(id) => Ok(Started::Submitted(id)),
            None => Err(failed(io::Error::other(format!("it named no job: {}", answer.trim())))),
        }
    }

    /// Takes away what is left of the secrets of a fleet's jobs, none of which runs.
    pub(crate) fn remove_secrets(&self, job: &str, programs: &Programs) -> Result<(), LabError> {
        match &self.templates.pair {
            Some(pair) if !pair.forget.is_empty() => {
                self.ask(&pair.forget, &self.with("job", job), programs).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// Lists ids of jobs that wait or run; None where jobs are attached.
    pub(crate) fn list_live_jobs(
        &self,
        job: &str,
        programs: &Programs,
    ) -> Result<Option<BTreeSet<JobId>>, LabError> {
        if self.templates.state.is_empty() {
            return Ok(None);
        }
        let text = self.ask(&self.templates.state, &self.with("job", job), programs)?;
        Ok(Some(text.split_whitespace().filter_map(JobId::parse).collect()))
    }

    /// Ends a job that was submitted.
    pub(crate) fn cancel_job(&self, id: &JobId, programs: &Programs) -> Result<(), LabError> {
        self.ask(&self.templates.cancel, &self.with("id", id.as_str()), programs).map(drop)
    }

    /// Asks the engine why a job ended.
    pub(crate) fn find_end_reason(&self, id: &JobId, programs: &Programs) -> Option<String> {
        if self.templates.why.is_empty() {
            return None;
        }
        let said = self.ask(&self.templates.why, &self.with("id", id.as_str()), programs).ok()?;
        let words: String = said.trim().chars().take(LONGEST_REASON).collect();
        (!words.is_empty()).then_some(words)
    }

    /// Chooses command and script for a job of one node or two.
    fn start_of(&self, job: &Job<'_>) -> Result<(&[String], &str), LabError> {
        match (job.nodes.len(), &self.templates.pair) {
            (1, _) => Ok((&self.templates.submit, &self.templates.script)),
            (_, Some(pair)) => Ok((&pair.submit, pair.script.as_deref().unwrap_or(&self.templates.script))),
            (_, None) => {
                Err(LabError::usage_error(format!("the engine {} cannot start pairs of nodes", self.name))
                    .with_hint("leave the peer 'node' out of the study, or add [pair] to your own file"))
            }
        }
    }

    /// Adds a value to the options.
    fn with(&self, name: &str, value: &str) -> Values {
        let mut values = self.options.clone();
        values.insert(name.to_owned(), value.to_owned());
        values
    }

    fn values(&self, job: &Job<'_>, secret: &str) -> Result<Values, LabError> {
        let mut values = self.options.clone();
        // A line for what a job of one node has, or one of two, is left out of the other's.
        let of_either = ["node", "session", "a", "b", "round", "pair", "secret", "secret_file"];
        values.extend(of_either.map(|key| (key.to_owned(), String::new())));
        let folder = job.folder.display().to_string();
        let seen_at =
            fill_template(&self.templates.folder, &Values::from([("folder".to_owned(), folder.clone())]));
        let number = job.number.to_string();
        let mut command = vec!["fleet".into(), "cell".into(), seen_at.clone()];
        match job.nodes.as_slice() {
            [node] => {
                let more = [("--node", *node), ("--session", number.as_str())];
                command.extend(more.iter().flat_map(|(key, value)| [(*key).to_owned(), (*value).to_owned()]));
                values.insert("node".into(), (*node).to_owned());
                values.insert("session".into(), number);
            }
            nodes => {
                command.extend(["--round".to_owned(), number.clone(), "--pair".to_owned(), nodes.join(",")]);
                for (key, node) in ["a", "b"].into_iter().zip(nodes) {
                    values.insert(key.into(), (*node).to_owned());
                }
                values.insert("round".into(), number);
                values.insert("pair".into(), format!("{}-{}", job.name, &fresh()?[..OWN_DIGITS]));
                if let Some(file) = self.secret_file() {
                    command.extend(["--secret-file".to_owned(), file.to_owned()]);
                    values.insert("secret_file".into(), file.to_owned());
                    values.insert("secret".into(), secret.to_owned());
                }
            }
        }
        command.extend(["--plan".to_owned(), job.plan_sha256.to_owned()]);
        let cell = join_for_script(&command);
        let command =
            command::check_first(job.binary_sha256, job.scratch, &format!("{seen_at}/tare"), &command);
        values.extend([
            ("cell".to_owned(), cell),
            ("words".to_owned(), serde_json::to_string(&command).expect("texts always serialise")),
            ("command".to_owned(), join_for_script(command)),
            ("count".to_owned(), job.nodes.len().to_string()),
            ("folder".to_owned(), folder),
            ("there".to_owned(), seen_at),
            ("job".to_owned(), job.name.to_owned()),
            ("plan".to_owned(), job.plan_sha256.to_owned()),
            ("minutes".to_owned(), job.limit.as_secs().div_ceil(60).to_string()),
            ("seconds".to_owned(), job.limit.as_secs().to_string()),
            ("log".to_owned(), job.log.display().to_string()),
        ]);
        Ok(values)
    }

    fn command(
        &self,
        templates: &[String],
        values: &Values,
        programs: &Programs,
    ) -> Result<Command, LabError> {
        let words = fill_words(templates, values);
        let (program, arguments) = words.split_first().ok_or_else(|| self.failed("call"))?;
        let path = programs
            .find(program)
            .ok_or_else(|| self.failed("call").with_cause(format!("{program} is not installed")))?;
        let mut command = programs::command(&path);
        command.args(arguments);
        Ok(command)
    }

    fn ask(&self, templates: &[String], values: &Values, programs: &Programs) -> Result<String, LabError> {
        let mut command = self.command(templates, values, programs)?;
        programs::run_for_output(&mut command, ANSWER_WAIT).map_err(|e| {
            let what = format!("{}: {}", templates.first().map_or("", String::as_str), e);
            self.failed("ask").with_cause(what)
        })
    }

    /// Starts a process that runs as long as its job, with its script on standard input.
    fn attach(
        &self,
        mut command: Command,
        script: File,
        log: &dyn Fn() -> io::Result<File>,
    ) -> Result<Child, LabError> {
        let failed = |e: io::Error| self.failed("start").with_cause(e);
        let log = log().map_err(failed)?;
        command.stdin(script).stdout(log.try_clone().map_err(failed)?).stderr(log);
        processes::die_with_parent(&mut command);
        command.spawn().map_err(failed)
    }

    fn id(&self, answer: &str) -> Option<JobId> {
        let first = answer.lines().map(str::trim).find(|line| !line.is_empty())?;
        let id = match &self.templates.id_between {
            Some([before, after]) => first.split_once(before.as_str())?.1.split_once(after.as_str())?.0,
            None => first,
        };
        JobId::parse(id.split(';').next().unwrap_or(id))
    }

    fn failed(&self, doing: &str) -> LabError {
        LabError::new(ErrorKind::Environment, format!("cannot {doing} the engine {}", self.name))
    }
}

/// Opens a file in memory with a script, so that nobody waits for a program to read it.
fn in_memory(script: &str) -> io::Result<File> {
    let mut file = File::from(memfd_create("script", MemfdFlags::CLOEXEC)?);
    file.write_all(script.as_bytes())?;
    io::Seek::rewind(&mut file)?;
    Ok(file)
}

/// Generates 64 random hex digits.
fn fresh() -> Result<String, LabError> {
    let secret = Secret::new_random()
        .map_err(|e| LabError::new(ErrorKind::Host, "cannot draw a secret").with_cause(e))?;
    Ok(secret.to_hex())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job<'a>(nodes: Vec<&'a str>, log: &'a Path) -> Job<'a> {
        let (folder, limit) = (Path::new("/shared/f"), Duration::from_secs(90));
        let (binary_sha256, scratch) = ("ef", None);
        Job {
            folder,
            name: "tare-ab",
            nodes,
            number: 2,
            plan_sha256: "cd",
            binary_sha256,
            scratch,
            limit,
            log,
        }
    }

    #[test]
    fn every_shipped_engine_starts_a_node_by_its_name() {
        for (name, _) in SHIPPED {
            let engine = Engine::from_name(name).unwrap();
            let printed = engine.render_job(&job(vec!["n1"], Path::new("/shared/f/l"))).unwrap();
            let all = format!("{}\n{}", printed.command, printed.script);
            assert!(all.contains("n1") && all.contains("fleet"), "{name}: {all}");
            assert!(!all.contains("{node}") && !all.contains("{command}"), "{name}: {all}");
            let pair = engine.render_job(&job(vec!["n1", "n2"], Path::new("/shared/f/l")));
            assert_eq!(pair.is_ok(), engine.has_pairs(), "{name}");
            assert!(!engine.summary().is_empty());
        }
    }

    #[test]
    fn a_job_is_named_by_what_its_engine_prints() {
        let id = |name: &str, answer: &str| Some(Engine::from_name(name).unwrap().id(answer)?.to_string());
        assert_eq!(id("slurm", "17;cluster\n").as_deref(), Some("17"));
        assert_eq!(id("kubernetes", "job.batch/tare-ab-x7\n").as_deref(), Some("job.batch/tare-ab-x7"));
        for answer in ["", "-x", "a b", "$(x)"] {
            assert_eq!(id("slurm", answer), None, "{answer}");
        }
    }

    #[test]
    fn an_id_may_stand_between_two_texts() {
        let text = "about=''\nsubmit=['x']\nscript=''\nid_between=['<', '>']";
        let engine = Engine::parse("theirs", text, &BTreeMap::new()).unwrap();
        assert_eq!(engine.id("Job <123> is submitted to queue <normal>.\n"), JobId::parse("123"));
        assert_eq!(engine.id("no"), None);
    }

    #[test]
    fn templates_that_cannot_be_are_refused() {
        for text in [
            "",
            "about=''\nsubmit=[]\nscript=''",
            "about=''\nsubmit=['x']\nscript=''\nstate=['y']",
            "about=''\nsubmit=['x']\nscript=''\nnode=['y']",
            // A secret that is shown, one that nobody is given, and one that nobody finds.
            "about=''\nsubmit=['x']\nscript='{secret}'\n[pair]\nsubmit=['x', '{secret}']\nsecret='/s'",
            "about=''\nsubmit=['x']\nscript=''\n[pair]\nsubmit=['x']\nsecret='/s'",
            "about=''\nsubmit=['x']\nscript='{secret}'\n[pair]\nsubmit=['x']",
        ] {
            assert!(Engine::parse("x", text, &BTreeMap::new()).is_err(), "{text}");
        }
        assert!(Engine::parse("x", "about=''\nsubmit=['x']\nscript=''", &BTreeMap::new()).is_ok());
    }
}
