//! Loop of `user.command`: see its description.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Access, AtFlags, CWD};
use rustix::pipe::{PipeFlags, pipe_with};
use serde::de::DeserializeOwned;
use tare_data::batch::RunEnd;
use tare_data::frame::MARKER;
use tare_data::session::outcome::{MOST_OUTPUT, Said};

use crate::carried::company::{self, MOST_COPIES, Neighbour};
use crate::carried::program::{ITSELF, Program, find_program, not_started};
use crate::carried::step::{Expected, Step};
use crate::carried::user_files;
use crate::carried::written::list_files;
use crate::counting::COUNT;
use crate::descriptions::{LONGEST_TIMEOUT_S, is_name, run_limit_s};
use crate::harness::folder::Folder;
use crate::harness::output::{Children, Ended, Output as HeadAndTail, wait_for};
use crate::probe::prelude::*;
use crate::tiny::{self, TINY};
use crate::variables::inherited_variables;

/// Limit on the warm-up runs of each trial.
const MOST_WARMUPS: u64 = 1000;
/// Search path of programs unless the study states a PATH.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
/// Characters of a line that tells why a run failed.
const LONGEST_LINE: usize = 300;

pub(super) fn measure_user_command(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let command = UserCommand::from_trial(trial)?;
    command.set_up()?;
    if trial.keeps_outcome() {
        let (end, said) = command.run_for_outcome()?;
        trial.keep_said(said);
        return trial.run_once(|report| {
            report.add_end(end);
            Ok(())
        });
    }
    // A command that fails has no pace; later its runs are counted.
    let stops_at_failure = trial.is_calibrating();
    trial.repeat_after(command.warmup, |operations, report| {
        let mut stopwatch = Stopwatch::default();
        let mut used = Used::default();
        for _ in 0..operations {
            let run = command.run_timed(&mut stopwatch)?;
            report.add_end(run.end);
            used.add(&run.used);
            if stops_at_failure || run.end == RunEnd::TimedOut {
                run.into_used()?;
            }
        }
        report.add_throughput("run", operations, &stopwatch);
        report.add_gauge("user", used.user_ns / operations as f64);
        report.add_gauge("system", used.system_ns / operations as f64);
        report.add_gauge("memory", used.most_bytes);
        Ok(())
    })
}

/// A command as the case describes it.
pub(super) struct UserCommand<'a> {
    name: &'a str,
    /// Its words as the user gave them.
    given: Vec<String>,
    /// Its words with those of a counter before them, if it is counted.
    command: Vec<String>,
    setup: Vec<String>,
    prepare: Vec<String>,
    clean: Vec<String>,
    /// Working folder; a fresh one unless given.
    folder: Option<&'a Path>,
    warmup: u64,
    output: Output,
    variables: BTreeMap<String, String>,
    files: u64,
    /// Copies at once, and what runs beside them.
    copies: Option<u64>,
    neighbour: Neighbour,
    timeout: Duration,
    expected: Expected,
    program: PathBuf,
    directory: &'a Path,
    carried: Option<&'a Path>,
}

/// Streams of a run: those of runs that are timed, or two pipes whose contents are kept.
#[derive(Clone, Copy, PartialEq)]
enum Streams {
    Run(Output),
    Kept,
}

/// Destination of a command's output.
#[derive(Clone, Copy, PartialEq)]
enum Output {
    Pipe,
    /// To /dev/null, which some programs notice. What it prints on standard error is kept.
    Null,
}

/// A run that has ended.
pub(super) struct Run {
    pub(super) end: RunEnd,
    used: libc::rusage,
    /// None where it ended as expected.
    failure: Option<Failure>,
    said: Said,
}

impl Run {
    /// Returns the resources that it used, where it ended as expected.
    pub(super) fn into_used(self) -> Result<libc::rusage, Failure> {
        self.failure.map_or(Ok(self.used), Err)
    }
}

/// Resources that runs used, by the kernel's account.
#[derive(Default)]
struct Used {
    user_ns: f64,
    system_ns: f64,
    /// The largest memory that one had at a time.
    most_bytes: f64,
}

