//! Facts of the environment itself, each from the system call, instruction or file that knows it.

use tare_data::facts::Facts;
use tare_data::facts::keys::{
    KERNEL_BUILD, KERNEL_COMMAND_LINE, KERNEL_MACHINE, KERNEL_NAME, KERNEL_RELEASE, KERNEL_VERSION,
    LIMIT_MEMORY, MACHINE_PRODUCT, MACHINE_VENDOR, MEMORY_TOTAL_BYTES, PROCESS_STORE_BYPASS, ROOT_TYPE,
    WSL_VERSION,
};

use super::{clock as reads, control_groups, inherited, mounts, network, processor};
use crate::harness::kernel_files::{note_file, read_text};

pub fn note_all(facts: &mut Facts) {
    kernel(facts);
    processor::note_all(facts);
    clock(facts);
    memory(facts);
    process(facts);
    limits(facts);
    network::note_all(facts);
    machine(facts);
    if let Some(name) = mounts::file_system_name("/".as_ref()) {
        facts.add_fact(ROOT_TYPE, name);
    }
}

fn kernel(facts: &mut Facts) {
    let names = rustix::system::uname();
    facts.add_fact(KERNEL_NAME, names.sysname().to_string_lossy());
    facts.add_fact(KERNEL_RELEASE, find_release(&names.release().to_string_lossy()));
    facts.add_fact(KERNEL_VERSION, names.version().to_string_lossy());
    facts.add_fact(KERNEL_MACHINE, names.machine().to_string_lossy());
    // WSL 1 and gVisor identify themselves here, and only here.
    note_file(facts, KERNEL_BUILD, "/proc/version");
    note_file(facts, KERNEL_COMMAND_LINE, "/proc/cmdline");
    let wsl = wsl_version(&names.release().to_string_lossy());
    facts.add_fact(WSL_VERSION, wsl);
    if !wsl.is_empty() {
        facts.add_fact("wsl.drives", find_drives_type(&mounts::list_mounts().unwrap_or_default()));
    }
}

/// Finds the type of file system by which WSL mounts the drives of Windows: drvfs in version 1; in version 2 9P, and virtiofs
/// since mid-2026. Empty where none is mounted at its usual place.
fn find_drives_type(mounts: &[mounts::Mount]) -> &str {
    let is_drive = |mount: &&mounts::Mount| {
        let name = mount.point.to_str().and_then(|point| point.strip_prefix("/mnt/")).unwrap_or_default();
        let is_known = ["9p", "virtiofs", "drvfs"].contains(&mount.filesystem.as_str());
        is_known && name.len() == 1 && name.bytes().all(|letter| letter.is_ascii_lowercase())
    };
    mounts.iter().rfind(is_drive).map_or("", |mount| &mount.filesystem)
}

/// Derives the version of WSL from the names of its kernels, which Microsoft builds: `4.4.0-19041-Microsoft`,
/// and `5.15.167.4-microsoft-standard-WSL2`. Empty elsewhere.
fn wsl_version(release: &str) -> &'static str {
    match () {
        () if release.ends_with("-Microsoft") => "1",
        () if release.contains("microsoft") => "2",
        () => "",
    }
}

/// Describes the machine by its firmware, or whatever replaces it.
fn machine(facts: &mut Facts) {
    note_file(facts, MACHINE_VENDOR, "/sys/class/dmi/id/sys_vendor");
    note_file(facts, MACHINE_PRODUCT, "/sys/class/dmi/id/product_name");
}

fn clock(facts: &mut Facts) {
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    note_file(facts, "clock.source", source);
    let resolution = rustix::time::clock_getres(rustix::time::ClockId::Monotonic);
    facts.add_fact(
        "clock.resolution_ns",
        (resolution.tv_sec * 1_000_000_000 + resolution.tv_nsec).to_string(),
    );
    reads::note_all(facts);
}

fn memory(facts: &mut Facts) {
    facts.add_fact("memory.page_bytes", rustix::param::page_size().to_string());
    let about = rustix::system::sysinfo();
    let total = u64::from(about.mem_unit).saturating_mul(about.totalram);
    facts.add_fact(MEMORY_TOTAL_BYTES, total.to_string());
    if let Some(modes) = read_text("/sys/kernel/mm/transparent_hugepage/enabled") {
        // `always [madvise] never`: the one in brackets holds.
        let chosen = modes.split(['[', ']']).nth(1).unwrap_or_default();
        facts.add_fact("memory.huge_pages", chosen);
    }
}

