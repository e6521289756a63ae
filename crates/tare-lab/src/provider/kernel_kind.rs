//! The kind of kernel that an environment has, which decides how its trials can take turns.

/// The kernel that an environment's processes run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KernelKind {
    /// This machine's. A process can be placed on a processor, with everything that works for it.
    Machine,
    /// This machine's, with a program that has a hand in every call and is not placed with the process.
    Supervised,
    /// Another one, of a guest or another machine: no memory is shared with a process here.
    #[default]
    Own,
}
