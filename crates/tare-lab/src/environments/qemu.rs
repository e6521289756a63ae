//! QEMU: a virtual machine with a kernel of the distribution, and tare as its first process.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tare_data::facts::Facts;

use crate::containers::root::{AGENT, OWN, Root};
use crate::error::{ErrorKind, LabError};
use crate::guests::disk;
use crate::guests::init::{self, Ending, Guest, GuestMount, Stream};
use crate::guests::initrd::Initrd;
use crate::guests::kernel;
use crate::guests::kvm;
use crate::guests::share_server;
use crate::guests::tsc_rate;
use crate::host::mounts;
use crate::host::programs::{self, Programs};
use crate::network::guest::{self, GuestNetwork};
use crate::network::netem::{self, DELAY, DUPLICATE, LOSS, Netem, REORDER};
use crate::ownership::owned::MARK;
use crate::provider::specification::Specification;
use crate::provider::{Entrance, NotReady, OptionDescription, Provider, Workspace};

/// Name of the port that is the stream.
const PORT: &str = "tare";
const PROGRAM: &str = "qemu-system-x86_64";
const INSTALL: &str = "apt-get install --no-install-recommends qemu-system-x86";

const MACHINE: OptionDescription = OptionDescription {
    key: "machine",
    default: "q35",
    values: &["q35", "microvm"],
    about: "q35: a PC; microvm: no PCI and no firmware to speak of, as Firecracker's",
};
const ACCELERATION: OptionDescription = OptionDescription {
    key: "acceleration",
    default: "auto",
    values: &["auto", "kvm", "tcg"],
    about: "auto: KVM where it is proven to run real code, otherwise TCG, which emulates every instruction",
};
const CACHE: OptionDescription = OptionDescription {
    key: "cache",
    default: "none",
    values: &["none", "loose", "mmap"],
    about: "what the guest keeps of shares: none asks the host every time; loose and mmap (9P alone) trust themselves",
};
const SHARE: OptionDescription = OptionDescription {
    key: "share",
    default: "9p",
    values: &["9p", "virtiofs", "diod"],
    about: "how host folders are shared in: 9p: by a virtual device of QEMU's; virtiofs: by virtiofsd, through shared \
            memory; diod: 9P over TCP, as WSL2 has it over a socket of its hypervisor's: needs net=tap",
};
const NET: OptionDescription = OptionDescription {
    key: "net",
    default: "none",
    values: &["none", "tap", "user"],
    about: "none: nothing but loopback; tap: a virtio card on a tap in the session's own network, where the peer \
            `host` is; user: the same card on QEMU's network stack in user space",
};
/// The network device, inside.
const DEVICE: &str = "eth0";
const MEMORY: OptionDescription =
    OptionDescription { key: "memory", default: "1024", values: &[], about: "memory of the guest in MiB" };

pub struct Qemu;

