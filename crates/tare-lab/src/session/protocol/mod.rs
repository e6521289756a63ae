//! A session from its request to its end, for every command that measures: clean, choose, check, make the
//! workspace, enter, measure, leave, remove.

mod begun;
mod budget;
mod command_sides;
mod continuing;
mod dry_run;
mod full_size;
mod outlook;
mod pinning;
mod record;
mod selection;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use tare_analysis::gate::Condition;
use tare_data::facts::Facts;
use tare_data::names::Case;
use tare_data::session::identity::FleetCell;
use tare_data::session::specification::NATIVE;
use tare_data::session::{Ending, Header, Session, Sides};
use tare_paths::ours::check_ours;
use tare_record::entry::OTHER_SESSIONS;
use tare_record::{Entry, Recording, Writer};

use crate::asked::progress::{Event, Observer};
use crate::asked::{Overrides, Pin, Recorded, Request, Until, conditions};
use crate::error::{ErrorKind, LabError};
use crate::host::running;
use crate::ownership::clean::{self, Outcome};
use crate::ownership::workspace::{SessionWorkspace, Setting};
use crate::platform;
use crate::provider::root::RootFolder;
use crate::session::arena::Arena;
use crate::session::enter::bring_up::{self, BringUp, Starts};
use crate::session::enter::live::LiveArena;
use crate::session::enter::sides::{
    Cast, WhenNotReady, add_controls, add_planted, default_subjects, every_default_subject,
    keep_first_subjects, name_command_sides, name_sides, resolve_sides,
};
use crate::session::peers::{self, Peers};
use crate::session::plan::paces::Paces;
use crate::session::plan::prepare::{
    CONTROL_EVERY, Pilot, PlanRequest, Prepared, enter_all, prepare_session,
};
use crate::session::protocol::selection::Selection;
use crate::session::rounds::{Ended, Rounds};
use crate::storage::places::Wanted;
use crate::study::published;
use crate::study::user_command::CarriedFile;

pub use self::begun::trust_environments;
use self::budget::Budget;
pub use self::dry_run::{DryRun, dry_resume, dry_run};
pub use self::full_size::{FullSize, estimate_full_size};
pub use self::outlook::Outlook;

/// Facts about the call of the program, which this crate does not find out itself.
pub struct Caller<'a> {
    /// The arguments after the program's name, without secrets.
    pub command: Vec<String>,
    /// Function that formats the current time, in RFC 3339 with its offset.
    pub now: &'a dyn Fn() -> String,
    /// Start of the program, which budgets count from.
    pub began: Instant,
    /// Set once the user wants to stop.
    pub interrupted: &'a AtomicBool,
}

/// Plans a new session and measures.
pub fn begin_session(
    request: Request,
    setting: &Setting,
    caller: &Caller<'_>,
    observer: &mut dyn Observer,
) -> Result<Recorded, LabError> {
    clean_up(setting, observer)?;
    let selection = request.make_selection()?;
    let study = &selection.study;
    study.published.iter().try_for_each(|name| published::read_article(name).map(drop))?;
    let mut cast = cast(&request, &selection, setting)?;
    if request.environments.is_empty() && study.environments.is_empty() && !request.compares_commands {
        leave_out_further(&mut cast.sides, observer);
    }
    note_kept_changes(&cast, observer);
    add_controls(&mut cast.sides, &request.controls)?;
    note_short_budget(&selection, &cast.sides, observer);
    if request.planted {
        add_planted(&mut cast, &request.inside.root, &setting.programs);
    }
    let peers = selection.peers.clone();
    let mut checked = Checked::new(&selection.cases(), cast, peers, &request.conditions)?;
    checked.carried = study.collect_carried_files()?;
    checked.wanted.inside = request.inside.clone();
    let (rounds, budget) = match selection.until {
        Until::Rounds(rounds) => (Some(rounds), None),
        Until::Budget(whole) => (None, Some(Budget::for_session(whole, caller.began))),
        Until::Decided => (None, None),
    };
    checked.budget = budget;
    checked.pin = request.pin;
    let plan_request = PlanRequest {
        study: &study.name,
        selected: selection.selected,
        sides: checked.cast.sides.clone(),
        seed: request.seed.map_or_else(fresh_seed, Ok)?,
        rounds,
        least_rounds: study.least_rounds.unwrap_or(0),
        budget_s: budget.map(Budget::seconds),
        control_every: CONTROL_EVERY,
        until_decided: selection.until == Until::Decided,
        inside: request.inside,
        counts_demand: request.counts_demand,
        lasting: request.lasting,
        needs_subject: request.fleet.is_none(),
    };
    let Ended { ending, rest_s } =
        in_arena(checked, setting, caller, observer, |workspace, arena, observer| {
            let mut header = header(workspace, caller, request.fleet, request.host)?;
            if request.pin.is_some() {
                pinning::note_pin(&mut header.host);
            }
            let (mut writer, Prepared { plan, pilot }) =
                record::create_record(&request.record, header.clone(), |writer| {
                    prepare_session(plan_request, arena, writer, observer)
                })?;
            begun::write_begun_session(&setting.state, &header, &plan)?;
            let session = Session::begin(header, plan);
            let rounds =
                Rounds::new(arena, &mut writer, observer, session, pilot, budget.map(Budget::until_ns));
            let rounds = if request.ends_early { rounds.ending_early() } else { rounds };
            let ended = rounds.run_rounds(&|ending| ended(workspace, caller, ending))?;
            pack(writer, &ended);
            Ok(ended)
        })?;
    Ok(Recorded { record: request.record, ending, rest_s, published: study.published.clone() })
}

