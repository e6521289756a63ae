//! Kernels in place of the machine's Linux: gVisor, user-mode Linux, WSL, and the compatible ones of other systems.

use super::layers::{Class, Confidence, Layer};
use super::signs::{Signs, Strength, View, parse_release};
use tare_data::facts::keys::{
    BOOT_WORDS, CODE_AFTER, CODE_BEFORE, CPUID_INTERFACES, CPUINFO_KIND, CYCLES_CALL, KERNEL_BUILD,
    KERNEL_LOG, KERNEL_OSRELEASE, KERNEL_RELEASE, KERNEL_VERSION, MARKS_SEEN, MOUNTS_SIGNS, NAMESPACE_MNT,
    PTRACE_REQUEST, ROOT_TYPE, SECCOMP_LISTENER, SECCOMP_ROOM, VARIABLES_SET, VDSO_RELEASE,
};

/// Build date that gVisor gives, which no Linux has.
const BUILD_DATE: &str = "Sun Jan 10 15:06:54 PST 2016";
/// Code before and after gVisor's systrap has rewritten it: a call, and a jump by a table at a fixed address.
const CALL_CODE: &str = "b86e0000000f05c3";
const JUMP_CODE: &str = "ff2425";
/// Numbers of namespaces: gVisor counts its own from 1, Linux from 4,026,531,834.
const SMALL_NUMBER: u64 = 1_000;
const FEWEST_SMALL: usize = 3;
/// Cycles of a cheap call by gVisor's platform: 66,000 seen by ptrace, 4,000 to 9,000 by systrap.
const PTRACE_CYCLES: f64 = 12_000.0;
const KVM_CYCLES: f64 = 3_500.0;
/// A call that takes longer is not answered by the processor's kernel mode alone.
const SLOW_CALL_CYCLES: f64 = 9_000.0;

/// Recognises kernels; `translated` says that times tell nothing.
pub(super) fn recognise_kernels(view: View<'_>, translated: bool) -> Vec<Layer> {
    let gvisor = recognise_gvisor(view);
    let uml = recognise_uml(view);
    let wsl = recognise_wsl(view);
    let other = recognise_other_systems(view);
    let mut known: Vec<Layer> = [gvisor, uml, wsl, other].into_iter().flatten().collect();
    if known.is_empty() && !translated {
        known.extend(recognise_slow_kernel(view));
    }
    known
}

fn recognise_gvisor(view: View<'_>) -> Option<Layer> {
    use Strength::{Act, Name};
    let mut signs = Signs::default();
    let is_rewritten = view.text(CODE_BEFORE) == CALL_CODE && view.text(CODE_AFTER).starts_with(JUMP_CODE);
    let rewritten =
        view.evidence(CODE_AFTER, "the code of a system call was replaced by a jump, as systrap does");
    signs.note(is_rewritten, Act, rewritten);
    let is_boundless = view.text(SECCOMP_ROOM).ends_with(" none");
    signs.note(is_boundless, Act, view.evidence(SECCOMP_ROOM, "filters have no limit, which Linux sets"));
    let numbers = ["ipc", "mnt", "net", "pid", "user", "uts"].map(|kind| format!("namespace.{kind}"));
    let small =
        numbers.iter().filter(|key| view.0.get_integer(key).is_some_and(|number| number < SMALL_NUMBER));
    let small = small.count() >= FEWEST_SMALL;
    signs.note(small, Act, view.evidence(NAMESPACE_MNT, "namespaces are numbered from 1"));
    let is_named = view.text(KERNEL_RELEASE).to_lowercase().contains("gvisor");
    signs.note(is_named, Name, view.evidence(KERNEL_RELEASE, "the kernel has gVisor's name"));
    for fact in [KERNEL_VERSION, KERNEL_BUILD] {
        let has_date = view.text(fact).contains(BUILD_DATE);
        signs.note(has_date, Name, view.evidence(fact, "the kernel has the build date that gVisor gives"));
    }
    let is_logged = view.text(KERNEL_LOG).contains("Starting gVisor");
    signs.note(is_logged, Name, view.evidence(KERNEL_LOG, "the kernel's log begins as gVisor's"));
    let gofer = view.evidence(MOUNTS_SIGNS, "a file system has options of gVisor's gofer");
    signs.note(view.has_word(MOUNTS_SIGNS, "gofer"), Name, gofer);
    let platform = match view.number(CYCLES_CALL) {
        _ if is_rewritten => "systrap",
        Some(cycles) if cycles > PTRACE_CYCLES => "ptrace",
        Some(cycles) if cycles < KVM_CYCLES => "kvm",
        _ => "",
    };
    signs.into_layer(Class::Kernel, "gvisor", platform)
}

