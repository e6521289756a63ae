//! The description of an environment: the facts of it and of its places, asked for once a session.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tare_data::facts::Facts;
use tare_data::failure::{Failure, FailureKind};
use tare_data::frame::{Frame, LONGEST_REQUEST, encode_frame};
use tare_data::request::Request;

use crate::session::link::{Link, LinkError};

/// Reason of an agent that spoke, and found its input at an end.
const NO_INPUT: &str = "the environment ended before its description: what enters it may not pass its input on (docker run and kubectl exec \
                        need -i)";
/// Describing takes measurements of the clock and of every place.
const DESCRIBE_DEADLINE: Duration = Duration::from_secs(30);

/// Asks for the facts of the environment and of its places.
pub(crate) fn describe_environment(
    link: &mut Link<'_>,
    places: &BTreeMap<String, String>,
) -> Result<(Facts, BTreeMap<String, Facts>), Failure> {
    let deadline = Instant::now() + DESCRIBE_DEADLINE;
    let mut description = None;
    for places in split_by_request(places) {
        let described = link
            .send(&Request::Describe { places }, deadline)
            .and_then(|()| link.receive(deadline))
            .map_err(|error| match error {
                LinkError::Ended => Failure::new(FailureKind::Died, NO_INPUT),
                error => error.to_failure("description"),
            })?;
        let Frame::Description { facts, places } = described.frame else {
            return Err(Failure::new(FailureKind::Broken, "the answer was not a description"));
        };
        let (_, known) = description.get_or_insert_with(|| (facts, BTreeMap::new()));
        known.extend(places);
    }
    description.ok_or_else(|| Failure::new(FailureKind::Broken, "nothing was described"))
}

/// Splits places into requests that fit their line: many places with long paths do not fit into one.
fn split_by_request(places: &BTreeMap<String, String>) -> Vec<BTreeMap<String, String>> {
    let fits = |places: &BTreeMap<_, _>| {
        encode_frame(&Request::Describe { places: places.clone() }).len() <= LONGEST_REQUEST
    };
    let mut requests = vec![BTreeMap::new()];
    for (name, path) in places {
        let last = requests.last_mut().expect("there is a first request");
        last.insert(name.clone(), path.clone());
        if last.len() > 1 && !fits(last) {
            last.remove(name);
            requests.push(BTreeMap::from([(name.clone(), path.clone())]));
        }
    }
    requests
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_with_long_paths_are_described_in_several_requests() {
        let place = |n: usize| (format!("place-{n}"), format!("/{}", "a".repeat(300)));
        let places: BTreeMap<_, _> = (0..9).map(place).collect();
        let requests = split_by_request(&places);
        assert!(requests.len() > 1, "{requests:?}");
        for request in &requests {
            let line = encode_frame(&Request::Describe { places: request.clone() });
            assert!(line.len() <= LONGEST_REQUEST, "{line}");
        }
        assert_eq!(requests.into_iter().flatten().collect::<BTreeMap<_, _>>(), places);
        assert_eq!(split_by_request(&BTreeMap::new()), [BTreeMap::new()]);
    }
}