fn process(facts: &mut Facts) {
    facts.add_fact("process.uid", rustix::process::getuid().as_raw().to_string());
    let status = read_text("/proc/self/status").unwrap_or_default();
    for (key, line) in [
        ("process.capabilities", "CapEff:"),
        ("process.seccomp", "Seccomp:"),
        ("process.seccomp_filters", "Seccomp_filters:"),
        ("process.no_new_privileges", "NoNewPrivs:"),
        // Filters of system calls switched these off for their processes before Linux 5.16 (proc(5), PR_SET_SPECULATION_CTRL).
        (PROCESS_STORE_BYPASS, "Speculation_Store_Bypass:"),
        ("process.indirect_branch", "SpeculationIndirectBranch:"),
    ] {
        let value = status.lines().find_map(|text| text.strip_prefix(line));
        facts.add_fact(key, value.unwrap_or_default().trim());
    }
    inherited::note_process("/proc/self", &read_text, facts);
    note_file(facts, "process.label", "/proc/self/attr/current");
    note_file(facts, "security.modules", "/sys/kernel/security/lsm");
}

/// Finds the release of the kernel: a personality for old programs calls every one 2.6, which the vDSO does not.
fn find_release(named: &str) -> String {
    let own = named.starts_with("2.6.").then(crate::harness::vdso::read_release).flatten();
    own.unwrap_or_else(|| named.to_owned())
}

/// Notes the limits that this process's control groups and their parents set.
fn limits(facts: &mut Facts) {
    let mounts = mounts::list_mounts().unwrap_or_default();
    control_groups::note_all("/proc/self".as_ref(), &mounts, &read_text, facts);
}

/// Reads the memory limit of this process's control groups, in bytes.
pub(crate) fn read_memory_limit() -> Option<u64> {
    let mut facts = Facts::default();
    limits(&mut facts);
    facts.get_integer(LIMIT_MEMORY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_kernel_reports_is_there() {
        let mut facts = Facts::default();
        note_all(&mut facts);
        for key in ["kernel.release", "cpu.count", "clock.step_ns", "memory.page_bytes", "root.type"] {
            assert!(facts.get(key).is_some(), "{key} is absent");
        }
        assert!(facts.get_integer("clock.step_ns").unwrap() > 0);
    }

    #[test]
    fn a_personality_for_old_programs_hides_no_release() {
        assert_eq!(find_release("6.18.44-cloud"), "6.18.44-cloud");
        let of_vdso = crate::harness::vdso::read_release();
        assert_eq!(find_release("2.6.78"), of_vdso.unwrap_or_else(|| "2.6.78".to_owned()));
    }

    #[test]
    fn drives_of_windows_are_mounted_by_one_of_three() {
        let mount = |point: &str, filesystem: &str| mounts::Mount {
            number: "0:40".into(),
            root: "/".into(),
            point: point.into(),
            filesystem: filesystem.into(),
            source: "drvfs".into(),
            options: "rw".into(),
        };
        let found = |mounts: &[mounts::Mount]| find_drives_type(mounts).to_owned();
        assert_eq!(found(&[mount("/", "ext4"), mount("/mnt/c", "9p"), mount("/mnt/wslg", "tmpfs")]), "9p");
        assert_eq!(found(&[mount("/mnt/c", "virtiofs")]), "virtiofs");
        assert_eq!(found(&[mount("/mnt/c", "drvfs")]), "drvfs");
        assert_eq!(found(&[mount("/mnt/c", "ext4"), mount("/mnt/wsl", "9p")]), "");
    }

    #[test]
    fn versions_of_wsl_are_recognised_by_their_kernels() {
        assert_eq!(wsl_version("4.4.0-19041-Microsoft"), "1");
        assert_eq!(wsl_version("5.15.167.4-microsoft-standard-WSL2"), "2");
        assert_eq!(wsl_version("6.18.44"), "");
    }
}
