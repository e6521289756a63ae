//! Shared parts of providers with a kernel of their own: the kernel, what it boots from, and tare as its first process.

#[cfg(unix)]
pub(crate) mod confined;
#[cfg(unix)]
pub(crate) mod disk;
#[cfg(unix)]
pub mod extended_state;
#[cfg(unix)]
pub(crate) mod init;
#[cfg(unix)]
pub(crate) mod initrd;
#[cfg(unix)]
pub(crate) mod kernel;
#[cfg(unix)]
pub mod kvm;
#[cfg(all(unix, target_arch = "x86_64"))]
mod kvm_proof;
pub(crate) mod machine;
#[cfg(unix)]
pub(crate) mod memory;
#[cfg(unix)]
pub(crate) mod share_server;
#[cfg(unix)]
pub(crate) mod tsc_rate;
