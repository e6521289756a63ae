//! Signs by which an environment is recognised: its kernel, its boot, its namespaces, and who traces the agent.
//!
//! They are read once, before the first frame, and cost a few system calls.

use tare_data::facts::Facts;

#[cfg(unix)]
use crate::harness::kernel_files::read_text;

/// Process that traces the agent; 0 for none.
pub const TRACER: &str = "sign.tracer";
/// Number of the kernel's boot.
pub const BOOT: &str = "sign.boot";
/// Release and build of the kernel, as uname(2) reports them.
pub const KERNEL: &str = "sign.kernel";
/// Processor that the kernel reports.
pub const MACHINE: &str = "sign.machine";
/// Prefix of a namespace's key, before the name of its kind in /proc/self/ns.
pub const NAMESPACE: &str = "sign.ns.";

#[cfg(unix)]
const BOOT_FILE: &str = "/proc/sys/kernel/random/boot_id";
/// Kinds of namespaces, as named in /proc/self/ns.
#[cfg(unix)]
const KINDS: [&str; 7] = ["cgroup", "ipc", "mnt", "net", "pid", "user", "uts"];

/// Collects the signs of this process's environment. One that is not shown is absent.
#[cfg(unix)]
pub fn collect_signs() -> Facts {
    let mut signs = Facts::default();
    let uname = rustix::system::uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    signs.add_fact(KERNEL, format!("{} {}", text(uname.release()), text(uname.version())));
    signs.add_fact(MACHINE, text(uname.machine()));
    // Some containers mount a number of their own over it, which a new /proc does not have.
    let is_kernels = device(BOOT_FILE).is_some_and(|number| Some(number) == device("/proc"));
    if is_kernels {
        signs.add_fact(BOOT, read_text(BOOT_FILE).unwrap_or_default().trim());
    }
    let status = read_text("/proc/self/status").unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    signs.add_fact(TRACER, tracer.unwrap_or_default().trim());
    for kind in KINDS {
        if let Ok(namespace) = std::fs::read_link(format!("/proc/self/ns/{kind}")) {
            signs.add_fact(format!("{NAMESPACE}{kind}"), namespace.to_string_lossy());
        }
    }
    signs
}

/// Returns the number of the file system of a file.
#[cfg(unix)]
fn device(path: &str) -> Option<u64> {
    rustix::fs::stat(path).ok().map(|about| about.st_dev)
}

/// Collects nothing: Windows shows none of these.
#[cfg(windows)]
pub fn collect_signs() -> Facts {
    Facts::default()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn this_machine_shows_its_signs() {
        let signs = collect_signs();
        for key in [KERNEL, MACHINE, BOOT, TRACER, "sign.ns.pid", "sign.ns.mnt"] {
            assert!(signs.get(key).is_some(), "{key} is absent");
        }
        assert_eq!(signs, collect_signs());
    }
}
