//! Plans of earlier versions, which lack the declarations of their cases: they are added as those versions knew them.
//!
//! This table is about records that exist and never changes: today's declarations of a probe are in its description.

use serde_json::Value;
use tare_data::names::{Case, USER};
use tare_data::session::Plan;
use tare_data::session::declared::{Alternation, Batching, Declared, Promise, Times};

/// Opening of a plan's JSON.
const PLAN: &[u8] = br#"{"plan":"#;

/// Reads the line of a plan that lacks the declarations of its cases.
pub(crate) fn plan_from_json(json: &[u8]) -> Option<Plan> {
    if !json.starts_with(PLAN) {
        return None;
    }
    let mut entry: Value = serde_json::from_slice(json).ok()?;
    let plan = entry.get_mut("plan")?;
    for planned in plan.get_mut("cases")?.as_array_mut()? {
        if planned.get("declared").is_none() {
            let case: Case = serde_json::from_value(planned.get("case")?.clone()).ok()?;
            let declared = serde_json::to_value(declared(&case)).ok()?;
            planned.as_object_mut()?.insert("declared".to_owned(), declared);
        }
    }
    serde_json::from_value(plan.take()).ok()
}

fn declared(case: &Case) -> Declared {
    let parameter = |key| case.parameters.get_text(key).unwrap_or_default();
    let probe = case.probe.as_str();
    let writes = parameter("op") != "read";
    let syncs = match probe {
        "file.sync" => true,
        "file.seq" => writes && matches!(parameter("sync"), "fdatasync" | "fsync" | "dsync"),
        "file.random" => parameter("mode") != "rndrd" && parameter("fsync_every") != "0",
        _ => false,
    };
    let is_direct = match writes {
        _ if probe == "file.queue" => true,
        true => parameter("sync").contains("direct"),
        false => parameter("cache").contains("direct"),
    };
    let promises = [
        (Promise::Sync, syncs),
        (Promise::EachWrite, probe == "file.seq" && writes && parameter("sync") == "dsync"),
        (Promise::Direct, is_direct),
        (Promise::CacheControl, !writes && parameter("cache") == "cold"),
        (Promise::MemoryCounters, matches!(probe, "proc.fork_hold" | "proc.thread_hold")),
    ];
    let rests_on = promises.into_iter().filter_map(|(promise, rests)| rests.then_some(promise)).collect();
    let times = match probe {
        "mem.copy" | "mem.latency" | "null" | "time.read" | "time.spin" => Times::Processor,
        _ if probe.split('.').next() == Some("cpu") => Times::Processor,
        _ => Times::System,
    };
    let batching = match probe {
        "ipc.context" | "ipc.unix" | "net.rr" => Batching::Placed,
        _ if probe.starts_with(USER) => Batching::Runs,
        _ => Batching::Short,
    };
    Declared { rests_on, times, batching, alternation: Alternation::Alone }
}

#[cfg(test)]
mod tests {
    use tare_data::names::Parameters;

    use super::*;

    #[test]
    fn probes_of_earlier_versions_declare_what_those_versions_knew() {
        use Batching::{Placed, Runs, Short};
        use Promise::{CacheControl, Direct, EachWrite, MemoryCounters, Sync};
        use Times::{Processor, System};

        type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a [Promise], Times, Batching);
        let rows: [Row<'_>; 26] = [
            ("file.sync", &[], &[Sync], System, Short),
            ("file.seq", &[("op", "write"), ("sync", "fdatasync")], &[Sync], System, Short),
            ("file.seq", &[("sync", "fsync")], &[Sync], System, Short),
            ("file.seq", &[("op", "write"), ("sync", "dsync")], &[Sync, EachWrite], System, Short),
            ("file.seq", &[("op", "write"), ("sync", "direct")], &[Direct], System, Short),
            ("file.seq", &[("op", "write"), ("sync", "none"), ("cache", "cold")], &[], System, Short),
            ("file.seq", &[("op", "read"), ("sync", "fdatasync"), ("cache", "warm")], &[], System, Short),
            (
                "file.seq",
                &[("op", "read"), ("sync", "none"), ("cache", "cold")],
                &[CacheControl],
                System,
                Short,
            ),
            ("file.seq", &[("op", "read"), ("sync", "none"), ("cache", "direct")], &[Direct], System, Short),
            ("file.random", &[("mode", "rndrw")], &[Sync], System, Short),
            ("file.random", &[("mode", "rndrd"), ("fsync_every", "100")], &[], System, Short),
            ("file.random", &[("mode", "rndrw"), ("fsync_every", "0")], &[], System, Short),
            ("file.queue", &[("op", "read")], &[Direct], System, Short),
            ("file.copy", &[], &[], System, Short),
            ("file.meta", &[], &[], System, Short),
            ("proc.fork_hold", &[], &[MemoryCounters], System, Short),
            ("proc.thread_hold", &[], &[MemoryCounters], System, Short),
            ("cpu.primes", &[], &[], Processor, Short),
            ("cpu.of_long_ago", &[], &[], Processor, Short),
            ("mem.copy", &[], &[], Processor, Short),
            ("mem.fault", &[], &[], System, Short),
            ("time.spin", &[], &[], Processor, Short),
            ("time.wakeup", &[], &[], System, Short),
            ("ipc.unix", &[], &[], System, Placed),
            ("net.rr", &[], &[], System, Placed),
            ("user.build", &[], &[], System, Runs),
        ];
        for (probe, parameters, rests_on, times, batching) in rows {
            let parameters = parameters.iter().map(|(key, value)| (key.to_string(), value.to_string()));
            let parameters = Parameters(parameters.collect());
            let case = Case { probe: probe.into(), parameters, place: None, peer: None };
            let expected =
                Declared { rests_on: rests_on.to_vec(), times, batching, alternation: Alternation::Alone };
            assert_eq!(declared(&case), expected, "{case}");
        }
    }
}
