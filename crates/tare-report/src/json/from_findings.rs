//! Makes the JSON document of a session and its findings.

use std::borrow::Cow;
use std::collections::HashMap;
use tare_data::facts::keys::OUTSIDE_IMAGE_DIRECT;

use tare_analysis::findings::{self, Family, Findings, Interval};
use tare_data::session::{PlannedCase, Session, Side};

use super::fields::*;
use super::{SCHEMA, VERSION};
use crate::answers::signs;
use crate::language::{Language, say};
use crate::summary::sides;
use crate::{notes, published, view, warnings, words};

impl<'a> Document<'a> {
    /// Builds the document. It is in English, but a page has the texts for people in their language.
    pub(crate) fn from_findings(session: &'a Session, findings: &'a Findings, language: Language) -> Self {
        let cases: HashMap<&str, &PlannedCase> =
            session.plan.cases.iter().map(|case| (case.id.as_str(), case)).collect();
        let general = findings.warnings.iter();
        Document {
            schema: SCHEMA,
            version: VERSION,
            session: about(session, findings),
            plan: plan((session, findings), language),
            baseline: &findings.baseline,
            subjects: &findings.subjects,
            lasting: findings.lasting.iter().map(lasting).collect(),
            outcomes: &findings.outcomes,
            across_commands: &findings.across_commands,
            certificate: &findings.certificate,
            warnings: general
                .map(|(target, c)| TargetWarning { target: target.as_deref(), warning: warning(c, language) })
                .collect(),
            sentences: sides::summarise_sides(session, findings, language)
                .into_iter()
                .map(|(target, sentence)| Sentence { target, sentence })
                .collect(),
            rows: findings
                .rows
                .iter()
                .map(|row| fill_row((session, findings), &cases, row, language))
                .collect(),
            articles: findings.articles.iter().map(|of| article(of, language)).collect(),
            facts: AllFacts { host: &session.header.host, targets: &session.facts },
            failures: failures(session),
            repeated: &session.repeated,
        }
    }
}

fn about<'a>(session: &'a Session, findings: &Findings) -> About<'a> {
    About {
        tare: &session.header.tare,
        binary: &session.header.binary,
        started: &session.header.started,
        measured_s: view::measured_s(session),
        command: &session.header.command,
        ending: findings.ending,
        trials: session.trials.len(),
    }
}

fn plan<'a>((session, findings): (&'a Session, &Findings), language: Language) -> Plan<'a> {
    Plan {
        study: &session.plan.study,
        seed: format!("{:x}", session.plan.seed),
        rounds: session.plan.rounds,
        looks: &session.plan.looks,
        budget_s: session.plan.budget_s,
        targets: (0..session.plan.targets.len())
            .map(|at| planned((session, findings), at, language))
            .collect(),
    }
}

fn planned<'a>(
    (session, findings): (&'a Session, &Findings),
    at: usize,
    language: Language,
) -> PlannedTarget<'a> {
    let target = &session.plan.targets[at];
    let description = in_words(&target.short_description, language);
    let description = match warnings::describe_own_limits(findings, &target.name, language) {
        Some(limits) => say!(language, "{words}; {limits}", words = description, limits).into(),
        None => description,
    };
    PlannedTarget {
        name: &target.name,
        specification: &target.specification,
        role: session.plan.targets.role(at),
        command: words_of_command(target),
        short_description: with_disk(description, find_disk(session, target), language),
    }
}

/// Reads the words of a side's command.
fn words_of_command(target: &Side) -> Option<Vec<String>> {
    serde_json::from_str(target.command.as_ref()?.get_text("command").ok()?).ok()
}

/// Finds out if the disk of a guest bypassed the page cache of its host; none where it has no disk of its own.
fn find_disk(session: &Session, target: &Side) -> Option<bool> {
    let facts = session.facts.iter().find(|facts| facts.target == target.name)?;
    facts.places.values().find_map(|place| place.get(OUTSIDE_IMAGE_DIRECT)).map(|is| is == "yes")
}

fn with_disk(words: Cow<'_, str>, disk: Option<bool>, language: Language) -> Cow<'_, str> {
    match disk {
        None => words,
        Some(true) => say!(language, "{words}; its disk bypasses the host's cache", words).into(),
        Some(false) => say!(language, "{words}; its disk is the host's cache", words).into(),
    }
}

fn article(article: &findings::ArticleBeside, language: Language) -> Article<'_> {
    let without = article.without_row.iter();
    Article {
        source: &article.source,
        title: language.describe(&article.title),
        without_row: without
            .map(|of| WithWords { of, words: published::why_without(of, language) })
            .collect(),
        claims: article.claims.iter().map(|of| claim(of, language)).collect(),
    }
}

