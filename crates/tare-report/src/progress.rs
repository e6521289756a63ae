//! The progress of a session in one line: what runs now, rounds done, cells decided, time left.

use crate::language::{Language, say};
use crate::text::{clean_text, count_columns, wrap_text};

/// Cells of the bar.
const BAR: usize = 12;

/// Progress of a session between two batches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Label of the case that runs now; empty before the first.
    pub label: String,
    /// Environment that it runs in.
    pub target: String,
    /// Finished rounds.
    pub rounds: u32,
    /// Number of rounds that every case will have; `None` if time ends the session.
    pub rounds_planned: Option<u32>,
    /// Comparisons that are decided, and all of them.
    pub decided: usize,
    pub verdicts: usize,
    /// Labels and environments of open comparisons, where they are few.
    pub open: Vec<(String, String)>,
    /// Estimated time until all are decided; `None` where the session's time is not enough.
    pub decided_in_s: Option<f64>,
    pub failures: u32,
    pub repeated: u32,
    pub elapsed_s: f64,
    /// Remaining time; `None` while it is not known.
    pub left_s: Option<f64>,
    pub language: Language,
}

/// Formats the line for entering an environment.
pub fn entering_line(target: &str, language: Language) -> String {
    say!(language, "entering {environment}", environment = clean_text(target))
}

/// Formats the line for choosing amounts of work.
pub fn calibrating_line(done: usize, of: usize, language: Language) -> String {
    say!(language, "calibrating, {done} of {all}", done, all = of)
}

/// Formats the line for a stretch of work that lasts.
pub fn lasting_line(target: &str, language: Language) -> String {
    say!(language, "work that lasts in {environment}", environment = target)
}

/// Formats the line for a run whose outcome is compared.
pub fn outcome_line(target: &str, language: Language) -> String {
    say!(language, "outcome in {environment}", environment = target)
}

/// Formats the line for a terminal, at most `width` columns: if it is narrow, the least important parts are
/// left out first.
pub fn terminal_line(state: &State, width: usize) -> String {
    let language = state.language;
    let left = state.left_s.map(|s| say!(language, "{time} left", time = language.format_duration(s)));
    // In the order of the line, each with its rank for leaving it: the greatest goes first.
    let mut parts: Vec<(u8, String)> =
        vec![(5, bar(state)), (1, rounds(state)), (2, decided(state, &state.verdicts.to_string()))];
    parts.extend(left.map(|text| (0, text)));
    parts.extend(trouble(state).map(|text| (4, text)));
    parts.push((3, running(state)));
    parts.retain(|(_, text)| !text.is_empty());
    let joined =
        |parts: &[(u8, String)]| parts.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("  ");
    while parts.len() > 1 && count_columns(&joined(&parts)) > width {
        let first_to_go = parts.iter().map(|(order, _)| *order).max();
        parts.retain(|(order, _)| Some(*order) != first_to_go);
    }
    wrap_text(&joined(&parts).replace("  ", "\u{a0} "), width.max(2)).swap_remove(0)
}

/// Formats the line for a log: one now and then, complete whatever its length.
pub fn log_line(state: &State) -> String {
    let language = state.language;
    let all = language.counted(state.verdicts, "comparison", "comparisons");
    let mut parts = vec![
        say!(language, "{time} elapsed", time = language.format_duration(state.elapsed_s)),
        rounds(state),
        decided(state, &all),
    ];
    if !state.open.is_empty() {
        let open: Vec<String> =
            state.open.iter().map(|(label, target)| name_cell(label, target, language)).collect();
        parts.push(say!(language, "open: {cells}", cells = open.join("; ")));
    }
    parts.extend(
        state.left_s.map(|s| say!(language, "about {time} left", time = language.format_duration(s))),
    );
    parts.extend(trouble(state));
    let running = running(state);
    if !running.is_empty() {
        parts.push(say!(language, "now {running}", running));
    }
    language.join_with_commas(&parts)
}

/// Formats `run 7 of 60`, or `7 rounds` if the total is not known.
fn rounds(state: &State) -> String {
    let language = state.language;
    match state.rounds_planned {
        Some(planned) => say!(language, "run {round} of {planned}", round = state.rounds, planned),
        None => language.counted(state.rounds as usize, "run", "runs"),
    }
}

/// Formats `9 of 14 decided, the rest in about 40 s`.
fn decided(state: &State, all: &str) -> String {
    let (language, decided) = (state.language, state.decided);
    match state.decided_in_s.filter(|_| state.decided < state.verdicts) {
        Some(s) => {
            let time = language.format_duration(s);
            say!(language, "{decided} of {all} decided, the rest in about {time}", decided, all, time)
        }
        None => say!(language, "{decided} of {all} decided", decided, all),
    }
}

