//! Names that people have for layers and tools, and the environment, study, article or line that each leads to.

use tare_lab::environments::list_providers;
use tare_lab::environments::presets::PRESETS;
use tare_lab::study::{SHIPPED, published};

/// Names of one thing, and the ways on from it, the nearest first.
#[derive(Clone, Copy)]
pub struct Name {
    words: &'static [&'static str],
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
const NAMES: &[Name] = &[
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

/// Writes a word as the table has it.
fn plain(word: &str) -> String {
    word.trim().to_lowercase().replace([' ', '_'], "-")
}

/// Finds a word of the table, whatever its case.
pub fn find_name(word: &str) -> Option<&'static Name> {
    let word = plain(word);
    NAMES.iter().find(|name| name.words.contains(&word.as_str()))
}

/// Lists every word of the table that names an environment.
pub fn list_names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().flat_map(|name| name.words.iter().copied())
}

/// Lists the names of environments, in the order of lists.
pub fn list_environments() -> impl Iterator<Item = &'static str> {
    list_providers().map(|provider| provider.name.as_str()).chain(PRESETS.iter().map(|preset| preset.name))
}

/// Finds the specification of an environment that a word names, with that name's own letters.
pub fn find_environment(word: &str) -> Option<String> {
    let end = word.find([':', '?']).unwrap_or(word.len());
    let (name, rest) = word.split_at(end);
    let known = list_environments().find(|known| *known == plain(name))?;
    Some(format!("{known}{rest}"))
}

/// Tells whether a word names a shipped study, several of them, or a file of one.
pub fn is_study(word: &str) -> bool {
    word.split(',').all(|part| SHIPPED.iter().any(|(name, _)| *name == part) || is_file_of(part, "toml"))
}

/// Tells whether a word is the name of a file with this ending.
pub fn is_file_of(word: &str, ending: &str) -> bool {
    word.len() > ending.len() + 1
        && word.ends_with(ending)
        && word[..word.len() - ending.len()].ends_with('.')
}

/// Lists the shipped articles whose names have a word in them.
pub fn list_articles(word: &str) -> Vec<&'static str> {
    let all = || published::SHIPPED.iter().map(|(name, _)| *name);
    let (word, by_tool) = (plain(word), find_name(word).and_then(|name| name.article));
    let begin: Vec<&str> = all().filter(|name| name.starts_with(word.as_str())).collect();
    match word.len() {
        0 | 1 => Vec::new(),
        _ if !begin.is_empty() => begin,
        _ => all().filter(|name| name.contains(word.as_str()) || by_tool == Some(name)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_lab::environments::parse_environment;

    #[test]
    fn every_way_on_from_a_name_is_there() {
        let mut seen = std::collections::BTreeSet::new();
        for name in NAMES {
            for word in name.words {
                assert!(seen.insert(*word) && plain(word) == *word, "{word}");
                assert!(list_environments().all(|known| known != *word || *word == "wsl"), "{word}");
            }
            for environment in name.environments.iter().filter(|text| !text.contains(['\'', ':'])) {
                assert!(parse_environment(environment).is_ok(), "{environment}");
            }
            assert!(name.studies.iter().all(|study| is_study(study)), "{:?}", name.studies);
            let article = |id: &str| published::SHIPPED.iter().any(|(shipped, _)| *shipped == id);
            assert!(name.article.is_none_or(article), "{:?}", name.article);
        }
    }
}
