//! Shared parts of the views: the header, legend, checks and warnings around a table.

use tare_analysis::findings::sameness::MARGIN;
use tare_analysis::findings::{Cell, Comparison, Findings, Kind, PlantedCost, Row};
use tare_data::budget::name_budget;
use tare_data::facts::keys::{
    CPU_COUNT, CPU_HYPERVISOR, CPU_MODEL, FILE_SYSTEM_TYPE, KERNEL_NAME, KERNEL_RELEASE, ROOT_TYPE,
};
use tare_data::names::USER;
use tare_data::session::lasting::LastingWork;
use tare_data::session::{Ending, PINNED, PlannedCase, Session};
use tare_data::shell::quote_word;
use tare_data::warning::Warning;

use crate::answers::signs;
use crate::here::{join_layers, name_product};
use crate::language::{Language, say};
use crate::number::format_percent;
use crate::text::clean_text;
use crate::warnings as warned;
use crate::words;

/// Largest number of rounds that is suggested: `--rounds` takes no more.
const MOST_ROUNDS_OFFERED: u32 = 1000;
/// Place that every environment has; its facts name the file system on which the session measured.
const OWN_PLACE: &str = "own";

/// Selects the rows of a view: the headline of every case, or every metric and the harness.
pub(crate) fn select_rows(findings: &Findings, every_metric: bool) -> Vec<&Row> {
    // Somebody who asks for the harness alone gets it.
    let is_alone = findings.rows.iter().all(Row::is_of_harness);
    let is_headline = |row: &&Row| row.headline && (is_alone || !row.is_of_harness());
    findings.rows.iter().filter(|row| every_metric || is_headline(row)).collect()
}

/// Selects the headlines that answer whether an environment is slower.
pub(crate) fn select_judged_rows(findings: &Findings) -> Vec<&Row> {
    let mut rows = select_rows(findings, false);
    rows.retain(|row| Row::is_judged(&row.probe));
    rows
}

/// Formats the place of a row's work next to its label: `file.seq · own`, `net.rr · to host`.
pub(crate) fn where_it_runs(row: &Row, language: Language) -> String {
    let mut parts = vec![clean_text(&row.probe)];
    parts.extend(row.place.as_deref().map(clean_text));
    parts.extend(row.peer.as_deref().map(|peer| say!(language, "to {peer}", peer = clean_text(peer))));
    parts.join(" · ")
}

/// Builds the two lines of the heading: the compared environments, then machine and duration.
pub(crate) fn make_heading(session: &Session, findings: &Findings, language: Language) -> Vec<String> {
    let with_limits = |name: &String| match warned::describe_own_limits(findings, name, language) {
        Some(limits) => say!(language, "{name} ({limits})", name = clean_text(name), limits),
        None => clean_text(name),
    };
    let (study, baseline) = (clean_text(&session.plan.study), with_limits(&findings.baseline));
    let subjects: Vec<String> = findings.subjects.iter().map(with_limits).collect();
    let compared = match subjects.is_empty() {
        true => say!(language, "{study}: {baseline} alone", study, baseline),
        false => {
            let all = language.join_with_commas(&subjects);
            match &findings.commands_in {
                Some(environment) => say!(
                    language,
                    "{all} against {baseline}, in {environment}",
                    all,
                    baseline,
                    environment = clean_text(environment)
                ),
                None => say!(language, "{study}: {all} against {baseline}", study, all, baseline),
            }
        }
    };
    // On the first line, because it is what a reader must know of such a session.
    let rows = select_rows(findings, false);
    let mut answers =
        rows.iter().flat_map(|row| &row.cells).filter_map(Cell::comparison).map(|cell| cell.answer().kind());
    let compared = match answers.next().is_some_and(|first| first == Kind::NotSure)
        && answers.all(|a| a == Kind::NotSure)
        && !findings.answers_outcomes()
    {
        false => compared,
        true => say!(language, "{compared}: nothing is decided", compared),
    };
    let time = measured_s(session).map(|s| language.format_duration(s));
    // The sentence of commands counts single runs, of which a round has several.
    let rounds = (findings.commands_in.is_none() || time.is_none()).then(|| rounds(findings, language));
    let effort = time.into_iter().chain(rounds);
    let effort: Vec<String> = effort.chain(unusual_margin(&session.plan.cases, language)).collect();
    let machine = language.join_with_commas(&machine(session, language));
    let effort = language.join_with_commas(&effort);
    vec![
        compared,
        if machine.is_empty() { effort } else { say!(language, "{machine}; {effort}", machine, effort) },
    ]
}

