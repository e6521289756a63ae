//! `file.meta`: small files created, statted, opened, renamed, listed and deleted.
//!
//! What git status, npm install and tar do all day. Files of 1 KiB in folders of 100, each step over all of
//! them before the next: create = open, write, close; stat = fstatat; open = open, close; rename within the
//! folder; list = open the folder, getdents until it is empty, close; unlink. Paths are relative to an open
//! folder and have one folder in them. One operation is one file through all six steps.
//!
//! Since revision 2 each trial has its folder somewhere else on an ext4 disk: before, the files that earlier trials had
//! deleted within the last minute made each create slower, from 13 us in the first round to 450 us in the 36th. Since revision 3
//! batches share folders, each of which has 100 files in its life: a folder for each batch took 4 ms to remove on some disks.

use crate::probe::describing::*;

pub static PROBE: Probe = Probe {
    name: "file.meta",
    title: "small file lifecycle",
    summary: "Small files created, statted, opened, renamed, listed and deleted: time per file for all six steps.",
    timed: "each of the six steps over all files of a batch, without a clock read between files",
    not_timed: "creating the folders, and removing them after the trial",
    distorted_by: "age of the folder and of the file system; on ext4, files that anybody deleted near the place within the last minute; journal settings; indexers and scanners that watch the place",
    parameters: &[],
    metrics: &[
        time_metric("time", "file"),
        time_metric("create", "create"),
        time_metric("stat", "stat"),
        time_metric("open", "open"),
        time_metric("rename", "rename"),
        time_metric("list", "list"),
        time_metric("unlink", "unlink"),
    ],
    family: Family::Files { rests_on: |_| Storage::PageCache, apart: true },
    alternates: |_| Alternates::OneProcessor,
    revision: 3,
    label: |_| "small file lifecycle".into(),
};
