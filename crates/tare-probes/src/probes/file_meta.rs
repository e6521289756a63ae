//! Loop of `file.meta`: see its description.

use crate::file_loops::small_files::{
    LISTING, Name, Root, create_files, list_folders, open_files, rename_files, stat_files, unlink_files,
};
use crate::probe::prelude::*;

const FILES_A_FOLDER: u64 = 100;
const BYTES: usize = 1024;
/// Upper bound on the disk space of a small file, with its share of the folder.
const ROOM_A_FILE: u64 = 8192;

pub(super) fn measure_file_meta(trial: &mut Trial<'_>) -> Result<(), Failure> {
    let directory = trial.directory()?;
    let root = Root::open(directory).map_err(|e| broken_failure("opening the trial's folder", e))?;
    let content = [b't'; BYTES];
    let mut generation = 0;
    trial.repeat(|operations, report| {
        files::check_room(directory, operations * ROOM_A_FILE)?;
        generation += 1;
        let tree = Tree::make(&root, generation, operations)?;
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
        tree.remove(&root)
    })
}

/// The names of a batch, ready for the calls.
struct Tree {
    folders: Vec<Name>,
    names: Vec<Name>,
    later_names: Vec<Name>,
}

impl Tree {
    /// Makes the folders of a batch. Each batch has folders of its own: a used one is slower on some systems.
    fn make(root: &Root, generation: u64, files: u64) -> Result<Tree, Failure> {
        let text = |text: String| root.make_name(&text);
        let folder = |file: u64| format!("g{generation}d{}", file / FILES_A_FOLDER);
        let tree = Tree {
            folders: (0..files.div_ceil(FILES_A_FOLDER)).map(|i| text(folder(i * FILES_A_FOLDER))).collect(),
            names: (0..files).map(|i| text(format!("{}/f{i}", folder(i)))).collect(),
            later_names: (0..files).map(|i| text(format!("{}/r{i}", folder(i)))).collect(),
        };
        for folder in &tree.folders {
            root.make_folder(folder).map_err(|e| broken_failure("making a folder", e))?;
        }
        Ok(tree)
    }

    fn remove(&self, root: &Root) -> Result<(), Failure> {
        self.folders.iter().try_for_each(|folder| {
            root.remove_folder(folder).map_err(|e| broken_failure("removing a folder", e))
        })
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