impl Used {
    fn add(&mut self, used: &libc::rusage) {
        let ns = |time: libc::timeval| time.tv_sec as f64 * 1e9 + time.tv_usec as f64 * 1e3;
        self.user_ns += ns(used.ru_utime);
        self.system_ns += ns(used.ru_stime);
        // Kibibytes, by getrusage(2).
        self.most_bytes = self.most_bytes.max(used.ru_maxrss as f64 * 1024.0);
    }
}

fn json<T: DeserializeOwned>(parameters: &Parameters, key: &str) -> Result<T, Failure> {
    serde_json::from_str(parameters.get_text(key)?)
        .map_err(|e| broken_failure(&format!("parameter {key}"), e))
}

impl<'a> UserCommand<'a> {
    pub(super) fn from_trial(trial: &Trial<'a>) -> Result<Self, Failure> {
        let parameters = trial.parameters();
        let name = parameters.get_text("name")?;
        if !is_name(name) {
            return Err(broken_failure("parameter name", "it is not a valid name of a command"));
        }
        if parameters.get_text("title")?.chars().any(char::is_control) {
            return Err(broken_failure("parameter title", "it has a control character"));
        }
        let command: Vec<String> = json(parameters, "command")?;
        if command.is_empty() {
            return Err(broken_failure("parameter command", "it has no words"));
        }
        let files = parameters.get_text("carry")?.split_once(':').and_then(|(files, _)| files.parse().ok());
        let seconds = run_limit_s(parameters)?.clamp(1, LONGEST_TIMEOUT_S);
        let expected = match parameters.get_text("expect_exit")? {
            "any" => Some(Expected::Any),
            code => code.parse().ok().map(Expected::Code),
        };
        let output = match parameters.get_text("output")? {
            "pipe" => Some(Output::Pipe),
            "null" => Some(Output::Null),
            _ => None,
        };
        let folder = parameters.get_text("folder")?;
        let copies = match parameters.get_text("copies")? {
            "" => None,
            _ => Some(parameters.get_integer_within("copies", 1..=MOST_COPIES)?),
        };
        Ok(UserCommand {
            name,
            given: command.clone(),
            command,
            setup: json(parameters, "setup")?,
            folder: (!folder.is_empty()).then(|| Path::new(folder)),
            warmup: parameters.get_integer("warmup")?.min(MOST_WARMUPS),
            output: output
                .ok_or_else(|| broken_failure("parameter output", "it is neither pipe nor null"))?,
            prepare: json(parameters, "prepare")?,
            clean: json(parameters, "clean")?,
            variables: json(parameters, "environment")?,
            files: files.ok_or_else(|| broken_failure("parameter carry", "it is not a number and a hash"))?,
            copies,
            neighbour: parameters.one_of("neighbour", &Neighbour::WORDS)?,
            timeout: Duration::from_secs(seconds),
            expected: expected
                .ok_or_else(|| broken_failure("parameter expect_exit", "it is not an exit code"))?,
            program: std::path::absolute(trial.program())
                .map_err(|e| broken_failure("this program's path", e))?,
            directory: trial.folder()?.path(),
            carried: trial.carried_folder(),
        })
    }

    /// Runs what is run once in a start of the environment, if this trial is the first in it.
    pub(super) fn set_up(&self) -> Result<(), Failure> {
        if self.setup.is_empty() {
            return Ok(());
        }
        // Beside the trial's folder, in the place of this start.
        let done = self.directory.with_file_name(format!("tare-setup-{}", self.name));
        if rustix::fs::accessat(CWD, &done, Access::EXISTS, AtFlags::empty()).is_ok() {
            return Ok(());
        }
        self.in_folder(|folder| self.run_aside(Step::Setup, &self.setup, folder))?;
        File::create_new(&done).map(drop).map_err(|e| broken_failure("noting that setup ran", e))
    }

    /// Runs the command once between prepare and clean, and adds its time to the stopwatch.
    pub(super) fn run_timed(&self, stopwatch: &mut Stopwatch) -> Result<Run, Failure> {
        self.in_folder(|folder| {
            self.run_aside(Step::Prepare, &self.prepare, folder)?;
            let run = match (self.copies, self.neighbour) {
                (None, Neighbour::None) => {
                    self.execute(Step::Command, &self.command, folder, self.expected, stopwatch)?
                }
                (copies, neighbour) => {
                    let program = self.find(Step::Command, &self.command, folder)?;
                    let words =
                        company::make_command_line(copies.unwrap_or(1), neighbour, &program, &self.command)?;
                    self.execute(Step::Command, &words, folder, self.expected, stopwatch)?
                }
            };
            self.conclude(run.failure.is_some(), folder)?;
            Ok(run)
        })
    }

