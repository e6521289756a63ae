//! QEMU: a virtual machine with the distribution's kernel, and tare as its first process.

use std::fs;

use tare_data::facts::keys::CPU_EMULATED;

use crate::containers::devices::Devices;
use crate::containers::root::{AGENT, OWN, Root};
use crate::guests::disk::{self, DiskMode};
use crate::guests::init::{self, Ending, GuestMount, Layered, Stream};
use crate::guests::initrd::Initrd;
use crate::guests::kernel::{self, Kernel};
use crate::guests::kvm;
use crate::guests::machine::{self, Board, Guest, Kind, Machine};
use crate::guests::memory::{self, MEMORY};
use crate::guests::share_server::{self, Cache};
use crate::guests::tsc_rate;
use crate::host::mounts;
use crate::network::guest::{self, End, GuestNetwork, Way};
use crate::network::netem::{self, DELAY, DUPLICATE, Impairment, LOSS, REORDER};
use crate::network::{lab, passt};
use crate::owned::MARK;
use crate::provider::Preparation;
use crate::provider::prelude::*;
use crate::provider::processor::Processor;

/// Name of the port that is the stream.
const PORT: &str = "tare";

/// The network device, inside.
const DEVICE: &str = "eth0";
/// Least memory with which the kernel, its first root and the probes' files have room.
const LEAST_MEMORY_MIB: u64 = 256;

choice! {
    enum Acceleration: "acceleration",
        "auto: KVM where it is proven to run real code, otherwise TCG, which emulates every instruction"
    {
        Auto = "auto",
        Kvm = "kvm",
        Tcg = "tcg",
    }
}

choice! {
    enum Share: "share",
        "how host folders are shared in: 9p: by a virtual device of QEMU's; virtiofs: by virtiofsd, through shared \
         memory; diod: 9P over TCP, as WSL2 had it until mid-2026 over a socket of its hypervisor's: needs net=tap"
    {
        NineP = "9p",
        Virtiofs = "virtiofs",
        Diod = "diod",
    }
}

choice! {
    enum Net: "net",
        "none: nothing but loopback; tap: a virtio card on a tap in the session's own network, where the peer \
         `host` is; user: the same card on QEMU's network stack in user space; passt: on passt's, which opens a socket \
         of the host's for each flow"
    {
        None = "none",
        Tap = "tap",
        User = "user",
        Passt = "passt",
    }
}

/// Why no other folder can be its root.
const LAYERS: &str = "the guest puts a layer over this machine's root, as it is";
/// Why the root of a guest of another processor holds nothing.
const FOREIGN: &str = "this machine's programs are not for the guest's processor";

const NAME: &str = "qemu";

pub static PROVIDER: fn() -> Provider = provider! {
    name: NAME,
    instance: None,
    parse: |specification| Ok(Box::new(Qemu::of(specification)?)),
    summary: "a virtual machine: a full kernel on virtual hardware",
    short_description: "virtual machine by QEMU",
    stands_for: "a full kernel in a light virtual machine with its own disk and the host's folders by 9P or \
                 virtiofs, which is WSL2's architecture and that of every desktop's virtual machines. Without KVM every instruction is \
                 emulated: then values of the processor mean nothing, and others show the shape only. WSL2's \
                 hypervisor is Hyper-V, and its 9P, which it had until mid-2026, ran over a socket, not virtio.",
    options: &[
        Guest::OPTION,
        Machine::OPTION,
        Acceleration::OPTION,
        DiskMode::OPTION,
        Share::OPTION,
        Cache::OPTION,
        Net::OPTION,
        DELAY,
        LOSS,
        DUPLICATE,
        REORDER,
        MEMORY,
    ],
    descends: true,
    kernel: KernelFacts::GUEST,
    roots: Roots::Host(LAYERS),
    by_default: ByDefault { tried: &["qemu"], ranked: &[(3, "qemu?acceleration=kvm")], stays: false },
    footprint: Footprint {
        programs: machine::PROGRAMS.iter().chain(&["virtiofsd", "diod"]).map(|&name| name.into()).collect(),
        ..Footprint::from_starts(
            "a virtual machine with its own disk, and servers for shared folders, after a test of KVM",
        )
    },
};

