//! Operations that are timed, and the scale in which books have their prices.

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
    /// Another that has a price in books, by its name there.
    Priced(&'static str),
}

impl Operation {
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

/// Scale in which a price is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    Cycles,
    /// The clock is read at the pace of the timer, whatever the processor's.
    Nanoseconds,
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

/// An operation with a price.
pub struct Priced {
    pub operation: Operation,
    /// Its name in books.
    pub name: &'static str,
    /// Fact that holds its times.
    pub key: &'static str,
    pub scale: Scale,
    pub processes: Processes,
}

const fn priced(operation: Operation, name: &'static str, key: &'static str) -> Priced {
    Priced { operation, name, key, scale: Scale::Cycles, processes: Processes::One }
}

const fn apart(name: &'static str, key: &'static str) -> Priced {
    Priced { processes: Processes::Apart, ..other(name, key) }
}

const fn other(name: &'static str, key: &'static str) -> Priced {
    priced(Operation::Priced(name), name, key)
}

/// Every operation that has a price, in the order in which they are shown.
pub static PRICED: [Priced; 19] = [
    priced(Operation::SystemCall, "getppid", "price.getppid"),
    priced(Operation::PageFault, "new-page", "price.new-page"),
    apart("fork", "price.fork"),
    apart("exec", "price.exec"),
    apart("thread", "price.thread"),
    Priced { processes: Processes::Together, ..other("switch", "price.switch") },
    other("pipe", "price.pipe"),
    other("futex", "price.futex"),
    other("signal", "price.signal"),
    other("file-page", "price.file-page"),
    other("stat", "price.stat"),
    other("stat-missing", "price.stat-missing"),
    other("open", "price.open"),
    other("create", "price.create"),
    other("read-1k", "price.read-1k"),
    other("write-1k", "price.write-1k"),
    Priced { scale: Scale::Nanoseconds, ..other("clock-read", "price.clock-read") },
    other("clock-call", "cost.clock_call"),
    other("cpuid", "price.cpuid"),
];
