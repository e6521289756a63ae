//! Start times of runs, for the plot of a case over time. The timeline is thinned out, and cannot place every run.

use serde::Serialize;
use tare_data::session::Session;

/// Limit on start times: with three characters each they take a thirtieth of the page's limit.
const MOST_STARTS: usize = 10_000;
/// Nanoseconds in a step of a start time.
const STEP_NS: u64 = 100_000_000;

/// Start times of a case.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct CaseStarts {
    case: String,
    /// For each environment of the plan, the steps from the start of one counted trial to the next, the first from the
    /// beginning of the session.
    steps: Vec<Vec<i64>>,
}

/// Lists the start times of as many cases as there is room for, in the order of the plan.
pub fn list_starts(session: &Session, room: usize) -> Vec<CaseStarts> {
    let mut room = room.min(MOST_STARTS);
    let mut found = Vec::new();
    for case in &session.plan.cases {
        let started = |target: &str| -> Vec<i64> {
            let counted = session.trials.iter().filter(|trial| {
                trial.case == case.id
                    && trial.target == target
                    && trial.failure.is_none()
                    && session.is_counted(trial)
            });
            counted.map(|trial| (trial.started_ns / STEP_NS) as i64).collect()
        };
        let steps: Vec<Vec<i64>> =
            session.plan.targets.iter().map(|target| make_steps(&started(&target.name))).collect();
        let count = steps.iter().map(Vec::len).sum::<usize>();
        if count <= room {
            room -= count;
            found.push(CaseStarts { case: case.id.clone(), steps });
        }
    }
    found
}

fn make_steps(times: &[i64]) -> Vec<i64> {
    let before = std::iter::once(&0).chain(times);
    times.iter().zip(before).map(|(time, before)| time - before).collect()
}

#[cfg(test)]
mod tests {
    use tare_data::batch::Batches;
    use tare_data::session::{Interference, Trial};

    use super::*;
    use crate::specimen;

    fn run_of(case: &str, target: &str, seconds: u64) -> Trial {
        Trial {
            number: seconds,
            case: case.to_owned(),
            target: target.to_owned(),
            round: seconds as u32,
            attempt: 0,
            position: 0,
            start: 0,
            partner: None,
            started_ns: seconds * 1_000_000_000,
            host_elapsed_ns: 1,
            agent_elapsed_ns: None,
            batches: Batches::default(),
            inside: Interference::default(),
            outside: Interference::default(),
            failure: None,
            notes: Vec::new(),
        }
    }

    #[test]
    fn every_run_of_a_case_has_its_time_as_long_as_there_is_room() {
        let mut session = specimen::make_session(2);
        let case = session.plan.cases[0].id.clone();
        let [first, second] = [0, 2].map(|place: usize| session.plan.targets[place].name.clone());
        session.trials = [(&first, 1_u64), (&second, 2), (&first, 4), (&first, 9)]
            .map(|(target, seconds)| run_of(&case, target, seconds))
            .into();
        let found = list_starts(&session, 100);
        assert_eq!(found[0].steps, [vec![10, 30, 50], vec![], vec![20], vec![]]);
        assert_eq!(found.len(), session.plan.cases.len(), "a case without trials takes no room");
        assert!(list_starts(&session, 3).iter().all(|starts| starts.case != case));
    }
}
