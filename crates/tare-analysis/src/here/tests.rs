//! Recorded facts of real environments, each with its truth.

use std::path::Path;

use serde::Deserialize;

use super::layers::Confidence;
use super::signs::parse_release;
use super::*;

/// Facts that were found in an environment, and its layers, the innermost first.
#[derive(Deserialize)]
struct Fixture {
    layers: Vec<String>,
    /// Namespaces of the process itself; absent where another kernel numbers them.
    own: Option<Vec<String>>,
    facts: Facts,
}

fn read_fixtures() -> Vec<(String, Fixture)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/here");
    let mut all: Vec<(String, Fixture)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let fixture = toml::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
            (name, fixture)
        })
        .collect();
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all
}

fn name_layers(found: &Where) -> Vec<&str> {
    let names = list_layer_names();
    assert!(found.layers.iter().all(|layer| names.contains(layer.name)), "{:?}", found.layers);
    let told = found.layers.iter().filter(|layer| layer.confidence > Confidence::Possible);
    told.map(|layer| layer.name).collect()
}

#[test]
fn every_recorded_environment_is_recognised() {
    let fixtures = read_fixtures();
    let wrong: Vec<String> = fixtures
        .iter()
        .filter_map(|(name, fixture)| {
            let found = recognise_layers(&fixture.facts);
            let told = name_layers(&found);
            (told != fixture.layers).then(|| format!("{name}: {:?}, and told {told:?}", fixture.layers))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), fixtures.len(), wrong.join("\n"));
}

