//! Words for layers, limits and changes.

use tare_analysis::here::changes::Change;
use tare_analysis::here::layers::{Class, Confidence, Layer};
use tare_analysis::here::limits::{Limit, Limits, is_throttled};
use tare_data::facts::keys::USUAL;
use tare_data::unit::Unit;
use tare_data::warning::{Limited, Setting};

use crate::language::{Language, say};
use crate::number::{Figure, scale_of};
use crate::text::clean_text;

/// Describes a layer as something that a process is in: `a Docker container`.
pub fn name_layer(layer: &Layer, language: Language) -> String {
    let name = name_product(layer.name, language);
    let is_counted = layer.class == Class::Filter;
    let variant = match layer.variant.as_str() {
        "" => String::new(),
        _ if is_counted => String::new(),
        variant => format!(" ({})", clean_text(variant)),
    };
    format!("{name}{variant}{}", describe_confidence(layer.confidence, language))
}

/// Joins names of layers, the innermost first: `a container in a KVM guest`; None where there is none.
pub fn join_layers(names: impl Iterator<Item = String>, language: Language) -> Option<String> {
    names.reduce(|inner, outer| say!(language, "{inner} in {outer}", inner, outer))
}

/// Describes a product or mechanism by the name that documents have for it.
pub fn name_product(name: &str, language: Language) -> String {
    let known = match name {
        "traced" => language.word("a tracer"),
        "proot" => language.word("proot"),
        "seccomp" => language.word("a filter of system calls"),
        "landlock" => language.word("a filter of files (Landlock)"),
        "qemu-user" => language.word("an emulator of programs (qemu-user)"),
        "rosetta" => language.word("a translator of programs (Rosetta)"),
        "fex" => language.word("a translator of programs (FEX)"),
        "translator" => language.word("a translator of programs"),
        "chroot" => language.word("a chroot"),
        "docker" => language.word("a Docker container"),
        "podman" => language.word("a Podman container"),
        "containerd" => language.word("a container of containerd"),
        "kubernetes" => language.word("a Kubernetes pod"),
        "lxc" => language.word("an LXC container"),
        "nspawn" => language.word("a systemd-nspawn container"),
        "firejail" => language.word("firejail"),
        "bwrap" => language.word("bubblewrap"),
        "flatpak" => language.word("a Flatpak sandbox"),
        "srt" => language.word("the sandbox runtime (srt)"),
        "codex" => language.word("the sandbox of codex"),
        "snap" => language.word("a snap"),
        "apptainer" => language.word("an Apptainer container"),
        "oci" => language.word("a container of an OCI runtime"),
        "container" => language.word("a container"),
        "namespaces" => language.word("separate namespaces"),
        "gvisor" => language.word("gVisor"),
        "uml" => language.word("user-mode Linux"),
        "wsl1" => language.word("WSL 1"),
        "wsl2" => language.word("WSL 2"),
        "translated-kernel" => language.word("a kernel in user space"),
        "qemu-tcg" => language.word("an emulated machine (QEMU TCG)"),
        "kvm" => language.word("a KVM guest"),
        "hyper-v" => language.word("a Hyper-V guest"),
        "vmware" => language.word("a VMware guest"),
        "xen" => language.word("a Xen guest"),
        "virtualbox" => language.word("a VirtualBox guest"),
        "apple" => language.word("a guest of Apple's Virtualization"),
        "vm" => language.word("a virtual machine"),
        other => return clean_text(other),
    };
    known.to_owned()
}

/// Describes a confidence after a name; nothing where it is sure.
fn describe_confidence(confidence: Confidence, language: Language) -> &'static str {
    match confidence {
        Confidence::Sure => "",
        Confidence::Likely => language.word(" (likely)"),
        Confidence::Possible => language.word(" (may be)"),
    }
}