#[derive(Clone)]
struct Qemu {
    processor: Processor,
    board: Board,
    acceleration: Acceleration,
    disk: DiskMode,
    share: Share,
    cache: Cache,
    net: Net,
    impairment: Impairment,
    memory_mib: u64,
}

impl Qemu {
    fn of(specification: &Specification) -> Result<Self, LabError> {
        let (processor, machine) = (
            Guest::from_specification(specification)?.processor(),
            Machine::from_specification(specification)?,
        );
        let board = Board::from_machine(machine, processor).ok_or_else(|| {
            let (machine, processor) = (machine.name(), processor.name());
            LabError::usage_error(format!("qemu: there is no {machine} for {processor}"))
                .with_hint("leave out machine=")
        })?;
        let qemu = Qemu {
            processor,
            board,
            acceleration: Acceleration::from_specification(specification)?,
            disk: DiskMode::from_specification(specification)?,
            share: Share::from_specification(specification)?,
            cache: Cache::from_specification(specification)?,
            net: Net::from_specification(specification)?,
            impairment: Impairment::from_specification(specification)?,
            memory_mib: memory::parse_memory_mib(specification, LEAST_MEMORY_MIB)?,
        };
        guest::check_impairment(qemu.net != Net::None, &qemu.impairment, NAME)?;
        if qemu.is_foreign() && qemu.acceleration == Acceleration::Kvm {
            return Err(LabError::usage_error("qemu: KVM only runs this machine's processor")
                .with_hint("leave out acceleration= or processor="));
        }
        match (qemu.share, qemu.cache, qemu.net) {
            (Share::Virtiofs, Cache::Mmap, _) => {
                let error = LabError::usage_error("qemu: virtiofs has no cache=mmap");
                Err(error.with_hint("give cache=none or cache=loose"))
            }
            (Share::Diod, _, Net::None | Net::User | Net::Passt) => Err(share_server::needs_tap(NAME)),
            (Share::Diod, _, Net::Tap)
            | (Share::NineP, ..)
            | (Share::Virtiofs, Cache::None | Cache::Loose, _) => Ok(qemu),
        }
    }

    fn is_foreign(&self) -> bool {
        self.processor != Processor::HERE
    }

    fn find_way(&self, programs: &Programs) -> Result<Option<Way>, NotReady> {
        Ok(match self.net {
            Net::None => None,
            Net::Tap => Some(Way::Tap),
            Net::User => Some(Way::User),
            Net::Passt => Some(Way::Passt(passt::find_program(programs, passt::PASST)?)),
        })
    }
}

impl Environment for Qemu {
    fn preparation(&self) -> Option<Preparation> {
        Some(Preparation {
            prepare: |specification, programs, begins| {
                kernel::prepare_kernel(
                    Guest::from_specification(specification)?.processor(),
                    programs,
                    begins,
                )
            },
            remove: |specification, programs| {
                kernel::remove_kernel(Guest::from_specification(specification)?.processor(), programs)
            },
        })
    }

    fn proof(&self) -> Proof {
        Proof::OtherBoot
    }

    fn restricted_roots(&self) -> Option<Roots> {
        self.is_foreign().then_some(Roots::Own(FOREIGN))
    }

