//! `tare run`: measures, writes the record, and shows what it says.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tare_analysis::gate::{Condition, TargetNames};
use tare_data::session::{Ending, Header, PlannedCase, Role, Target};
use tare_lab::error::{ErrorKind, LabError};
use tare_lab::ownership::clean;
use tare_lab::ownership::workspace::{SessionWorkspace, Setting};
use tare_lab::session::live::LiveArena;
use tare_lab::session::peers::{Peers, redacted, with_hops};
use tare_lab::session::prepare::{self, Pilot, PlanRequest, Prepared};
use tare_lab::session::rounds::Rounds;
use tare_lab::session::targets::{resolve, resolve_default, resolve_recorded};
use tare_lab::storage::places::Wanted;
use tare_lab::study::published;
use tare_lab::study::{SelectedCase, Study, parse_duration_s, select};
use tare_probes::probe::Size;
use tare_probes::probes::USER;
use tare_record::entry::SCHEMA;
use tare_record::{Entry, Writer};

use super::report::{quoted, show};
use crate::args::Run;
use crate::failure::Exit;
use crate::{outputs, paths, ui};

/// What a session keeps back of its budget for leaving the environments and reading the record.
const RESERVE_S: f64 = 4.0;
/// Budget of a session with --quick.
const QUICK_S: f64 = 300.0;

pub fn run(args: Run) -> anyhow::Result<ExitCode> {
    let began = Instant::now();
    outputs::check(&args.view)?;
    let interrupted = watch_signals()?;
    let state = paths::state()?;
    for outcome in clean::clean(&state)? {
        let done =
            outcome.left_because.map_or("removed".to_owned(), |reason| format!("not removed: {reason}"));
        anstream::eprintln!("note: a session that was killed left {} ({done})", outcome.what);
    }
    let mut progress = ui::Progress::new();
    let session = Session { args: &args, state, began, interrupted: &interrupted };
    let articles = session.articles()?;
    let (record, ending) = match &args.resume {
        Some(record) => (record.clone(), session.resume(record, &mut progress)?),
        None => session.begin(&mut progress)?,
    };
    progress.clear();
    // What is shown comes from the disk, by the same road as next year.
    let recording = tare_record::read(&record).map_err(LabError::from)?;
    let elapsed_s = began.elapsed().as_secs_f64();
    // Whoever asks for another form, or for a page elsewhere, gets that alone.
    let mut view = args.view.clone();
    view.published.extend(articles);
    if !(view.json || view.markdown || view.csv || outputs::prints(&view)) {
        view.html.get_or_insert_with(|| record.with_extension("html"));
    }
    let shown = show(&recording.session, &view, &record, Some(elapsed_s))?;
    Ok(match ending {
        Ending::Interrupted => Exit::Interrupted.into(),
        _ => shown,
    })
}

/// The first Ctrl-C (or TERM, or a closed terminal) ends the session in order; a second one ends it at once.
pub fn watch_signals() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register_conditional_shutdown(
            signal,
            i32::from(Exit::Interrupted as u8),
            Arc::clone(&flag),
        )?;
        signal_hook::flag::register(signal, Arc::clone(&flag))?;
    }
    Ok(flag)
}

/// A session as the arguments ask for it.
struct Session<'a> {
    args: &'a Run,
    state: PathBuf,
    began: Instant,
    interrupted: &'a AtomicBool,
}