/// Continues a session where its record ends.
pub fn resume_session(
    record: &Path,
    overrides: Overrides,
    setting: &Setting,
    caller: &Caller<'_>,
    observer: &mut dyn Observer,
) -> Result<Recorded, LabError> {
    clean_up(setting, observer)?;
    let (mut writer, Recording { session, .. }) = Writer::resume(record)?;
    continuing::carries_nothing(&session, record)?;
    let restarted =
        continuing::same_machine(&session, record, &running::identify_machine(), &running::identify_boot())?;
    if restarted {
        observer.observe_event(Event::Note(continuing::RESTARTED.into()));
    }
    // Before anything that it names is looked for: its version is asked by running it.
    if !overrides.trust {
        begun::only_here(&setting.state, &session, record)?;
    }
    let cases: Vec<&Case> = session.plan.cases.iter().map(|planned| &planned.case).collect();
    let (sides, root) = (session.plan.targets.clone(), &session.plan.inside.root);
    let cast = resolve_sides(sides, WhenNotReady::Refuse, root, &setting.programs)?;
    note_kept_changes(&cast, observer);
    let peers = Peers::from_texts(&overrides.peers)?;
    let mut checked = Checked::new(&cases, cast, peers, &overrides.conditions)?;
    checked.wanted.inside = session.plan.inside.clone();
    checked.pin = pinning::find_recorded_pin(&session);
    let given = overrides.budget.map(|whole| Budget::for_session(whole, caller.began));
    let budget = given.or_else(|| Budget::of_plan(session.plan.budget_s, caller.began));
    checked.budget = budget;
    let Ended { ending, rest_s } =
        in_arena(checked, setting, caller, observer, |workspace, arena, observer| {
            continuing::same_build(workspace, &session, record)?;
            let (at, command) = ((caller.now)(), caller.command.clone());
            writer.append(&Entry::Resumed { at, command, boot: running::identify_boot() })?;
            let started = enter_all(&session.plan.targets, &[], arena, &mut writer, observer)?;
            let pilot = Pilot::from_session(&session, started);
            let rounds =
                Rounds::new(arena, &mut writer, observer, session, pilot, budget.map(Budget::until_ns));
            let ended = rounds.run_rounds(&|ending| ended(workspace, caller, ending))?;
            pack(writer, &ended);
            Ok(ended)
        })?;
    Ok(Recorded { record: record.to_owned(), ending, rest_s, published: Vec::new() })
}