    fn check_ready(&self, programs: &Programs) -> Result<Ready, NotReady> {
        let kind = machine::find_machine_kind(self.processor);
        let agent = match self.is_foreign() {
            true => Some(agent_for(programs, self.processor.architecture())?),
            false => None,
        };
        let (program, mut facts) = require_runtime(programs, kind.program, kind.install)?;
        let mkfs = disk::find_disk_maker(programs)?;
        let way = self.find_way(programs)?;
        way.as_ref().map_or(Ok(()), Way::check_ready)?;
        let server = match self.share {
            Share::NineP => Server::Qemu,
            Share::Virtiofs => Server::Virtiofsd(share_server::find_virtiofsd(programs)?),
            Share::Diod => Server::Diod(share_server::find_diod(programs)?),
        };
        let kernel = kernel::find_kernel(self.processor, programs)?;
        let accelerator = match self.acceleration {
            Acceleration::Tcg => Accelerator::Tcg,
            Acceleration::Kvm => kvm::check_kvm(programs).map(|()| Accelerator::Kvm)?,
            Acceleration::Auto if self.is_foreign() => Accelerator::Tcg,
            Acceleration::Auto => kvm::check_kvm(programs).map_or(Accelerator::Tcg, |()| Accelerator::Kvm),
        };
        facts.add_fact("runtime.accelerator", accelerator.name());
        if accelerator == Accelerator::Tcg {
            facts.add_fact(CPU_EMULATED, "TCG");
        }
        facts.add_fact("runtime.kernel", &kernel.release);
        facts.add_fact("runtime.processor", self.processor.name());
        facts.add_fact("runtime.machine", self.board.name());
        self.share.note_choice(&mut facts);
        self.cache.note_choice(&mut facts);
        facts.add_fact("runtime.memory", self.memory_mib.to_string());
        let (agent, identity) = agent.unzip();
        let guest = Found { options: self.clone(), agent, program, way, mkfs, server, kernel, accelerator };
        Ok(Ready::new(facts, move |workspace| guest.enter(workspace)).with_agent(identity))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Accelerator {
    Kvm,
    Tcg,
}

impl Accelerator {
    fn name(self) -> &'static str {
        match self {
            Accelerator::Kvm => "kvm",
            Accelerator::Tcg => "tcg",
        }
    }

    /// Builds the options for the processors and the accelerator.
    fn words(self, kind: &Kind) -> Vec<String> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from).to_string();
        let (accelerator, model) = match self {
            Accelerator::Kvm => ("kvm", "host"),
            Accelerator::Tcg => ("tcg,thread=multi", kind.emulated),
        };
        ["-accel", accelerator, "-cpu", model, "-smp", &processors].map(str::to_owned).into()
    }

    fn kernel_words(self, processor: Processor) -> String {
        let kind = machine::find_machine_kind(processor);
        let mut words = vec![format!("console={}", kind.console), "quiet".to_owned(), "panic=-1".to_owned()];
        words.extend(kind.kernel_words.iter().map(|word| (*word).to_owned()));
        if self == Accelerator::Tcg && processor == Processor::Amd64 {
            words.extend(tsc_rate::rate_khz().map(|rate| format!("tsc_early_khz={rate}")));
        }
        // A word that the kernel does not know goes to the first process.
        format!("{} rdinit={AGENT} {}", words.join(" "), init::INIT)
    }
}

enum Server {
    Qemu,
    Virtiofsd(programs::Found),
    Diod(programs::Found),
}

/// A machine with all that starting it needs.
struct Found {
    options: Qemu,
    /// The agent for another processor.
    agent: Option<PathBuf>,
    program: programs::Found,
    way: Option<Way>,
    /// Makes the file system of the guest's disk.
    mkfs: programs::Found,
    server: Server,
    kernel: Kernel,
    accelerator: Accelerator,
}

