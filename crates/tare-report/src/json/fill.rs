//! Fills the JSON document from a session and its findings.

use std::collections::HashMap;

use tare_analysis::findings::{self, Family, Findings, Leading};
use tare_data::session::{PlannedCase, Session};
use tare_data::unit::Direction;

use super::document::*;
use super::{SCHEMA, VERSION};
use crate::{notes, view, words};

impl<'a> Document<'a> {
    /// The document of a session.
    pub fn of(session: &'a Session, findings: &'a Findings) -> Self {
        let cases: HashMap<&str, &PlannedCase> =
            session.plan.cases.iter().map(|case| (case.id.as_str(), case)).collect();
        let caveats = findings.caveats.iter();
        Document {
            schema: SCHEMA,
            version: VERSION,
            session: about(session, findings),
            plan: plan(session),
            reference: &findings.reference,
            subjects: &findings.subjects,
            certificate: certificate(&findings.certificate),
            caveats: caveats
                .map(|(lane, c)| LaneCaveat { lane: lane.as_deref(), caveat: caveat(c) })
                .collect(),
            sentences: view::sentences(findings)
                .into_iter()
                .map(|(lane, sentence)| Sentence { lane, sentence })
                .collect(),
            rows: findings.rows.iter().map(|row| fill_row(session, findings, &cases, row)).collect(),
            facts: facts(session),
            failures: failures(session),
            repeated: repeated(session),
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
        ending: words::ending_name(findings.ending),
        trials: session.trials.len(),
    }
}

fn plan(session: &Session) -> Plan<'_> {
    let lanes = session.plan.lanes.iter();
    Plan {
        study: &session.plan.study,
        seed: format!("{:x}", session.plan.seed),
        rounds: session.plan.rounds,
        looks: &session.plan.looks,
        budget_s: session.plan.budget_s,
        lanes: lanes
            .map(|lane| Lane { name: &lane.name, specification: &lane.specification, role: lane.role })
            .collect(),
    }
}

fn certificate(certificate: &findings::Certificate) -> Certificate {
    Certificate {
        control_cells: certificate.control_cells,
        control_coloured: certificate.control_coloured,
        banner: certificate.banner,
        smallest_effect: certificate.smallest_effect,
        decided: certificate.decided,
        compared: certificate.compared,
        repeated: certificate.repeated,
    }
}

fn caveat(caveat: &tare_data::caveat::Caveat) -> Caveat {
    Caveat { kind: words::caveat_name(caveat), words: caveat.words(), advice: caveat.advice() }
}

fn fill_row<'a>(
    session: &'a Session,
    findings: &'a Findings,
    cases: &HashMap<&str, &'a PlannedCase>,
    row: &'a findings::Row,
) -> Row<'a> {
    let planned = cases.get(row.case.as_str());
    let parameters = planned.map(|case| &case.case.parameters.0).into_iter().flatten();
    let missing = || notes::reference_failure(session, row, &findings.reference);
    Row {
        case: &row.case,
        probe: &row.probe,
        family: words::family_name(Family::of(&row.probe)),
        label: &row.label,
        parameters: parameters.map(|(key, value)| (key.as_str(), value.as_str())).collect(),
        place: row.place.as_deref(),
        peer: row.peer.as_deref(),
        definition: planned.map(|case| case.definition.as_str()),
        margin: planned.map(|case| case.margin.exp()),
        metric: Metric {
            name: &row.metric.name,
            unit: row.metric.unit,
            better: match row.metric.direction {
                Direction::Lower => "lower",
                Direction::Higher => "higher",
            },
        },
        headline: row.headline,
        reference: row.reference.as_ref().map(level),
        reference_gap: row.reference.is_none().then(|| match missing() {
            Some(failure) => failed(failure),
            None => gap(&findings::Gap::NotReached),
        }),
        cells: row.cells.iter().zip(&findings.subjects).map(|(cell, lane)| fill_cell(cell, lane)).collect(),
        control: row.control.as_ref().map(|cell| fill_cell(cell, &findings.reference)),
        published: &row.published,
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

fn fill_cell<'a>(cell: &'a findings::Cell, lane: &'a str) -> Cell<'a> {
    match cell {
        findings::Cell::Compared(found) => Cell {
            lane,
            verdict: words::verdict_name(found.verdict),
            comparison: Some(comparison(found)),
            observed: None,
            gap: None,
        },
        findings::Cell::Observed(found) => {
            Cell { lane, verdict: "observed", comparison: None, observed: Some(level(found)), gap: None }
        }
        findings::Cell::Gap(found) => {
            Cell { lane, verdict: "gap", comparison: None, observed: None, gap: Some(gap(found)) }
        }
    }
}

fn comparison(found: &findings::Comparison) -> Comparison<'_> {
    Comparison {
        estimate: found.ratio,
        low: found.low,
        high: found.high,
        sign_low: found.sign_low,
        sign_high: found.sign_high,
        leading: match found.leading {
            Leading::HodgesLehmann => "hodges_lehmann",
            Leading::Sign => "sign",
        },
        p: found.p,
        coloured: found.coloured,
        rounds: found.rounds,
        decided_at: found.decided_at,
        rounds_to_tell: found.rounds_to_tell,
        difference: found.difference,
        starts: found.starts.map(|shared| SharedStarts {
            starts: shared.starts,
            between: shared.between,
            design_effect: shared.design_effect,
        }),
        level: level(&found.level),
        caveats: found.caveats.iter().map(caveat).collect(),
    }
}

fn gap(gap: &findings::Gap) -> Gap<'_> {
    let (words, reason) = words::gap(gap);
    let own = match gap {
        findings::Gap::NoReference(own) | findings::Gap::NotComparable { level: own, .. } => Some(level(own)),
        findings::Gap::Failed(_) | findings::Gap::NotReached => None,
    };
    Gap { kind: words::gap_name(gap), words, reason, level: own }
}

fn failed(failure: &tare_data::failure::Failure) -> Gap<'_> {
    Gap {
        kind: words::failure_name(failure.kind),
        words: words::failure_kind(failure.kind),
        reason: Some(&failure.reason),
        level: None,
    }
}

fn facts(session: &Session) -> AllFacts<'_> {
    let lanes = session.facts.iter().map(|facts| LaneFacts {
        lane: &facts.lane,
        inside: &facts.inside,
        outside: &facts.outside,
        places: &facts.places,
    });
    AllFacts { host: &session.header.host, lanes: lanes.collect() }
}

fn failures(session: &Session) -> Vec<FailedTrial<'_>> {
    let failed = session.trials.iter().filter_map(|trial| {
        let failure = trial.failure.as_ref()?;
        Some(FailedTrial {
            trial: trial.number,
            case: &trial.case,
            lane: &trial.lane,
            round: trial.round,
            attempt: trial.attempt,
            kind: words::failure_name(failure.kind),
            reason: &failure.reason,
        })
    });
    failed.collect()
}

fn repeated(session: &Session) -> Vec<Repeated<'_>> {
    let repeated = session.repeated.iter();
    repeated
        .map(|r| Repeated { case: &r.case, round: r.round, attempt: r.attempt, reason: &r.reason })
        .collect()
}
