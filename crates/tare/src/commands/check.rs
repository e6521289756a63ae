//! `tare check`: shows which environments are ready, and how well this machine is suited for measuring.

use std::collections::BTreeSet;
use std::fmt::Write;
use tare_analysis::here::limits::read_limits;
use tare_data::facts::keys::{CPU_ALLOWED, CPU_EMULATED, CPU_ONLINE, RUNTIME_VERSION};

use serde_json::json;
use tare_data::facts::Facts;
use tare_data::failure::Failure;
use tare_data::shell::quote_word;
use tare_lab::environments;
use tare_lab::environments::presets::PRESETS;
use tare_lab::error::{ErrorKind, LabError};
use tare_lab::host::programs::Programs;
use tare_lab::provider::{NotReady, Ready};
use tare_lab::session::Starts;
use tare_lab::session::peers::{Peers, reach_peer};
use tare_probes::facts;
use tare_report::here::describe_limits;
use tare_report::json::render_pretty_json;
use tare_report::language::Language;
use tare_report::text::{count_columns, plain_line};

use crate::args::Check;
use crate::command_error::CommandError;
use crate::commands::own_launchers;
use crate::commands::time::{Timed, time_environments};
use crate::exit::Exit;
use crate::{paths, ui};

/// Families of facts of this machine that matter for measuring, in the order in which they are shown.
const SHOWN: [&str; 8] = ["kernel", "cpu", "memory", "clock", "noise", "cgroup", "process", "honesty"];

/// An environment that was asked for, with its state.
struct Tried {
    /// Name of the environment or preset.
    name: String,
    specification: String,
    state: Result<Seen, NotReady>,
    /// True where its programs are here, whether or not it could be entered.
    is_found: bool,
    /// True where it is entered only when it is named: a guest that boots, a daemon's, another machine, a further form of one.
    waits: bool,
    /// Name in a few words.
    about: String,
}

impl Tried {
    fn is_ready(&self) -> bool {
        self.state.is_ok()
    }
}

/// An environment whose programs are there, and, once it was entered, that was recognised.
#[derive(Default)]
struct Seen {
    /// Version of the runtime, or the specification of the preset.
    about: String,
    /// True where its processor is a program.
    is_emulated: bool,
    /// Sign by which it was recognised, or why none was seen; empty where it was not entered.
    proof: String,
    /// True where it sees this user's own files.
    shares_files: bool,
    /// Facts about its limits, as this machine sees them.
    limits: Facts,
}

/// Ready environments and the state of this machine.
struct Findings {
    environments: Vec<Tried>,
    /// Answers of peers by their names: who they are, or why there is none.
    peers: Vec<(String, Result<String, Failure>)>,
    machine: Facts,
}

pub fn run_check(args: Check) -> Result<Exit, CommandError> {
    own_launchers::check_entered_names(&args.enter)?;
    let named = own_launchers::resolve_launchers(&args.environments)?;
    let args = Check { environments: [named, args.enter].concat(), enter: Vec::new(), ..args };
    if args.time {
        return super::time::run_check_time(&args);
    }
    let named = Peers::from_texts(&args.peers)?;
    let peers = named.ways().iter().map(|(name, way)| (name.clone(), reach_peer(way))).collect();
    let mut machine = facts::collect_environment_facts();
    machine.0.extend(tare_lab::host::machine::measure_noise().0);
    let programs = paths::find_programs()?;
    let environments = match args.environments.as_slice() {
        // Peers that are named without an environment are checked without any.
        [] if !args.peers.is_empty() => Vec::new(),
        [] => environments(&programs)?,
        named => named.iter().map(|text| tried(text, text, &programs)).collect::<Result<_, _>>()?,
    };
    let mut found = Findings { environments, peers, machine };
    let is_overview = args.environments.is_empty() && args.peers.is_empty();
    if !is_overview {
        found.environments.iter_mut().for_each(|tried| tried.waits = false);
    } else if !args.json {
        // Known without a start, and shown before the first.
        ui::print_text(&describe_found(&found), false)?;
    }
    enter_all(&mut found.environments, &args)?;
    let text = match (args.json, args.wide, is_overview) {
        (true, ..) => document(&found),
        (_, false, true) => describe_overview(&found),
        (_, false, false) => describe_peers(&found) + &describe_entered(&found) + &describe_lacking(&found),
        (_, true, _) => {
            describe_machine(&found)
                + &describe_peers(&found)
                + &describe_lacking(&found)
                + &describe_entered(&found)
                + &describe_waiting(&found)
        }
    };
    ui::print_text(&text, args.json)?;
    let are_ready =
        args.environments.is_empty() || found.environments.iter().all(|tried| tried.state.is_ok());
    Ok(match are_ready && found.peers.iter().all(|(_, tried)| tried.is_ok()) {
        true => Exit::Done,
        false => Exit::Environment,
    })
}