/// Enters environments and measures nothing but how long that takes.
pub fn time_starts(
    environments: &[String],
    starts: Starts,
    setting: &Setting,
    caller: &Caller<'_>,
    observer: &mut dyn Observer,
) -> Result<Vec<BringUp>, LabError> {
    clean_up(setting, observer)?;
    let others: Vec<String> = environments.iter().filter(|name| *name != NATIVE).cloned().collect();
    let (named, when_not_ready) = match environments.split_first() {
        Some(_) if starts == Starts::BesideBaseline => (name_sides(NATIVE, &others)?, WhenNotReady::Refuse),
        None => (name_sides(NATIVE, &every_default_subject())?, WhenNotReady::LeaveOut),
        Some((first, others)) => (name_sides(first, others)?, WhenNotReady::Refuse),
    };
    let mut cast = resolve_sides(named, when_not_ready, &RootFolder::Empty, &setting.programs)?;
    cast.sides.retain(|side| starts == Starts::BesideBaseline || side.repeats.is_none());
    let sides = cast.sides.clone();
    let checked = Checked::new(&[], cast, Peers::default(), &[])?;
    in_arena(checked, setting, caller, observer, |_, arena, observer| {
        Ok(bring_up::bring_up(&sides, starts, arena, &mut |name, time| {
            observer.observe_event(Event::Entering { target: &starts.describe(name, time) });
            !caller.interrupted.load(Ordering::Relaxed)
        }))
    })
}

/// A session that was checked as far as that goes before anything is made.
struct Checked {
    cast: Cast,
    wanted: Wanted,
    peers: Peers,
    carried: Vec<CarriedFile>,
    budget: Option<Budget>,
    pin: Option<Pin>,
}

impl Checked {
    fn new(cases: &[&Case], cast: Cast, peers: Peers, conditions: &[Condition]) -> Result<Checked, LabError> {
        conditions::check_conditions(conditions, &cast.sides, cases)?;
        let wanted = Wanted::from_cases(cases.iter().copied());
        let peers = peers.for_cases(cases.iter().copied())?;
        Ok(Checked { cast, wanted, peers, carried: Vec::new(), budget: None, pin: None })
    }
}

/// Lists the environments in which commands change this machine's own files, because no layers can be made over them.
fn note_kept_changes(cast: &Cast, observer: &mut dyn Observer) {
    let resolved = cast.list_resolved();
    let keeping = resolved.iter().filter(|of| of.target.repeats.is_none());
    let keeping: Vec<(&str, &String)> =
        keeping.filter_map(|of| Some((of.target.name.as_str(), of.ready.keeps_changes.as_ref()?))).collect();
    if let Some((_, reason)) = keeping.first() {
        let names: Vec<&str> = keeping.iter().map(|(name, _)| *name).collect();
        observer.observe_event(Event::Note(format!(
            "files that commands write in {} stay, and the next run finds them: {reason}",
            names.join(", ")
        )));
    }
}

/// Says that a budget is too short, as far as typical times show that before anything is entered.
fn note_short_budget(selection: &Selection, sides: &Sides, observer: &mut dyn Observer) {
    let outlook = Outlook::foresee_session(selection, sides, false, &Paces::read_shipped());
    if let Some(short) = outlook.describe_short_budget() {
        observer.observe_event(Event::Note(short));
    }
}

/// Leaves out all but the first default subjects, and says so.
fn leave_out_further(sides: &mut Sides, observer: &mut dyn Observer) {
    let others = keep_first_subjects(sides);
    if !others.is_empty() {
        observer.observe_event(Event::Note(format!(
            "also ready, and left out because each would have too little time: {} (--in NAME,... measures them)",
            others.join(", ")
        )));
    }
}

/// Resolves the named environments, or else everything that is ready by default.
fn cast(request: &Request, selection: &Selection, setting: &Setting) -> Result<Cast, LabError> {
    if !selection.commands.is_empty() {
        let sides = name_command_sides(&request.baseline, &selection.commands)?;
        return resolve_sides(sides, WhenNotReady::Refuse, &request.inside.root, &setting.programs);
    }
    let (subjects, when_not_ready) = match (request.environments.as_slice(), &request.fleet) {
        ([], _) => (&default_subjects(&selection.study.environments)[..], WhenNotReady::LeaveOut),
        (named, None) => (named, WhenNotReady::Refuse),
        (named, Some(_)) => (named, WhenNotReady::Gap),
    };
    let sides = name_sides(&request.baseline, subjects)?;
    resolve_sides(sides, when_not_ready, &request.inside.root, &setting.programs)
}

