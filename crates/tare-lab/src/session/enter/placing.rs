//! Places of an environment: the paths inside and the facts that belong to each.

use std::collections::BTreeMap;

use tare_data::facts::Facts;

use crate::host::mounts;
use crate::storage::places::{OWN, WORK};

/// Fills in the place of commands' files with the environment's own file system, where it shows no other.
pub(crate) fn as_own<T: Clone>(places: &mut BTreeMap<String, T>) {
    if let Some(own) = places.get(OWN).cloned() {
        places.entry(WORK.to_owned()).or_insert(own);
    }
}

/// Gives every place the facts that the host has of it, as `outside.*`; returns what is left.
pub(crate) fn divide(outside: &Facts, places: &mut BTreeMap<String, Facts>) -> Facts {
    let mut rest = Facts::default();
    for (key, value) in &outside.0 {
        let of_place = key.strip_prefix(mounts::PLACE).and_then(|key| key.rsplit_once('.'));
        match of_place.and_then(|(place, fact)| Some((places.get_mut(place)?, fact))) {
            Some((facts, fact)) => facts.add_fact(format!("outside.{fact}"), value),
            None => rest.add_fact(key, value),
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_find_their_files_in_a_view_or_in_the_environments_own_place() {
        let own = BTreeMap::from([(OWN.to_owned(), "/own")]);
        let with_work = |path| BTreeMap::from([(OWN.to_owned(), "/own"), (WORK.to_owned(), path)]);
        for (mut places, expected) in [(own, with_work("/own")), (with_work("/view"), with_work("/view"))] {
            as_own(&mut places);
            assert_eq!(places, expected);
        }
    }

    #[test]
    fn places_get_their_own_facts_from_outside() {
        let mut outside = Facts::default();
        let names = ["own", "/a", "/a.b"];
        names.iter().for_each(|name| outside.add_fact(format!("place.{name}.filesystem"), *name));
        outside.add_fact("place.unknown.filesystem", "ext4");
        outside.add_fact("runtime.version", "1");
        let mut places = names.map(|name| (name.to_owned(), Facts::default())).into();
        let rest = divide(&outside, &mut places);
        for name in names {
            assert_eq!(places[name].get("outside.filesystem"), Some(name));
        }
        assert_eq!(rest.0.len(), 2);
    }
}
