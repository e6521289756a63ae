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
/// Characters of a reason that are kept: it stands in a line of a table.
const LONGEST_REASON: usize = 300;

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
    pub node: &'a str,
    pub session: u32,
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
        if templates.submit.is_empty() {
            return Err(wrong("'submit' is empty".into()));
        }
        if templates.state.is_empty() != templates.cancel.is_empty() {
            return Err(wrong("'state' and 'cancel' need each other".into()));
        }
        let settle = duration::parse_positive_duration(&templates.settle)
            .ok_or_else(|| wrong(format!("settle '{}' is not a time, e.g. 5s", templates.settle)))?;
        let options = parse_options(name, &templates.options, given)?;
        Ok(Engine { name: name.to_owned(), text: text.to_owned(), templates, options, settle })
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
    pub(crate) fn render_job(&self, job: &Job<'_>) -> Printed {
        let values = self.values(job);
        Printed {
            command: join_words(fill_words(&self.templates.submit, &values)),
            script: fill_lines(&self.templates.script, &values),
        }
    }

    /// Submits a job to the engine, or starts it as a process that the driver waits for.
    pub(crate) fn start_job(
        &self,
        job: &Job<'_>,
        log: &dyn Fn() -> io::Result<File>,
        programs: &Programs,
    ) -> Result<Started, LabError> {
        let values = self.values(job);
        let mut command = self.command(&self.templates.submit, &values, programs)?;
        let failed = |e: io::Error| self.failed("submit").with_cause(e);
        let script = in_memory(&fill_lines(&self.templates.script, &values)).map_err(failed)?;
        if self.templates.state.is_empty() {
            return self.attach(command, script, log).map(Started::Attached);
        }
        let answer = programs::ask_with(&mut command, script.into(), ANSWER_WAIT).map_err(failed)?;
        match self.id(&answer) {
            Some(id) => Ok(Started::Submitted(id)),
            None => Err(failed(io::Error::other(format!("it named no job: {}", answer.trim())))),
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

    /// Adds a value to the options.
    fn with(&self, name: &str, value: &str) -> Values {
        let mut values = self.options.clone();
        values.insert(name.to_owned(), value.to_owned());
        values
    }

    fn values(&self, job: &Job<'_>) -> Values {
        let mut values = self.options.clone();
        let folder = job.folder.display().to_string();
        let seen_at =
            fill_template(&self.templates.folder, &Values::from([("folder".to_owned(), folder.clone())]));
        let session = job.session.to_string();
        let words =
            ["fleet", "cell", &seen_at, "--node", job.node, "--session", &session, "--plan", job.plan_sha256];
        let command = words.map(str::to_owned);
        let cell = join_for_script(&command);
        let command =
            command::check_first(job.binary_sha256, job.scratch, &format!("{seen_at}/tare"), &command);
        values.extend([
            ("cell".to_owned(), cell),
            ("words".to_owned(), serde_json::to_string(&command).expect("texts always serialise")),
            ("command".to_owned(), join_for_script(command)),
            ("node".to_owned(), job.node.to_owned()),
            ("session".to_owned(), session),
            ("folder".to_owned(), folder),
            ("there".to_owned(), seen_at),
            ("job".to_owned(), job.name.to_owned()),
            ("plan".to_owned(), job.plan_sha256.to_owned()),
            ("minutes".to_owned(), job.limit.as_secs().div_ceil(60).to_string()),
            ("seconds".to_owned(), job.limit.as_secs().to_string()),
            ("log".to_owned(), job.log.display().to_string()),
        ]);
        values
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

#[cfg(test)]
mod tests {
    use super::*;

    fn job<'a>(node: &'a str, log: &'a Path) -> Job<'a> {
        let (folder, limit) = (Path::new("/shared/f"), Duration::from_secs(90));
        let (binary_sha256, scratch) = ("ef", None);
        Job {
            folder,
            name: "tare-ab",
            node,
            session: 2,
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
            let printed = engine.render_job(&job("n1", Path::new("/shared/f/l")));
            let all = format!("{}\n{}", printed.command, printed.script);
            assert!(all.contains("n1") && all.contains("fleet"), "{name}: {all}");
            assert!(!all.contains("{node}") && !all.contains("{command}"), "{name}: {all}");
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
        ] {
            assert!(Engine::parse("x", text, &BTreeMap::new()).is_err(), "{text}");
        }
        assert!(Engine::parse("x", "about=''\nsubmit=['x']\nscript=''", &BTreeMap::new()).is_ok());
    }
}