/// Formats `margin 0.5 %` if it is not the usual one.
fn unusual_margin(cases: &[PlannedCase], language: Language) -> Option<String> {
    let is_usual = |case: &PlannedCase| (case.margin - MARGIN).abs() < 1e-9;
    (!cases.iter().all(is_usual))
        .then(|| say!(language, "margin {margin}", margin = format_margins(cases, language)))
}

/// Describes the machine of a session in a line.
pub(crate) fn measured_on(session: &Session) -> String {
    machine(session, Language::English).join(", ")
}

/// Lists processor, kernel and file system, as far as the record knows them.
fn machine(session: &Session, language: Language) -> Vec<String> {
    let host = &session.header.host;
    let baseline = session.baseline().map(|target| target.name.as_str());
    let of_baseline = session.facts.iter().find(|facts| Some(facts.target.as_str()) == baseline);
    let own_place = of_baseline.and_then(|facts| facts.places.get(OWN_PLACE)?.get(FILE_SYSTEM_TYPE));
    let cpus = host.get_integer(CPU_COUNT).map(|count| language.counted(count as usize, "CPU", "CPUs"));
    let pinned = host.get(PINNED).map(|cpu| say!(language, "all on CPU {cpu}", cpu = clean_text(cpu)));
    // Windows has no such fact.
    let around = host.get("layers").and_then(|layers| {
        let names = layers.split(' ').map(|layer| name_product(layer, language));
        join_layers(names, language)
    });
    let release = host.get(KERNEL_RELEASE).map(|release| {
        let version = release.split(['-', '+']).next().unwrap_or(release);
        format!("{} {}", clean_text(host.get(KERNEL_NAME).unwrap_or("Linux")), clean_text(version))
    });
    [
        host.get(CPU_MODEL).map(cpu_name),
        pinned.or(cpus),
        around.or_else(|| host.get(CPU_HYPERVISOR).map(|_| language.word("virtual machine").to_owned())),
        release,
        own_place.or_else(|| host.get(ROOT_TYPE)).map(clean_text),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Shortens `AMD EPYC 9R14 96-Core Processor` to `AMD EPYC 9R14`, and `Intel(R) Xeon(R) Processor @ 2.50GHz`
/// to `Intel Xeon`.
fn cpu_name(model: &str) -> String {
    let model = clean_text(model).replace("(R)", "").replace("(TM)", "").replace("(tm)", "");
    let own = model.split(" @ ").next().unwrap_or_default();
    let words =
        own.split_whitespace().filter(|w| !matches!(*w, "Processor" | "CPU") && !w.ends_with("-Core"));
    words.collect::<Vec<_>>().join(" ")
}

/// Measures the time from the beginning of the session to the end of its last trial.
pub(crate) fn measured_s(session: &Session) -> Option<f64> {
    let end_ns = session.trials.iter().map(|t| t.started_ns.saturating_add(t.host_elapsed_ns)).max()?;
    Some(end_ns as f64 / 1e9)
}

/// Formats `18 rounds`, or `7 to 18 rounds` if cases or environments differ. Rounds in which runs failed, so that nothing was compared,
/// are none of them.
fn rounds(findings: &Findings, language: Language) -> String {
    let untimed = (!findings.outcomes.is_empty()).then(|| language.word("no times compared"));
    if findings.lacks_good_runs() {
        return untimed.unwrap_or_else(|| language.word("nothing compared")).into();
    }
    let counts = || {
        let rows = || findings.rows.iter().filter(|row| row.headline && !row.is_of_session());
        let cells = rows().flat_map(|row| row.cells.iter().filter_map(Cell::level));
        let levels = rows().filter_map(|row| row.baseline.as_ref()).chain(cells);
        levels.map(|level| level.rounds).filter(|rounds| *rounds > 0)
    };
    match (counts().min(), counts().max()) {
        (Some(least), Some(most)) if least < most => say!(language, "{least} to {most} runs", least, most),
        (_, Some(most)) => language.counted(most as usize, "run", "runs"),
        // Runs whose outcome is compared are not timed.
        _ => untimed.unwrap_or_else(|| language.word("no complete run")).into(),
    }
}

/// Warns about a session whose baseline differs from itself.
pub(crate) fn make_baseline_banner(findings: &Findings, language: Language) -> Option<String> {
    let certificate = &findings.certificate;
    certificate.banner.then(|| {
        say!(
            language,
            "This session cannot be trusted: {baseline} differs from itself in {count} of {cells} cells, more than \
             chance allows. Reduce background load ('tare check' lists sources of noise) and run again.",
            baseline = clean_text(&findings.baseline),
            count = certificate.control_coloured,
            cells = certificate.control_cells
        )
    })
}

/// Explains the answers that occur in rows.
pub(crate) fn explain_answers(session: &Session, rows: &[&Row], language: Language) -> Vec<String> {
    let has = |answers: &[Kind]| {
        let cells = rows.iter().flat_map(|row| &row.cells).filter_map(Cell::comparison);
        cells.map(|cell| cell.answer().kind()).any(|answer| answers.contains(&answer))
    };
    let margin = format_margins(&session.plan.cases, language);
    [
        has(&[Kind::Slower, Kind::AtLeast, Kind::NotSure])
            .then(|| language.word("10x = takes ten times as long").to_owned()),
        has(&[Kind::Faster]).then(|| language.word("0.5x = takes half as long").to_owned()),
        has(&[Kind::Same]).then(|| say!(language, "same = less than {margin} apart", margin)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Explains the answers and signs of a table with values that occur in it.
pub(crate) fn explain_table_signs(session: &Session, rows: &[&Row], language: Language) -> Vec<String> {
    if rows.iter().flat_map(|row| &row.cells).all(|cell| cell.comparison().is_none()) {
        return Vec::new();
    }
    let mut parts = explain_answers(session, rows, language);
    parts.push(
        language.word("±, ( ) = 95 % intervals; a factor is that of a typical pair of runs").to_owned(),
    );
    parts
}

/// Formats `2 %`, or `1 % to 5 %` if cases have different margins.
fn format_margins(cases: &[PlannedCase], language: Language) -> String {
    let shares = || cases.iter().map(|case| libm::expm1(case.margin)).filter(|share| share.is_finite());
    let least = shares().fold(f64::INFINITY, f64::min);
    let most = shares().fold(0.0, f64::max);
    let (low, high) = (format_percent(least), format_percent(most));
    match shares().next() {
        None => language.word("the margin").into(),
        Some(_) if low == high => high,
        Some(_) => say!(language, "{low} to {high}", low, high),
    }
}

/// Lists the checks of the session: its control, the differences it could have missed, repeated rounds.
pub(crate) fn list_checks(session: &Session, findings: &Findings, language: Language) -> Vec<String> {
    let certificate = &findings.certificate;
    let baseline = clean_text(&findings.baseline);
    let mut checks = vec![match certificate.control_cells {
        0 => say!(language, "No control: {baseline} was not compared with itself.", baseline),
        cells => say!(
            language,
            "control ({baseline} against {baseline}): {differ} of {cells} differ.",
            baseline,
            differ = certificate.control_coloured,
            cells
        ),
    }];
    checks.extend(certificate.planted.as_ref().map(|planted| planted_cost(planted, language)));
    checks.extend(describe_seen(findings, language));
    checks.extend(describe_lasting(findings, true, language));
    checks.extend(smallest_differences(findings, language));
    checks.extend(estimate_rounds_to_decide(session, findings, language));
    let is_warned =
        findings.warnings.iter().any(|(_, warning)| matches!(warning, Warning::RoundsRepeated { .. }));
    if certificate.repeated > 0 && !is_warned {
        let rounds = language.counted(certificate.repeated as usize, "run was", "runs were");
        checks.push(say!(language, "{rounds} disturbed and repeated.", rounds));
    }
    checks
}

/// Tells whether the planted cost was found.
fn planted_cost(planted: &PlantedCost, language: Language) -> String {
    let share = format_percent(planted.share);
    match planted.found {
        true => say!(language, "A planted {share} was found.", share),
        false => say!(
            language,
            "A planted {share} was not found: differences of {share} may be missed here.",
            share
        ),
    }
}

/// Describes for how long answers were seen, and how rare slow batches are that an answer of *same* may have missed.
pub(crate) fn describe_seen(findings: &Findings, language: Language) -> Option<String> {
    let rows = select_judged_rows(findings);
    let cells = rows.iter().flat_map(|row| &row.cells).filter_map(words::find_comparison);
    let answered: Vec<&Comparison> = cells.filter(|cell| cell.seen.seconds > 0.0).collect();
    let seconds = || answered.iter().map(|cell| cell.seen.seconds);
    let [least, most] = [seconds().reduce(f64::min)?, seconds().reduce(f64::max)?]
        .map(|seconds| language.format_duration(seconds));
    let time = match least == most {
        true => least,
        false => say!(language, "{low} to {high}", low = least, high = most),
    };
    let same = answered.iter().filter(|cell| cell.answer().kind() == Kind::Same);
    let unseen = same.filter_map(|cell| cell.slow?.unseen_share()).reduce(f64::max);
    Some(match unseen {
        None => say!(language, "Answers rest on {time}: longer states may be missed.", time),
        Some(share) => say!(
            language,
            "Answers rest on {time}: longer states, and one slow batch in {batches}, may be missed.",
            time,
            batches = (1.0 / share).floor()
        ),
    })
}

/// Describes what stretches of lasting work say: what it takes in each environment beyond short turns, of the first kind of work that was
/// measured, or of each.
pub(crate) fn describe_lasting(findings: &Findings, every_work: bool, language: Language) -> Option<String> {
    describe_seen(findings, language)?;
    let rows = select_judged_rows(findings);
    // Commands that are compared run as they do elsewhere, in one environment.
    let is_answered = findings.commands_in.is_some() || rows.iter().all(|row| is_long_command(row));
    if findings.lasting.is_empty() && is_answered {
        return None;
    }
    let of_work = |work: LastingWork| {
        let known = findings.lasting.iter().filter(move |cost| cost.work == work);
        known.filter_map(|cost| Some((cost.target.as_str(), words::format_excess(cost.excess?, language)?)))
    };
    let measured = LastingWork::ALL.into_iter().filter(|work| of_work(*work).next().is_some());
    let sentence = |work: LastingWork| {
        let environments = findings.subjects.iter().map(|name| {
            let range = of_work(work).find(|(target, _)| target == name).map(|(_, range)| range);
            let range = range.unwrap_or_else(|| language.word("not known").to_owned());
            format!("{} {range}", clean_text(name))
        });
        let environments = language.join_with_commas(&environments.collect::<Vec<_>>());
        match every_work {
            false => say!(
                language,
                "Lasting work (stretches of 0.3 s, beside short turns): {environments}.",
                environments
            ),
            true => {
                let work = language.word(words::describe_lasting_work(work));
                say!(language, "Lasting {work}: {environments}.", work, environments)
            }
        }
    };
    let sentences: Vec<String> =
        measured.take(if every_work { usize::MAX } else { 1 }).map(sentence).collect();
    Some(match sentences.is_empty() {
        true => language.word("Lasting work (stretches of 0.3 s): not looked at.").to_owned(),
        false => language.join_sentences(&sentences),
    })
}

/// Checks if a row is of a command whose runs last as long as stretches do.
fn is_long_command(row: &Row) -> bool {
    const LONG_NS: f64 = 3e8;
    row.probe.starts_with(USER) && row.baseline.as_ref().is_some_and(|level| level.median >= LONG_NS)
}

/// Finds the differences that the session could have missed.
fn smallest_differences(findings: &Findings, language: Language) -> Option<String> {
    let cells = findings.rows.iter().filter(|row| row.headline).flat_map(|row| &row.cells);
    let effects = cells.filter_map(|cell| words::find_smallest_difference(words::find_comparison(cell)?));
    let (least, most) =
        effects.fold((f64::INFINITY, 0.0f64), |(least, most), effect| (least.min(effect), most.max(effect)));
    if least <= most {
        let [low, high] = [least, most].map(format_percent);
        let range = match low == high {
            true => low,
            false => say!(language, "{low} to {high}", low = low.trim_end_matches(" %"), high),
        };
        return Some(say!(
            language,
            "Differences below {range} could have been missed (--wide has each).",
            range
        ));
    }
    let unknown =
        || language.word("Too few runs to know which differences could have been missed.").to_owned();
    (!findings.subjects.is_empty()).then(unknown)
}

/// Estimates the rounds that would decide the cells that lack rounds, and the budget that has room for them.
pub(crate) fn estimate_rounds_to_decide(
    session: &Session,
    findings: &Findings,
    language: Language,
) -> Option<String> {
    let rows = select_judged_rows(findings);
    let cells = || rows.iter().flat_map(|row| &row.cells);
    let open = || cells().filter_map(words::find_comparison).filter(|c| !c.answer().is_decided());
    let undecided = open().count();
    // Rounds that a cell needs, and those that it has: one that rested has fewer than others.
    let needed = open().filter_map(|cell| Some((words::rounds_needed(cell)?, cell.rounds)));
    let needed: Vec<(u32, u32)> = needed.filter(|(rounds, _)| *rounds <= MOST_ROUNDS_OFFERED).collect();
    let (rounds, done) = *needed.iter().max()?;
    let which = match needed.len() {
        1 if undecided == 1 => language.word("the answer that is a bound or not sure").to_owned(),
        some if some == undecided => say!(language, "the {some} answers that are limits or not sure", some),
        some => {
            say!(language, "{some} of the {all} answers that are limits or not sure", some, all = undecided)
        }
    };
    let times = f64::from(rounds) / f64::from(done.max(1));
    let longer = if times < 1.95 { format!("{times:.1}") } else { format!("{times:.0}") };
    Some(say!(
        language,
        "About {rounds} runs, {longer} times as many, would settle {which}: {option}.",
        rounds,
        longer,
        which,
        option = name_longer_budget(session, times)
            .unwrap_or_else(|| language.word("a longer --budget, or more --rounds").to_owned())
    ))
}

/// Formats the option whose budget has room for this many times the rounds of a session; none where it had no budget.
fn name_longer_budget(session: &Session, times: f64) -> Option<String> {
    session.plan.budget_s?;
    let begun_s = session.trials.iter().map(|trial| trial.started_ns).min()? as f64 / 1e9;
    Some(name_budget(begun_s + (measured_s(session)? - begun_s) * times))
}

/// Lists the warnings about an environment or the whole session, each with its advice; with `each`, also those that
/// the signs of cells and the environments' sentences have, and those that were mended in the session.
pub(crate) fn list_warnings(findings: &Findings, each: bool, language: Language) -> Vec<String> {
    // Equal words about several environments are one line, in the order in which they first occur.
    let mut lines: Vec<(String, &'static str, Vec<String>)> = Vec::new();
    // The first lines already have the number of failed trials.
    let below = |(target, warning): &&(Option<String>, Warning)| match warning {
        Warning::SessionFailed { .. } => false,
        Warning::RoundsRepeated { .. } | Warning::EmulatedProcessor => each,
        // An emulated processor takes another time for anything.
        Warning::CanaryOutside { .. } => {
            each || !target.as_deref().is_some_and(|name| signs::is_emulated(findings, name))
        }
        _ => true,
    };
    for (target, warning) in findings.warnings.iter().filter(below) {
        let text = clean_text(&warned::describe_warning(warning, language));
        let at = lines.iter().position(|(known, ..)| *known == text).unwrap_or_else(|| {
            lines.push((text, warned::advise_on_warning(warning, language), Vec::new()));
            lines.len() - 1
        });
        lines[at].2.extend(target.as_deref().map(clean_text));
    }
    let line = |(text, advice, targets): (String, &str, Vec<String>)| {
        let who = if targets.is_empty() {
            language.word("session").to_owned()
        } else {
            language.join_with_and(&targets)
        };
        say!(language, "{who}: {text}; {advice}.", who, text, advice)
    };
    lines.into_iter().map(line).collect()
}

/// Counts the failed trials, with their reasons, for the first lines of a report.
pub(crate) fn summarise_failed_trials(findings: &Findings, language: Language) -> Option<String> {
    let is_it = |(_, warning): &&(_, Warning)| matches!(warning, Warning::SessionFailed { .. });
    let (_, warning) = findings.warnings.iter().find(is_it)?;
    let (text, advice) = (
        clean_text(&warned::describe_warning(warning, language)),
        warned::advise_on_warning(warning, language),
    );
    Some(say!(language, "{text}; {advice}.", text, advice))
}

/// Describes an early end of the session, with the command that continues it.
pub(crate) fn describe_early_end(
    findings: &Findings,
    record: Option<&str>,
    language: Language,
) -> Option<String> {
    let ended = language.word(words::describe_ending(findings.ending)?);
    let resume = match (findings.ending, record) {
        (Ending::Complete, _) | (_, None) => String::new(),
        (_, Some(record)) => {
            let record = quote_word(&clean_text(record));
            language.word(" ").to_owned()
                + &say!(language, "tare run --resume {record} continues it.", record)
        }
    };
    Some(format!("{ended}{resume}"))
}
