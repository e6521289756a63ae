//! The label of a case: what its row is headed with.

use std::collections::BTreeMap;

use tare_data::names::Case;
use tare_data::peer::LOOPBACK;
use tare_probes::Probe;

use crate::storage::places::OWN;

/// Builds the heading of the row: the probe's label, and the place or peer where it is not the usual one.
///
/// `brief` has a short name for every place.
pub fn make_row_label(probe: &Probe, case: &Case, brief: &BTreeMap<String, String>) -> String {
    let mut label = (probe.label)(&case.parameters);
    if let Some(place) = case.place.as_ref().filter(|place| *place != OWN) {
        label.push_str(&format!(" @{}", brief.get(place).unwrap_or(place)));
    }
    if let Some(peer) = case.peer.as_deref().filter(|peer| *peer != LOOPBACK) {
        label.push_str(&format!(" >{peer}"));
    }
    label
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::places;
    use crate::study::{SHIPPED, SelectedCase, Study};

    #[test]
    fn rows_of_shipped_studies_are_told_apart_by_their_labels() {
        let places = ["own", "share", "ext4", "/mnt/data", "/srv/data"].map(str::to_owned);
        let brief = places::shorten_names(places.iter().map(String::as_str));
        for (name, _) in SHIPPED {
            // As if these folders were there.
            let selected = Study::from_name(name).unwrap().expand_cases(None, None).unwrap();
            let mut labels = BTreeMap::new();
            for SelectedCase { probe, case, .. } in &selected {
                for place in &places {
                    let somewhere = case.place.is_some().then(|| place.clone());
                    let case = Case { place: somewhere, ..case.clone() };
                    let other = labels.insert(make_row_label(probe, &case, &brief), case.to_string());
                    assert!(other.is_none_or(|other| other == case.to_string()), "{name}: {case}");
                }
            }
        }
    }
}