/// Describes every limit that was seen, one text each.
pub fn describe_limits(limits: &Limits, language: Language) -> Vec<String> {
    let mut all = Vec::new();
    let visible = limits.allowed.or(limits.online);
    match (limits.cpu, visible) {
        (Some(cpu), Some(visible)) => {
            let granted = share(cpu.value);
            let text = say!(language, "CPU {granted} of {visible}", granted, visible);
            all.push(text + from_parent(cpu, language));
        }
        (Some(cpu), None) => {
            all.push(describe_limit(Limited::Processors, cpu.value, language) + from_parent(cpu, language));
        }
        (None, _) => {}
    }
    if let (Some(share), true) = (limits.throttled, is_throttled(limits)) {
        let percent = number((share * 100.0).round());
        all.push(say!(language, "throttled in {percent} % of periods", percent));
    }
    if let Some(found) = limits.hidden_cpu {
        let [low, high] = [found.cpus.low, found.cpus.high].map(|cpus| format!("{cpus:.2}"));
        all.push(say!(
            language,
            "likely CPU {low} to {high}: a limit that does not show stops it every {period} ms",
            low,
            high,
            period = number(found.period_ms.round())
        ));
    }
    if let (Some(allowed), Some(online)) = (limits.allowed, limits.online)
        && allowed < online
    {
        all.push(say!(language, "CPU {allowed} of {online}, by affinity", allowed, online));
    }
    if let Some(memory) = limits.memory {
        let text = describe_limit(Limited::Memory, memory.value, language);
        all.push(text + from_parent(memory, language));
    }
    if let Some(processes) = limits.processes {
        let text = describe_limit(Limited::Processes, processes.value, language);
        all.push(text + from_parent(processes, language));
    }
    if let Some(files) = limits.files {
        all.push(say!(language, "{count} open files", count = files));
    }
    let settings = limits.settings.iter();
    all.extend(settings.map(|(setting, value)| describe_setting(*setting, value, language)));
    let others = [
        (limits.loopback_only, language.word("no network but the loopback")),
        (limits.store_bypass_off, language.word("speculation restricted")),
    ];
    all.extend(others.into_iter().filter(|(is_so, _)| *is_so).map(|(_, text)| text.to_owned()));
    all
}

/// Describes a limit by its value.
pub(crate) fn describe_limit(limited: Limited, value: f64, language: Language) -> String {
    match limited {
        Limited::Processors => say!(language, "CPU {granted}", granted = share(value)),
        Limited::Memory => say!(language, "memory {size}", size = size(value)),
        Limited::Processes => say!(language, "{count} processes", count = number(value)),
    }
}

/// Describes a setting of the scheduler by its value.
pub(crate) fn describe_setting(setting: Setting, value: &str, language: Language) -> String {
    let value = if value == USUAL { language.word("usual").to_owned() } else { clean_text(value) };
    match setting {
        Setting::Nice => say!(language, "nice {value}", value),
        Setting::Class => say!(language, "scheduling class {value}", value),
        Setting::Processors => say!(language, "CPUs {value}", value),
        Setting::Weight => say!(language, "processor weight {value}", value),
    }
}

fn from_parent(limit: Limit, language: Language) -> &'static str {
    if limit.from_parent { language.word(" (a parent's)") } else { "" }
}

/// Describes a change as a sentence without its full stop.
pub fn describe_change(change: &Change, language: Language) -> String {
    match change {
        Change::AnotherTime { stolen } => say!(
            language,
            "do not measure or gate now: others take {percent} % of the processors' time; ask for CPUs of your own",
            percent = number((stolen * 100.0).round())
        ),
        Change::OwnProcessor { kind: Some(kind) } => say!(
            language,
            "use a program or an image for this machine's processor (docker run --platform {kind})",
            kind
        ),
        Change::OwnProcessor { kind: None } => {
            language.word("start the program without the emulator: it is for this processor").to_owned()
        }
        Change::Accelerate => {
            language.word("give the machine KVM (-accel kvm) and a processor of its host's kind").to_owned()
        }
        Change::FewerJobs { granted, visible } if *granted <= 1.0 => say!(
            language,
            "run one job (make -j1, GOMAXPROCS=1), not {visible}, and expect {granted} of a CPU's speed",
            visible,
            granted = share(*granted)
        ),
        Change::FewerJobs { granted, visible } => say!(
            language,
            "run {jobs} jobs at a time, not {visible}: the quota allows {granted} CPUs",
            jobs = number(granted.ceil()),
            visible,
            granted = share(*granted)
        ),
        Change::JobsOfAllowed { allowed, online } => {
            let jobs = language.counted(*allowed as usize, "job", "jobs");
            say!(language, "run {jobs} at a time, not {online}: others would wait", jobs, online)
        }
        Change::MoveWork { saved_ns, to_home } => {
            let to = match to_home {
                true => language.word("to your home folder"),
                false => language.word("to another file system"),
            };
            let low = number(saved_ns / 1_000.0);
            say!(language, "move the files {to}: at least {low} µs less on each name", to, low)
        }
        Change::FewerCalls { layer } => describe_fewer_calls(layer, language).to_owned(),
        Change::FewerClockReads => language
            .word("read the clock less often, or ask for a machine whose clock needs no call")
            .to_owned(),
        Change::SyncLess { ns } => say!(
            language,
            "put what need not last (databases of tests) on /dev/shm, or use eatmydata: an fsync takes {time}",
            time = Figure::without_interval(*ns, Unit::Nanoseconds).to_text()
        ),
        Change::KeepElsewhere => {
            language.word("keep on another file system what must outlast the machine").to_owned()
        }
        Change::SocketIsRoot => language
            .word("docker.sock is here: trust whoever runs here as you trust root of the machine")
            .to_owned(),
        Change::MoreFiles { files } => {
            say!(language, "raise the limit of open files (ulimit -n), which is {files}", files)
        }
    }
}

