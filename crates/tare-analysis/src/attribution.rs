//! What an environment costs, kind of work by kind of work: the facts behind the sentences.

use std::collections::BTreeMap;

use crate::findings::{Cell, Comparison, Family, FamilyCost, LayerCost, Row, Verdict};
use crate::verdicts::verdict::is_decided;

/// Sums up one subject environment over the headline rows. `column` is its place among the subjects.
pub(crate) fn layer_cost(target: &str, column: usize, rows: &[Row]) -> LayerCost {
    let mut families: BTreeMap<Family, Vec<(&str, &Comparison)>> = BTreeMap::new();
    let mut missing = 0;
    for row in rows.iter().filter(|row| row.headline) {
        match row.cells.get(column) {
            Some(Cell::Compared(comparison)) => {
                families.entry(Family::of(&row.probe)).or_default().push((&row.label, comparison));
            }
            Some(Cell::Missing(_)) => missing += 1,
            Some(Cell::Observed(_)) | None => {}
        }
    }
    let rising = |verdict: Verdict| {
        let mut costs = costs(&families, verdict);
        costs.sort_by(|a, b| b.most.total_cmp(&a.most));
        costs
    };
    let mut faster = costs(&families, Verdict::Faster);
    faster.sort_by(|a, b| a.least.total_cmp(&b.least));
    let all = || families.values().flatten();
    let decided = all().filter(|(_, c)| is_decided(c.verdict)).count();
    LayerCost {
        target: target.to_owned(),
        slower: rising(Verdict::Slower),
        unconfirmed: rising(Verdict::SlowerUnconfirmed),
        same: families.iter().filter(|(_, rows)| is_same(rows)).map(|(family, _)| *family).collect(),
        faster,
        decided,
        undecided: all().count() - decided,
        missing,
    }
}

/// Whether some row is shown to be within the margin and none lies beyond it, confirmed or not.
fn is_same(rows: &[(&str, &Comparison)]) -> bool {
    let same = |(_, c): &(&str, &Comparison)| {
        matches!(c.verdict, Verdict::Same | Verdict::SlightlySlower | Verdict::SlightlyFaster)
    };
    let open = |(_, c): &(&str, &Comparison)| c.verdict == Verdict::Inconclusive;
    rows.iter().any(same) && rows.iter().all(|row| same(row) || open(row))
}

/// The range of ratios of each family's rows with this verdict.
fn costs(families: &BTreeMap<Family, Vec<(&str, &Comparison)>>, verdict: Verdict) -> Vec<FamilyCost> {
    let range = |(family, rows): (&Family, &Vec<(&str, &Comparison)>)| {
        let mut rows: Vec<_> = rows.iter().filter(|(_, c)| c.verdict == verdict).collect();
        rows.sort_by(|(_, a), (_, b)| a.ratio.total_cmp(&b.ratio));
        let ((first, least), (last, most)) = (rows.first()?, rows.last()?);
        let extreme = if verdict == Verdict::Faster { first } else { last };
        Some(FamilyCost {
            family: *family,
            least: least.ratio,
            most: most.ratio,
            most_label: (*extreme).to_owned(),
            rows: rows.len(),
        })
    };
    families.iter().filter_map(range).collect()
}
