//! Single operations that programs ask of a kernel, each in a loop by itself: what `sys.operation` can time.

mod calls;
mod files;
mod memory;
mod processes;
mod repeated;
mod small_program;

use tare_data::failure::Failure;
use tare_paths::door::Door;

use self::repeated::Loop;

/// Preparation of an operation in a fresh folder of the trial's own.
pub type Prepare = for<'a> fn(&'a Door) -> Result<Loop<'a>, Failure>;

/// Every operation that a description names, with its loop.
static LOOPS: &[(&str, Prepare)] = &[
    ("fstat", calls::fstat_pipe),
    ("futex", calls::wake_futex),
    ("signal", calls::raise_signal),
    ("stat", files::stat_file),
    ("stat-8", files::stat_deep),
    ("stat-missing", files::stat_missing),
    ("stat-new", files::stat_new),
    ("open", files::open_file),
    ("open-root", files::open_root),
    ("read-new", files::read_new),
    ("list", files::list_folder),
    ("read-1k", files::read_small),
    ("read-64k", files::read_large),
    ("write-1k", files::write_small),
    ("write-64k", files::write_large),
    ("map", memory::map_memory),
    ("map-file", memory::map_file),
    ("protect", memory::protect_memory),
    ("break", memory::grow_heap),
    ("new-page", memory::new_page),
    ("file-page", memory::file_page),
    ("copied-page", memory::copied_page),
    ("exec", processes::exec_program),
    ("spawn", processes::spawn_program),
    ("thread", processes::start_thread),
];

/// Finds how an operation is prepared, by its name.
pub fn find_operation(name: &str) -> Option<Prepare> {
    LOOPS.iter().find(|(known, _)| *known == name).map(|(_, prepare)| *prepare)
}

#[cfg(test)]
mod tests {
    use crate::descriptions::sys_operation::OPERATIONS;
    use crate::find_probe;
    use crate::probes::tests::{is_emulated, make_trial_request, run_trial};

    #[test]
    fn every_operation_does_what_it_says_as_often_as_it_says() {
        // QEMU knows threads of one shape alone, and this is another.
        for (operation, label) in OPERATIONS.iter().filter(|(name, _)| !is_emulated() || *name != "thread") {
            let probe = find_probe("sys.operation").unwrap();
            let done = run_trial(&make_trial_request(probe, &[("operation", operation)]));
            assert!(done.is_ok(), "{operation}: {done:?}");
            assert!(label.chars().count() <= 22, "{label} is too long for a row");
        }
    }
}