/// Makes the workspace and the arena, has the work done there, and takes both away again however it ended.
fn in_arena<T>(
    checked: Checked,
    setting: &Setting,
    caller: &Caller<'_>,
    observer: &mut dyn Observer,
    work: impl FnOnce(&SessionWorkspace, &mut LiveArena<'_>, &mut dyn Observer) -> Result<T, LabError>,
) -> Result<T, LabError> {
    let Checked { cast, wanted, peers, carried, budget, pin } = checked;
    if caller.interrupted.load(Ordering::Relaxed) {
        return Err(LabError::interruption_error());
    }
    pin.map(|pin| pinning::pin_program(pin, &cast.sides)).transpose()?;
    // Never refused: files in /mnt/c or in a group's folder are what people measure.
    for not_ours in wanted.folders.values().filter_map(|place| check_ours(place).err()) {
        observer.observe_event(Event::Note(format!(
            "{not_ours}: what is measured there is not safe from others"
        )));
    }
    let workspace = SessionWorkspace::make_workspace(&Setting { wanted, ..setting.clone() })?;
    if workspace.count_other_sessions() > 0 {
        let running = "another session of tare is running on this machine: each disturbs the other";
        observer.observe_event(Event::Note(running.into()));
    }
    #[cfg(unix)]
    workspace.make_turn_files(cast.sides.list_pairs())?;
    let arena = LiveArena::new(cast.list_resolved(), &workspace, caller.interrupted, caller.began);
    let mut arena = arena.with_peers(peers.clone()).with_deadline(budget.map(|budget| budget.until));
    arena.set_carried_files(carried);
    let done = work(&workspace, &mut arena, observer);
    let done = arena.host_failure().map_or(done, Err);
    note_left(arena.leave_all(), observer);
    peers::release_peers(&peers);
    drop(arena);
    note_left(workspace.close(), observer);
    done
}

/// Removes what killed sessions left.
fn clean_up(setting: &Setting, observer: &mut dyn Observer) -> Result<(), LabError> {
    setting.moved.iter().for_each(|moved| observer.observe_event(Event::Note(moved.clone())));
    let outcomes = clean::remove_leftovers(&setting.state, &setting.programs)?;
    for Outcome { what, left_because } in outcomes.into_iter().filter(|outcome| !outcome.is_declared()) {
        let done = left_because.map_or("removed".to_owned(), |reason| format!("not removed: {reason}"));
        observer.observe_event(Event::Note(format!("a session that was killed left {what} ({done})")));
    }
    Ok(())
}

fn note_left(outcomes: Vec<Outcome>, observer: &mut dyn Observer) {
    for Outcome { what, left_because } in outcomes.into_iter().filter(|outcome| !outcome.is_declared()) {
        if let Some(reason) = left_because {
            observer.observe_event(Event::Note(format!("{what} is left: {reason}; tare clean tries again")));
        }
    }
}

/// Packs the record of a session, unless somebody interrupted it to go on with it later.
fn pack(writer: Writer, ended: &Ended) {
    if ended.ending != Ending::Interrupted {
        writer.pack();
    }
}

/// Builds the last entry of a session.
fn ended(workspace: &SessionWorkspace, caller: &Caller<'_>, ending: Ending) -> Entry {
    Entry::Ended { ending, at: (caller.now)(), others: workspace.count_other_sessions() }
}

fn header(
    workspace: &SessionWorkspace,
    caller: &Caller<'_>,
    fleet: Option<FleetCell>,
    more: Facts,
) -> Result<Header, LabError> {
    let identity = running::make_session_identity()
        .map_err(|e| LabError::new(ErrorKind::Host, "cannot name the session").with_cause(e))?;
    let mut host = tare_probes::facts::collect_environment_facts();
    host.0.extend(more.0);
    if fleet.is_some() {
        // Only here: a record of a single machine can be published without its name.
        host.add_fact("host.name", platform::node_name());
    }
    if workspace.count_other_sessions() > 0 {
        host.add_fact(OTHER_SESSIONS, workspace.count_other_sessions().to_string());
    }
    Ok(Header {
        tare: env!("CARGO_PKG_VERSION").to_owned(),
        binary: workspace.agent_sha256()?.to_owned(),
        started: (caller.now)(),
        command: caller.command.clone(),
        host,
        identity: Some(identity),
        fleet,
    })
}

/// Draws a seed of 32 bits, short enough to be typed.
fn fresh_seed() -> Result<u64, LabError> {
    let mut bytes = [0; 4];
    platform::randomise_bytes(&mut bytes).map_err(|e| {
        LabError::new(ErrorKind::Environment, "cannot draw a seed")
            .with_cause(e)
            .with_hint("give one with --seed")
    })?;
    Ok(u32::from_le_bytes(bytes).into())
}