impl Session<'_> {
    /// Plans and runs a new session; returns its record.
    fn begin(&self, progress: &mut ui::Progress) -> Result<(PathBuf, Ending), LabError> {
        let args = self.args;
        let (study, selected) = self.selected()?;
        let programs = paths::programs()?;
        // What `--in` names, or everything that is ready.
        let resolved = match args.environments.as_slice() {
            [] => resolve_default(&args.against, &programs)?,
            named => resolve(&args.against, named, &programs)?,
        };
        let targets: Vec<Target> = resolved.iter().map(|resolved| resolved.target.clone()).collect();
        self.check_conditions(&targets, &selected)?;
        let budget_s = match (&args.budget, args.rounds) {
            (_, Some(_)) => None,
            (Some(text), None) => Some(budget(text)?),
            (None, None) => {
                let size = self.size().map_or_else(|| study.size(), Ok)?;
                let budget_s = study.budget_s(size)?;
                Some(if args.quick { budget_s.min(QUICK_S) } else { budget_s })
            }
        };
        let carried = study.carried()?;
        let wanted = Wanted::by(selected.iter().map(|selected| &selected.case));
        let peers = Peers::read(&args.peers)?.for_cases(selected.iter().map(|selected| &selected.case))?;
        let workspace = SessionWorkspace::make(&self.setting(wanted)?)?;
        let record = args.record.clone().unwrap_or_else(fresh_record);
        let mut writer = Writer::create(&record)?;
        writer.append(&Entry::Record { schema: SCHEMA, header: self.header(&workspace) })?;
        let mut arena = LiveArena::new(resolved, &workspace, self.interrupted, self.began).reaching(peers);
        arena.carry(carried);
        let seed = args.seed.unwrap_or_else(fresh_seed);
        let plan_request = PlanRequest {
            study: &study.name,
            selected,
            targets,
            seed,
            rounds: args.rounds,
            budget_s: budget_s.map(|s| s - RESERVE_S),
        };
        let prepared = prepare::prepare(plan_request, &mut arena, &mut writer, progress);
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                drop(arena.leave_all());
                // A record without a plan says nothing.
                let _ = std::fs::remove_file(&record);
                return Err(error);
            }
        };
        let Prepared { plan, pilot } = prepared;
        let session = tare_data::session::Session {
            header: self.header(&workspace),
            plan,
            facts: Vec::new(),
            trials: Vec::new(),
            repeated: Vec::new(),
            ending: Ending::BrokenOff,
        };
        let until_ns = budget_s.map(|s| ((s - RESERVE_S).max(1.0) * 1e9) as u64);
        let ending = rounds(&mut arena, &mut writer, progress, session, pilot, until_ns)?;
        leave(arena, progress);
        tell_left(workspace.close());
        Ok((record, ending))
    }

    /// Goes on with a session where its record ends.
    fn resume(&self, record: &Path, progress: &mut ui::Progress) -> Result<Ending, LabError> {
        let recording = tare_record::read(record)?;
        let session = recording.session;
        let wanted = Wanted::by(session.plan.cases.iter().map(|case| &case.case));
        let peers = Peers::read(&self.args.peers)?;
        let peers = peers.for_cases(session.plan.cases.iter().map(|case| &case.case))?;
        let workspace = SessionWorkspace::make(&self.setting(wanted)?)?;
        if workspace.agent_sha256() != session.header.binary {
            return Err(LabError::new(ErrorKind::Usage, format!("cannot go on with {}", record.display()))
                .because("it was begun by another build of tare, and figures of two builds are never mixed")
                .hint(format!("begin anew: tare {}", session.header.command.join(" "))));
        }
        not_carried(&session, record)?;
        let targets = session.plan.targets.clone();
        let resolved = resolve_recorded(&targets, &paths::programs()?)?;
        let mut writer = Writer::resume(record, recording.whole_bytes)?;
        let command = command_line();
        writer.append(&Entry::Resumed { at: now(), command })?;
        let mut arena = LiveArena::new(resolved, &workspace, self.interrupted, self.began).reaching(peers);
        let started = prepare::enter_all(&targets, &mut arena, &mut writer, progress)?;
        let budget_s = match &self.args.budget {
            Some(text) => Some(budget(text)?),
            None => session.plan.budget_s,
        };
        let until_ns = budget_s.map(|s| ((s - RESERVE_S).max(1.0) * 1e9) as u64);
        let pilot = Pilot::resumed(&session, started, budget_s);
        let ending = rounds(&mut arena, &mut writer, progress, session, pilot, until_ns)?;
        leave(arena, progress);
        tell_left(workspace.close());
        Ok(ending)
    }

    /// The study, and those of its cases that `--only` selects.
    fn selected(&self) -> Result<(Study, Vec<SelectedCase>), LabError> {
        let args = self.args;
        // --only without a study selects from all probes.
        let usual = if args.only.is_empty() { "quick" } else { "full" };
        let study = Study::named(args.study.as_deref().unwrap_or(usual))?;
        let places = (!args.places.is_empty()).then_some(args.places.as_slice());
        let selected = select(study.selected(places, self.size())?, &args.only)?;
        let selected = Peers::read(&args.peers)?.instead(selected);
        Ok((study, if args.hops { with_hops(selected)? } else { selected }))
    }

    /// The size that the arguments ask for; otherwise the study's own.
    fn size(&self) -> Option<Size> {
        match (self.args.quick, self.args.reference) {
            (true, _) => Some(Size::Quick),
            (_, true) => Some(Size::Reference),
            _ => None,
        }
    }

    /// The articles that a study of the user's own names. Found before anything is measured: a slip costs no session.
    fn articles(&self) -> Result<Vec<String>, LabError> {
        self.args.view.published.iter().try_for_each(|name| published::named(name).map(drop))?;
        let Some(study) = self.args.study.as_deref().filter(|_| self.args.resume.is_none()) else {
            return Ok(Vec::new());
        };
        let named = Study::named(study)?.published;
        named.iter().try_for_each(|name| published::named(name).map(drop))?;
        Ok(named)
    }

    /// A condition that will choose no cell is a slip, and better known before the session than after it.
    fn check_conditions(&self, targets: &[Target], selected: &[SelectedCase]) -> Result<(), LabError> {
        let subjects = || targets.iter().filter(|target| target.role == Role::Subject);
        let chooses = |condition: &Condition| {
            subjects().any(|target| {
                let names = TargetNames { name: &target.name, specification: &target.specification };
                let selector = &condition.selector;
                selected.iter().any(|a| selector.chooses(&names, &a.case.to_string(), &a.case.probe))
            })
        };
        match self.args.view.fail_if.iter().find(|condition| !chooses(condition)) {
            None => Ok(()),
            Some(idle) => {
                let subjects: Vec<String> = subjects().map(|target| target.name.clone()).collect();
                Err(outputs::matches_nothing(&idle.to_string(), &subjects))
            }
        }
    }

    fn setting(&self, wanted: Wanted) -> Result<Setting, LabError> {
        Ok(Setting {
            state: self.state.clone(),
            scratch: self.args.scratch.clone().unwrap_or_else(paths::scratch),
            binary: paths::binary()?,
            wanted,
            programs: paths::programs()?,
        })
    }

    fn header(&self, workspace: &SessionWorkspace) -> Header {
        Header {
            tare: env!("CARGO_PKG_VERSION").to_owned(),
            binary: workspace.agent_sha256().to_owned(),
            started: now(),
            command: command_line(),
            host: tare_probes::facts::environment(),
        }
    }
}

