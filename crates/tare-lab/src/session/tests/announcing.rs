//! Progress of sessions: what is open, and when it will be known.

use super::fake_arena::FakeArena;
use super::{observed, plan_request, targets};
use crate::asked::progress::{Event, Observer};
use crate::session::plan::prepare::PlanRequest;

/// Standing before a trial: seconds elapsed, environments named as open, and the estimate of the rest.
#[derive(Default)]
struct Heard(Vec<(f64, Vec<String>, Option<f64>)>);

impl Observer for Heard {
    fn observe_event(&mut self, event: Event<'_>) {
        if let Event::Trial(standing) = event {
            let open = standing.open.iter().map(|(_, target)| (*target).to_owned()).collect();
            self.0.push((standing.elapsed_s, open, standing.decided_in_s));
        }
    }
}

fn heard(ratios: &[f64], request: PlanRequest<'_>) -> Heard {
    let (folder, mut heard) = (tempfile::tempdir().unwrap(), Heard::default());
    observed(&mut FakeArena::new(ratios), folder.path(), request, &mut heard);
    heard
}

#[test]
fn the_rest_of_a_session_is_estimated_and_what_is_open_is_named() {
    let request = PlanRequest { budget_s: Some(600.0), ..plan_request(targets(2)) };
    let Heard(heard) = heard(&[1.0, 1.0, 1.6, 1.0], request);
    let (end_s, _, _) = heard.last().unwrap();
    assert_eq!(heard[0].1, ["layer0", "layer1"]);
    assert!(heard.iter().any(|(_, open, _)| *open == ["layer1"]), "the slower one is known first");
    for (at_s, _, rest_s) in &heard {
        let (rest_s, truly_s) =
            (rest_s.unwrap_or_else(|| panic!("none at {at_s} of {end_s}: {heard:?}")), end_s - at_s);
        assert!(
            rest_s < 5.0 * truly_s + 2.0 && truly_s < 5.0 * rest_s + 2.0,
            "{rest_s} for {truly_s} at {at_s}"
        );
    }
}

#[test]
fn nothing_is_promised_that_the_time_is_too_short_for() {
    let request = PlanRequest { budget_s: Some(3.0), ..plan_request(targets(1)) };
    let Heard(late) = heard(&[1.0, 1.0, super::ON_THE_EDGE], request);
    assert_eq!(late.last().unwrap().2, None);
    let Heard(fixed) = heard(&[1.0, 1.0, 1.6], PlanRequest { rounds: Some(20), ..plan_request(targets(1)) });
    assert!(fixed.iter().all(|(_, _, rest_s)| rest_s.is_none()), "all have the same rounds");
}