    /// Runs the command once between prepare and clean, and keeps its output and the files that it wrote.
    fn run_for_outcome(&self) -> Result<(RunEnd, Said), Failure> {
        self.in_folder(|folder| {
            self.run_aside(Step::Prepare, &self.prepare, folder)?;
            let before = list_files(folder);
            let untimed = &mut Stopwatch::default();
            let step = (Step::Command, self.command.as_slice());
            let Run { end, mut said, .. } =
                self.execute_into(step, folder, Expected::Any, untimed, Streams::Kept)?;
            let after = before.as_ref().and_then(|_| list_files(folder));
            said.files = before.zip(after).and_then(|(before, after)| after.list_changed(&before, folder));
            said.keep_limits();
            self.conclude(!self.expected.accepts(end), folder)?;
            Ok((end, said))
        })
    }

    /// Runs the step after a run, which may have to end what `--prepare` started however the run ended. Behind a run that failed its own
    /// failure says nothing: it may lack what the run did not make.
    fn conclude(&self, has_failed: bool, folder: &Path) -> Result<(), Failure> {
        let concluded = self.run_aside(Step::Conclude, &self.clean, folder);
        if has_failed { Ok(()) } else { concluded }
    }

    /// Runs a step that is not timed, where there is one.
    fn run_aside(&self, step: Step, words: &[String], folder: &Path) -> Result<(), Failure> {
        if words.is_empty() {
            return Ok(());
        }
        let untimed = &mut Stopwatch::default();
        self.execute(step, words, folder, Expected::Code(0), untimed)?.into_used().map(drop)
    }

    /// Wraps the command so that this program counts it in one of its ways, into `result`.
    pub(super) fn with_counting(mut self, how: &str, result: &Path) -> Result<Self, Failure> {
        let program = self.in_folder(|folder| self.find(Step::Command, &self.command, folder))?;
        let texts = [Path::new(ITSELF), Path::new(COUNT), Path::new(how), result, &program].map(Path::to_str);
        let Some(before) = texts.into_iter().map(|text| text.map(str::to_owned)).collect::<Option<Vec<_>>>()
        else {
            return Err(broken_failure("the path of the program", "it is not UTF-8"));
        };
        self.command.splice(..0, before);
        Ok(self)
    }

    /// Works in the command's folder, or in a fresh one with the files that were carried along.
    fn in_folder<T>(&self, work: impl FnOnce(&Path) -> Result<T, Failure>) -> Result<T, Failure> {
        if let Some(folder) = self.folder {
            return match rustix::fs::accessat(CWD, folder, Access::EXEC_OK, AtFlags::empty()) {
                Ok(()) => work(folder),
                Err(_) => Err(Failure::new(
                    FailureKind::NotSupported,
                    format!("ENOENT: the folder {} does not exist here", folder.display()),
                )),
            };
        }
        let folder = Folder::make_fresh(self.directory)?;
        if self.files > 0 {
            let copied = user_files::copy_command_files(self.carried, self.name, folder.door())?;
            crate::harness::trial::prove_count("files carried along", copied, self.files)?;
        }
        work(folder.path())
    }

    /// Starts a program, waits for it, and compares its exit code with the expected one.
    fn execute(
        &self,
        step: Step,
        words: &[String],
        folder: &Path,
        expected: Expected,
        stopwatch: &mut Stopwatch,
    ) -> Result<Run, Failure> {
        let streams = Streams::Run(self.output);
        self.execute_into((step, words), folder, expected, stopwatch, streams)
    }

