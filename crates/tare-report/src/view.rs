//! What the views have in common: the header, legend, checks and warnings around a table.

use tare_analysis::findings::{Findings, PlantedCost, Row};
use tare_analysis::verdicts::rows::MARGIN;
use tare_analysis::verdicts::verdict::is_decided;
use tare_data::session::{Ending, PlannedCase, Session};
use tare_data::shell::quoted;
use tare_data::warning::Warning;

use crate::number::{counted, duration, percent};
use crate::text::{GLUE, clean, listed};
use crate::words::{self, MAY_BE_CHANCE, Standing};

/// More rounds than this are not suggested: `--rounds` takes no more.
const MOST_ROUNDS_OFFERED: u32 = 1000;
/// The place that every environment has: its facts say on which file system the session measured.
const OWN_PLACE: &str = "own";

/// The rows that a view shows: the headline of every case, or every metric.
pub fn rows(findings: &Findings, every_metric: bool) -> Vec<&Row> {
    findings.rows.iter().filter(|row| every_metric || row.headline).collect()
}

/// Where a row's work happens, beside its label: `file.seq · own`, `net.rr · to host`.
pub(crate) fn where_it_runs(row: &Row) -> String {
    let mut parts = vec![clean(&row.probe)];
    parts.extend(row.place.as_deref().map(clean));
    parts.extend(row.peer.as_deref().map(|peer| format!("to {}", clean(peer))));
    parts.join(" · ")
}

/// Two lines: what was compared, and on which machine, for how long.
pub fn heading(session: &Session, findings: &Findings, elapsed_s: Option<f64>) -> Vec<String> {
    let (study, baseline) = (clean(&session.plan.study), clean(&findings.baseline));
    let subjects: Vec<String> = findings.subjects.iter().map(|name| clean(name)).collect();
    let compared = match subjects.is_empty() {
        true => format!("{study}: {baseline} alone"),
        false => format!("{study}: {} against {baseline}", subjects.join(", ")),
    };
    let elapsed_s = elapsed_s.or_else(|| measured_s(session));
    let effort = elapsed_s.map(duration).into_iter().chain([rounds(findings)]);
    let effort: Vec<String> = effort.chain(unusual_margin(&session.plan.cases)).collect();
    let machine = machine(session).join(", ");
    let effort = effort.join(", ");
    vec![compared, if machine.is_empty() { effort } else { format!("{machine}; {effort}") }]
}

/// `margin 0.5 %`, where that is not the usual one.
fn unusual_margin(cases: &[PlannedCase]) -> Option<String> {
    let is_usual = |case: &PlannedCase| (case.margin - MARGIN).abs() < 1e-9;
    (!cases.iter().all(is_usual)).then(|| format!("margin {}", margins(cases)))
}

/// The machine of a session, in a line.
pub(crate) fn measured_on(session: &Session) -> String {
    machine(session).join(", ")
}

