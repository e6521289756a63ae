//! Changes that would save time or failures, the most telling first.

use tare_data::facts::Facts;
use tare_data::facts::keys::{CPUINFO_KIND, MARKS_SEEN, PLACE_OWN_TYPE, PROGRAM_MACHINE};

use super::Where;
use super::costs::{Cost, Durability, MOST_STOLEN, Operation, find_durability, has_fast_clock};
use super::layers::{Class, Confidence};
use super::limits::Limits;
use super::signs::View;

/// Least saving of a name, in ns, for which moving files is worth a word.
const WORTH_MOVING_NS: f64 = 1_000.0;
/// Time of a sync, in ns, from which on tests of databases wait for it most of the time.
const LONG_SYNC_NS: f64 = 1_000_000.0;
/// Largest number of changes that are named.
const MOST_CHANGES: usize = 2;
/// Socket by which the engine of containers outside takes orders.
const ENGINE_SOCKET: &str = "/var/run/docker.sock";

/// A change that would save time or failures.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Measure later or elsewhere: others take this share of the processors' time.
    AnotherTime { stolen: f64 },
    /// Use a program for the machine's processor, of this kind; none where the program is for it already.
    OwnProcessor { kind: Option<&'static str> },
    /// Give an emulated machine a hypervisor.
    Accelerate,
    /// Run as many jobs as the quota has processors.
    FewerJobs { granted: f64, visible: u64 },
    /// Run as many jobs as processors are allowed.
    JobsOfAllowed { allowed: u64, online: u64 },
    /// Move the files to another file system, where each name takes at least this much less; to the home, if it is on another one.
    MoveWork { saved_ns: f64, to_home: bool },
    /// Call less, or get rid of the layer that answers each call.
    FewerCalls { layer: &'static str },
    /// Read the clock less often.
    FewerClockReads,
    /// Raise the limit of open files.
    MoreFiles { files: u64 },
    /// Put what need not last into memory: a sync takes this long.
    SyncLess { ns: f64 },
    /// Keep elsewhere what must last.
    KeepElsewhere,
    /// Trust whoever runs here as root of the machine.
    SocketIsRoot,
}

/// Chooses changes, up to as many as are named.
pub fn choose_changes(facts: &Facts, found: &Where, limits: &Limits, costs: &[Cost]) -> Vec<Change> {
    let view = View(facts);
    let visible = limits.allowed.or(limits.online);
    let granted = limits.hidden_cpu.map(|found| found.cpus.middle).or(limits.cpu.map(|cpu| cpu.value));
    let quota = granted.zip(visible).filter(|(granted, visible)| granted.ceil() < *visible as f64);
    let quota = quota.map(|(granted, visible)| Change::FewerJobs { granted, visible });
    let fewer = limits.allowed.zip(limits.online).filter(|(allowed, online)| allowed < online);
    let fewer = fewer.map(|(allowed, online)| Change::JobsOfAllowed { allowed, online });
    let stolen = limits.stolen.filter(|stolen| *stolen > MOST_STOLEN);
    let is_boxed = found.layers.iter().any(|layer| layer.class == Class::Container);
    let has_socket = is_boxed && view.has_word(MARKS_SEEN, ENGINE_SOCKET);
    let all = [
        stolen.map(|stolen| Change::AnotherTime { stolen }),
        replace_emulator(view, found),
        quota.or(fewer),
        move_work(view, costs),
        call_less(found, costs),
        limits.files.map(|files| Change::MoreFiles { files }),
        sync_otherwise(view, costs, is_boxed || found.job.is_some()),
        has_socket.then_some(Change::SocketIsRoot),
    ];
    all.into_iter().flatten().take(MOST_CHANGES).collect()
}

fn replace_emulator(view: View<'_>, found: &Where) -> Option<Change> {
    let told = |layer: &&super::layers::Layer| layer.confidence > Confidence::Possible;
    let mut told = found.layers.iter().filter(told);
    let layer = told.find(|layer| layer.class == Class::Translator || layer.name == "qemu-tcg")?;
    if layer.class == Class::Machine {
        return Some(Change::Accelerate);
    }
    let kind = match (view.text(CPUINFO_KIND), view.text(PROGRAM_MACHINE)) {
        ("arm", _) => Some("linux/arm64"),
        ("riscv", _) => Some("linux/riscv64"),
        ("x86", "aarch64" | "riscv64") => Some("linux/amd64"),
        _ => None,
    };
    Some(Change::OwnProcessor { kind })
}

fn move_work(view: View<'_>, costs: &[Cost]) -> Option<Change> {
    let is_name = |cost: &&Cost| cost.operation == Operation::Name && cost.answer.kind().is_slower();
    let cost = costs.iter().find(is_name)?;
    let against = cost.against?;
    let saved_ns = cost.ns.low - against.high;
    let [work, home] = ["place.work.device", "place.home.device"].map(|key| view.text(key));
    (saved_ns >= WORTH_MOVING_NS)
        .then_some(Change::MoveWork { saved_ns, to_home: !home.is_empty() && home != work })
}

/// Finds the layer that answers calls, where they are slower than on any Linux, or the clock that needs one.
fn call_less(found: &Where, costs: &[Cost]) -> Option<Change> {
    let is_call = |cost: &Cost| cost.operation.is_call() && cost.answer.kind().is_slower();
    match found.find_server().filter(|_| costs.iter().any(is_call)) {
        Some(layer) => Some(Change::FewerCalls { layer: layer.name }),
        None => (has_fast_clock(costs) == Some(false)).then_some(Change::FewerClockReads),
    }
}

fn sync_otherwise(view: View<'_>, costs: &[Cost], is_job: bool) -> Option<Change> {
    match find_durability(view.0, costs)? {
        Durability::Nothing | Durability::NoLonger => Some(Change::KeepElsewhere),
        Durability::ReachesSomething => {
            let sync = costs.iter().find(|cost| cost.operation == Operation::Sync)?;
            let has_memory = ["tmpfs", "ramfs"].contains(&view.text(PLACE_OWN_TYPE));
            (is_job && has_memory && sync.ns.low > LONG_SYNC_NS)
                .then_some(Change::SyncLess { ns: sync.ns.middle })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::costs::compute_costs;
    use super::super::limits::read_limits;
    use super::super::recognise_layers;
    use super::super::tests::make_facts;
    use super::*;

    const SLOW: &str = "90000 90000 90000 90000 90000 90000 90000 90000";
    const QUICK: &str = "1000 1000 1000 1000 1000 1000 1000 1000";

    #[track_caller]
    fn expect(own: &[&str], more: &[(&str, &str)], expected: &[Change]) {
        let facts = make_facts(own, more);
        let found = recognise_layers(&facts);
        let costs = compute_costs(&facts, &found);
        assert_eq!(choose_changes(&facts, &found, &read_limits(&facts), &costs), expected, "{costs:#?}");
    }

    #[test]
    fn every_kind_of_place_has_its_change() {
        let slow = ("price.getppid", SLOW);
        expect(&[], &[], &[]);
        expect(&[], &[slow], &[]);
        let gvisor = ("kernel.release", "4.19.0-gvisor");
        expect(&[], &[gvisor, slow], &[Change::FewerCalls { layer: "gvisor" }]);
        expect(&[], &[gvisor, ("price.getppid", "100 100 100 100 100 100")], &[]);
        let proot = [("tracer", "7"), ("tracer.name", "proot"), slow];
        expect(&[], &proot, &[Change::FewerCalls { layer: "proot" }]);
        let supervised = [("seccomp.mode", "2"), ("seccomp.listener", "EBUSY"), ("price.open", SLOW)];
        expect(&[], &supervised, &[Change::FewerCalls { layer: "seccomp" }]);
        expect(&[], &[("seccomp.mode", "2"), ("seccomp.listener", "free"), ("price.open", SLOW)], &[]);
        let emulated = [("program.machine", "x86_64"), ("cpuinfo.kind", "arm")];
        expect(&[], &emulated, &[Change::OwnProcessor { kind: Some("linux/arm64") }]);
        let guest = [("cpuid.hypervisor", "yes"), ("cpuid.interfaces", "TCGTCGTCGTCG")];
        expect(&[], &guest, &[Change::Accelerate]);
        let half = [("limit.cpu", "0.5"), ("cpu.allowed", "2")];
        expect(&[], &half, &[Change::FewerJobs { granted: 0.5, visible: 2 }]);
        expect(&[], &[("cpu.stolen", "0.3")], &[Change::AnotherTime { stolen: 0.3 }]);
        let clock = [("cost.clock", QUICK), ("cost.clock_call", QUICK)];
        expect(&[], &clock, &[Change::FewerClockReads]);
    }

    #[test]
    fn files_are_moved_where_each_name_gains_and_to_the_home_where_it_is_elsewhere() {
        let slow = [("cost.name.work", SLOW), ("cost.name.own", QUICK), ("place.work.device", "0:5")];
        let saved_ns = 89_000.0;
        expect(&[], &slow, &[Change::MoveWork { saved_ns, to_home: false }]);
        let home = [&slow[..], &[("place.home.device", "8:1")]].concat();
        expect(&[], &home, &[Change::MoveWork { saved_ns, to_home: true }]);
    }

    #[test]
    fn syncs_are_spared_in_jobs_and_missed_where_files_must_last() {
        let long = ("cost.sync.work", "3e6 3e6 3e6 3e6 3e6 3e6");
        let sync = [long, ("cost.write.work", QUICK), ("place.own.type", "tmpfs")];
        expect(&[], &sync, &[]);
        let job = [&sync[..], &[("variables", "CI")]].concat();
        expect(&[], &job, &[Change::SyncLess { ns: 3e6 }]);
        expect(&[], &[("place.work.type", "tmpfs")], &[Change::KeepElsewhere]);
        let socket = ("marks", "/var/run/docker.sock");
        expect(&["mnt", "pid", "ipc", "uts"], &[socket], &[Change::SocketIsRoot]);
        expect(&[], &[socket], &[]);
    }
}