impl Provider for Qemu {
    fn name(&self) -> &'static str {
        "qemu"
    }

    fn summary(&self) -> &'static str {
        "a virtual machine: a full kernel on virtual hardware"
    }

    fn stands_for(&self) -> &'static str {
        "a full kernel in a light virtual machine with its own disk and the host's folders by 9P, which is \
         WSL2's architecture and that of every desktop's virtual machines. Without KVM every instruction is \
         emulated: then figures of the processor say nothing, and others show the shape only. WSL2's \
         hypervisor is Hyper-V and its 9P runs over a socket, not virtio."
    }

    fn options(&self) -> &'static [OptionDescription] {
        &[MACHINE, ACCELERATION, SHARE, CACHE, NET, DELAY, LOSS, DUPLICATE, REORDER, MEMORY]
    }

    fn by_default(&self) -> &'static [&'static str] {
        &["qemu"]
    }

    fn ready(&self, specification: &Specification, programs: &Programs) -> Result<Facts, NotReady> {
        let program = programs.find(PROGRAM).ok_or_else(|| NotReady::missing(PROGRAM, INSTALL))?;
        disk::ready(programs)?;
        memory_mib(specification).map_err(|e| NotReady::because(e.what))?;
        guest::ready(&NET, specification)?;
        let [share, cache, net] = [SHARE, CACHE, NET].map(|option| option.value(specification));
        share_server::ready(share, cache, net, programs)?;
        let kernel = kernel::find(programs)?;
        let accelerator = match ACCELERATION.value(specification) {
            "tcg" => "tcg",
            "kvm" => kvm::proven(programs).map(|()| "kvm")?,
            _ => accelerator(specification, programs),
        };
        let version = programs::version(&program, &["--version"])
            .map_err(|e| NotReady::because(format!("{}: {e}", program.display())))?;
        let mut facts = Facts::default();
        facts.note("runtime.path", program.to_string_lossy());
        facts.note("runtime.version", version);
        facts.note("runtime.accelerator", accelerator);
        facts.note("runtime.kernel", kernel.release);
        for option in [MACHINE, SHARE, CACHE, MEMORY] {
            facts.note(format!("runtime.{}", option.key), option.value(specification));
        }
        Ok(facts)
    }

    fn prepare(
        &self,
        _: &Specification,
        programs: &Programs,
        tell: &mut dyn FnMut(&str),
    ) -> Result<(), LabError> {
        kernel::prepare(programs, tell)
    }

    fn remove(&self, _: &Specification, programs: &Programs) -> Result<(), LabError> {
        kernel::remove(programs)
    }

    fn enter(
        &self,
        specification: &Specification,
        workspace: &mut dyn Workspace,
    ) -> Result<Entrance, LabError> {
        let program = workspace
            .programs()
            .find(PROGRAM)
            .ok_or_else(|| LabError::new(ErrorKind::Environment, "QEMU is not installed"))?;
        let kernel = kernel::find(workspace.programs())
            .map_err(|not| LabError::new(ErrorKind::Environment, "cannot enter qemu").because(not.reason))?;
        let root = Root::build(workspace)?;
        let disk = disk::make(workspace)?;
        let mut outside = Facts::default();
        root.note_places(&mut outside);
        mounts::note(&mut outside, "own", &disk);
        let network = guest::prepare(&NET, DEVICE, specification, workspace, &mut outside)?;
        let bus = if is_microvm(specification) { "device" } else { "pci" };
        let mut command = Command::new(&program);
        command.env_clear().current_dir(workspace.folder());
        let accelerator = accelerator(specification, workspace.programs());
        command.args(machine(specification)?).args(processor(accelerator));
        let initrd = workspace.folder().join("initrd");
        command.arg("-kernel").arg(&kernel.image).arg("-initrd").arg(&initrd);
        command.arg("-append").arg(words(accelerator));
        // The console goes to standard error, where lines become notes.
        command.args(["-serial", "file:/dev/fd/2", "-chardev", "stdio,id=stream,signal=off"]);
        command.arg("-device").arg(format!("virtio-serial-{bus}"));
        command.arg("-device").arg(format!("virtserialport,chardev=stream,name={PORT}"));
        command.arg("-drive").arg(format!("file={},if=none,id=own,format=raw", argument(&disk)?));
        command.arg("-device").arg(format!("virtio-blk-{bus},drive=own"));
        if let Some(network) = &network {
            network.inherit(&mut command)?;
            command.arg("-netdev").arg(match &network.tap {
                Some(tap) => format!("tap,id=net,ifname={tap},script=no,downscript=no"),
                None => "user,id=net".to_owned(),
            });
            command.arg("-device").arg(format!("virtio-net-{bus},netdev=net"));
        }
        let shares = share(specification, &root, network.as_ref(), workspace, &mut command)?;
        let host = GuestNetwork::host(network.as_ref());
        let plan = guest(shares, network, workspace);
        let archive =
            initial_disk(&kernel.modules_with(&on_demand(specification)?), &plan, workspace.agent());
        archive.and_then(|bytes| fs::write(&initrd, bytes)).map_err(|e| {
            LabError::new(ErrorKind::Storage, format!("cannot write {}", initrd.display())).because(e)
        })?;
        Ok(Entrance { command, host, places: root.places, outside })
    }
}

