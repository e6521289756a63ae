//! A session of two days of the simulated clock, with faults all along.

use tare_data::generator::Generator;
use tare_data::session::Ending;
use tare_record::read_session;

use super::fake_arena::{FakeArena, Fault};
use super::{ON_THE_EDGE, findings, session, verdicts};
use tare_analysis::findings::Verdict;

const TWO_DAYS_S: f64 = 48.0 * 3600.0;

#[test]
fn two_days_with_faults_end_in_time_and_with_the_right_verdicts() {
    let folder = tempfile::tempdir().unwrap();
    let mut arena = FakeArena::new(&[1.0, 1.0, ON_THE_EDGE, 1.3]);
    // On the edge itself, one draw in a few decides.
    arena.generator = Generator::new(2);
    // Trials as long as this make two days of some ten thousand.
    arena.overhead_ns = 15_000_000_000;
    arena.start_ns = vec![1_000_000_000; 4];
    arena.fault = Box::new(|_, trial| match trial {
        trial if trial % 97 == 0 => Fault::Lost,
        trial if trial % 61 == 0 => Fault::Steal,
        _ => Fault::None,
    });
    let (record, ending) = session(&mut arena, folder.path(), None, Some(TWO_DAYS_S));
    assert_eq!(ending, Ending::Complete);
    let used = arena.now_ns as f64 / 1e9 / TWO_DAYS_S;
    assert!((0.95..1.05).contains(&used), "{used} of two days");
    let session = read_session(&record).unwrap().session;
    let failed = session.trials.iter().filter(|trial| trial.failure.is_some()).count();
    assert!(session.trials.len() > 5_000, "{} trials", session.trials.len());
    assert!(failed > session.trials.len() / 200, "{failed} of {} failed", session.trials.len());
    assert!(!session.repeated.is_empty(), "disturbed rounds are run again");
    assert_eq!(verdicts(&findings(&record))[1], Verdict::Slower);
    assert_eq!(findings(&record).certificate.control_coloured, 0);
}