/// Tries every environment that is offered by default, every provider that offers none, and every preset. A launcher that nobody
/// tried is left out until it is named.
fn environments(programs: &Programs) -> Result<Vec<Tried>, LabError> {
    let mut rows: Vec<Tried> = Vec::new();
    let is_untried = |name: &str| {
        environments::list_launchers().any(|(launcher, is_tested)| !is_tested && launcher.name == name)
    };
    for provider in environments::list_providers().filter(|provider| !is_untried(&provider.name)) {
        let texts = match provider.by_default.tried {
            [] => &[provider.name.as_str()][..],
            texts => texts,
        };
        let is_preset = |text: &&&str| PRESETS.iter().any(|preset| preset.name == **text);
        for (at, text) in texts.iter().filter(|text| !is_preset(text)).enumerate() {
            let row = tried(text, text, programs)?;
            // A form of each is enough to know.
            rows.push(Tried { waits: row.waits || at > 0, ..row });
        }
    }
    for preset in PRESETS {
        let mut row = tried(preset.name, preset.specification, programs)?;
        row.waits = true;
        if let Ok(seen) = &mut row.state {
            seen.about = preset.specification.to_owned();
        }
        rows.push(row);
    }
    Ok(rows)
}

fn tried(name: &str, specification: &str, programs: &Programs) -> Result<Tried, LabError> {
    let see = |ready: Ready| Seen {
        about: match ready.facts.get(RUNTIME_VERSION) {
            Some("unknown") => "version unknown".to_owned(),
            version => version.unwrap_or_default().to_owned(),
        },
        is_emulated: ready.facts.get(CPU_EMULATED).is_some(),
        ..Seen::default()
    };
    let state = match environments::parse_environment(specification) {
        Ok(named) => named.check_ready(programs).map(see),
        // A preset of what another system enters.
        Err(e) if e.kind == ErrorKind::Environment => Err(NotReady::from_reason(e.to_string())),
        Err(e) => return Err(e),
    };
    let is_found = state.is_ok();
    let named = environments::parse_environment(specification).ok();
    let provider = named.as_ref().map(|named| &named.provider);
    Ok(Tried {
        name: name.to_owned(),
        specification: specification.to_owned(),
        state,
        is_found,
        waits: provider.is_none_or(|provider| !provider.descends || provider.kernel.is_guest()),
        about: provider.map_or_else(String::new, |provider| provider.short_description.clone()),
    })
}

/// Enters every environment that seems ready once, unless it waits to be named: one that cannot be entered, or that is not what it is named after, is not.
fn enter_all(environments: &mut [Tried], args: &Check) -> Result<(), CommandError> {
    // A preset's environment may be offered by its own name as well.
    let named: BTreeSet<&str> = environments
        .iter()
        .filter(|tried| tried.is_ready() && !tried.waits)
        .map(|tried| tried.specification.as_str())
        .collect();
    let named: Vec<String> = named.into_iter().map(str::to_owned).collect();
    if named.is_empty() {
        return Ok(());
    }
    // As many descriptors as a session has for its record and page: an environment that leaves none for them is not ready.
    let room = [std::io::pipe(), std::io::pipe()];
    let Timed { starts, was_interrupted } = time_environments(&named, Starts::BesideBaseline, args)?;
    drop(room);
    if was_interrupted {
        return Err(LabError::new(ErrorKind::Interrupted, "interrupted").into());
    }
    // If no session can begin, nothing is known of any environment: one error has the reason.
    let entered = starts?;
    for tried in environments {
        let Ok(seen) = &mut tried.state else { continue };
        let specification = environments::parse_environment(&tried.specification)?.specification;
        let Some(one) = entered.iter().find(|one| one.specification == specification) else { continue };
        seen.proof = one.proof().unwrap_or_default().to_owned();
        seen.shares_files = one.shares_files();
        let limits = one.outside.0.iter().filter(|(key, _)| is_limit(key));
        seen.limits = Facts(limits.map(|(key, value)| (key.clone(), value.clone())).collect());
        if let Some(failure) = &one.failure {
            tried.state = Err(NotReady::from_reason(format!("cannot be entered: {}", failure.reason)));
        }
    }
    Ok(())
}

