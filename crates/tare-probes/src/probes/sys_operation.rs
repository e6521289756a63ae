//! `sys.operation`: one operation that programs ask of a kernel, by name: the prices of which a program's bill is made.
//!
//! Files are small and in every cache, so that what is timed is the call and the layers on its way, not a disk. Each
//! operation counts those that did what they should.

use crate::operations::named;
use crate::probe::prelude::*;

pub static PROBE: Probe = Probe {
    name: "sys.operation",
    title: "one operation",
    summary: "One operation that programs ask of a kernel, by name: a call, a path, a read, a mapping, a process.",
    timed: "a loop of the operation, without a clock read between them",
    not_timed: "making the files and folders that it needs",
    distorted_by: "seccomp filters, ptrace, mitigations; the caches of a layer, which hold one hot path and not thousands",
    parameters: &[Parameter::same(
        "operation",
        "fstat",
        "which one: fstat, stat, open, read-1k, map, spawn and so on",
    )],
    metrics: &[time("time", "operation"), first("operation")],
    needs: &[Need::Place],
    revision: 1,
    label: |parameters| {
        let operation = parameters.text("operation").ok().and_then(named);
        operation.map_or("one operation", |operation| operation.label).to_owned()
    },
    run: |trial| {
        let name = trial.parameters().text("operation")?;
        let operation =
            named(name).ok_or_else(|| broken("parameter operation", "it is not one of the operations"))?;
        let mut repeat = (operation.prepare)(trial.directory()?)?;
        trial.repeat(|operations, report| {
            let (stopwatch, right) = repeat(operations).map_err(|e| broken(operation.name, e))?;
            prove(operation.name, right, operations)?;
            report.throughput("operation", operations, &stopwatch);
            Ok(())
        })
    },
};
