//! A judged record: its findings with all that a comparison of records reads, and none of its samples.

use std::collections::BTreeMap;

use tare_data::names::USER;
use tare_data::session::{Header, Plan, Session, Side, TargetFacts};

use crate::findings::Findings;
use crate::verdicts::doubts::ends::{Ends, count_ends};
use crate::{Options, compute_findings};

/// A record without its samples: hundreds are compared in the memory of a few.
#[derive(Clone, Debug)]
pub struct Judged {
    pub header: Header,
    pub plan: Plan,
    pub facts: Vec<TargetFacts>,
    pub findings: Findings,
    /// Ends of a command's runs, by case and environment.
    ends: BTreeMap<(String, String), Ends>,
}

impl Judged {
    /// Judges a session, and drops its samples.
    pub fn of_session(session: Session) -> Judged {
        let findings = compute_findings(&session, &Options::default());
        Judged::new(session, findings)
    }

    /// Keeps what a session says beside its findings.
    pub fn new(session: Session, findings: Findings) -> Judged {
        let mut ends = BTreeMap::new();
        for case in session.plan.cases.iter().filter(|planned| planned.case.probe.starts_with(USER)) {
            for side in session.plan.targets.iter() {
                ends.insert((case.id.clone(), side.name.clone()), count_ends(&session, &case.id, &side.name));
            }
        }
        let Session { header, plan, facts, .. } = session;
        Judged { header, plan, facts, findings, ends }
    }

    pub fn baseline(&self) -> Option<&Side> {
        self.plan.targets.baseline_at().map(|at| &self.plan.targets[at])
    }

    /// Returns the ends of a command's runs in an environment.
    pub(super) fn ends_of(&self, case: &str, target: &str) -> Option<&Ends> {
        self.ends.get(&(case.to_owned(), target.to_owned()))
    }
}