    fn execute_into(
        &self,
        (step, words): (Step, &[String]),
        folder: &Path,
        expected: Expected,
        stopwatch: &mut Stopwatch,
        streams: Streams,
    ) -> Result<Run, Failure> {
        let program = self.find(step, words, folder)?;
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| broken_failure("pipe", e))?;
        // A closed pipe, not /dev/null: an environment may have no /dev.
        let (input, _) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| broken_failure("pipe", e))?;
        let mut readers = vec![reader];
        let (apart, most_head) = match streams {
            Streams::Run(Output::Pipe) => (None, 0),
            Streams::Run(Output::Null) => {
                let null = File::options().write(true).open("/dev/null");
                (Some(OwnedFd::from(null.map_err(|e| broken_failure("/dev/null", e))?)), 0)
            }
            Streams::Kept => {
                let (output, writer) =
                    pipe_with(PipeFlags::CLOEXEC).map_err(|e| broken_failure("pipe", e))?;
                readers.insert(0, output);
                (Some(writer), MOST_OUTPUT)
            }
        };
        let started = Program {
            path: &program,
            words,
            folder,
            variables: &self.all_variables(folder),
            input: input.as_fd(),
            output: apart.as_ref().map_or(writer.as_fd(), AsFd::as_fd),
            errors: writer.as_fd(),
        };
        let prepared =
            started.prepare().map_err(|e| broken_failure(&format!("the words of {}", words[0]), e))?;
        let children = Children::watch_ends().map_err(|e| broken_failure("signals of children", e))?;
        let started_ns = now_ns();
        let pid = prepared.spawn().map_err(|error| not_started(&words[0], &error))?;
        let mut ended_ns = started_ns;
        // Its own copies of the pipes would keep them open.
        drop((writer, apart));
        let ended = wait_for(pid, &children, (readers, most_head), self.timeout, || ended_ns = now_ns());
        let Ended { status, used, overdue, outputs } = ended.map_err(|e| broken_failure("wait", e))?;
        stopwatch.add(&Stopwatch::from_stretch(started_ns, ended_ns));
        let end = match (overdue, libc::WIFEXITED(status)) {
            (true, _) => RunEnd::TimedOut,
            (false, true) => RunEnd::ExitCode(libc::WEXITSTATUS(status)),
            (false, false) => RunEnd::Signal(libc::WTERMSIG(status)),
        };
        let said = match outputs.as_slice() {
            [output, errors] => {
                let [output, errors] = [output, errors].map(HeadAndTail::capture);
                Said { pid: pid.unsigned_abs(), output, errors, files: None }
            }
            _ => Said::default(),
        };
        if streams == Streams::Kept || (!overdue && expected.accepts(end)) {
            return Ok(Run { end, used, failure: None, said });
        }
        let failure = self.explain_end(step, words, (end, expected), &outputs);
        Ok(Run { end, used, failure: Some(failure), said })
    }

    /// Explains why a step failed, by the last line that it wrote.
    fn explain_end(
        &self,
        step: Step,
        words: &[String],
        (end, expected): (RunEnd, Expected),
        outputs: &[HeadAndTail],
    ) -> Failure {
        // Not this program, which starts it in company or counts it.
        let words = if step == Step::Command { &self.given } else { words };
        let last = outputs.iter().rev().find_map(HeadAndTail::last_line).map(|line| harmless(&line));
        step.describe_end(words, end, expected, last.as_deref())
    }

    /// Merges the variables of the case over a few that every program expects.
    fn all_variables(&self, folder: &Path) -> BTreeMap<OsString, OsString> {
        let mut all: BTreeMap<OsString, OsString> = inherited_variables().collect();
        all.insert("PATH".into(), PATH.into());
        all.insert("HOME".into(), folder.into());
        all.insert("LANG".into(), "C".into());
        all.extend(self.variables.iter().map(|(name, value)| (name.into(), value.into())));
        all
    }

    /// Finds the path of a step's program: this one, a path, or a match in PATH.
    fn find(&self, step: Step, words: &[String], folder: &Path) -> Result<PathBuf, Failure> {
        let word = words[0].as_str();
        if word == ITSELF {
            return Ok(self.program.clone());
        }
        if word == TINY {
            let path = self.directory.join(tiny::FILE);
            return match tiny::write_program(&path) {
                Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                    Err(broken_failure("writing the tiny program", e))
                }
                _ => Ok(path),
            };
        }
        let path = self.variables.get("PATH").map_or(PATH, String::as_str);
        find_program(word, path, folder).ok_or_else(|| {
            let path = word.contains('/').then(|| folder.join(word));
            step.describe_missing(words, path.as_deref())
        })
    }
}

/// Alters a line so that it cannot be taken for a frame of the agent's.
fn harmless(line: &str) -> String {
    let plain = line.chars().map(|c| if c.is_control() { ' ' } else { c });
    plain.take(LONGEST_LINE).collect::<String>().replace(MARKER.trim(), "@")
}

