//! The conclusions of an article that a session will not tell, as far as that is known before it begins.

use super::measured::find_preset_kind;
use super::{Claim, Published, Quantity};

/// An environment of a session that has not begun.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreseen {
    /// As it was asked for: `wsl2-like?net=tap`.
    pub specification: String,
    pub is_emulated: bool,
}

/// Reason why a session will not tell a conclusion.
#[derive(Clone, Debug, PartialEq)]
pub enum Obstacle {
    /// It is about the author's own machine, or about something that no session measures.
    Always,
    /// It is about an environment of the article to which none of the session's corresponds.
    Unmeasured(String),
    /// It is about one to which an environment with an emulated processor corresponds.
    Emulated(String),
}

/// Foresees the conclusions that a session in these environments will not tell, each by a reason. Of a conclusion that has several
/// parts one is enough to tell it.
pub fn foresee_untold(article: &Published, environments: &[Foreseen]) -> Vec<Obstacle> {
    let of_part = |part: [Option<&String>; 2]| {
        part.into_iter().flatten().find_map(|id| find_obstacle(article, id, environments))
    };
    let of_claim = |claim: &Claim| {
        let obstacles: Option<Vec<Obstacle>> = list_parts(claim).into_iter().map(of_part).collect();
        Some(obstacles?.into_iter().next().unwrap_or(Obstacle::Always))
    };
    article.claims.iter().filter_map(of_claim).collect()
}

/// Lists the parts of a conclusion that a session may tell, each as the environments that it compares: absolute figures are the
/// machine's.
fn list_parts(claim: &Claim) -> Vec<[Option<&String>; 2]> {
    let is_relative = |of: Quantity| matches!(of, Quantity::More | Quantity::Less | Quantity::Ratio);
    let checks = claim.checks.iter().filter(|check| is_relative(check.of));
    let checks = checks.map(|of| [Some(&of.environment), of.against.as_ref()]);
    let expected = claim.expectations.iter().map(|of| [Some(&of.environment), Some(&of.against)]);
    checks.chain(expected).collect()
}

/// Finds what keeps a session from telling anything of an article's environment.
fn find_obstacle(article: &Published, id: &str, environments: &[Foreseen]) -> Option<Obstacle> {
    let kind = article.find_environment(id)?.kind;
    let name = |of: &Foreseen| of.specification.split('?').next().and_then(find_preset_kind);
    let mut standing = environments.iter().filter(|of| name(of) == Some(kind));
    let Some(first) = standing.next() else { return Some(Obstacle::Unmeasured(id.to_owned())) };
    let are_emulated = first.is_emulated && standing.all(|of| of.is_emulated);
    are_emulated.then(|| Obstacle::Emulated(first.specification.clone()))
}
