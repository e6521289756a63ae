//! What providers with a kernel of their own share: the kernel, what it boots from, and tare as its first process.

pub(crate) mod disk;
pub mod extended_state;
pub(crate) mod init;
pub(crate) mod initrd;
pub(crate) mod kernel;
pub mod kvm;
#[cfg(target_arch = "x86_64")]
mod kvm_proof;
pub(crate) mod machine;
pub(crate) mod memory;
pub(crate) mod share_server;
pub(crate) mod tsc_rate;
