//! Sizes with which an article measured, and the sizes of a session's rows where it says something of them.

use std::collections::BTreeMap;

use tare_data::names::parse_size;
use tare_data::request::Amount;
use tare_data::session::PlannedCase;

use super::measured::{Place, is_case_of};
use super::{Condition, Published, Subject};

/// Name of the operations of a trial, next to the parameters of a probe.
const OPERATIONS: &str = "operations";

/// The sizes of a row, as far as an article depends on them.
#[derive(Debug, Default)]
pub(super) struct Sizes {
    /// `32MiB` by `size`.
    pub here: BTreeMap<String, String>,
    /// The first that is not the article's: `size 32MiB, there 1GiB`, `100 processes, there 1000`.
    pub unmet: Option<String>,
}

/// Compares the sizes of a row with those of an article.
pub(super) fn compare_sizes(conditions: &[Condition], place: &Place<'_, '_>) -> Sizes {
    let mut sizes = Sizes::default();
    let metric = &place.row.metric.name;
    for condition in conditions.iter().filter(|condition| condition.is_about(place.case, metric)) {
        for (name, there) in &condition.sizes {
            let here = place.case.case.parameters.0.get(name).map_or("unknown", String::as_str);
            let unit = condition.counts.get(name).map(String::as_str);
            sizes.compare((name, unit), here, there, is_same_size(here, there));
        }
        if let Some(there) = condition.operations {
            let here = match place.case.amount {
                Amount::Operations { batch, batches } => batch.saturating_mul(u64::from(batches)),
                // A duration that the user asks for is as long as the article's tool ran.
                Amount::Duration { .. } => u64::MAX,
                Amount::Calibrate | Amount::Outcome => 0,
            };
            if here < u64::MAX {
                sizes.compare(
                    (OPERATIONS, Some(OPERATIONS)),
                    &here.to_string(),
                    &there.to_string(),
                    here >= there,
                );
            }
        }
    }
    sizes
}

impl Sizes {
    fn compare(&mut self, (name, unit): (&str, Option<&str>), here: &str, there: &str, is_met: bool) {
        self.here.insert(name.to_owned(), here.to_owned());
        if !is_met && self.unmet.is_none() {
            self.unmet = Some(match unit {
                Some(unit) => format!("{here} {unit}, there {there}"),
                None => format!("{name} {here}, there {there}"),
            });
        }
    }
}

impl Condition {
    fn is_about(&self, case: &PlannedCase, metric: &str) -> bool {
        let has = |(name, value): (&String, &String)| case.case.parameters.0.get(name) == Some(value);
        self.probe == case.case.probe
            && self.parameters.iter().all(has)
            && (self.metrics.is_empty() || self.metrics.iter().any(|named| named == metric))
    }
}

/// Tells whether an article has something about a case, where it says of which of a probe's cases it speaks.
pub(super) fn speaks_of(article: &Published, case: &PlannedCase) -> bool {
    let figures = article.figures.iter().map(|figure| figure.subject_of(""));
    let conditions = article.conditions.iter().map(|of| {
        let (probe, parameters) = (of.probe.as_str(), &of.parameters);
        Subject { probe, parameters, place: None, peer: None, metric: "" }
    });
    let expected = article.claims.iter().flat_map(|claim| &claim.expectations).map(|of| of.subject());
    let ratios = article.ratios.iter().map(|ratio| ratio.subject());
    let all = figures.chain(conditions).chain(expected).chain(ratios);
    let mut of_probe = all.filter(|subject| subject.probe == case.case.probe).peekable();
    of_probe.peek().is_none() || of_probe.any(|subject| is_case_of(case, subject))
}

/// Recognises one size in two spellings: `1GiB`, `1024MiB`.
fn is_same_size(here: &str, there: &str) -> bool {
    let sizes = [here, there].map(parse_size);
    here == there || (sizes[0].is_some() && sizes[0] == sizes[1])
}
