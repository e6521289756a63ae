//! User-mode Linux: a complete Linux kernel that runs as an ordinary process.

use std::collections::BTreeMap;
use std::fs;

use crate::containers::devices::Devices;
use crate::containers::root::Root;
use crate::guests::confined;
use crate::guests::disk;
use crate::guests::extended_state;
use crate::guests::init::{self, Ending, Guest, GuestMount, Stream};
use crate::guests::kernel;
use crate::guests::memory::{self, MEMORY};
use crate::guests::share_server::{self, Cache};
use crate::host::mounts;
use crate::network::guest::{self, End, GuestNetwork, Way};
use crate::network::netem::{self, DELAY, DUPLICATE, Impairment, LOSS, REORDER};
use crate::owned::MARK;
use crate::provider::prelude::*;
use crate::provider::shared_memory;

/// The kernel under Debian's name, and under that of a build from source.
const KERNELS: [&str; 2] = ["linux.uml", "linux"];

const KERNEL: OptionDescription =
    OptionDescription::new_text("kernel", "", "file of a kernel of yours; the installed one unless given");

/// The network device, inside.
const DEVICE: &str = "vec0";
/// Folder in which Debian keeps the kernel's modules, by version.
const MODULES: &str = "/usr/lib/uml/modules";
/// Least memory with which the kernel and the probes' files have room.
const LEAST_MEMORY_MIB: u64 = 128;

choice! {
    enum OwnPlace: "own",
        "where the place 'own' is: disk: ext4 on a virtual disk; hostfs: a folder of the host"
    {
        Disk = "disk",
        Hostfs = "hostfs",
    }
}

choice! {
    enum Share: "share",
        "how host folders are shared in: hostfs: by the kernel itself, as a process of the host; diod: 9P over TCP, \
         as WSL2 had it until mid-2026 over a socket of its hypervisor's: needs net=tap"
    {
        Hostfs = "hostfs",
        Diod = "diod",
    }
}

choice! {
    enum Net: "net",
        "none: nothing but loopback; tap: the kernel's vector device on a tap in the session's own network, where \
         the peer `host` is"
    {
        None = "none",
        Tap = "tap",
    }
}

const NAME: &str = "uml";

pub static PROVIDER: fn() -> Provider = provider! {
    name: NAME,
    instance: None,
    parse: |specification| Ok(Box::new(Uml::of(specification)?)),
    summary: "a whole Linux kernel as an ordinary process, catching system calls by ptrace",
    short_description: "Linux kernel as a process",
    stands_for: "a full kernel of its own beside the host's, with its own disk and a host folder shared in, where \
                 neither KVM nor root is to be had: the structure of WSL2. Its system calls cost what ptrace costs, \
                 a hundred times those of a virtual machine, so it does not stand for WSL2's speed. Shares are \
                 hostfs, which passes each file operation to the host.",
    options: &[
        OwnPlace::OPTION,
        Share::OPTION,
        Cache::OPTION,
        Net::OPTION,
        DELAY,
        LOSS,
        DUPLICATE,
        REORDER,
        MEMORY,
        KERNEL,
    ],
    descends: true,
    kernel: KernelFacts {
        kind: KernelKind::Own,
        // It has one processor. A program's difference was 1.15 of that of its lines, and on one processor 1.19.
        serving: Serving { one_at_a_time: true, beside: 1.15, beside_pinned: 1.15 },
        settling: Settling::NONE,
        is_process: true,
    },
    roots: Roots::Any,
    by_default: ByDefault { tried: &["uml"], ranked: &[], stays: false },
    footprint: Footprint::from_starts("a prepared kernel, as a process with its own disk"),
};

#[derive(Clone)]
struct Uml {
    own: OwnPlace,
    share: Share,
    cache: Cache,
    net: Net,
    impairment: Impairment,
    memory_mib: u64,
    /// A kernel in place of the installed one.
    kernel: Option<PathBuf>,
}

impl Uml {
    fn of(specification: &Specification) -> Result<Self, LabError> {
        let uml = Uml {
            own: OwnPlace::from_specification(specification)?,
            share: Share::from_specification(specification)?,
            cache: Cache::from_specification(specification)?,
            net: Net::from_specification(specification)?,
            impairment: Impairment::from_specification(specification)?,
            memory_mib: memory::parse_memory_mib(specification, LEAST_MEMORY_MIB)?,
            kernel: KERNEL.read_non_empty(specification).map(PathBuf::from),
        };
        guest::check_impairment(uml.net != Net::None, &uml.impairment, NAME)?;
        match (uml.share, uml.net) {
            (Share::Diod, Net::None) => Err(share_server::needs_tap(NAME)),
            (Share::Diod, Net::Tap) | (Share::Hostfs, _) => Ok(uml),
        }
    }

