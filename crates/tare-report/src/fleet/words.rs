//! Words of a fleet's table.

use tare_analysis::findings::Kind;
use tare_analysis::fleet::change::Changed;
use tare_analysis::fleet::cost::LayerCost;
use tare_analysis::fleet::slow::{Deviation, NodeStanding, Standing};
use tare_analysis::fleet::summary::Fleet;

use crate::answers::table::answer_words;
use crate::number::{format_percent, format_ratio};
use crate::text::clean_text;

/// Limit on the listed cases of a node; further ones are counted.
const MOST_CASES: usize = 4;

pub(super) fn format_label(fleet: &Fleet, case: &str, metric: &str) -> String {
    let Some(of) = fleet.find_case(case, metric) else { return clean_text(case) };
    let place = of.place.as_ref().map_or(String::new(), |place| format!(" ({})", clean_text(place)));
    let peer = of.peer.as_ref().map_or(String::new(), |peer| format!(" to {}", clean_text(peer)));
    clean_text(&of.label) + &place + &peer
}

pub(super) fn describe_standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Slow => "slow",
        Standing::MaybeSlow => "slow?",
        Standing::NotConfirmed => "not confirmed",
        Standing::Ordinary => "ordinary",
        Standing::NotJudged => "not judged",
    }
}

pub(super) fn describe_change(changed: &Changed) -> &'static str {
    match changed.answer.kind() {
        Kind::Slower | Kind::AtLeast => "slower than before",
        Kind::Faster => "faster than before",
        kind @ (Kind::Same | Kind::AtMost | Kind::NotSure | Kind::None) => answer_words(kind).word,
    }
}

/// Formats `typically 12 % slower: system call 1.30x, pipe 1.20x`.
pub(super) fn slow_in(fleet: &Fleet, node: &NodeStanding) -> String {
    let typically = match node.typical - 1.0 {
        share if share >= 0.0 => format!("typically {} slower", format_percent(share)),
        share => format!("typically {} faster", format_percent(-share)),
    };
    let named: Vec<&Deviation> = match node.standing {
        Standing::Slow | Standing::MaybeSlow | Standing::NotConfirmed => {
            node.cases.iter().filter(|case| case.is_slow && case.case.is_some()).collect()
        }
        Standing::Ordinary | Standing::NotJudged => {
            node.cases.iter().filter(|case| case.case.is_some()).take(1).collect()
        }
    };
    let name = |of: &&Deviation| {
        let case = of.case.as_deref().zip(of.metric.as_deref());
        let label = case.map_or(String::new(), |(case, metric)| format_label(fleet, case, metric));
        let fresh =
            of.fresh.map_or(String::new(), |fresh| format!(" (again {})", format_ratio(fresh.slower)));
        format!("{label} {}{fresh}", format_ratio(of.slower))
    };
    let mut names: Vec<String> = named.iter().take(MOST_CASES).map(name).collect();
    let more = named.len().saturating_sub(MOST_CASES);
    names.extend((more > 0).then(|| format!("and {more} more")));
    if names.is_empty() { typically } else { format!("{typically}: {}", names.join(", ")) }
}

/// Lists environments in the order of their costs.
pub(super) fn list_targets(costs: &[LayerCost]) -> Vec<&str> {
    let mut targets: Vec<&str> = costs.iter().map(|cost| cost.target.as_str()).collect();
    targets.sort_unstable();
    targets.dedup();
    targets
}
