//! Single operations that programs ask of a kernel, each in a loop by itself: what `sys.operation` can time.

mod calls;
mod files;
mod memory;
mod processes;
mod repeated;

use std::path::Path;

use tare_data::failure::Failure;

use self::repeated::Loop;

/// An operation, ready to be repeated.
pub struct Operation {
    /// The parameter's value.
    pub name: &'static str,
    /// What a row is headed with.
    pub label: &'static str,
    /// Makes what it needs in a fresh folder of the trial's own.
    pub prepare: for<'a> fn(&'a Path) -> Result<Loop<'a>, Failure>,
}

const fn operation(
    name: &'static str,
    label: &'static str,
    prepare: for<'a> fn(&'a Path) -> Result<Loop<'a>, Failure>,
) -> Operation {
    Operation { name, label, prepare }
}

/// Every operation.
pub static OPERATIONS: &[Operation] = &[
    operation("fstat", "fstat", calls::fstat),
    operation("futex", "futex wake, nobody", calls::futex),
    operation("signal", "signal to itself", calls::signal),
    operation("stat", "stat, 1 name", files::stat),
    operation("stat-8", "stat, 8 names deep", files::stat_deep),
    operation("stat-missing", "stat, not there", files::stat_missing),
    operation("open", "open + close", files::open),
    operation("list", "list 100 entries", files::list),
    operation("read-1k", "read 1 KiB", files::read_small),
    operation("read-64k", "read 64 KiB", files::read_large),
    operation("write-1k", "write 1 KiB", files::write_small),
    operation("write-64k", "write 64 KiB", files::write_large),
    operation("map", "map + unmap", memory::map),
    operation("map-file", "map a file, touch", memory::map_file),
    operation("protect", "protect a page", memory::protect),
    operation("break", "heap up and down", memory::grow_heap),
    operation("spawn", "vfork + wait", processes::spawn),
    operation("thread", "thread, start to end", processes::thread),
];

/// The operation of a name.
pub fn named(name: &str) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|operation| operation.name == name)
}

#[cfg(test)]
mod tests {
    use super::OPERATIONS;
    use crate::find;
    use crate::probes::tests::{request, run};

    #[test]
    fn every_operation_does_what_it_says_as_often_as_it_says() {
        for operation in OPERATIONS {
            let probe = find("sys.operation").unwrap();
            let done = run(&request(probe, &[("operation", operation.name)]));
            assert!(done.is_ok(), "{}: {done:?}", operation.name);
            assert!(operation.label.chars().count() <= 22, "{} is too long for a row", operation.label);
        }
    }
}