fn is_microvm(specification: &Specification) -> bool {
    MACHINE.value(specification) == "microvm"
}

/// The machine and its memory.
fn machine(specification: &Specification) -> Result<Vec<String>, LabError> {
    let memory_mib = memory_mib(specification)?;
    let mut machine =
        if is_microvm(specification) { "microvm,acpi=on,pcie=off,rtc=on" } else { "q35" }.to_owned();
    let mut words: Vec<String> = Vec::new();
    if SHARE.value(specification) == "virtiofs" {
        // The server of the share reads and writes the guest's memory.
        machine.push_str(",memory-backend=memory");
        let memory = format!("memory-backend-memfd,id=memory,size={memory_mib}M,share=on");
        words.extend(["-object".to_owned(), memory]);
        // Without a PCI bus QEMU's devices speak the protocol before 1.0, which the server does not.
        words.extend(["-global", "virtio-mmio.force-legacy=false"].map(str::to_owned));
    }
    words.extend(["-M".to_owned(), machine, "-m".to_owned(), memory_mib.to_string()]);
    words.extend(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"].map(str::to_owned));
    Ok(words)
}

/// Modules that a guest needs for what it was asked for.
fn on_demand(specification: &Specification) -> Result<Vec<&'static str>, LabError> {
    let mut wanted: Vec<&str> = Vec::new();
    wanted.extend(Netem::of(specification)?.map(|_| netem::MODULE));
    match SHARE.value(specification) {
        "virtiofs" => wanted.extend(share_server::VIRTIOFS_MODULES),
        "diod" => wanted.extend(share_server::DIOD_MODULES),
        _ => {}
    }
    Ok(wanted)
}

/// Shares the host's folders in: devices for the command, servers beside it; returns what the guest mounts.
fn share(
    specification: &Specification,
    root: &Root,
    network: Option<&GuestNetwork>,
    workspace: &mut dyn Workspace,
    command: &mut Command,
) -> Result<Vec<GuestMount>, LabError> {
    let cache = CACHE.value(specification);
    let bus = if is_microvm(specification) { "device" } else { "pci" };
    let mut mounts = Vec::new();
    match (SHARE.value(specification), network) {
        ("diod", Some(network)) => return share_server::serve_9p(workspace, root, network, cache),
        ("diod", None) => {
            let what = "qemu: share=diod goes by the network";
            return Err(LabError::new(ErrorKind::Usage, what).hint("add net=tap"));
        }
        ("virtiofs", _) => {
            for (number, (path, inside)) in root.shares.iter().enumerate() {
                let socket = share_server::serve_virtiofs(workspace, number, path, cache)?;
                command.arg("-chardev").arg(format!("socket,id=fs{number},path={socket}"));
                command.arg("-device");
                command.arg(format!("vhost-user-fs-{bus},chardev=fs{number},tag={}", tag(number)));
                mounts.push(mount("virtiofs", &tag(number), inside, ""));
            }
        }
        _ => {
            let options = format!("trans=virtio,version=9p2000.L,msize=262144,cache={cache}");
            for (number, (path, inside)) in root.shares.iter().enumerate() {
                let path = argument(path)?;
                command.arg("-fsdev").arg(format!("local,id=fs{number},path={path},security_model=none"));
                command.arg("-device");
                command.arg(format!("virtio-9p-{bus},fsdev=fs{number},mount_tag={}", tag(number)));
                mounts.push(mount("9p", &tag(number), inside, &options));
            }
        }
    }
    Ok(mounts)
}

/// What the guest's first process does.
fn guest(shares: Vec<GuestMount>, network: Option<GuestNetwork>, workspace: &dyn Workspace) -> Guest {
    let mut mounts = vec![mount("ext4", "/dev/vda", OWN, "")];
    mounts.extend(shares);
    Guest {
        modules: Vec::new(),
        mounts,
        network: network.map(|network| network.inside),
        stream: Stream::Port(PORT.to_owned()),
        environment: [(MARK.to_owned(), workspace.mark().to_owned())].into(),
        // With -no-reboot this ends QEMU on every machine, also on those without a switch.
        ending: Ending::Restart,
    }
}

