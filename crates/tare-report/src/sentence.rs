//! One sentence a layer, in plain words, that says what the figures say and no more.

use tare_analysis::findings::{Family, FamilyCost, LayerCost};

use crate::number::{counted, ratio_range};
use crate::text::{clean, listed};
use crate::words;

/// What an environment costs, without its name: `pays for system calls (24.1x); nothing for computing.`
pub fn cost(cost: &LayerCost) -> String {
    let mut clauses = Vec::new();
    if cost.decided + cost.undecided == 0 {
        clauses.push(nothing_compared(cost));
    } else if cost.slower.is_empty() && cost.faster.is_empty() && cost.undecided == 0 {
        clauses.push("costs nothing that this session could see".to_owned());
    } else {
        clauses.extend(slower(&cost.slower));
        clauses.extend(free(&cost.same, clauses.is_empty()));
        clauses.extend(faster(&cost.faster));
    }
    if clauses.is_empty() {
        clauses.push("shows no cost yet".to_owned());
    }
    clauses.extend(left_open(cost));
    format!("{}.", clauses.join("; "))
}

fn nothing_compared(cost: &LayerCost) -> String {
    let reason = if cost.missing > 0 { "every figure of it is a gap" } else { "it was not measured" };
    format!("cannot be judged: {reason}")
}

fn slower(slower: &[FamilyCost]) -> Option<String> {
    let items: Vec<String> = slower.iter().map(family_cost).collect();
    (!items.is_empty()).then(|| format!("pays for {}", listed(&items)))
}

/// `processes (8.7-12.3x, most for fork + wait)`; a single row needs no naming.
fn family_cost(cost: &FamilyCost) -> String {
    let range = ratio_range(cost.least, cost.most);
    let most = if cost.rows > 1 { format!(", most for {}", clean(&cost.most_label)) } else { String::new() };
    format!("{} ({range}{most})", words::family(cost.family))
}

fn faster(faster: &[FamilyCost]) -> Option<String> {
    let items: Vec<String> = faster
        .iter()
        .map(|f| format!("{} ({})", words::family(f.family), ratio_range(f.least, f.most)))
        .collect();
    (!items.is_empty())
        .then(|| format!("is faster than the baseline for {}, which is worth a second look", listed(&items)))
}

fn free(free: &[Family], is_first: bool) -> Option<String> {
    let items: Vec<String> = free.iter().map(|f| words::family(*f).to_owned()).collect();
    let pays = if is_first { "pays nothing for" } else { "nothing for" };
    (!items.is_empty()).then(|| format!("{pays} {}", listed(&items)))
}

fn left_open(cost: &LayerCost) -> Option<String> {
    let mut open = Vec::new();
    if cost.undecided > 0 {
        let all = cost.undecided + cost.decided;
        open.push(format!("{} of {} undecided", cost.undecided, counted(all, "verdict", "verdicts")));
    }
    if cost.missing > 0 && cost.decided + cost.undecided > 0 {
        open.push(counted(cost.missing, "missing", "missing"));
    }
    (!open.is_empty()).then(|| listed(&open))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn family(family: Family, least: f64, most: f64, rows: usize) -> FamilyCost {
        FamilyCost { family, least, most, most_label: "fork + wait".into(), rows }
    }

    fn target() -> LayerCost {
        LayerCost {
            target: "gvisor".into(),
            slower: vec![],
            unconfirmed: vec![],
            same: vec![],
            faster: vec![],
            decided: 7,
            undecided: 0,
            missing: 0,
        }
    }

    #[test]
    fn a_slow_layer_names_its_work_slowest_first() {
        let cost = cost(&LayerCost {
            slower: vec![family(Family::SystemCall, 24.1, 24.1, 1), family(Family::Process, 8.71, 12.3, 2)],
            unconfirmed: vec![],
            same: vec![Family::Cpu],
            missing: 1,
            ..target()
        });
        assert_eq!(
            cost,
            "pays for system calls (24.1x) and processes (8.7-12.3x, most for fork + wait); \
             nothing for computing; 1 gap."
        );
    }

    #[test]
    fn a_free_layer_says_only_what_the_session_could_see() {
        let free = LayerCost { same: vec![Family::Cpu, Family::File], ..target() };
        assert_eq!(cost(&free), "costs nothing that this session could see.");
        let undecided = LayerCost { undecided: 2, ..free };
        assert_eq!(cost(&undecided), "pays nothing for computing and files; 2 of 9 verdicts undecided.");
    }

    #[test]
    fn what_was_not_compared_is_not_judged() {
        let missing = LayerCost { decided: 0, missing: 7, ..target() };
        assert_eq!(cost(&missing), "cannot be judged: every figure of it is a gap.");
        let nothing = LayerCost { decided: 0, ..target() };
        assert_eq!(cost(&nothing), "cannot be judged: it was not measured.");
        let open = LayerCost { decided: 0, undecided: 1, ..target() };
        assert_eq!(cost(&open), "shows no cost yet; 1 of 1 verdict undecided.");
    }

    #[test]
    fn faster_than_the_baseline_is_worth_a_second_look() {
        let faster = LayerCost { faster: vec![family(Family::File, 0.28, 0.28, 1)], ..target() };
        assert_eq!(
            cost(&faster),
            "is faster than the baseline for files (0.28x), which is worth a second look."
        );
    }
}