fn claim(claim: &findings::ClaimBeside, language: Language) -> Claim<'_> {
    let checks = claim.checks.iter();
    Claim {
        text: language.describe(&claim.text),
        recommends: claim.recommends,
        checks: checks.map(|of| WithWords { of, words: published::format_answer(of, language) }).collect(),
        needs: claim.needs.as_deref().map(|needs| language.describe(needs)),
    }
}

fn warning(warning: &tare_data::warning::Warning, language: Language) -> Warning {
    let (words, advice) =
        (warnings::describe_warning(warning, language), warnings::advise_on_warning(warning, language));
    Warning { kind: words::machine_name(warning), words, advice }
}

fn fill_row<'a>(
    (session, findings): (&'a Session, &'a Findings),
    cases: &HashMap<&str, &'a PlannedCase>,
    row: &'a findings::Row,
    language: Language,
) -> Row<'a> {
    let planned = cases.get(row.case.as_str());
    let parameters = planned.map(|case| &case.case.parameters.0).into_iter().flatten();
    let baseline_failure = || notes::baseline_failure(session, row, &findings.baseline);
    Row {
        case: &row.case,
        probe: &row.probe,
        family: Family::from_probe(&row.probe),
        label: match language {
            Language::English => Cow::Borrowed(row.label.as_str()),
            language => Cow::Owned(words::translate_row_title(row, language)),
        },
        parameters: parameters.map(|(key, value)| (key.as_str(), value.as_str())).collect(),
        place: row.place.as_deref(),
        peer: row.peer.as_deref(),
        definition: planned.map(|case| case.definition.as_str()),
        margin: planned.map(|case| libm::exp(case.margin)),
        metric: Metric { name: &row.metric.name, unit: row.metric.unit, better: row.metric.direction },
        headline: row.headline,
        baseline: row.baseline.as_ref().map(level),
        baseline_missing: row.baseline.is_none().then(|| match baseline_failure() {
            Some(failure) => failed(failure, language),
            None => missing(&findings::Missing::NotReached, language),
        }),
        cells: row
            .cells
            .iter()
            .zip(findings.subjects.iter().enumerate())
            .map(|(cell, (at, target))| fill_cell((findings, row), cell, (Some(at), target), language))
            .collect(),
        control: row
            .control
            .as_ref()
            .map(|cell| fill_cell((findings, row), cell, (None, &findings.baseline), language)),
        published: row
            .published
            .iter()
            .map(|of| WithWords { of, words: published::describe_holding(of, language) })
            .collect(),
    }
}

fn level(level: &findings::Level) -> Level<'_> {
    Level {
        median: level.median,
        low: level.low,
        high: level.high,
        rounds: level.rounds,
        values: &level.values,
    }
}

fn fill_cell<'a>(
    (findings, row): (&Findings, &findings::Row),
    cell: &'a findings::Cell,
    (at, target): (Option<usize>, &'a str),
    language: Language,
) -> Cell<'a> {
    let found = cell.comparison();
    let signs = found.zip(at).map(|(found, at)| signs::write_signs(findings, at, found));
    let interval = found.map(|found| words::format_interval(found, language));
    let interval_alone = found.map(|found| words::format_interval_alone(found, language));
    let empty = Cell {
        target,
        answer: cell.answer().kind(),
        why: cell.answer().why(),
        reach: found.map(|found| found.reach.name()),
        stop: found.and_then(|found| found.reach.stop()).map(stop),
        words: words::cell_word(cell, language),
        short: words::short_cell_word(cell, language),
        signs: signs.unwrap_or_default(),
        interval: interval.filter(|interval| !interval.is_empty()),
        interval_alone: interval_alone.filter(|interval| !interval.is_empty()),
        doubt: found.and_then(|found| words::explain_doubt(found, language)),
        comparison: None,
        observed: None,
        missing: None,
    };
    match cell {
        findings::Cell::Compared(found) => {
            Cell { comparison: Some(comparison(row, found, language)), ..empty }
        }
        findings::Cell::Observed(found) => Cell { observed: Some(level(found)), ..empty },
        findings::Cell::Missing(found) => Cell { missing: Some(missing(found, language)), ..empty },
    }
}

