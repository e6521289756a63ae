//! Signs by which an environment is recognised: facts of `here` that cost a few reads from the kernel, for an agent's first frame.

use tare_data::facts::Facts;

/// Number of the kernel's boot.
pub const BOOT: &str = "kernel.boot";
/// Answer when this process asks for a namespace of the one that started it: `shown`, or `refused`.
pub const PARENT: &str = "parent";

#[cfg(unix)]
const BOOT_FILE: &str = "/proc/sys/kernel/random/boot_id";

/// Collects the signs of this process's environment. One that is not shown is absent.
#[cfg(unix)]
pub fn collect_signs() -> Facts {
    use crate::here::{first, kin, machine, namespaces, steps};

    let mut signs = steps::note_facts(|noting| {
        first::note_all(noting);
        namespaces::note_numbers(noting);
        machine::note_listing(noting);
        noting.add_fact(PARENT, ask_parent().unwrap_or_default());
        noting.add_fact(BOOT, read_boot().unwrap_or_default());
    });
    let tracer = signs.get_integer("tracer");
    signs.0.extend(steps::note_facts(|noting| kin::note_tracer(noting, tracer)).0);
    signs
}

/// Collects nothing: Windows shows none of these.
#[cfg(windows)]
pub fn collect_signs() -> Facts {
    Facts::default()
}

/// Reads the number of the boot. Some containers mount a number of their own over it, which a new /proc does not have.
#[cfg(unix)]
fn read_boot() -> Option<String> {
    let device = |path: &str| rustix::fs::stat(path).ok().map(|about| about.st_dev);
    let is_kernels = device(BOOT_FILE)? == device("/proc")?;
    is_kernels.then(|| crate::here::bounded::read_line(BOOT_FILE))?
}

/// Asks for a namespace of the process that started this one, of the same user: rules of Landlock refuse it, which are not the parent's.
#[cfg(unix)]
fn ask_parent() -> Option<&'static str> {
    use rustix::io::Errno;

    let parent = rustix::process::getppid()?.as_raw_nonzero();
    match rustix::fs::readlinkat(rustix::fs::CWD, format!("/proc/{parent}/ns/mnt"), Vec::new()) {
        Ok(_) => Some("shown"),
        Err(Errno::ACCESS | Errno::PERM) => Some("refused"),
        Err(_) => None,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn this_machine_shows_its_signs() {
        let signs = collect_signs();
        for key in
            ["kernel.release", "kernel.machine", BOOT, "tracer", "namespace.pid", "namespace.mnt", PARENT]
        {
            assert!(signs.get(key).is_some(), "{key} is absent");
        }
        let again = collect_signs();
        for (key, value) in signs.0.iter().filter(|(key, _)| key.starts_with("namespace.") || *key == BOOT) {
            assert_eq!(again.get(key), Some(value.as_str()));
        }
    }
}