fn describe_fewer_calls(layer: &str, language: Language) -> &'static str {
    match layer {
        "proot" => {
            language.word("use bubblewrap or a rootless container in place of proot: they stop no call")
        }
        "traced" => language.word("run it without the tracer, which stops it at calls"),
        "seccomp" => language.word("keep many small files out of here: a program answers each call for one"),
        "gvisor" => language.word(
            "make fewer, larger calls (an archive, not many files), or ask its owner for --platform=kvm",
        ),
        "uml" => language.word("use a container or a KVM guest in place of user-mode Linux"),
        _ => language.word("make fewer, larger calls: another program answers each"),
    }
}

/// Formats a number with at most one decimal, without a decimal that is 0.
pub fn number(value: f64) -> String {
    let rounded = (value * 10.0).round() / 10.0;
    if rounded.fract() == 0.0 { format!("{rounded:.0}") } else { format!("{rounded:.1}") }
}

/// Formats processors with at most two decimals, none of them a 0 at the end.
fn share(processors: f64) -> String {
    let text = format!("{processors:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn size(bytes: f64) -> String {
    let scale = scale_of(bytes, Unit::Bytes);
    format!("{} {}", number(bytes / scale.divisor), scale.unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_joined_from_inside_outwards() {
        let join = |names: &[&str], language| {
            join_layers(names.iter().map(|name| name_product(name, language)), language)
        };
        let both = ["docker", "kvm"];
        assert_eq!(join(&both, Language::English).as_deref(), Some("a Docker container in a KVM guest"));
        assert_eq!(join(&both, Language::Japanese).as_deref(), Some("KVMゲストの中のDockerコンテナ"));
        assert_eq!(join(&["new\u{1b}[1m"], Language::English).as_deref(), Some("new\u{fffd}[1m"));
        assert_eq!(join(&[], Language::English), None);
    }

    #[test]
    fn sizes_and_numbers_are_short() {
        assert_eq!(number(2.0), "2");
        assert_eq!(number(0.5), "0.5");
        assert_eq!([0.05, 0.2, 2.0, 10.0].map(share), ["0.05", "0.2", "2", "10"]);
        assert_eq!(size(268_435_456.0), "256 MiB");
    }

    #[test]
    fn a_limit_that_a_parent_sets_says_so() {
        let limits = Limits {
            cpu: Some(Limit { value: 0.5, from_parent: true }),
            allowed: Some(2),
            online: Some(4),
            files: Some(64),
            settings: vec![(Setting::Nice, "5".to_owned()), (Setting::Weight, "20".to_owned())],
            ..Limits::default()
        };
        let texts = describe_limits(&limits, Language::English);
        let expected = [
            "CPU 0.5 of 2 (a parent's)",
            "CPU 2 of 4, by affinity",
            "64 open files",
            "nice 5",
            "processor weight 20",
        ];
        assert_eq!(texts, expected);
    }
}