#[test]
fn namespaces_of_recorded_environments_are_told_from_the_first_ones() {
    let mut wrong = Vec::new();
    for (name, fixture) in read_fixtures() {
        let Some(own) = &fixture.own else { continue };
        for (kind, found) in recognise_layers(&fixture.facts).namespaces {
            let expected = if own.iter().any(|own| own == kind) { Namespace::Own } else { Namespace::First };
            if ![expected, Namespace::Unknown].contains(&found) {
                wrong.push(format!("{name}: {kind} is {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_facts_are_no_layers() {
    let found = recognise_layers(&Facts::default());
    assert_eq!(found.layers, []);
    assert!(found.namespaces.values().all(|namespace| *namespace == Namespace::Unknown));
}

#[test]
fn a_mark_without_namespaces_is_left_over() {
    let mut facts = Facts::default();
    for kind in ["cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts"] {
        let (_, first) = namespaces::FIRST.iter().find(|(known, _)| *known == kind).unwrap();
        facts.add_fact(format!("namespace.{kind}"), first.to_string());
    }
    facts.add_fact("kernel.release", "6.18.1");
    facts.add_fact("mounts", "read");
    facts.add_fact("marks", "/.dockerenv /run/.containerenv");
    facts.add_fact("variables.container", "podman");
    assert_eq!(recognise_layers(&facts).layers, []);
}

#[test]
fn releases_are_compared_by_their_first_two_parts() {
    assert_eq!(parse_release("6.18.44-fc"), Some(618));
    assert_eq!(parse_release("6.1.0-30-amd64"), Some(601));
    assert_eq!(parse_release("2.6.78"), Some(206));
    assert_eq!(parse_release("lies"), None);
}

/// Builds facts of a Linux on a machine, with more that a case adds; `own` namespaces are others than the first.
pub(super) fn make_facts(own: &[&str], more: &[(&str, &str)]) -> Facts {
    let mut facts = Facts::default();
    for (kind, first) in namespaces::FIRST {
        let number = if own.contains(&kind) { 4_026_532_800 } else { first };
        facts.add_fact(format!("namespace.{kind}"), number.to_string());
    }
    let usual = [
        ("kernel.name", "Linux"),
        ("kernel.release", "6.18.1"),
        ("vdso.release", "6.18.1"),
        ("program.machine", "x86_64"),
        ("cpuinfo.kind", "x86"),
        ("cpuid.hypervisor", "no"),
        ("mounts", "read"),
        ("root.mount", "whole"),
        ("root.is_mount", "yes"),
        ("tracer", "0"),
        ("ptrace.request", "done"),
        ("seccomp.mode", "0"),
        ("cycles.call", "300"),
    ];
    usual.iter().chain(more).for_each(|(key, value)| {
        facts.0.insert((*key).to_owned(), (*value).to_owned());
    });
    facts
}

const CONTAINER: [&str; 6] = ["mnt", "pid", "ipc", "uts", "net", "cgroup"];

/// Compares the layers told with those expected, for facts as public documents of products describe them.
#[track_caller]
fn expect_layers(expected: &[&str], own: &[&str], more: &[(&str, &str)]) {
    let found = recognise_layers(&make_facts(own, more));
    assert_eq!(name_layers(&found), expected, "{:#?}", found.layers);
}

#[test]
fn virtual_machines_are_told_by_the_last_interface_and_refined_by_the_firmware() {
    let guest = |interfaces, expected, vendor| {
        let more =
            [("cpuid.hypervisor", "yes"), ("cpuid.interfaces", interfaces), ("machine.vendor", vendor)];
        expect_layers(&[expected], &[], &more);
    };
    guest("KVMKVMKVM", "kvm", "QEMU");
    guest("Microsoft Hv; KVMKVMKVM", "kvm", "QEMU");
    guest("Microsoft Hv", "hyper-v", "Microsoft Corporation");
    guest("VMwareVMware", "vmware", "VMware, Inc.");
    guest("KVMKVMKVM", "virtualbox", "innotek GmbH");
    guest("XenVMMXenVMM", "xen", "Xen");
    guest("SomethingNew", "vm", "");
    // Makers of hypervisors also have machines, which have their name and not the bit.
    expect_layers(&[], &[], &[("machine.vendor", "VMware, Inc.")]);
    let arm = [("program.machine", "aarch64"), ("cpuinfo.kind", "arm"), ("machine.vendor", "Amazon EC2")];
    expect_layers(&["kvm"], &[], &[&arm[..], &[("machine.product", "m7g.large")]].concat());
    expect_layers(&[], &[], &[&arm[..], &[("machine.product", "m7g.metal")]].concat());
    expect_layers(&["vm"], &[], &[("cycles.cpuid", "1800")]);
}

#[test]
fn gvisor_is_told_by_its_release_or_by_its_date() {
    for kernel in
        [("kernel.release", "4.19.0-gvisor"), ("kernel.version", "#1 SMP Sun Jan 10 15:06:54 PST 2016")]
    {
        expect_layers(&["gvisor"], &[], &[kernel]);
    }
    expect_layers(
        &[],
        &[],
        &[("kernel.release", "6.1.176"), ("kernel.version", "#1 Debian 6.1.176-1 (2026-11-01)")],
    );
}

#[test]
fn containers_are_told_by_what_their_engines_mount_and_name() {
    let in_guest = [("cpuid.hypervisor", "yes"), ("cpuid.interfaces", "Microsoft Hv")];
    let with = |more: &[(&'static str, &'static str)]| [&in_guest[..], more].concat();
    let docker = [("mounts.signs", "dev-64m docker-files masked:6"), ("marks", "/.dockerenv")];
    expect_layers(&["docker", "hyper-v"], &CONTAINER, &with(&docker));
    let pod = [("mounts.signs", "containerd-files kubelet-files"), ("variables", "KUBERNETES_SERVICE_HOST")];
    expect_layers(&["containerd", "kubernetes", "hyper-v"], &CONTAINER, &with(&pod));
    expect_layers(&["lxc"], &CONTAINER, &[("marks", "/dev/incus/sock"), ("variables.container", "lxc")]);
    expect_layers(
        &["flatpak"],
        &["mnt", "pid", "user"],
        &[("marks", "/.flatpak-info"), ("process.first", "bwrap")],
    );
    expect_layers(&["snap"], &["mnt"], &[("marks.label", "snap")]);
    expect_layers(&["snap"], &["mnt"], &[("variables", "SNAP"), ("root.type", "squashfs")]);
    let apptainer = [("variables", "APPTAINER_"), ("marks", "/.singularity.d")];
    expect_layers(&["apptainer"], &["mnt", "user"], &apptainer);
    // A shell in a snap hands its variables on, and an image its folders.
    expect_layers(&["namespaces"], &["mnt"], &[("variables", "SNAP APPTAINER_")]);
    expect_layers(&["namespaces"], &["mnt"], &[apptainer[1]]);
    let codex = [("process.first", "codex-linux-san"), ("seccomp.mode", "2")];
    expect_layers(&["seccomp", "codex"], &["mnt", "pid", "net", "user", "ipc"], &codex);
    let srt = [("process.first", "bwrap"), ("variables", "SANDBOX_RUNTIME")];
    expect_layers(&["srt"], &["mnt", "pid", "net", "user"], &srt);
    expect_layers(&["oci"], &["mnt", "pid", "ipc", "uts"], &[("mounts.signs", "dev-64m")]);
    // A file that an image holds does not make namespaces Docker's, with or without a mount table.
    expect_layers(&["container"], &CONTAINER, &[("marks", "/.dockerenv")]);
    expect_layers(&["namespaces"], &["mnt"], &[("marks", "/.dockerenv"), ("mounts", "")]);
    // A variable is inherited by what has no namespaces to itself.
    expect_layers(&[], &[], &[("variables.container", "lxc"), ("variables", "KUBERNETES_SERVICE_HOST")]);
}

#[test]
fn namespaces_inside_user_mode_linux_are_a_layer() {
    let uml = [("cpuinfo.kind", "uml"), ("root.type", "hostfs")];
    expect_layers(&["uml"], &[], &uml);
    expect_layers(&["namespaces", "uml"], &["uts", "user"], &uml);
    // gVisor counts its own.
    let names = ["#1 SMP Sun Jan 10 15:06:54 PST 2016", "4.19.0-gvisor"];
    let gvisor = [("kernel.version", names[0]), ("kernel.release", names[1])];
    expect_layers(&["gvisor"], &["uts", "user"], &gvisor);
}

#[test]
fn jobs_are_named_by_their_variables_and_are_no_layers() {
    let job = |variables: &str| {
        let found = recognise_layers(&make_facts(&[], &[("variables", variables)]));
        assert_eq!(found.layers, []);
        found.job
    };
    assert_eq!(job("CI GITHUB_ACTIONS"), Some("a job of GitHub Actions"));
    assert_eq!(job("REMOTE_CONTAINERS"), Some("a dev container"));
    assert_eq!(job("PROOT_"), None);
}

#[test]
fn windows_subsystems_are_told_and_their_own_namespaces_left_out() {
    let own = ["mnt", "pid", "ipc", "uts", "cgroup"];
    let second = [
        ("kernel.release", "6.6.114.1-microsoft-standard-WSL2"),
        ("vdso.release", "6.6.114"),
        ("mounts.signs", "drvfs"),
        ("cpuid.hypervisor", "yes"),
        ("cpuid.interfaces", "Microsoft Hv"),
    ];
    expect_layers(&["wsl2"], &own, &second);
    let own_kernel = [
        ("kernel.release", "6.18.9-custom"),
        ("mounts.signs", "drvfs"),
        ("marks", "/proc/sys/fs/binfmt_misc/WSLInterop"),
    ];
    expect_layers(&["wsl2"], &own, &own_kernel);
    let docker =
        [("mounts.signs", "docker-files dev-64m"), ("kernel.release", "6.18.1-microsoft-standard-WSL2")];
    expect_layers(&["docker", "wsl2"], &CONTAINER, &docker);
    // A name that the vDSO, another file or the hypervisor contradicts, and the layer that it hid.
    let named = ("kernel.release", "5.15.167.4-microsoft-standard-WSL2");
    let hint = ("variables", "WSL_DISTRO_NAME");
    expect_layers(&["proot"], &[], &[named, hint, ("tracer", "4711"), ("tracer.name", "proot")]);
    let bound = [("kernel.osrelease", "5.15.167.4-microsoft-standard-WSL2"), hint];
    expect_layers(&["namespaces"], &["mnt"], &bound);
    let on_kvm = [("vdso.release", "5.15.167"), named, hint];
    let kvm = [("cpuid.hypervisor", "yes"), ("cpuid.interfaces", "KVMKVMKVM")];
    expect_layers(&["kvm"], &[], &[&on_kvm[..], &kvm].concat());
    let variable_alone = [("vdso", "absent"), ("vdso.release", ""), named, ("kernel.osrelease", "6.18.1")];
    expect_layers(&[], &[], &variable_alone);
    let first = [("kernel.release", "4.4.0-19041-Microsoft"), ("root.type", "wslfs")];
    expect_layers(&["wsl1"], &[], &first);
}

#[test]
fn translators_and_emulated_machines_are_told_apart() {
    let cold = ("cycles.cold_code", "20000");
    expect_layers(&["translator"], &[], &[cold, ("cycles.warm_code", "40"), ("cycles.fault", "12000")]);
    expect_layers(&["qemu-tcg"], &[], &[cold, ("cycles.warm_code", "40"), ("cycles.fault", "400000")]);
    let named = [("cpuid.hypervisor", "yes"), ("cpuid.interfaces", "TCGTCGTCGTCG")];
    expect_layers(&["qemu-tcg"], &[], &named);
    expect_layers(&["qemu-user"], &[], &[("program.machine", "aarch64"), ("ptrace.request", "ENOSYS")]);
    // An emulator that was renamed: its processor has another name than the kernel's, and is QEMU's.
    let renamed = [
        named[0],
        named[1],
        ("cpuid.brand", "QEMU TCG CPU version 2.5+"),
        ("cpuinfo.model", "AMD EPYC 7763"),
        ("process.name", "q"),
        ("program.name", "another"),
        ("ptrace.request", "ENOSYS"),
        ("vdso", "absent"),
    ];
    expect_layers(&["qemu-user"], &[], &renamed);
    let rosetta = [("cpuid.brand", "VirtualApple @ 2.50GHz"), ("mounts.signs", "docker-files")];
    expect_layers(&["rosetta", "docker"], &CONTAINER, &rosetta);
    let slow = ("cycles.call", "20000");
    expect_layers(&["translated-kernel"], &[], &[slow]);
    expect_layers(&["seccomp"], &[], &[slow, ("seccomp.mode", "2"), ("seccomp.listener", "EBUSY")]);
    // A program may be called as an emulator is.
    let called = [("process.name", "qemu-tare"), ("program.name", "its own")];
    expect_layers(&[], &[], &called);
    expect_layers(&["proot"], &[], &[("tracer", "4711"), ("tracer.name", "proot"), ("vdso", "absent")]);
}