/// Builds the guest's first root: the agent, its modules and its plan.
fn initial_disk(modules: &[&Path], guest: &Guest, agent: &Path) -> std::io::Result<Vec<u8>> {
    let mut initrd = Initrd::default();
    for folder in ["/dev", "/proc", "/sys", "/tmp", "/modules"] {
        initrd.folder(folder);
    }
    initrd.file(AGENT, &fs::read(agent)?);
    let mut guest = guest.clone();
    for module in modules {
        let name = module.file_name().unwrap_or_default().to_string_lossy();
        let path = format!("/modules/{name}");
        initrd.file(&path, &fs::read(module)?);
        guest.modules.push(PathBuf::from(path));
    }
    initrd.file(init::PLAN, &serde_json::to_vec(&guest)?);
    Ok(initrd.finish())
}

/// The kernel's command line.
fn words(accelerator: &str) -> String {
    // Without tsc=reliable a microvm's clock moves in steps of 4 ms, and a q35's asks slow hardware.
    let mut words = vec!["console=ttyS0".to_owned(), "quiet".to_owned(), "panic=-1".to_owned()];
    words.push("tsc=reliable".to_owned());
    if accelerator == "tcg" {
        words.extend(tsc_rate::rate_khz().map(|rate| format!("tsc_early_khz={rate}")));
    }
    // A word that the kernel does not know goes to the first process.
    format!("{} rdinit={AGENT} {}", words.join(" "), init::INIT)
}

fn accelerator(specification: &Specification, programs: &Programs) -> &'static str {
    match ACCELERATION.value(specification) {
        "kvm" => "kvm",
        "auto" if kvm::proven(programs).is_ok() => "kvm",
        _ => "tcg",
    }
}

fn processor(accelerator: &str) -> Vec<String> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from).to_string();
    // TCG does `rep movsb` byte by byte, which kernels choose where ERMS is announced.
    let (accelerator, model) =
        if accelerator == "kvm" { ("kvm", "host") } else { ("tcg,thread=multi", "max,-erms") };
    ["-accel", accelerator, "-cpu", model, "-smp", &processors].map(str::to_owned).into()
}

/// Least memory with which the kernel, its first root and the probes' files have room.
const LEAST_MEMORY_MIB: u64 = 256;

fn memory_mib(specification: &Specification) -> Result<u64, LabError> {
    let text = MEMORY.value(specification);
    text.parse().ok().filter(|mib| *mib >= LEAST_MEMORY_MIB).ok_or_else(|| {
        let what = format!("qemu: 'memory' cannot be '{text}'");
        LabError::new(ErrorKind::Usage, what).hint(format!("give whole MiB, {LEAST_MEMORY_MIB} or more"))
    })
}

/// Name under which the guest finds a share.
fn tag(number: usize) -> String {
    format!("share{number}")
}

fn mount(kind: &str, source: &str, target: &str, options: &str) -> GuestMount {
    let [kind, source, target, options] = [kind, source, target, options].map(str::to_owned);
    GuestMount { kind, source, target, options }
}

/// In QEMU's options a comma is written twice.
fn argument(path: &Path) -> Result<String, LabError> {
    path.to_str().map(|path| path.replace(',', ",,")).ok_or_else(|| {
        LabError::new(ErrorKind::Usage, format!("qemu cannot be given the path {}", path.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_in_a_path_is_no_option() {
        assert_eq!(argument(Path::new("/a,b")).unwrap(), "/a,,b");
    }

    #[test]
    fn too_little_memory_is_refused() {
        for (text, good) in
            [("qemu", true), ("qemu?memory=512", true), ("qemu?memory=64", false), ("qemu?memory=x", false)]
        {
            assert_eq!(memory_mib(&Specification::parse(text).unwrap()).is_ok(), good, "{text}");
        }
    }
}
