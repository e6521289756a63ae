//! Checks before anything is made: the same for a new session and for one that is resumed.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use tare_analysis::gate::Condition;
use tare_data::session::Session;
use tare_record::entry::SCHEMA;
use tare_record::{Entry, Writer};

use super::fake_arena::FakeArena;
use crate::asked::progress::Unobserved;
use crate::asked::{Measured, Overrides, Recorded, Request, Until};
use crate::error::{ErrorKind, LabError};
use crate::host::programs::Programs;
use crate::session::{Caller, Setting, begin_session, resume_session};
use crate::storage::places::Wanted;

/// Measures where nothing can be entered: whatever is refused is refused before that.
fn attempt(
    folder: &Path,
    session: impl FnOnce(&Setting, &Caller<'_>) -> Result<Recorded, LabError>,
) -> LabError {
    let setting = Setting {
        moved: None,
        state: folder.join("state"),
        scratch: folder.join("there is no such folder"),
        binary: folder.join("tare"),
        wanted: Wanted::default(),
        programs: Programs::default(),
    };
    let interrupted = AtomicBool::new(false);
    let now = || "now".to_owned();
    let caller = Caller { command: Vec::new(), now: &now, began: Instant::now(), interrupted: &interrupted };
    session(&setting, &caller).unwrap_err()
}

fn begun(folder: &Path, subject: &str, condition: &str) -> LabError {
    let full = Measured::Named("full".into());
    let request = Request {
        environments: vec![subject.into()],
        only: vec!["null".into()],
        until: Some(Until::Rounds(6)),
        conditions: vec![Condition::of_one(condition).unwrap()],
        ..Request::new(full, "native", folder.join("new.tare"))
    };
    let error = attempt(folder, |setting, caller| begin_session(request, setting, caller, &mut Unobserved));
    assert!(!folder.join("new.tare").exists());
    error
}

/// Resumes a session that broke off before its first round.
fn resumed(folder: &Path, subject: &str, condition: &str) -> LabError {
    let (measured, _) = super::session(&mut FakeArena::new(&[1.0, 1.0, 1.3]), folder, Some(6), None);
    let Session { header, mut plan, .. } = tare_record::read_session(&measured).unwrap().session;
    let specifications = ["native", "native", subject];
    tare_specimen::change_sides(&mut plan.targets, |at, side| {
        side.specification = specifications[at].parse().unwrap();
    });
    let record = folder.join("old.tare");
    let mut writer = Writer::create(&record).unwrap();
    writer.append(&Entry::Record { schema: SCHEMA, header }).unwrap();
    writer.append(&Entry::Plan(plan)).unwrap();
    drop(writer);
    let before = std::fs::read(&record).unwrap();
    let conditions = vec![Condition::of_one(condition).unwrap()];
    let overrides = Overrides { conditions, trust: true, ..Default::default() };
    let error = attempt(folder, |setting, caller| {
        resume_session(&record, overrides, setting, caller, &mut Unobserved)
    });
    assert_eq!(std::fs::read(&record).unwrap(), before, "nothing was measured, so nothing is recorded");
    error
}

#[test]
fn a_condition_that_can_match_no_cell_is_refused_before_anything_is_measured() {
    for check in [begun, resumed] {
        let folder = tempfile::tempdir().unwrap();
        let error = check(folder.path(), "native", "slower:elsewhere");
        assert_eq!(error.kind, ErrorKind::Usage, "{error}");
        assert!(error.to_string().contains("'slower:elsewhere' matches no cell"), "{error}");
    }
}

#[test]
fn a_margin_that_was_chosen_holds_for_every_case() {
    let margins = |margin| {
        let developer = Measured::Named("developer".into());
        let request = Request { margin, ..Request::new(developer, "native", "x.tare".into()) };
        let selected = request.make_selection().unwrap().selected;
        selected.iter().map(|case| case.margin).collect::<Vec<_>>()
    };
    assert!(margins(None).iter().all(|margin| (margin - libm::log(1.05)).abs() < 1e-12));
    assert!(margins(Some(0.005)).iter().all(|margin| *margin == 0.005));
}

#[test]
fn an_environment_that_is_not_ready_is_refused_before_anything_is_measured() {
    for check in [begun, resumed] {
        let folder = tempfile::tempdir().unwrap();
        let error = check(folder.path(), "gvisor", "slower:gvisor");
        assert_eq!(error.kind, ErrorKind::Environment, "{error}");
        assert!(error.to_string().contains("runsc is not installed"), "{error}");
    }
}