fn recognise_uml(view: View<'_>) -> Option<Layer> {
    use Strength::{Act, Name};
    let mut signs = Signs::default();
    let listed = view.evidence(CPUINFO_KIND, "the list of processors is that of user-mode Linux");
    signs.note(view.text(CPUINFO_KIND) == "uml", Act, listed);
    let mounted = view.evidence(MOUNTS_SIGNS, "a folder of the host is mounted as only user-mode Linux can");
    signs.note(view.has_word(MOUNTS_SIGNS, "hostfs"), Act, mounted);
    let root = view.evidence(ROOT_TYPE, "the root is a folder of the host, as only user-mode Linux has it");
    signs.note(view.text(ROOT_TYPE).starts_with("hostfs"), Act, root);
    let log = view.text(KERNEL_LOG);
    let is_logged = log.contains("User Mode Linux") || log.contains("UML running");
    signs.note(is_logged, Act, view.evidence(KERNEL_LOG, "the kernel's log names user-mode Linux"));
    let has_words = ["uml_dir=", "umid=", "ubd"].iter().any(|word| view.has_word(BOOT_WORDS, word));
    signs.note(
        has_words,
        Name,
        view.evidence(BOOT_WORDS, "the kernel was started with options of user-mode Linux"),
    );
    signs.into_layer(Class::Kernel, "uml", "")
}

fn recognise_wsl(view: View<'_>) -> Option<Layer> {
    use Strength::{Act, Name};
    let names = [KERNEL_RELEASE, KERNEL_OSRELEASE, KERNEL_BUILD];
    let says = |text: &str| names.iter().any(|fact| view.text(fact).contains(text));
    let is_first = (says("-Microsoft ") || names.iter().any(|fact| view.text(fact).ends_with("-Microsoft")))
        && !says("WSL2");
    if is_first {
        let mut signs = Signs::default();
        signs.note(true, Name, view.evidence(KERNEL_RELEASE, "the kernel has the name of WSL 1"));
        let is_built = view.text(KERNEL_BUILD).contains("Microsoft@Microsoft.com");
        signs.note(is_built, Name, view.evidence(KERNEL_BUILD, "Microsoft built it"));
        let root = view.evidence(ROOT_TYPE, "the root is on the file system of WSL 1");
        signs.note(view.has_word(MOUNTS_SIGNS, "wslfs") || view.text(ROOT_TYPE) == "wslfs", Act, root);
        return signs.into_layer(Class::Kernel, "wsl1", "");
    }
    let mut signs = Signs::default();
    let is_named = says("microsoft-standard") || says("WSL2");
    signs.note(is_named, Name, view.evidence(KERNEL_RELEASE, "the kernel has the name of WSL 2"));
    let interop = view.has_word(MARKS_SEEN, "/proc/sys/fs/binfmt_misc/WSLInterop");
    signs.note(interop, Name, view.evidence(MARKS_SEEN, "the kernel starts programs of Windows"));
    let drives = view.evidence(MOUNTS_SIGNS, "drives of Windows are mounted");
    signs.note(view.has_word(MOUNTS_SIGNS, "drvfs"), Name, drives);
    let is_marked = ["/dev/dxg", "/mnt/wsl", "/usr/lib/wsl", "/run/WSL"]
        .iter()
        .any(|file| view.has_word(MARKS_SEEN, file));
    let has_hints = is_marked || view.text(VARIABLES_SET).split(' ').any(|name| name.starts_with("WSL_"));
    signs.note(has_hints, Strength::Hint, view.evidence(MARKS_SEEN, "files or variables of WSL are there"));
    if signs.confidence() == Some(Confidence::Possible) || is_second_refuted(view) {
        return None;
    }
    signs.into_layer(Class::Machine, "wsl2", "")
}

/// Tells whether something contradicts WSL 2: another release where a name can be changed, or another hypervisor than its own. A translator
/// answers for its processor with TCG's name.
fn is_second_refuted(view: View<'_>) -> bool {
    let releases = [KERNEL_RELEASE, KERNEL_OSRELEASE, VDSO_RELEASE];
    let mut known = releases.into_iter().filter_map(|fact| parse_release(view.text(fact)));
    let is_renamed = known.next().is_some_and(|first| known.any(|other| other != first));
    let interfaces = view.text(CPUID_INTERFACES);
    let is_own = ["Microsoft Hv", "TCGTCGTCGTCG"].iter().any(|name| interfaces.contains(name));
    is_renamed || !interfaces.is_empty() && !is_own
}

fn recognise_other_systems(view: View<'_>) -> Option<Layer> {
    let mut signs = Signs::default();
    let proves = "another system answers calls of Linux";
    let (is_bsd, is_illumos) =
        (view.text(KERNEL_VERSION).contains("FreeBSD"), view.text(KERNEL_VERSION).contains("BrandZ"));
    signs.note(is_bsd || is_illumos, Strength::Name, view.evidence(KERNEL_VERSION, proves));
    signs.into_layer(Class::Kernel, if is_illumos { "illumos" } else { "freebsd" }, "")
}

/// Recognises that something slow answers calls, and shows itself in no other way.
fn recognise_slow_kernel(view: View<'_>) -> Option<Layer> {
    let is_slow = view.number(CYCLES_CALL).is_some_and(|cycles| cycles > SLOW_CALL_CYCLES);
    let is_untraced = view.text("tracer") == "0" && view.text(PTRACE_REQUEST) == "done";
    let mut signs = Signs::default();
    let slow = view.evidence(CYCLES_CALL, "a system call takes as long as one that another program answers");
    // A supervisor behind a filter, which is a layer of its own, may answer this very call.
    let is_supervised = view.text(SECCOMP_LISTENER) == "EBUSY";
    signs.note(is_slow && is_untraced && !is_supervised, Strength::Name, slow);
    signs.into_layer(Class::Kernel, "translated-kernel", "")
}
