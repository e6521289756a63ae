//! Loop of `file.meta`: see its description.

use std::ops::Range;

use crate::file_loops::small_files::{
    LISTING, Name, Root, create_files, list_folders, open_files, rename_files, stat_files, unlink_files,
};
use crate::probe::prelude::*;

const FILES_A_FOLDER: u64 = 100;
const BYTES: usize = 1024;
/// Upper bound on the disk space of a small file, with its share of the folder.
const ROOM_A_FILE: u64 = 8192;

pub(super) fn measure_file_meta(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let folder = trial.folder()?;
    let root = Root::open(folder).map_err(|e| broken_failure("opening the trial's folder", e))?;
    let content = [b't'; BYTES];
    let mut made = 0;
    trial.repeat(|operations, report| {
        files::check_room(folder, operations * ROOM_A_FILE)?;
        let tree = Tree::make(&root, made..made + operations)?;
        made += operations;
        let mut all = Stopwatch::default();
        let mut step = |name, done: Result<(Stopwatch, u64), Errno>, expected| {
            let (stopwatch, counted) = done.map_err(|e| broken_failure(name, e))?;
            prove_count(name, counted, expected)?;
            all.add(&stopwatch);
            report.add_throughput(name, operations, &stopwatch);
            Ok::<(), Failure>(())
        };
        let at = &root;
        step("create", create_files(at, &tree.names, &content), operations * BYTES as u64)?;
        step("stat", stat_files(at, &tree.names), operations * BYTES as u64)?;
        step("open", open_files(at, &tree.names), operations)?;
        step("rename", rename_files(at, &tree.names, &tree.later_names), operations)?;
        step("list", list_folders(at, &tree.folders, &mut [0; LISTING]), operations)?;
        step("unlink", unlink_files(at, &tree.later_names), operations)?;
        report.add_throughput("file", operations, &all);
        Ok(())
    })
}

/// The names of a batch, ready for the calls.
struct Tree {
    folders: Vec<Name>,
    names: Vec<Name>,
    later_names: Vec<Name>,
}

impl Tree {
    /// Makes the folders that a batch is the first to have files in: the number in a folder's life is limited, since one that
    /// has had more is slower on some systems. All stay until the trial ends: removing one takes some systems longer than what is timed.
    fn make(root: &Root, files: Range<u64>) -> Result<Tree, Failure> {
        let folder = |file: u64| format!("d{}", file / FILES_A_FOLDER);
        let named = |name: &str| -> Vec<Name> {
            files.clone().map(|file| root.make_name(&format!("{}/{name}{file}", folder(file)))).collect()
        };
        let (first, end) = (files.start / FILES_A_FOLDER, files.end.div_ceil(FILES_A_FOLDER));
        let folders: Vec<Name> =
            (first..end).map(|at| root.make_name(&folder(at * FILES_A_FOLDER))).collect();
        let is_begun = !files.start.is_multiple_of(FILES_A_FOLDER);
        for folder in &folders[usize::from(is_begun)..] {
            root.make_folder(folder).map_err(|e| broken_failure("making a folder", e))?;
        }
        Ok(Tree { folders, names: named("f"), later_names: named("r") })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{make_trial_request, run_trial};
    use super::*;
    use crate::descriptions::file_meta::PROBE;
    use tare_data::request::Amount;

    #[test]
    fn more_files_than_a_folder_holds_are_all_listed() {
        let mut request = make_trial_request(&PROBE, &[]);
        request.amount = Amount::Operations { batch: 2 * FILES_A_FOLDER + 5, batches: 1 };
        run_trial(&request).unwrap();
    }
}