/// Tells whether a fact is about a limit, or the scheduling of processes.
fn is_limit(key: &str) -> bool {
    let families = ["limit.", "process.nice", "process.class", "process.policy"];
    [CPU_ALLOWED, CPU_ONLINE].contains(&key) || families.iter().any(|family| key.starts_with(family))
}

fn document(found: &Findings) -> String {
    let environments: Vec<_> = found
        .environments
        .iter()
        .map(|Tried { name, state, waits, .. }| match state {
            Ok(Seen { about, proof, shares_files, limits, .. }) => json!({
                "environment": name, "ready": true, "entered": !waits, "version": about, "proof": proof,
                "shares_files": shares_files, "limits": limits
            }),
            Err(n) => {
                json!({ "environment": name, "ready": false, "reason": n.reason, "command": n.command })
            }
        })
        .collect();
    let peers: Vec<_> = found
        .peers
        .iter()
        .map(|(name, tried)| match tried {
            Ok(about) => json!({ "peer": name, "ready": true, "about": about }),
            Err(failure) => json!({ "peer": name, "ready": false, "reason": failure.reason }),
        })
        .collect();
    let all = json!({ "environments": environments, "peers": peers, "machine": found.machine });
    render_pretty_json(&all)
}

/// Describes this machine.
fn describe_machine(found: &Findings) -> String {
    let mut text = format!("{}\n", ui::find_language().word("This machine"));
    for family in SHOWN {
        for (key, value) in &found.machine.0 {
            if key.split('.').next() == Some(family) {
                let _ = writeln!(text, "  {:24}  {}", plain_line(key), plain_line(value));
            }
        }
    }
    text + "\n"
}

/// Describes the peers as this machine reaches them.
fn describe_peers(found: &Findings) -> String {
    let language = ui::find_language();
    let [ready, not_ready] = align_words(language);
    let mut text = String::new();
    if !found.peers.is_empty() {
        let _ = writeln!(text, "{}", language.word("Peers, from this machine"));
    }
    for (name, tried) in &found.peers {
        let _ = match tried {
            Ok(about) => writeln!(text, "  {}  {ready}  {}", plain_line(name), plain_line(about)),
            Err(failure) => {
                let reason = plain_line(&language.translate_text(&failure.reason));
                writeln!(text, "  {}  {not_ready}\n    {reason}", plain_line(name))
            }
        };
    }
    text
}

/// Describes the environments that lack something.
fn describe_lacking(found: &Findings) -> String {
    let lacking: Vec<&Tried> = found.environments.iter().filter(|tried| !tried.is_ready()).collect();
    describe_part(ui::find_language().word("Environments that lack something here"), &lacking)
}

/// Describes environments that were entered, each with the sign by which it was recognised.
fn describe_entered(found: &Findings) -> String {
    let entered: Vec<&Tried> =
        found.environments.iter().filter(|tried| tried.is_ready() && !tried.waits).collect();
    describe_part(ui::find_language().word("Environments, each entered once"), &entered)
}

/// Describes the environments that are entered when they are named, each with the line that enters it.
fn describe_waiting(found: &Findings) -> String {
    let language = ui::find_language();
    let waiting = found.environments.iter().filter(|tried| tried.is_ready() && tried.waits);
    let line = |tried: &Tried| {
        let is_emulated = tried.state.as_ref().is_ok_and(|seen| seen.is_emulated);
        let note = if is_emulated { language.word(" (emulated: slow)") } else { "" };
        format!("tare check --in {}{note}", quote_word(&tried.name))
    };
    let rows: Vec<(&str, String)> = waiting.map(|tried| (tried.name.as_str(), line(tried))).collect();
    let head = language.word("Found, not started: its line starts it once, and says if it is ready");
    describe_list(head, &rows, measure_names(found))
}