    /// Prepares its network, if it has one, and adds it to the command.
    fn connect(
        &self,
        command: &mut Command,
        workspace: &mut dyn Workspace,
        outside: &mut Facts,
    ) -> Result<Option<GuestNetwork>, LabError> {
        let (way, names) = (self.way(), (self.net.name(), DEVICE));
        let network = guest::prepare_network(way.as_ref(), names, &self.impairment, workspace, outside)?;
        if let Some(network) = &network {
            network.inherit_network(command)?;
            let End::Tap(tap) = &network.end else { unreachable!("its only way is a tap") };
            command.arg(format!("{DEVICE}:transport=tap,ifname={tap},depth=128,gro=1"));
        }
        Ok(network)
    }

    fn way(&self) -> Option<Way> {
        match self.net {
            Net::None => None,
            Net::Tap => Some(Way::Tap),
        }
    }
}

impl Environment for Uml {
    fn proof(&self) -> Proof {
        Proof::Kernel("uml")
    }

    fn check_ready(&self, programs: &Programs) -> Result<Ready, NotReady> {
        if !cfg!(target_arch = "x86_64") {
            return Err(NotReady::from_reason("Linux as a process exists for x86 processors only"));
        }
        let program = match &self.kernel {
            Some(kernel) => find_kernel(programs, kernel)?,
            None => KERNELS.iter().find_map(|name| programs.find(name)).ok_or_else(|| {
                NotReady::missing_program("user-mode Linux", "apt-get install user-mode-linux")
            })?,
        };
        let mkfs = match self.own {
            OwnPlace::Disk => Some(disk::find_disk_maker(programs)?),
            OwnPlace::Hostfs => None,
        };
        self.way().map_or(Ok(()), |way| way.check_ready())?;
        shared_memory::require_room(LEAST_MEMORY_MIB, "the memory that the guest uses")?;
        let diod = match self.share {
            Share::Hostfs => None,
            Share::Diod => Some(share_server::find_diod(programs)?),
        };
        let version = programs::read_program_version(&program, &["--version"])
            .map_err(NotReady::from_program_error(&program))?;
        let mut facts = note_runtime(&program, &version);
        facts.add_fact("runtime.registers", if hides_state(&version) { "SSE only" } else { "all" });
        self.own.note_choice(&mut facts);
        self.share.note_choice(&mut facts);
        self.cache.note_choice(&mut facts);
        self.net.note_choice(&mut facts);
        self.impairment.note_options(&mut facts, "runtime");
        facts.add_fact("runtime.memory", self.memory_mib.to_string());
        let (options, programs) = (self.clone(), programs.clone());
        let guest = Found { options, program, version, mkfs, diod, programs };
        Ok(Ready::new(facts, move |workspace| guest.enter(workspace)))
    }
}

/// Finds the kernel of a file, which may be named from the current folder.
fn find_kernel(programs: &Programs, file: &Path) -> Result<programs::Found, NotReady> {
    let whole = file.canonicalize().ok();
    let found = whole.and_then(|whole| programs.find(&whole.to_string_lossy()));
    found.ok_or_else(|| {
        NotReady::from_reason(format!("the kernel {} is not a file that can be run", file.display()))
    })
}

/// A kernel with all that starting it needs.
struct Found {
    options: Uml,
    program: programs::Found,
    version: String,
    /// Makes the file system of the guest's disk, where it has one.
    mkfs: Option<programs::Found>,
    /// Serves the host's folders, where the kernel does not do it itself.
    diod: Option<programs::Found>,
    /// For unpacking modules.
    programs: Programs,
}