#[cfg(test)]
mod tests {
    use tare_data::batch::Phase;
    use tare_data::request::Amount;

    use super::*;
    use crate::PROBES;
    use crate::descriptions::USER_COMMAND;
    use crate::probe::Probe;
    use crate::probes::tests::{make_trial_request, run_trial, run_trial_into, take_turn};

    fn probe() -> &'static Probe {
        PROBES.iter().find(|probe| probe.name == USER_COMMAND).unwrap()
    }

    fn failure(parameters: &[(&str, &str)]) -> Failure {
        let mut request = make_trial_request(probe(), parameters);
        request.amount = Amount::Calibrate;
        run_trial(&request).unwrap_err()
    }

    #[test]
    fn a_command_runs_between_prepare_and_clean_in_a_folder_of_its_own() {
        let words = |text: &str| format!("[\"sh\",\"-c\",\"{text}\"]");
        let batches = run_trial(&make_trial_request(
            probe(),
            &[
                ("prepare", &words("test ! -e made && echo x >made")),
                ("command", &words("test -e made && test $WHO = me && test $(pwd) = $HOME && exit 3")),
                ("clean", &words("rm made")),
                ("environment", "{\"WHO\":\"me\"}"),
                ("expect_exit", "3"),
            ],
        ))
        .unwrap();
        assert!(batches.iter().any(|batch| batch.series == "memory"));
    }

    #[test]
    fn a_command_runs_in_the_folder_that_is_named_after_one_setup_and_its_warmups() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let words = |text: &str| format!("[\"sh\",\"-c\",\"{text}\"]");
        let mut request = make_trial_request(
            probe(),
            &[
                ("folder", folder.to_str().unwrap()),
                ("setup", &words("echo setup >>log")),
                ("command", &words("echo run >>log; exit 5")),
                ("expect_exit", "any"),
                ("warmup", "3"),
                ("output", "null"),
            ],
        );
        request.amount = Amount::Operations { batch: 1, batches: 4 };
        let batches = run_trial(&request).unwrap();
        let timed = |phase| batches.iter().filter(|b| b.series == "run" && b.phase == phase).count();
        assert_eq!((timed(Phase::Cold), timed(Phase::Warm)), (1, 4), "two more that warm up have no times");
        let log = std::fs::read_to_string(folder.join("log")).unwrap();
        assert_eq!(log, "setup\n".to_owned() + &"run\n".repeat(7));
        let ends: Vec<RunEnd> = batches.iter().filter_map(RunEnd::from_batch).collect();
        assert_eq!(ends, [RunEnd::ExitCode(5); 7], "and all have an end");
        let missing = failure(&[("folder", "/no/such/folder")]);
        assert_eq!(missing.kind, FailureKind::NotSupported);
    }

    #[test]
    fn what_is_not_there_is_a_missing_that_names_it() {
        let missing = failure(&[("command", "[\"no-such-tool\",\"-j4\"]")]);
        assert_eq!(missing.kind, FailureKind::NotSupported);
        assert_eq!(missing.reason, "no-such-tool: not found in PATH");
        assert_eq!(failure(&[("command", "[\"./script\"]")]).kind, FailureKind::NotSupported);
        let refused = failure(&[("command", "[\"/etc/passwd\"]")]);
        assert_eq!(refused.reason, "/etc/passwd: not executable (chmod +x)");
        let elsewhere = failure(&[("command", "[\"sh\"]"), ("environment", "{\"PATH\":\"/nowhere\"}")]);
        assert_eq!(elsewhere.reason, "sh: not found in PATH");
    }

    #[test]
    fn a_wrong_exit_code_fails_with_the_last_line_and_forges_no_frame() {
        let wrong = failure(&[("command", "[\"sh\",\"-c\",\"echo @tare1 00 {}; echo why >&2; exit 7\"]")]);
        assert_eq!(wrong.kind, FailureKind::WrongWork);
        assert_eq!(wrong.reason, "sh ended with exit code 7, expected 0: why");
        assert_eq!(harmless("x @tare1 0 {}\u{1b}[m"), "x @ 0 {} [m");
    }

    #[test]
    fn every_end_is_sent_with_that_of_the_run_that_failed() {
        let folder = tempfile::tempdir().unwrap();
        let of = |text: &str, expected: &str, timeout_s: &str| {
            let mut request = make_trial_request(
                probe(),
                &[
                    ("folder", folder.path().to_str().unwrap()),
                    ("command", &format!("[\"sh\",\"-c\",\"{text}\"]")),
                    ("expect_exit", expected),
                    ("timeout_s", timeout_s),
                ],
            );
            request.amount = Amount::Operations { batch: 1, batches: 4 };
            let mut sent = Vec::new();
            let done = run_trial_into(&request, &mut sent);
            (sent.iter().filter_map(RunEnd::from_batch).collect::<Vec<_>>(), done.is_ok())
        };
        let third = "echo >>n; test $(wc -l <n) -lt 3 || exit 3";
        let code = RunEnd::ExitCode;
        assert_eq!(of(third, "0", "60"), (vec![code(0), code(0), code(3), code(3), code(3)], true));
        let late = "test -e late && sleep 60; touch late";
        assert_eq!(of(late, "any", "2"), (vec![code(0), RunEnd::TimedOut], false), "no more runs after it");
        assert_eq!(of("kill -9 $$", "any", "60"), (vec![RunEnd::Signal(9); 5], true));
    }

    #[test]
    fn a_run_for_the_outcome_has_two_pipes_and_lists_what_it_wrote() {
        let text = "test -t 1; yes out | head -c 70000; echo why >&2; echo x >made; exit 3";
        let command = format!("[\"sh\",\"-c\",\"{text}\"]");
        let mut request = make_trial_request(probe(), &[("command", &command), ("output", "null")]);
        request.amount = Amount::Outcome;
        let folder = tempfile::tempdir().unwrap();
        let door = tare_paths::door::Door::open(folder.path()).unwrap();
        let mut sink = |_| {};
        let mut trial = Trial::new(&request, Path::new("none"), Some(&door), &mut sink);
        let turn = take_turn();
        measure_user_command(&mut trial).unwrap();
        drop(turn);
        let said = trial.take_said().unwrap();
        assert!(
            said.output.is_cut && said.output.lines.len() == MOST_OUTPUT / 4 - 1,
            "{}",
            said.output.lines.len()
        );
        assert_eq!(said.errors.lines, ["why"]);
        let files: Vec<String> = said.files.unwrap().into_iter().map(|file| file.path).collect();
        assert_eq!(files, ["made"]);
    }

    #[test]
    fn a_run_that_failed_is_concluded_as_well() {
        let folder = tempfile::tempdir().unwrap();
        let words = |text: &str| format!("[\"sh\",\"-c\",\"{text}\"]");
        let (command, clean) = (words("echo run >>log; exit 5"), words("echo clean >>log; test -e never"));
        let place = folder.path().to_str().unwrap();
        for amount in [Amount::Outcome, Amount::Operations { batch: 1, batches: 2 }] {
            let parameters = [("folder", place), ("command", &*command), ("clean", &*clean)];
            let mut request = make_trial_request(probe(), &parameters);
            request.amount = amount;
            run_trial(&request).unwrap();
            let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
            assert_eq!(log, "run\nclean\n".repeat(log.lines().count() / 2));
        }
    }

    #[test]
    fn a_step_that_fails_is_named() {
        let failing = |step| failure(&[("command", "[\"true\"]"), (step, "[\"false\"]")]).reason;
        assert_eq!(failing("setup"), "--setup 'false' ended with exit code 1");
        assert_eq!(failing("prepare"), "--prepare 'false' ended with exit code 1");
        assert_eq!(failing("clean"), "--conclude 'false' ended with exit code 1");
    }

    #[test]
    fn a_command_that_does_not_end_is_ended() {
        let late = failure(&[("command", "[\"sleep\",\"1000\"]"), ("timeout_s", "1")]);
        assert_eq!(late.kind, FailureKind::Deadline);
    }

    #[test]
    fn endless_output_is_kept_in_bounded_memory() {
        let text = "[\"sh\",\"-c\",\"yes | head -c 3000000; echo last; exit 1\"]";
        assert!(failure(&[("command", text)]).reason.ends_with(": last"));
    }

    #[test]
    fn names_are_plain() {
        assert!(is_name("build-2") && is_name("a"));
        assert!(!is_name("") && !is_name("../x") && !is_name("Build") && !is_name(&"x".repeat(23)));
    }
}
