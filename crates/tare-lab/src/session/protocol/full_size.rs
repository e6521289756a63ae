//! A session in full size, before it begins: the least time that its trials take, and the room that their files need.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::asked::{Request, Until};
use crate::error::LabError;
use crate::platform;
use crate::session::enter::sides::{MOST_DEFAULT, name_sides};
use crate::session::plan::prepare::CONTROL_EVERY;
use crate::storage::places::Wanted;

/// Rounds from which a median has an interval at 95 %.
const FEWEST_ROUNDS: u32 = 6;

/// Needs of a session in full size.
#[derive(Clone, Debug, PartialEq)]
pub struct FullSize {
    /// Rounds that an answer needs: those of the study, or the fewest with an interval.
    pub rounds: u32,
    /// Time of the trials of a fixed length in one round; zero where the plan decides on all of them.
    pub round: Duration,
    /// Limit on the session's time; none where rounds or answers end it.
    pub budget: Option<Duration>,
    /// Room that files take at once, at most.
    pub room_bytes: u64,
    /// Folders on whose disks the files are.
    pub folders: Vec<PathBuf>,
}

/// Adds up the needs of a session, without entering anything.
pub fn estimate_full_size(request: &Request, scratch: &Path) -> Result<FullSize, LabError> {
    let selection = request.make_selection()?;
    let sides = name_sides(&request.baseline, &request.environments)?;
    let entered = sides.iter().filter(|side| side.repeats.is_none()).count() as u32;
    let entered = if request.environments.is_empty() { entered + MOST_DEFAULT as u32 } else { entered };
    let trial_s: f64 = selection.selected.iter().filter_map(|case| case.seconds).sum();
    let wanted = Wanted::from_cases(selection.cases().into_iter());
    let mut folders: Vec<PathBuf> = wanted.folders.into_values().collect();
    folders.push(scratch.to_owned());
    Ok(FullSize {
        rounds: selection.study.least_rounds.unwrap_or(0).max(FEWEST_ROUNDS),
        round: Duration::from_secs_f64(trial_s * (f64::from(entered) + 1.0 / f64::from(CONTROL_EVERY))),
        budget: match selection.until {
            Until::Budget(budget) => Some(budget),
            Until::Rounds(_) | Until::Decided => None,
        },
        // A guest's disk keeps the room that its files took.
        room_bytes: wanted.room_bytes.saturating_mul(u64::from(entered)),
        folders,
    })
}

impl FullSize {
    /// Adds up the trials of as many rounds as an answer needs.
    pub fn least_time(&self) -> Duration {
        self.round.saturating_mul(self.rounds)
    }

    /// Finds a folder whose disk has too little room, with its free bytes.
    pub fn find_full_disk(&self) -> Option<(&Path, u64)> {
        let free =
            self.folders.iter().filter_map(|folder| Some((folder.as_path(), platform::free_bytes(folder)?)));
        free.min_by_key(|(_, bytes)| *bytes).filter(|(_, bytes)| *bytes < self.room_bytes)
    }
}

#[cfg(test)]
mod tests {
    use tare_data::names::parse_size;
    use tare_probes::probe::Size;

    use super::*;
    use crate::asked::Measured;
    use crate::study::published::list_shipped_articles;
    use crate::study::{SelectedCase, Study};

    fn estimate(study: &str, environments: &[String]) -> FullSize {
        let measured = Measured::Named(study.to_owned());
        let request = Request::new(measured, "native", PathBuf::new());
        let request = Request { size: Some(Size::Reference), environments: environments.to_vec(), ..request };
        estimate_full_size(&request, Path::new("/")).unwrap()
    }

    #[test]
    fn the_time_of_an_article_in_full_size_has_room_for_an_answer() {
        for article in list_shipped_articles().unwrap() {
            let redo = article.redo.unwrap();
            let full = estimate(&redo.study, &redo.environments);
            let budget = full.budget.unwrap();
            assert!(full.least_time() < budget, "{}: {:?} in {budget:?}", article.id, full.least_time());
        }
    }

    #[test]
    fn full_size_is_the_size_with_which_each_article_measured() {
        for article in list_shipped_articles().unwrap() {
            let study = Study::from_name(&article.redo.as_ref().unwrap().study).unwrap();
            let selected = study.expand_cases(None, Some(Size::Reference)).unwrap();
            for condition in &article.conditions {
                let has = |case: &&SelectedCase| {
                    let parameters = &case.case.parameters.0;
                    case.case.probe == condition.probe
                        && condition.parameters.iter().all(|(key, value)| parameters.get(key) == Some(value))
                };
                let cases: Vec<_> = selected.iter().filter(has).collect();
                assert!(!cases.is_empty(), "{}: {condition:?}", article.id);
                for case in cases {
                    for (name, there) in &condition.sizes {
                        let here = &case.case.parameters.0[name];
                        let is_same = here == there || parse_size(here) == parse_size(there);
                        assert!(is_same, "{}: {name} is {here}, and {there} there", case.case);
                    }
                    assert!(condition.operations.is_none() || case.seconds.is_some(), "{}", case.case);
                }
            }
        }
    }

    #[test]
    fn needs_are_added_up_over_environments_and_rounds() {
        let subjects = ["gvisor".to_owned()];
        let full = estimate("rtt", &subjects);
        assert_eq!((full.rounds, full.round.as_secs()), (50, 88), "four cases of ten seconds, and a control");
        assert_eq!(full.room_bytes, 0);
        assert_eq!(full.find_full_disk(), None);
        let files = estimate("sysbench", &subjects);
        assert_eq!(files.room_bytes, 60 << 30);
        let too_large = FullSize { room_bytes: u64::MAX, ..files };
        assert!(
            too_large.find_full_disk().is_some_and(|(folder, free)| folder == Path::new("/") && free > 0)
        );
    }
}