/// Lists the environments that are ready and were entered, with their names in a few words.
fn list_ready(found: &Findings) -> Vec<(&str, String)> {
    let language = ui::find_language();
    let of = found.environments.iter().filter(|tried| tried.is_ready() && !tried.waits);
    of.map(|tried| (tried.name.as_str(), language.describe(&tried.about).to_owned())).collect()
}

/// Measures the longest name of an environment.
fn measure_names(found: &Findings) -> usize {
    found.environments.iter().map(|tried| tried.name.len()).max().unwrap_or(0)
}

/// Writes names with a text beside each, in a column of this width; nothing where there are none.
fn describe_list(head: &str, rows: &[(&str, String)], widest: usize) -> String {
    let mut text = String::new();
    if !rows.is_empty() {
        let _ = writeln!(text, "\n{head}");
    }
    for (name, about) in rows {
        let _ = writeln!(text, "{}", format!("  {name:widest$}  {}", plain_line(about)).trim_end());
    }
    text
}

fn describe_part(head: &str, rows: &[&Tried]) -> String {
    match rows {
        [] => String::new(),
        rows => format!("{head}\n{}", describe_rows(rows)),
    }
}

/// Lists the environments whose programs are here, before any is entered.
fn describe_found(found: &Findings) -> String {
    let language = ui::find_language();
    let names =
        found.environments.iter().filter(|tried| tried.is_ready()).map(|tried| plain_line(&tried.name));
    let line = format!(
        "{} {}. {}",
        language.word("Found here:"),
        names.collect::<Vec<_>>().join(", "),
        language.word("Those that start at once are entered now, each once.")
    );
    ui::wrap_text(&line, ui::measure_width()).join("\n") + "\n"
}

/// Describes what is ready, then what is entered when it is named, then what one line makes ready.
fn describe_overview(found: &Findings) -> String {
    let language = ui::find_language();
    let widest = measure_names(found);
    let list = |head: &str, rows: &[(&str, String)]| describe_list(head, rows, widest);
    let lacking = |is_found: bool| {
        let of = found.environments.iter().filter(move |tried| tried.is_found == is_found);
        of.filter_map(|tried| Some((tried.name.as_str(), tried.state.as_ref().err()?)))
    };
    let refused = lacking(true).map(|(name, lacks)| (name, language.translate_text(&lacks.reason)));
    let one_line = lacking(false).filter_map(|(name, lacks)| Some((name, lacks.command.clone()?)));
    let mut text = list(language.word("Ready"), &list_ready(found))
        + &describe_waiting(found)
        + &list(language.word("Found, and not ready"), &refused.collect::<Vec<_>>())
        + &list(language.word("Made ready by one line"), &one_line.collect::<Vec<_>>());
    let others = lacking(false).filter(|(_, lacks)| lacks.command.is_none()).count();
    let verdict = found.machine.get("noise.verdict").filter(|verdict| *verdict != "quiet");
    let noise =
        verdict.map(|verdict| format!("{} {}", language.word("This machine is"), plain_line(verdict)));
    let wide = (others > 0).then(|| {
        let more = language
            .word("more lack something else: tare check --wide tells, and has this machine's details");
        format!("{others} {more}")
    });
    text.push('\n');
    for line in noise.into_iter().chain(wide) {
        let _ = writeln!(text, "{}", ui::wrap_text(&format!("{line}."), ui::measure_width()).join("\n"));
    }
    text
}

