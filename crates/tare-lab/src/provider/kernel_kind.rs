//! The kernel that an environment has: decides how its trials can take turns, how its bills are computed, and how long a start
//! settles.

use std::time::Duration;

use tare_data::session::Serving;

/// The kernel that an environment's processes run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelKind {
    /// This machine's. A process can be placed on a processor, with everything that works for it.
    Machine,
    /// This machine's, with a program that has a hand in every call and is not placed with the process.
    Supervised,
    /// Another one, of a guest or another machine: no memory is shared with a process here.
    Own,
}

/// Everything that differs by an environment's kernel.
#[derive(Clone, Copy, Debug)]
pub struct KernelFacts {
    pub kind: KernelKind,
    pub serving: Serving,
    pub settling: Settling,
    /// True where the kernel is the work of a process here, in which its own processes do not show.
    pub is_process: bool,
}

impl KernelFacts {
    /// This machine's kernel.
    pub(crate) const MACHINE: KernelFacts = KernelFacts {
        kind: KernelKind::Machine,
        serving: Serving::AT_ONCE,
        settling: Settling::NONE,
        is_process: false,
    };
    /// Tells whether it is an ordinary kernel that boots, which takes seconds; that of a runtime is there at once.
    pub fn is_guest(&self) -> bool {
        self.kind == KernelKind::Own && self.settling.longest.is_zero()
    }

    /// This machine's kernel, or one that a runtime puts in its place.
    pub(crate) const OF_RUNTIME: KernelFacts = KernelFacts {
        kind: KernelKind::Machine,
        serving: Serving::AT_ONCE,
        settling: Settling::OF_RUNTIME,
        is_process: false,
    };
    /// This machine's kernel, and a tracer, which serves one process at a time. It shares the processor of a loop, but not that of a
    /// program, and there a call costs four times as much: 1.23 in proot, and 0.95 on a machine with one processor.
    pub(crate) const TRACED: KernelFacts = KernelFacts {
        kind: KernelKind::Supervised,
        serving: Serving { one_at_a_time: true, beside: 1.2, beside_pinned: 1.0 },
        settling: Settling::NONE,
        is_process: false,
    };
    /// An ordinary kernel that is a process of this machine.
    pub(crate) const GUEST: KernelFacts = KernelFacts { is_process: true, ..KernelFacts::OWN };
    /// An ordinary kernel that is not this machine's.
    pub(crate) const OWN: KernelFacts = KernelFacts {
        kind: KernelKind::Own,
        serving: Serving::AT_ONCE,
        settling: Settling::NONE,
        is_process: false,
    };
}

/// Time after a start in which each read of the clock is a system call.
#[derive(Clone, Copy, Debug)]
pub struct Settling {
    /// Time in which a start is not itself yet, so that the next one is entered ahead.
    pub usual: Duration,
    /// Time for which the agent waits, from its own start, while the clock is slow.
    pub longest: Duration,
}

impl Settling {
    /// A clock that stays as it is: that of user-mode Linux, and of some emulated machines, always takes a system call.
    pub(crate) const NONE: Settling = Settling { usual: Duration::ZERO, longest: Duration::ZERO };
    /// The clock of a kernel that a runtime may bring; gVisor's took 0.9 to 1.2 s.
    pub(crate) const OF_RUNTIME: Settling =
        Settling { usual: Duration::ZERO, longest: Duration::from_secs(2) };
}