impl Found {
    fn enter(&self, workspace: &mut dyn Workspace) -> Result<Entrance, LabError> {
        let options = &self.options;
        let root = Root::build(workspace)?;
        let disk = disk::make_disk(&self.mkfs, workspace)?;
        let mut outside = Facts::default();
        root.note_places(&mut outside);
        mounts::note_file_system(&mut outside, "own", &disk);
        let names = (options.net.name(), DEVICE);
        let network =
            guest::prepare_network(self.way.as_ref(), names, &options.impairment, workspace, &mut outside)?;
        let bus = options.board.bus;
        let mut command = programs::command(&self.program);
        command.env_clear().current_dir(workspace.folder());
        command
            .args(options.machine_words())
            .args(self.accelerator.words(machine::find_machine_kind(options.processor)));
        let initrd = workspace.folder().join("initrd");
        command.arg("-kernel").arg(&self.kernel.image).arg("-initrd").arg(&initrd);
        command.arg("-append").arg(self.accelerator.kernel_words(options.processor));
        // The console goes to standard error, where lines become notes.
        command.args(["-serial", "file:/dev/fd/2", "-chardev", "stdio,id=stream,signal=off"]);
        command.arg("-device").arg(format!("virtio-serial-{bus}"));
        command.arg("-device").arg(format!("virtserialport,chardev=stream,name={PORT}"));
        let is_direct = options.disk.is_direct(&disk)?;
        mounts::note_image(&mut outside, "own", is_direct);
        command.arg("-drive").arg(disk::describe_drive(&argument(&disk)?, is_direct));
        command.arg("-device").arg(format!("virtio-blk-{bus},drive=own"));
        if let Some(network) = &network {
            network.inherit_network(&mut command)?;
            command.arg("-netdev").arg(match &network.end {
                End::Tap(tap) => format!("tap,id=net,ifname={tap},script=no,downscript=no"),
                End::User { port } => {
                    let lab = lab::ADDRESS;
                    format!("user,id=net,hostfwd=tcp:{lab}:{port}-:{port},hostfwd=udp:{lab}:{port}-:{port}")
                }
                End::Passt { socket, .. } => {
                    format!("stream,id=net,server=off,addr.type=unix,addr.path={socket}")
                }
            });
            command.arg("-device").arg(format!("virtio-net-{bus},netdev=net"));
        }
        let shares = self.share(&root, network.as_ref(), workspace, &mut command)?;
        let host = network.as_ref().map(GuestNetwork::describe_path);
        let mut plan = plan(shares, network, workspace);
        let mut on_demand = options.modules_on_demand();
        if root.is_view() {
            self.show(&root, workspace, &mut command, &mut plan)?;
            outside.add_fact("root.upper", "ext4");
            on_demand.push("overlay");
        }
        let modules = self.kernel.modules_with(&on_demand);
        let archive = initial_disk(&modules, &plan, self.agent.as_deref().unwrap_or(workspace.agent()));
        archive
            .and_then(|bytes| fs::write(&initrd, bytes))
            .map_err(LabError::storage_error("write", &initrd))?;
        Ok(Entrance { command, host, places: root.places, outside })
    }

    /// Shares this machine's root with the guest, which puts a writable layer over it.
    fn show(
        &self,
        root: &Root,
        workspace: &dyn Workspace,
        command: &mut Command,
        guest: &mut init::Guest,
    ) -> Result<(), LabError> {
        root.show_for(command, workspace)?;
        let path = argument(root.path())?;
        command
            .arg("-fsdev")
            .arg(format!("local,id=root,path={path},security_model=none,readonly=on,multidevs=remap"));
        command.arg("-device").arg(format!("virtio-9p-{},fsdev=root,mount_tag=root", self.options.board.bus));
        // Nothing changes below the layer, so the guest may cache it.
        let options = "trans=virtio,version=9p2000.L,msize=262144,cache=loose";
        let lower = GuestMount::new("9p", "root", "/lower", options);
        // The disk is mounted for the layer before anything else.
        let own = guest.mounts.remove(0);
        let disk = GuestMount { target: "/disk".to_owned(), ..own };
        (guest.layered, guest.devices) = (Some(Layered { lower, disk }), Devices::All);
        (guest.agent, guest.user) = (root.agent.clone(), root.guest_user());
        Ok(())
    }

    /// Shares the host's folders: adds devices to the command, starts servers, and returns the guest's
    /// mounts.
    fn share(
        &self,
        root: &Root,
        network: Option<&GuestNetwork>,
        workspace: &mut dyn Workspace,
        command: &mut Command,
    ) -> Result<Vec<GuestMount>, LabError> {
        let (cache, bus) = (self.options.cache, self.options.board.bus);
        let shares = root.shares.iter().enumerate();
        match &self.server {
            Server::Diod(program) => {
                let network = network.ok_or_else(|| share_server::needs_tap(NAME))?;
                share_server::serve_9p(program, workspace, root, network, cache)
            }
            Server::Virtiofsd(program) => shares
                .map(|(number, (path, inside))| {
                    let socket = share_server::serve_virtiofs(program, workspace, number, path, cache)?;
                    let tag = tag(number);
                    command.arg("-chardev").arg(format!("socket,id=fs{number},path={socket}"));
                    command.arg("-device");
                    command.arg(format!("vhost-user-fs-{bus},chardev=fs{number},tag={tag}"));
                    Ok(GuestMount::new("virtiofs", &tag, inside, ""))
                })
                .collect(),
            Server::Qemu => shares
                .map(|(number, (path, inside))| {
                    let (path, tag) = (argument(path)?, tag(number));
                    command.arg("-fsdev").arg(format!("local,id=fs{number},path={path},security_model=none"));
                    command.arg("-device");
                    command.arg(format!("virtio-9p-{bus},fsdev=fs{number},mount_tag={tag}"));
                    let options =
                        format!("trans=virtio,version=9p2000.L,msize=262144,cache={}", cache.name());
                    Ok(GuestMount::new("9p", &tag, inside, &options))
                })
                .collect(),
        }
    }
}