fn stop(stop: findings::Stop) -> Stop {
    let factor = stop.factor().map(with_ends);
    let ends = factor.as_ref().map_or([None; 2], |factor| [factor.low, factor.high]);
    Stop { share: stop.share(), factor: factor.map(|factor| factor.ratio), low: ends[0], high: ends[1] }
}

fn lasting(cost: &findings::LastingCost) -> LastingCost<'_> {
    LastingCost {
        target: &cost.target,
        work: cost.work,
        stretches: cost.stretches,
        seconds: cost.seconds,
        ratio: cost.ratio.map(with_ends),
        excess: cost.excess.map(with_ends),
        outcome: cost.outcome,
    }
}

fn with_ends(findings::Estimate { ratio, interval }: findings::Estimate) -> RatioWithEnds {
    let [low, high] = interval.ends(|end| interval.is_bounded().then_some(end));
    RatioWithEnds { ratio, low, high }
}

/// Returns the ends of an interval; none where too few rounds leave it open.
fn closed(low: f64, high: f64) -> [Option<f64>; 2] {
    [low, high].map(|end| (low > 0.0 && high.is_finite()).then_some(end))
}

fn comparison<'a>(
    row: &findings::Row,
    found: &'a findings::Comparison,
    language: Language,
) -> Comparison<'a> {
    let ends = |interval: Interval| interval.ends(|end| interval.is_bounded().then_some(end));
    let [[low, high], [low_alone, high_alone], [sign_low, sign_high]] =
        [found.interval, found.interval_alone, found.signs].map(ends);
    Comparison {
        slowdown: found.ratio,
        value: row.scale_baseline(found.ratio),
        low,
        high,
        low_alone,
        high_alone,
        total: found.total.map(|total| {
            let [low, high] = closed(total.low, total.high);
            RatioWithEnds { ratio: total.ratio, low, high }
        }),
        sign_low,
        sign_high,
        leading: found.leading,
        p: found.p,
        rounds: found.rounds,
        seen_s: found.seen.seconds,
        most: found.most(),
        slow_batches: found.slow.map(|slow| SlowBatches {
            slow: slow.slow,
            batches: slow.batches,
            unseen_share: slow.unseen_share(),
        }),
        decided_at: found.decided_at,
        needed: found.needed.map(needed),
        smallest: found.smallest,
        difference: found.difference,
        starts: found.starts,
        level: level(&found.level),
        warnings: found.warnings.iter().map(|found| warning(found, language)).collect(),
    }
}

fn needed(needed: findings::Needed) -> Needed {
    let (kind, count) = match needed {
        findings::Needed::Rounds(rounds) => ("rounds", Some(rounds)),
        findings::Needed::Starts(starts) => ("starts", Some(starts)),
        findings::Needed::LessNoise => ("less_noise", None),
    };
    Needed { kind, count }
}

fn missing(missing: &findings::Missing, language: Language) -> Missing<'_> {
    let (reason, own) = match missing {
        findings::Missing::NoBaseline(own) => (None, Some(level(own))),
        findings::Missing::NotComparable { reason, level: own } => {
            (Some(in_words(reason, language)), Some(level(own)))
        }
        findings::Missing::Failed(failure) => return failed(failure, language),
        findings::Missing::NotReached => (None, None),
    };
    let words = language.word(words::missing_kind(missing));
    Missing { kind: words::missing_name(missing), words, reason, level: own }
}

fn failed(failure: &tare_data::failure::Failure, language: Language) -> Missing<'_> {
    Missing {
        kind: words::machine_name(&failure.kind),
        words: language.word(words::failure_kind(failure.kind)),
        reason: Some(in_words(&failure.reason, language)),
        level: None,
    }
}

fn failures(session: &Session) -> Vec<FailedTrial<'_>> {
    let failed = session.trials.iter().filter_map(|trial| {
        let failure = trial.failure.as_ref()?;
        Some(FailedTrial {
            trial: trial.number,
            case: &trial.case,
            target: &trial.target,
            round: trial.round,
            attempt: trial.attempt,
            kind: failure.kind,
            reason: &failure.reason,
        })
    });
    failed.collect()
}

/// Translates a text of another crate or a record.
fn in_words(english: &str, language: Language) -> Cow<'_, str> {
    match language {
        Language::English => Cow::Borrowed(english),
        language => Cow::Owned(language.translate_text(english)),
    }
}