fn rounds(
    arena: &mut LiveArena<'_>,
    writer: &mut Writer,
    progress: &mut ui::Progress,
    session: tare_data::session::Session,
    pilot: Pilot,
    until_ns: Option<u64>,
) -> Result<Ending, LabError> {
    Rounds::new(arena, writer, progress, session, pilot, until_ns).run(&now)
}

/// Refuses to go on with a session whose commands carry files along: a record does not hold them.
fn not_carried(session: &tare_data::session::Session, record: &Path) -> Result<(), LabError> {
    let carries = |case: &PlannedCase| {
        let carry = case.case.parameters.text("carry").ok();
        case.case.probe.starts_with(USER) && carry.is_some_and(|carry| !carry.starts_with("0:"))
    };
    match session.plan.cases.iter().find(|case| carries(case)) {
        None => Ok(()),
        Some(case) => Err(LabError::new(ErrorKind::Usage, format!("cannot go on with {}", record.display()))
            .because(format!("{} has files of its own, which a record does not hold", case.case.probe))
            .hint(format!("begin anew: tare {}", session.header.command.join(" ")))),
    }
}

/// Leaves every environment.
fn leave(mut arena: LiveArena<'_>, progress: &mut ui::Progress) {
    progress.clear();
    tell_left(arena.leave_all());
}

/// Says what could not be taken away.
pub fn tell_left(outcomes: Vec<clean::Outcome>) {
    for outcome in outcomes {
        if let Some(reason) = outcome.left_because {
            anstream::eprintln!("note: {} is left: {reason}; tare clean tries again", outcome.what);
        }
    }
}

fn budget(text: &str) -> Result<f64, LabError> {
    parse_duration_s(text).ok_or_else(|| {
        LabError::new(ErrorKind::Usage, format!("'{text}' is no time")).hint("write 90s, 8m or 1h")
    })
}

/// The arguments after the program's name, as a shell would take them again; without secrets.
fn command_line() -> Vec<String> {
    std::env::args().skip(1).map(|word| quoted(&redacted(&word))).collect()
}

fn now() -> String {
    jiff::Zoned::now().strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

/// A name of today that no record here has yet: sessions may begin in one second.
fn fresh_record() -> PathBuf {
    let stem = jiff::Zoned::now().strftime("tare-%Y-%m-%dT%H-%M-%S").to_string();
    let names = (1..).map(|n| if n == 1 { format!("{stem}.tare") } else { format!("{stem}-{n}.tare") });
    names.map(PathBuf::from).find(|path| !path.exists()).expect("numbers do not end")
}

/// A seed of 32 bits: short enough to be typed again.
fn fresh_seed() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::from(since.subsec_nanos()) << 2 ^ since.as_secs() & 0xffff_ffff
}
