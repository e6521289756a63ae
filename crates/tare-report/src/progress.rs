//! The progress of a session in one line: what runs now, rounds done, cells decided, time left.

use crate::number::{counted, duration};
use crate::text::{clean, columns, wrap};

/// Cells of the bar.
const BAR: usize = 12;

/// Where a session stands between two batches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Label of the case that runs now; empty before the first.
    pub label: String,
    /// Environment that it runs in.
    pub target: String,
    /// Finished rounds.
    pub rounds: u32,
    /// Rounds that every case will have; none where time ends the session.
    pub rounds_planned: Option<u32>,
    /// Comparisons that are decided, and all of them.
    pub decided: usize,
    pub verdicts: usize,
    pub failures: u32,
    pub repeated: u32,
    pub elapsed_s: f64,
    /// None while it is not known.
    pub left_s: Option<f64>,
}

/// The line for a terminal, at most `width` columns: where it is narrow, the least important parts are left out first.
pub fn terminal_line(state: &State, width: usize) -> String {
    let left = state.left_s.map(|s| format!("{} left", duration(s)));
    // In the order in which they stand, each with the order in which it goes: the greatest first.
    let mut parts: Vec<(u8, String)> = vec![
        (5, bar(state)),
        (1, rounds(state)),
        (2, format!("{} of {} decided", state.decided, state.verdicts)),
    ];
    parts.extend(left.map(|text| (0, text)));
    parts.extend(trouble(state).map(|text| (4, text)));
    parts.push((3, running(state)));
    parts.retain(|(_, text)| !text.is_empty());
    let joined =
        |parts: &[(u8, String)]| parts.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("  ");
    while parts.len() > 1 && columns(&joined(&parts)) > width {
        let first_to_go = parts.iter().map(|(order, _)| *order).max();
        parts.retain(|(order, _)| Some(*order) != first_to_go);
    }
    wrap(&joined(&parts).replace("  ", "\u{a0} "), width.max(2)).swap_remove(0)
}

/// The line for a log, where lines stay: one now and then, complete whatever its length.
pub fn log_line(state: &State) -> String {
    let mut parts = vec![
        format!("{} elapsed", duration(state.elapsed_s)),
        rounds(state),
        format!("{} of {} decided", state.decided, counted(state.verdicts, "comparison", "comparisons")),
    ];
    parts.extend(state.left_s.map(|s| format!("about {} left", duration(s))));
    parts.extend(trouble(state));
    let running = running(state);
    if !running.is_empty() {
        parts.push(format!("now {running}"));
    }
    parts.join(", ")
}

/// `round 7 of 60`, or `7 rounds` where it is not known how many there will be.
fn rounds(state: &State) -> String {
    match state.rounds_planned {
        Some(planned) => format!("round {} of {planned}", state.rounds),
        None => counted(state.rounds as usize, "round", "rounds"),
    }
}

/// `gvisor: TCP round trip`
fn running(state: &State) -> String {
    match (state.target.is_empty(), state.label.is_empty()) {
        (true, true) => String::new(),
        (false, true) => clean(&state.target),
        (true, false) => clean(&state.label),
        (false, false) => format!("{}: {}", clean(&state.target), clean(&state.label)),
    }
}

/// What went wrong so far.
fn trouble(state: &State) -> Option<String> {
    let mut parts = Vec::new();
    if state.failures > 0 {
        parts.push(counted(state.failures as usize, "failure", "failures"));
    }
    if state.repeated > 0 {
        parts.push(format!("{} repeated", counted(state.repeated as usize, "round", "rounds")));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// How far the session is: by time where it is known, else by rounds.
fn bar(state: &State) -> String {
    let share = match state.left_s {
        Some(left) if state.elapsed_s + left > 0.0 => state.elapsed_s / (state.elapsed_s + left),
        _ => state.rounds_planned.map_or(0.0, |planned| f64::from(state.rounds) / f64::from(planned.max(1))),
    };
    // A share that is not a number draws an empty bar: the cast of NaN is 0.
    let full = ((share.clamp(0.0, 1.0) * BAR as f64).round() as usize).min(BAR);
    format!("{}{}", "━".repeat(full), "╌".repeat(BAR - full))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn state() -> State {
        State {
            label: "TCP round trip".into(),
            target: "gvisor".into(),
            rounds: 7,
            rounds_planned: Some(60),
            decided: 9,
            verdicts: 14,
            failures: 0,
            repeated: 1,
            elapsed_s: 41.0,
            left_s: Some(97.4),
        }
    }

    #[test]
    fn the_line_says_less_where_it_is_narrow() {
        assert_eq!(
            terminal_line(&state(), 120),
            "━━━━╌╌╌╌╌╌╌╌  round 7 of 60  9 of 14 decided  1 min 37 s left  1 round repeated  \
             gvisor: TCP round trip"
        );
        assert_eq!(
            terminal_line(&state(), 80),
            "round 7 of 60  9 of 14 decided  1 min 37 s left  gvisor: TCP round trip"
        );
        assert_eq!(terminal_line(&state(), 50), "round 7 of 60  9 of 14 decided  1 min 37 s left");
        assert_eq!(terminal_line(&state(), 40), "round 7 of 60  1 min 37 s left");
        assert_eq!(terminal_line(&state(), 20), "1 min 37 s left");
    }

    #[test]
    fn the_plain_form_is_a_sentence_for_a_log() {
        assert_eq!(
            log_line(&state()),
            "41 s elapsed, round 7 of 60, 9 of 14 comparisons decided, about 1 min 37 s left, \
             1 round repeated, now gvisor: TCP round trip"
        );
        assert_eq!(log_line(&State::default()), "0 s elapsed, 0 rounds, 0 of 0 comparisons decided");
    }

    proptest! {
        #[test]
        fn it_always_fits(width in 2usize..150, label in any::<String>(), left in any::<f64>()) {
            let state = State { label, left_s: Some(left), ..state() };
            let line = terminal_line(&state, width);
            prop_assert!(columns(&line) <= width, "{line}");
            prop_assert!(!line.chars().any(char::is_control));
        }
    }
}