/// Formats `gvisor: TCP round trip`.
fn running(state: &State) -> String {
    name_cell(&state.label, &state.target, state.language)
}

fn name_cell(label: &str, target: &str, language: Language) -> String {
    let label = language.translate_title(&clean_text(label));
    match (target.is_empty(), label.is_empty()) {
        (true, _) => label,
        (false, true) => clean_text(target),
        (false, false) => format!("{}: {label}", clean_text(target)),
    }
}

/// Counts failures and repeated rounds so far.
fn trouble(state: &State) -> Option<String> {
    let language = state.language;
    let mut parts = Vec::new();
    if state.failures > 0 {
        parts.push(language.counted(state.failures as usize, "failure", "failures"));
    }
    if state.repeated > 0 {
        let rounds = language.counted(state.repeated as usize, "run", "runs");
        parts.push(say!(language, "{rounds} repeated", rounds));
    }
    (!parts.is_empty()).then(|| language.join_with_commas(&parts))
}

/// Draws the session's progress: by time if the end is known, else by rounds.
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
            open: Vec::new(),
            decided_in_s: None,
            failures: 0,
            repeated: 1,
            elapsed_s: 41.0,
            left_s: Some(97.4),
            language: Language::English,
        }
    }

    #[test]
    fn the_line_says_less_where_it_is_narrow() {
        assert_eq!(
            terminal_line(&state(), 120),
            "━━━━╌╌╌╌╌╌╌╌  run 7 of 60  9 of 14 decided  1 min 37 s left  1 run repeated  \
             gvisor: TCP round trip"
        );
        assert_eq!(
            terminal_line(&state(), 80),
            "run 7 of 60  9 of 14 decided  1 min 37 s left  gvisor: TCP round trip"
        );
        assert_eq!(terminal_line(&state(), 50), "run 7 of 60  9 of 14 decided  1 min 37 s left");
        assert_eq!(terminal_line(&state(), 40), "run 7 of 60  1 min 37 s left");
        assert_eq!(terminal_line(&state(), 20), "1 min 37 s left");
    }

    #[test]
    fn the_plain_form_is_a_sentence_for_a_log() {
        assert_eq!(
            log_line(&state()),
            "41 s elapsed, run 7 of 60, 9 of 14 comparisons decided, about 1 min 37 s left, \
             1 run repeated, now gvisor: TCP round trip"
        );
        assert_eq!(log_line(&State::default()), "0 s elapsed, 0 runs, 0 of 0 comparisons decided");
    }

    #[test]
    fn what_is_open_is_named_with_the_time_that_it_takes() {
        let open = [("TCP round trip", "gvisor"), ("fork", "container")];
        let open = open.map(|(label, target)| (label.to_owned(), target.to_owned())).into();
        let state = State { open, decided_in_s: Some(40.0), decided: 12, ..state() };
        assert_eq!(
            terminal_line(&state, 100),
            "run 7 of 60  12 of 14 decided, the rest in about 40 s  1 min 37 s left  gvisor: TCP round trip"
        );
        assert_eq!(
            log_line(&state),
            "41 s elapsed, run 7 of 60, 12 of 14 comparisons decided, the rest in about 40 s, \
             open: gvisor: TCP round trip; container: fork, about 1 min 37 s left, 1 run repeated, \
             now gvisor: TCP round trip"
        );
        let all = State { decided: 14, ..state };
        assert!(terminal_line(&all, 200).contains("14 of 14 decided  1 min"), "nothing is open");
    }

    #[test]
    fn both_forms_are_said_in_japanese() {
        let state = State { language: Language::Japanese, ..state() };
        assert_eq!(
            terminal_line(&state, 120),
            "━━━━╌╌╌╌╌╌╌╌  ラウンド7/60  判定済み9/14  残り1分37秒  1回の実行を再測定  gvisor: TCP往復"
        );
        assert_eq!(terminal_line(&state, 44), "ラウンド7/60  判定済み9/14  残り1分37秒");
        assert_eq!(
            log_line(&state),
            "経過41秒、ラウンド7/60、判定済み9/14、残り約1分37秒、1回の実行を再測定、実行中 gvisor: TCP往復"
        );
        assert_eq!(calibrating_line(3, 16, Language::Japanese), "キャリブレーション中 3/16");
    }

    proptest! {
        #[test]
        fn it_always_fits(width in 2usize..150, label in any::<String>(), left in any::<f64>()) {
            let state = State { label, left_s: Some(left), ..state() };
            let line = terminal_line(&state, width);
            prop_assert!(count_columns(&line) <= width, "{line}");
            prop_assert!(!line.chars().any(char::is_control));
        }
    }
}