/// Processor, kernel and file system, as far as the record knows them.
fn machine(session: &Session) -> Vec<String> {
    let host = &session.header.host;
    let baseline = session.baseline().map(|target| target.name.as_str());
    let of_baseline = session.facts.iter().find(|facts| Some(facts.target.as_str()) == baseline);
    let own_place = of_baseline.and_then(|facts| facts.places.get(OWN_PLACE)?.get("file_system.type"));
    let cpus = host.integer("cpu.count").map(|count| counted(count as usize, "CPU", "CPUs"));
    let release = host.get("kernel.release").map(|release| {
        let version = release.split(['-', '+']).next().unwrap_or(release);
        format!("{} {}", clean(host.get("kernel.name").unwrap_or("Linux")), clean(version))
    });
    [
        host.get("cpu.model").map(cpu_name),
        cpus,
        host.get("cpu.hypervisor").map(|_| "virtual machine".to_owned()),
        release,
        own_place.or_else(|| host.get("root.type")).map(clean),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// `AMD EPYC 9R14` of `AMD EPYC 9R14 96-Core Processor`, `Intel Xeon` of `Intel(R) Xeon(R) Processor @ 2.50GHz`.
fn cpu_name(model: &str) -> String {
    let model = clean(model).replace("(R)", "").replace("(TM)", "").replace("(tm)", "");
    let own = model.split(" @ ").next().unwrap_or_default();
    let words =
        own.split_whitespace().filter(|w| !matches!(*w, "Processor" | "CPU") && !w.ends_with("-Core"));
    words.collect::<Vec<_>>().join(" ")
}

/// From the beginning of the session to the end of its last trial.
pub(crate) fn measured_s(session: &Session) -> Option<f64> {
    let end_ns = session.trials.iter().map(|t| t.started_ns.saturating_add(t.host_elapsed_ns)).max()?;
    Some(end_ns as f64 / 1e9)
}

/// `18 rounds`, or `12 to 18 rounds` where some cases were decided early.
fn rounds(findings: &Findings) -> String {
    let counts = || {
        let levels = findings.rows.iter().filter_map(|row| row.baseline.as_ref());
        levels.map(|level| level.rounds).filter(|rounds| *rounds > 0)
    };
    match (counts().min(), counts().max()) {
        (Some(least), Some(most)) if least < most => format!("{least} to {most} rounds"),
        (_, Some(most)) => counted(most as usize, "round", "rounds"),
        _ => "no complete round".into(),
    }
}

/// The banner of a session whose baseline differs from itself.
pub fn banner(findings: &Findings) -> Option<String> {
    let certificate = &findings.certificate;
    certificate.banner.then(|| {
        format!(
            "This session cannot be trusted: {} differs from itself in {} of {} cells, more than chance \
             allows. Reduce background load ('tare check' lists sources of noise) and run again.",
            clean(&findings.baseline),
            certificate.control_coloured,
            certificate.control_cells
        )
    })
}

/// What the words and signs of a table mean: only those that occur in it.
pub(crate) fn legend(session: &Session, rows: &[&Row]) -> Vec<String> {
    let cells: Vec<_> = rows.iter().flat_map(|row| &row.cells).filter_map(words::comparison).collect();
    if cells.is_empty() {
        return Vec::new();
    }
    let occurs = |standing: &Standing| cells.iter().any(|cell| Standing::of_comparison(cell) == *standing);
    let margin = margins(&session.plan.cases);
    use Standing::*;
    let meanings: [(&[Standing], String); 7] = [
        (&[Slower, MaybeSlower, Faster, MaybeFaster], format!("by more than {margin}")),
        (&[SlightlySlower, SlightlyFaster], format!("a real difference within ±{margin}")),
        (&[TypicallySame], "but some rounds take much longer".into()),
        (&[Same], format!("within ±{margin}")),
        (&[SlowerUnclear, FasterUnclear], format!("more rounds would show whether by more than {margin}")),
        (&[SlowerInFewStarts, FasterInFewStarts], "other starts may differ: more starts are needed".into()),
        (&[Inconclusive], "more rounds are needed".into()),
    ];
    let mut parts = Vec::new();
    for (standings, meaning) in meanings {
        let mut present: Vec<&str> = standings.iter().filter(|s| occurs(s)).map(|s| s.word()).collect();
        present.dedup();
        if !present.is_empty() {
            parts.push(format!("{}{GLUE}= {meaning}", present.join(", ")));
        }
    }
    if cells.iter().any(|cell| Standing::of_comparison(cell).may_be_chance()) {
        parts.push(format!("{MAY_BE_CHANCE} = may be chance, given how many cells there are"));
    }
    let speedup = if occurs(&Faster) || occurs(&MaybeFaster) || occurs(&FasterInFewStarts) {
        " (or speedup)"
    } else {
        ""
    };
    parts.push(format!("±, [ ] = 95 % confidence intervals of the value and of the slowdown{speedup}"));
    parts
}

/// `2 %`, or `1 % to 5 %` where cases have margins of their own.
fn margins(cases: &[PlannedCase]) -> String {
    let shares = || cases.iter().map(|case| case.margin.exp_m1()).filter(|share| share.is_finite());
    let least = shares().fold(f64::INFINITY, f64::min);
    let most = shares().fold(0.0, f64::max);
    let (low, high) = (percent(least), percent(most));
    match shares().next() {
        None => "the margin".into(),
        Some(_) if low == high => high,
        Some(_) => format!("{low} to {high}"),
    }
}

/// Whether to believe the session: its control, what it could have missed, what was repeated.
pub fn checks(findings: &Findings) -> Vec<String> {
    let certificate = &findings.certificate;
    let baseline = clean(&findings.baseline);
    let mut checks = vec![match certificate.control_cells {
        0 => format!("No control: {baseline} was not compared with itself."),
        cells => format!(
            "control ({baseline} against {baseline}): {} of {cells} differ.",
            certificate.control_coloured
        ),
    }];
    checks.extend(certificate.planted.as_ref().map(planted_cost));
    checks.extend(smallest_differences(findings));
    checks.extend(rounds_to_decide(findings));
    if certificate.repeated > 0 {
        let rounds = counted(certificate.repeated as usize, "round was", "rounds were");
        checks.push(format!("{rounds} disturbed and repeated."));
    }
    checks
}

/// Whether a cost that was put in was found.
fn planted_cost(planted: &PlantedCost) -> String {
    let share = percent(planted.share);
    match planted.found {
        true => format!("A planted {share} was found."),
        false => format!("A planted {share} was not found: differences of {share} may be missed here."),
    }
}

/// Which differences the session could have missed.
fn smallest_differences(findings: &Findings) -> Option<String> {
    let cells = findings.rows.iter().filter(|row| row.headline).flat_map(|row| &row.cells);
    let effects = cells.filter_map(words::smallest_difference);
    let (least, most) =
        effects.fold((f64::INFINITY, 0.0f64), |(least, most), effect| (least.min(effect), most.max(effect)));
    if least <= most {
        let (low, high) = (percent(least), percent(most));
        let range = if low == high { low } else { format!("{} to {high}", low.trim_end_matches(" %")) };
        return Some(format!("Differences below {range} could have been missed (--wide has each)."));
    }
    let unknown = || "Too few rounds to know which differences could have been missed.".to_owned();
    (!findings.subjects.is_empty()).then(unknown)
}

/// How many rounds would decide the cells that lack rounds.
fn rounds_to_decide(findings: &Findings) -> Option<String> {
    let cells = || findings.rows.iter().filter(|row| row.headline).flat_map(|row| &row.cells);
    let undecided = cells().filter_map(words::comparison).filter(|c| !is_decided(c.verdict)).count();
    let needed = cells().filter_map(words::comparison).filter_map(words::rounds_needed);
    let needed: Vec<u32> = needed.filter(|rounds| *rounds <= MOST_ROUNDS_OFFERED).collect();
    let rounds = *needed.iter().max()?;
    let which = match needed.len() {
        1 if undecided == 1 => "the undecided cell".to_owned(),
        some if some == undecided => format!("the {some} undecided cells"),
        some => format!("{some} of the {undecided} undecided cells"),
    };
    let done = cells().filter_map(words::comparison).map(|comparison| comparison.rounds).max()?.max(1);
    let times = f64::from(rounds) / f64::from(done);
    let longer = if times < 1.95 { format!("{times:.1}") } else { format!("{times:.0}") };
    Some(format!(
        "About {rounds} rounds, {longer} times as many, would decide {which}: a longer --budget, or more --rounds."
    ))
}

/// Warnings about an environment or the whole session, each with its advice.
pub fn warnings(findings: &Findings) -> Vec<String> {
    // The same words about several environments are one line, in the order in which they first occur.
    let mut lines: Vec<(String, &'static str, Vec<String>)> = Vec::new();
    // How much failed stands in the first lines.
    let below = |(_, warning): &&(_, Warning)| !matches!(warning, Warning::SessionFailed { .. });
    for (target, warning) in findings.warnings.iter().filter(below) {
        let text = clean(&warning.words());
        let at = lines.iter().position(|(known, ..)| *known == text).unwrap_or_else(|| {
            lines.push((text, warning.advice(), Vec::new()));
            lines.len() - 1
        });
        lines[at].2.extend(target.as_deref().map(clean));
    }
    let line = |(text, advice, targets): (String, &str, Vec<String>)| {
        let who = if targets.is_empty() { "session".to_owned() } else { listed(&targets) };
        format!("{who}: {text}; {advice}.")
    };
    lines.into_iter().map(line).collect()
}

/// How many trials of the session failed and why, for its first lines.
pub fn failed(findings: &Findings) -> Option<String> {
    let is_it = |(_, warning): &&(_, Warning)| matches!(warning, Warning::SessionFailed { .. });
    let (_, warning) = findings.warnings.iter().find(is_it)?;
    Some(format!("{}; {}.", clean(&warning.words()), warning.advice()))
}

/// How the session ended, when it did not end by itself, with the command that continues it.
pub fn ending(findings: &Findings, record: Option<&str>) -> Option<String> {
    let ended = words::ending(findings.ending)?;
    let resume = match (findings.ending, record) {
        (Ending::Complete, _) | (_, None) => String::new(),
        (_, Some(record)) => format!(" tare run --resume {} continues it.", quoted(&clean(record))),
    };
    Some(format!("{ended}{resume}"))
}