impl Qemu {
    fn machine_words(&self) -> Vec<String> {
        let mut machine = self.board.word.to_owned();
        let mut words: Vec<String> = Vec::new();
        match self.share {
            Share::NineP | Share::Diod => {}
            Share::Virtiofs => {
                // The server of the share reads and writes the guest's memory.
                machine.push_str(",memory-backend=memory");
                let memory = format!("memory-backend-memfd,id=memory,size={}M,share=on", self.memory_mib);
                words.extend(["-object".to_owned(), memory]);
                // Without a PCI bus QEMU's devices speak the protocol before 1.0, which the server does not.
                words.extend(["-global", "virtio-mmio.force-legacy=false"].map(str::to_owned));
            }
        }
        words.extend(["-M".to_owned(), machine, "-m".to_owned(), self.memory_mib.to_string()]);
        words.extend(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"].map(str::to_owned));
        words
    }

    /// Lists the modules that a guest needs for these options.
    fn modules_on_demand(&self) -> Vec<&'static str> {
        let netem = self.impairment.netem.map(|_| netem::MODULE);
        let of_share: &[&str] = match self.share {
            Share::NineP => &[],
            Share::Virtiofs => &share_server::VIRTIOFS_MODULES,
            Share::Diod => &share_server::DIOD_MODULES,
        };
        netem.into_iter().chain(of_share.iter().copied()).collect()
    }
}

/// Builds the plan of the guest's first process.
fn plan(shares: Vec<GuestMount>, network: Option<GuestNetwork>, workspace: &dyn Workspace) -> init::Guest {
    let mut mounts = vec![GuestMount::new("ext4", "/dev/vda", OWN, "")];
    mounts.extend(shares);
    init::Guest {
        modules: Vec::new(),
        mounts,
        devices: Devices::Few,
        layered: None,
        agent: AGENT.to_owned(),
        user: None,
        network: network.map(|network| network.inside),
        stream: Stream::Port(PORT.to_owned()),
        environment: [(MARK.to_owned(), workspace.mark().to_owned())].into(),
        // With -no-reboot this ends QEMU on every machine, also on those without a switch.
        ending: Ending::Restart,
    }
}

/// Builds the guest's first root: the agent, its modules and its plan.
fn initial_disk(modules: &[&Path], guest: &init::Guest, agent: &Path) -> std::io::Result<Vec<u8>> {
    let mut initrd = Initrd::default();
    for folder in ["/dev", "/proc", "/sys", "/tmp", "/modules"] {
        initrd.add_folder(folder);
    }
    initrd.add_file(AGENT, &fs::read(agent)?);
    let mut guest = guest.clone();
    for module in modules {
        let name = module.file_name().unwrap_or_default().to_string_lossy();
        let path = format!("/modules/{name}");
        initrd.add_file(&path, &fs::read(module)?);
        guest.modules.push(PathBuf::from(path));
    }
    initrd.add_file(&format!("/{}", init::PLAN), &serde_json::to_vec(&guest)?);
    Ok(initrd.finish())
}

/// Builds the mount tag of a share.
fn tag(number: usize) -> String {
    format!("share{number}")
}

/// Escapes a path for QEMU's options, where a comma is written twice.
fn argument(path: &Path) -> Result<String, LabError> {
    path.to_str()
        .map(|path| path.replace(',', ",,"))
        .ok_or_else(|| LabError::usage_error(format!("qemu cannot use the path {}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_in_a_path_is_no_option() {
        assert_eq!(argument(Path::new("/a,b")).unwrap(), "/a,,b");
    }
}