impl Found {
    fn enter(&self, workspace: &mut dyn Workspace) -> Result<Entrance, LabError> {
        let options = &self.options;
        let root = Root::build(workspace)?;
        let mut outside = Facts::default();
        root.note_places(&mut outside);
        let mut environment = BTreeMap::from([(MARK.to_owned(), workspace.mark().to_owned())]);
        let mut command = programs::command(&self.program);
        command.env_clear().current_dir(workspace.folder());
        command.arg(format!("mem={}M", options.memory_mib));
        command.arg("root=none").arg("rootfstype=hostfs").arg(argument("rootflags", root.path())?).arg("rw");
        let network = options.connect(&mut command, workspace, &mut outside)?;
        let modules = self.modules(&root)?;
        let mut mounts: Vec<GuestMount> = Vec::new();
        if let Some(mkfs) = &self.mkfs {
            let disk = disk::make_disk(mkfs, workspace)?;
            mounts::note_file_system(&mut outside, "own", &disk);
            // Its block device reads and writes the file as any program does.
            mounts::note_image(&mut outside, "own", false);
            command.arg(argument("ubd0", &disk)?);
            mounts.push(GuestMount::new("ext4", "/dev/ubda", &root.inside_path("own"), ""));
        }
        mounts.extend(self.share(&root, network.as_ref(), workspace)?);
        // Its sockets and process number go where they are removed with the rest.
        command.arg(argument("uml_dir", workspace.folder())?).arg("umid=uml");
        // The console writes to standard error; the first serial line is the stream.
        command.args(["con=null", "con0=null,fd:2", "ssl=null", "ssl0=fd:0,fd:1", "quiet", "panic=-1"]);
        if hides_state(&self.version) {
            extended_state::hide_extended_state(&mut command);
            let (name, value) = extended_state::TUNABLES;
            environment.insert(name.to_owned(), value.to_owned());
            // The kernel passes what it does not know on to the first process, as its environment.
            command.arg(format!("{name}={value}"));
        }
        // A word that the kernel does not know goes to the first process. After "--" all would, and
        // user-mode Linux appends more options.
        command.arg(format!("init={}", root.agent)).arg(init::INIT);
        if root.is_view() {
            let shares = root.shares.iter().map(|(path, _)| path.as_path());
            let folders: Vec<&Path> = [workspace.folder()].into_iter().chain(shares).collect();
            let at = workspace.folder().join("kernel");
            let steps = confined::make_confining_steps(&self.program, &folders, &at)
                .map_err(LabError::storage_error("confine the kernel in", &at))?;
            root.mount_with(&mut command, steps, workspace)?;
        }
        let stream = Stream::Serial("/dev/ttyS0".into());
        let host = network.as_ref().map(GuestNetwork::describe_path);
        let network = network.map(|network| network.inside);
        let ending = Ending::PowerOff;
        let devices = if root.is_view() { Devices::All } else { Devices::Few };
        let guest = Guest {
            modules,
            mounts,
            devices,
            layered: None,
            agent: root.agent.clone(),
            user: root.guest_user(),
            network,
            stream,
            environment,
            ending,
        };
        write_plan(&guest, &root.host_path(&root.inside_path(init::PLAN)))?;
        Ok(Entrance { command, host, places: root.places, outside })
    }

    /// Shares the host's folders, and returns the guest's mounts.
    fn share(
        &self,
        root: &Root,
        network: Option<&GuestNetwork>,
        workspace: &mut dyn Workspace,
    ) -> Result<Vec<GuestMount>, LabError> {
        match &self.diod {
            Some(diod) => {
                let network = network.ok_or_else(|| share_server::needs_tap(NAME))?;
                share_server::serve_9p(diod, workspace, root, network, self.options.cache)
            }
            None => {
                let shares = root.shares.iter();
                shares
                    .map(|(path, inside)| Ok(GuestMount::new("hostfs", "none", inside, plain(path)?)))
                    .collect()
            }
        }
    }

    /// Copies the modules that the options need into the guest's root; returns where they are inside.
    fn modules(&self, root: &Root) -> Result<Vec<PathBuf>, LabError> {
        let mut wanted: Vec<&str> = Vec::new();
        wanted.extend(self.options.impairment.netem.map(|_| netem::MODULE));
        match self.options.share {
            Share::Hostfs => {}
            Share::Diod => wanted.extend(share_server::DIOD_MODULES),
        }
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let found = kernel::modules_in(&self.programs, &Path::new(MODULES).join(&self.version), &wanted)?;
        let folder = root.host_path(&root.inside_path("modules"));
        fs::create_dir_all(&folder).map_err(LabError::storage_error("write", &folder))?;
        found
            .into_iter()
            .map(|(name, bytes)| {
                let inside = root.inside_path(&format!("modules/{name}.ko"));
                let path = root.host_path(&inside);
                fs::write(&path, bytes).map_err(LabError::storage_error("write", &path))?;
                Ok(PathBuf::from(inside))
            })
            .collect()
    }
}

/// Tells whether a kernel of this version must not see the processor's extended registers.
fn hides_state(version: &str) -> bool {
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    version < (6u32, 13u32) && extended_state::is_too_large()
}

fn argument(key: &str, path: &Path) -> Result<String, LabError> {
    plain(path).map(|path| format!("{key}={path}"))
}

/// Rejects a path that a kernel's command line would split: at spaces, or at commas between options.
fn plain(path: &Path) -> Result<&str, LabError> {
    let simple = |text: &&str| !text.contains(|c: char| c.is_whitespace() || ",\"".contains(c));
    path.to_str().filter(simple).ok_or_else(|| {
        let what = format!("uml cannot work in {}", path.display());
        LabError::usage_error(what)
            .with_cause("a kernel's command line cannot contain such a path")
            .with_hint("choose folders without spaces, commas and quotes")
    })
}

fn write_plan(guest: &Guest, path: &Path) -> Result<(), LabError> {
    let json = serde_json::to_vec(guest).map_err(std::io::Error::from);
    json.and_then(|json| fs::write(path, json)).map_err(LabError::storage_error("write", path))
}
