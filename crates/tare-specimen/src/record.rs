//! The record of a session, as its writer would have written it.

use tare_data::session::{Session, Trial};
use tare_record::Entry;
use tare_record::entry::{Begin, End, Pair, SCHEMA, Side, to_line};

/// Lists the entries before a session's first trial.
pub fn list_opening_entries(session: &Session) -> Vec<Entry> {
    let record = Entry::Record { schema: SCHEMA, header: session.header.clone() };
    let facts = session.facts.iter().cloned().map(Entry::Facts);
    [record].into_iter().chain(facts).chain([Entry::Plan(session.plan.clone())]).collect()
}

/// Lists the entries of a session's record: two trials in a row that are each other's partners are a pair.
pub fn list_entries(session: &Session) -> Vec<Entry> {
    let mut entries = list_opening_entries(session);
    for step in session.trials.chunk_by(is_pair) {
        match step {
            [first, second] => entries.push(make_pair(first, second)),
            alone => alone.iter().for_each(|trial| entries.extend(list_trial_entries(trial))),
        }
    }
    entries.extend(session.repeated.iter().cloned().map(Entry::Repeated));
    entries.extend(session.limits.iter().cloned().map(Entry::Limits));
    entries.extend(session.stretches.iter().cloned().map(Entry::Stretch));
    entries.extend(session.outcomes.iter().cloned().map(Entry::Outcome));
    let at = "2026-01-31T12:01:00+01:00".into();
    entries.push(Entry::Ended { ending: session.ending, at, others: 0 });
    entries
}

/// Renders the record of a session.
pub fn render_record(session: &Session) -> String {
    list_entries(session).iter().map(to_line).collect()
}

fn is_pair(first: &Trial, second: &Trial) -> bool {
    let is_step = (&first.case, first.round, first.attempt) == (&second.case, second.round, second.attempt);
    is_step
        && first.partner.as_ref() == Some(&second.target)
        && second.partner.as_ref() == Some(&first.target)
}

fn make_pair(first: &Trial, second: &Trial) -> Entry {
    let side = |trial: &Trial| Side {
        trial: trial.number,
        target: trial.target.clone(),
        start: trial.start,
        host_elapsed_ns: trial.host_elapsed_ns,
        agent_elapsed_ns: trial.agent_elapsed_ns,
        batches: trial.batches.to_vec(),
        inside: trial.inside.clone(),
        failure: trial.failure.clone(),
        notes: trial.notes.clone(),
    };
    Entry::Pair(Box::new(Pair {
        case: first.case.clone(),
        round: first.round,
        attempt: first.attempt,
        started_ns: first.started_ns,
        sides: [side(first), side(second)],
        outside: first.outside.clone(),
    }))
}

fn list_trial_entries(trial: &Trial) -> Vec<Entry> {
    let Trial { number, round, attempt, position, start, started_ns, .. } = *trial;
    let (case, target) = (trial.case.clone(), trial.target.clone());
    let mut entries = vec![Entry::Begin(Begin {
        trial: number,
        case,
        target,
        round,
        attempt,
        position,
        start,
        started_ns,
    })];
    let batches = trial.batches.iter().map(|batch| Entry::Batch { trial: number, batch: batch.into_owned() });
    entries.extend(batches);
    entries.push(Entry::End(End {
        trial: number,
        host_elapsed_ns: trial.host_elapsed_ns,
        agent_elapsed_ns: trial.agent_elapsed_ns,
        inside: trial.inside.clone(),
        outside: trial.outside.clone(),
        failure: trial.failure.clone(),
        notes: trial.notes.clone(),
    }));
    entries
}