fn describe_rows(rows: &[&Tried]) -> String {
    let language = ui::find_language();
    let [ready, not_ready_word] = align_words(language);
    let widest = rows.iter().map(|tried| tried.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for Tried { name, state, .. } in rows {
        let _ = match state {
            Ok(Seen { about, proof, shares_files, limits, .. }) => {
                let shared = if *shares_files { language.word("shares your files") } else { "" };
                let limits = describe_limits(&read_limits(limits), language);
                let parts = [about, proof, shared].into_iter().chain(limits.iter().map(String::as_str));
                let parts: Vec<String> = parts.filter(|part| !part.is_empty()).map(plain_line).collect();
                writeln!(text, "  {name:widest$}  {ready}  {}", parts.join("; "))
            }
            Err(not_ready) => {
                let command = not_ready.command.iter();
                let command: String = command
                    .map(|command| format!("\n  {:widest$}             {}", "", plain_line(command)))
                    .collect();
                let reason = plain_line(&language.translate_text(&not_ready.reason));
                writeln!(text, "  {name:widest$}  {not_ready_word}  {reason}{command}")
            }
        };
    }
    text
}

/// Gives the words for both states, as wide as each other.
fn align_words(language: Language) -> [String; 2] {
    align([language.word("ready"), language.word("not ready")])
}

/// Pads words to the columns of the widest.
fn align(words: [&str; 2]) -> [String; 2] {
    let widest = words.map(count_columns).into_iter().max().unwrap_or(0);
    words.map(|word| format!("{word}{}", " ".repeat(widest - count_columns(word))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make_tried(name: &str, state: Result<Seen, NotReady>, waits: bool) -> Tried {
        let (specification, about) = (name.to_owned(), format!("about {name}"));
        Tried { name: name.to_owned(), specification, state, is_found: true, waits, about }
    }

    fn make_found(environments: Vec<Tried>) -> Findings {
        Findings { environments, peers: Vec::new(), machine: Facts::default() }
    }

    #[test]
    fn what_waits_to_be_named_has_the_line_that_starts_it() {
        let tried =
            |name, is_emulated, waits| make_tried(name, Ok(Seen { is_emulated, ..Seen::default() }), waits);
        let waiting = [tried("docker", false, true), tried("qemu?memory=1", true, true)];
        let shown = describe_waiting(&make_found(waiting.into()));
        assert!(shown.contains("\n  docker         tare check --in docker\n"), "{shown}");
        assert!(shown.contains("  tare check --in 'qemu?memory=1' (emulated: slow)\n"), "{shown}");
        assert_eq!(describe_waiting(&make_found(vec![tried("docker", false, false)])), "");
    }

    #[test]
    fn four_ready_environments_and_what_is_near_fit_a_screen() {
        let ready =
            ["native", "container", "podman", "gvisor"].map(|name| (name, Ok(Seen::default()), false));
        let near = ["docker-like", "wsl1-like", "wsl2-like", "guest", "uml", "qemu"];
        let near = near.map(|name| (name, Ok(Seen::default()), true));
        let one_line = ["bwrap", "nerdctl", "firejail"];
        let one_line =
            one_line.map(|name| (name, Err(NotReady::missing_program(name, "apt-get install x")), false));
        let all = ready.into_iter().chain(near).chain(one_line);
        let all = all.map(|(name, state, waits)| {
            let is_found = state.is_ok();
            Tried { is_found, ..make_tried(name, state, waits) }
        });
        let found = make_found(all.collect());
        let text = describe_found(&found) + &describe_overview(&found);
        assert!(text.lines().count() <= 24 && text.lines().all(|line| line.len() <= 80), "{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with("  ")).count(), 13, "{text}");
    }

    #[test]
    fn what_is_found_and_cannot_be_entered_is_named_and_nothing_counts_none() {
        let refused = NotReady::from_reason("cannot be entered: it is shut".to_owned());
        let shown = describe_overview(&make_found(vec![make_tried("bwrap", Err(refused), false)]));
        assert!(shown.contains("\n  bwrap  cannot be entered: it is shut\n"), "{shown}");
        assert!(!shown.contains("--wide"), "{shown}");
    }

    #[test]
    fn guests_and_what_a_daemon_starts_wait_to_be_named() {
        let programs = Programs::default();
        let waits = |name: &str| tried(name, name, &programs).unwrap().waits;
        assert_eq!(
            ["native", "container", "qemu", "uml", "docker"].map(waits),
            [false, false, true, true, true]
        );
    }
}
