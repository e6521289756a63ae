//! Conditions for continuing a session from its record: the same build, the same machine, and everything that
//! it needs.

use std::path::Path;

use tare_data::names::Case;
use tare_data::session::{Plan, PlannedCase, Session};
use tare_data::shell::join_words;
use tare_probes::descriptions::USER;

use crate::error::{ErrorKind, LabError};
use crate::ownership::workspace::SessionWorkspace;

/// Note in the record if the machine was restarted in the meantime.
pub(super) const RESTARTED: &str =
    "this machine was restarted since the session began: its rounds may differ from those before";

/// Refuses to continue on another machine; returns whether this one was restarted since.
pub(super) fn same_machine(
    session: &Session,
    record: &Path,
    machine: &str,
    boot: &str,
) -> Result<bool, LabError> {
    match &session.header.identity {
        Some(identity) if identity.machine != machine => Err(cannot_resume(record, session).with_cause(
            "it began on another machine, and values of two machines are never mixed in one session",
        )),
        identity => Ok(identity.as_ref().is_some_and(|identity| identity.boot != boot)),
    }
}

/// Rejects a record of another build.
pub(super) fn same_build(
    workspace: &SessionWorkspace,
    session: &Session,
    record: &Path,
) -> Result<(), LabError> {
    match workspace.agent_sha256()? == session.header.binary {
        true => Ok(()),
        false => Err(cannot_resume(record, session)
            .with_cause("another build of tare began it, and values of two builds are never mixed")),
    }
}

/// Rejects a session whose commands carry files along, because a record does not contain them.
pub(super) fn carries_nothing(session: &Session, record: &Path) -> Result<(), LabError> {
    let carries = |case: &Case| {
        let carry = case.parameters.get_text("carry").ok();
        case.probe.starts_with(USER) && carry.is_some_and(|carry| !carry.starts_with("0:"))
    };
    let Plan { cases, targets, .. } = &session.plan;
    let of_sides = |planned: &PlannedCase| targets.iter().any(|side| carries(&side.fill_case(&planned.case)));
    match cases.iter().find(|planned| carries(&planned.case) || of_sides(planned)) {
        None => Ok(()),
        Some(planned) => Err(cannot_resume(record, session)
            .with_cause(format!("{} carries files, which a record does not hold", planned.case.probe))),
    }
}

fn cannot_resume(record: &Path, session: &Session) -> LabError {
    LabError::new(ErrorKind::Usage, format!("cannot resume {}", record.display()))
        .with_hint(format!("begin a new session: tare {}", join_words(&session.header.command)))
}

#[cfg(test)]
mod tests {
    use tare_data::names::Parameters;
    use tare_data::session::identity::Identity;
    use tare_data::session::specification::Specification;
    use tare_data::session::{Side, Sides};
    use tare_specimen::{make_plan, make_session, make_timed_case};

    use super::*;

    fn session(identity: Option<Identity>) -> Session {
        let mut session = make_session(make_plan(Sides::default(), vec![], vec![]));
        session.header.identity = identity;
        session
    }

    #[test]
    fn another_machine_is_refused_and_another_boot_noticed() {
        let of = |machine: &str, boot: &str| {
            let (session, machine, boot) = (String::new(), machine.to_owned(), boot.to_owned());
            Some(Identity { session, machine, boot })
        };
        let check = |identity| same_machine(&session(identity), Path::new("s.tare"), "here", "now");
        assert!(!check(of("here", "now")).unwrap());
        assert!(check(of("here", "before")).unwrap());
        assert!(!check(None).unwrap());
        let refused = check(of("there", "now")).unwrap_err();
        assert_eq!(refused.kind, ErrorKind::Usage);
        assert_eq!(refused.hint.as_deref(), Some("begin a new session: tare run"));
    }

    #[test]
    fn a_command_of_a_side_that_carries_files_is_not_continued() {
        let carrying = |carry: &str| {
            let carry = Parameters([("carry".to_owned(), carry.to_owned())].into_iter().collect());
            let side = Side::new("old", Specification::from_provider("native"));
            let sides = Sides::new(Side { command: Some(carry), ..side });
            let case = make_timed_case("user.command");
            carries_nothing(&make_session(make_plan(sides, vec![case], vec![])), Path::new("s.tare"))
        };
        assert!(carrying("0:").is_ok());
        assert_eq!(carrying("2:ab").unwrap_err().kind, ErrorKind::Usage);
    }
}
