//! Operations that are timed, and the cycles that they take at most on any Linux that we know.

use tare_data::facts::keys::COST_CLOCK_CALL;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    SystemCall,
    PageFault,
    /// The clock, against the same by a call.
    Clock,
    /// A name that was looked up just before.
    Name,
    /// A name that nobody looked up, against the same name again.
    NewName,
    Sync,
    /// A millisecond of a processor's time that is used for long, against one at first.
    SteadyCpu,
    /// A function that was never run, against the same again.
    NewCode,
    /// Another one, by its name.
    Priced(&'static str),
}

impl Operation {
    /// Checks if it is a single system call of one process.
    pub fn is_call(self) -> bool {
        const CALLS: [&str; 8] =
            ["stat", "stat-missing", "open", "open-root", "create", "read-1k", "write-1k", "clock-call"];
        match self {
            Operation::SystemCall => true,
            Operation::Priced(name) => CALLS.contains(&name),
            _ => false,
        }
    }

    /// Returns its name in documents for programs.
    pub fn name(self) -> &'static str {
        match self {
            Operation::SystemCall => "system_call",
            Operation::PageFault => "page_fault",
            Operation::Clock => "clock",
            Operation::Name => "name",
            Operation::NewName => "new_name",
            Operation::Sync => "sync",
            Operation::SteadyCpu => "steady_cpu",
            Operation::NewCode => "new_code",
            Operation::Priced(name) => name,
        }
    }
}

/// Processes that take part in an operation, and where they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processes {
    One,
    /// Two that wait for each other on one processor.
    Together,
    /// Two that run apart where there are more processors.
    Apart,
}

/// An operation of which it is known how long it takes at most.
pub struct Priced {
    pub operation: Operation,
    /// Fact that holds its times.
    pub key: &'static str,
    /// The most cycles that it takes on a Linux without layers.
    pub most_cycles: f64,
    pub processes: Processes,
}

impl Priced {
    /// Tells whether another price stands for it: an open of / is told only where that of a file in memory is not known.
    pub fn is_needless(&self, is_known: impl Fn(&str) -> bool) -> bool {
        self.key == "price.open-root" && is_known("price.open")
    }
}

/// Times by which a price may be higher on another machine than on the one where it was measured, by its processor, kernel and mitigations
/// together: a guess on the safe side, until more machines are measured.
const WIDER: f64 = 4.0;

/// Makes an operation of what it took at most on an AMD EPYC (family 25, model 17) as a KVM guest with Linux 6.18 and its usual mitigations, in
/// three sessions of 14 starts.
const fn priced(operation: Operation, key: &'static str, cycles: f64) -> Priced {
    Priced { operation, key, most_cycles: WIDER * cycles, processes: Processes::One }
}

const fn other(name: &'static str, key: &'static str, cycles: f64) -> Priced {
    priced(Operation::Priced(name), key, cycles)
}

const fn apart(name: &'static str, key: &'static str, cycles: f64) -> Priced {
    Priced { processes: Processes::Apart, ..other(name, key, cycles) }
}

/// Every operation that has a price, in the order in which they are shown.
pub static PRICED: [Priced; 18] = [
    priced(Operation::SystemCall, "price.getppid", 522.0),
    priced(Operation::PageFault, "price.new-page", 6_159.0),
    apart("fork", "price.fork", 792_633.0),
    apart("exec", "price.exec", 674_474.0),
    apart("thread", "price.thread", 155_330.0),
    Priced { processes: Processes::Together, ..other("switch", "price.switch", 19_997.0) },
    other("pipe", "price.pipe", 2_176.0),
    other("futex", "price.futex", 668.0),
    other("signal", "price.signal", 9_969.0),
    other("file-page", "price.file-page", 1_025.0),
    other("stat", "price.stat", 2_886.0),
    other("stat-missing", "price.stat-missing", 5_848.0),
    other("open", "price.open", 6_058.0),
    // By its ratio to `open`, beside which it took 1.05 times as long in 36 batches.
    other("open-root", "price.open-root", 6_361.0),
    other("create", "price.create", 27_835.0),
    other("read-1k", "price.read-1k", 1_381.0),
    other("write-1k", "price.write-1k", 1_757.0),
    other("clock-call", COST_CLOCK_CALL, 1_100.0),
];
