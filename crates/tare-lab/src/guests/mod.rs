//! What providers with a kernel of their own share: the kernel, what it boots from, and tare as its first process.

pub mod disk;
pub mod extended_state;
pub mod init;
pub mod initrd;
pub mod kernel;
pub mod kvm;
pub mod memory;
pub mod share_server;
pub mod tsc_rate;
