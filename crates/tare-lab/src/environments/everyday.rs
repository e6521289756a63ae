//! Everyday names: words that people have for layers and tools, and the environment, study, article or line that each leads to.

/// Several words for one thing, and the ways on from it, the nearest first.
#[derive(Clone, Copy)]
pub struct Name {
    pub words: &'static [&'static str],
    /// The thing, as in "it is ...".
    pub about: &'static str,
    pub environments: &'static [&'static str],
    /// Environment of it on Windows itself.
    pub on_windows: Option<&'static str>,
    pub studies: &'static [&'static str],
    pub article: Option<&'static str>,
    /// Further lines to type.
    pub lines: &'static [&'static str],
}

const LAYER: &str = "a layer that tare has under other names";
const SYSTEM: &str = "a system, which an image or a distribution brings";
const TOOL: &str = "another tool, whose work a study does";

const NONE: Name = Name {
    words: &[],
    about: "",
    environments: &[],
    on_windows: None,
    studies: &[],
    article: None,
    lines: &[],
};

const fn layer(words: &'static [&'static str], environments: &'static [&'static str]) -> Name {
    Name { words, about: LAYER, environments, ..NONE }
}

const fn tool(words: &'static [&'static str], studies: &'static [&'static str]) -> Name {
    Name { words, about: TOOL, studies, ..NONE }
}

/// The table. Words are in small letters, with a dash for a space.
pub const NAMES: &[Name] = &[
    Name { on_windows: Some("wsl:DISTRIBUTION?version=1"), ..layer(&["wsl1", "wsl-1"], &["wsl1-like"]) },
    Name { on_windows: Some("wsl:DISTRIBUTION?version=2"), ..layer(&["wsl2", "wsl-2"], &["wsl2-like"]) },
    Name { on_windows: Some("wsl:DISTRIBUTION"), ..layer(&["wsl"], &["wsl2-like", "wsl1-like"]) },
    layer(
        &[
            "vm",
            "vms",
            "virtual-machine",
            "kvm",
            "hypervisor",
            "firecracker",
            "cloud-hypervisor",
            "libvirt",
            "xen",
            "proxmox",
        ],
        &["qemu", "uml", "wsl2-like", "ssh:HOST"],
    ),
    layer(
        &["virtualbox", "vbox", "vmware", "hyper-v", "hyperv", "parallels", "utm", "virt-manager"],
        &["guest", "qemu", "ssh:HOST"],
    ),
    Name {
        lines: &["inside it: tare here, then tare run"],
        ..layer(
            &["docker-desktop", "rancher-desktop", "podman-desktop", "docker-compose", "compose"],
            &["docker-like", "docker", "docker-exec:NAME"],
        )
    },
    Name {
        lines: &["inside it: tare here, then tare run"],
        ..layer(
            &["codespace", "codespaces", "github-codespaces", "gitpod", "dev-container"],
            &["docker-like", "devcontainer"],
        )
    },
    layer(
        &["containers", "lxd", "namespaces", "namespace", "cgroup", "cgroups"],
        &["container", "incus", "lxc"],
    ),
    layer(&["runc"], &["oci:runc"]),
    layer(&["crun"], &["oci:crun"]),
    layer(&["youki"], &["oci:youki"]),
    layer(&["runsc"], &["gvisor"]),
    layer(&["bubblewrap"], &["bwrap"]),
    layer(&["systemd-nspawn"], &["nspawn"]),
    layer(&["user-mode-linux"], &["uml"]),
    layer(&["containerd", "ctr"], &["nerdctl"]),
    layer(&["k8s", "kubectl", "pod", "minikube", "k3s", "kind"], &["kubernetes"]),
    layer(&["singularity"], &["apptainer"]),
    layer(&["sandbox", "sandboxes", "jail"], &["bwrap", "firejail", "gvisor", "'exec:WORDS'"]),
    layer(&["claude", "claude-code"], &["srt"]),
    layer(&["remote", "server"], &["ssh:HOST"]),
    layer(&["host", "bare-metal", "baremetal", "metal", "localhost", "linux", "none"], &["native"]),
    layer(&["ptrace"], &["traced"]),
    Name { lines: &["tare ladder seccomp"], ..layer(&["seccomp"], &["container"]) },
    Name {
        about: SYSTEM,
        on_windows: Some("wsl:Ubuntu"),
        lines: &["tare list environments"],
        ..layer(&["ubuntu"], &["docker:ubuntu"])
    },
    Name {
        about: SYSTEM,
        on_windows: Some("wsl:Debian"),
        lines: &["tare list environments"],
        ..layer(&["debian"], &["docker:debian"])
    },
    Name {
        about: SYSTEM,
        on_windows: Some("wsl:FedoraLinux"),
        lines: &["tare list environments"],
        ..layer(&["fedora"], &["docker:fedora"])
    },
    Name {
        about: SYSTEM,
        on_windows: Some("wsl:Alpine"),
        lines: &["tare list environments"],
        ..layer(&["alpine"], &["docker:alpine"])
    },
    Name { article: Some("qiita-wsl-rtt"), ..tool(&["netperf", "netserver"], &["rtt"]) },
    tool(&["iperf", "iperf3", "ping", "sockperf", "qperf", "network", "latency", "net"], &["rtt", "inbound"]),
    tool(
        &["fio", "bonnie", "bonnie++", "iozone", "hdparm", "ioping", "disk", "io", "files", "filesystem"],
        &["filesystems", "page-cache"],
    ),
    Name { article: Some("mynavi-wsl-filesystems"), ..tool(&["dd"], &["filesystems"]) },
    Name {
        article: Some("mynavi-wsl-filesystems"),
        ..tool(&["crystaldiskmark", "cdm", "cdm8", "diskspd"], &["cdm8-default", "cdm8-nvme"])
    },
    Name { article: Some("tuni-wsl2-linux"), ..tool(&["sysbench"], &["sysbench"]) },
    Name {
        article: Some("ascii-wsl2-unixbench"),
        ..tool(&["unixbench", "byte-unixbench", "ubench"], &["unixbench"])
    },
    tool(
        &["phoronix", "phoronix-test-suite", "pts", "geekbench", "lmbench", "stress-ng", "yabs", "passmark"],
        &["quick", "full"],
    ),
    tool(&["cpu", "memory", "syscalls", "all", "default", "everything", "benchmark"], &["quick", "full"]),
    Name {
        about: "another tool; a command of yours follows --",
        lines: &["tare run -- COMMAND --- OTHER"],
        ..tool(&["hyperfine", "time", "poop"], &[])
    },
    Name {
        about: "another tool; tare explain counts a command's calls",
        lines: &["tare explain -- COMMAND"],
        ..tool(&["strace", "perf", "ltrace"], &[])
    },
];
