//! User-mode Linux: a whole Linux kernel as an ordinary process.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tare_data::facts::Facts;

use crate::containers::root::{AGENT, OWN, Root};
use crate::error::{ErrorKind, LabError};
use crate::guests::disk;
use crate::guests::extended_state;
use crate::guests::init::{self, Ending, Guest, GuestMount, Stream};
use crate::guests::kernel;
use crate::guests::share_server;
use crate::host::mounts;
use crate::host::programs::{self, Programs};
use crate::network::guest::{self, GuestNetwork};
use crate::network::netem::{self, DELAY, DUPLICATE, LOSS, Netem, REORDER};
use crate::ownership::owned::MARK;
use crate::provider::specification::Specification;
use crate::provider::{Entrance, NotReady, OptionDescription, Provider, Workspace};

/// The kernel under Debian's name, and under that of a build from source.
const KERNELS: [&str; 2] = ["linux.uml", "linux"];

const OWN_DISK: OptionDescription = OptionDescription {
    key: "own",
    default: "disk",
    values: &["disk", "hostfs"],
    about: "where the place 'own' is: disk: ext4 on a virtual disk; hostfs: a folder of the host",
};
const NET: OptionDescription = OptionDescription {
    key: "net",
    default: "none",
    values: &["none", "tap"],
    about: "none: nothing but loopback; tap: the kernel's vector device on a tap in the session's own network, \
            where the peer `host` is",
};
const SHARE: OptionDescription = OptionDescription {
    key: "share",
    default: "hostfs",
    values: &["hostfs", "diod"],
    about: "how host folders are shared in: hostfs: by the kernel itself, as a process of the host; diod: 9P over \
            TCP, as WSL2 has it over a socket of its hypervisor's: needs net=tap",
};
const CACHE: OptionDescription = OptionDescription {
    key: "cache",
    default: "none",
    values: &["none", "loose", "mmap"],
    about: "what the guest keeps of shares by 9P: none asks the host every time; loose and mmap trust themselves",
};
/// The network device, inside.
const DEVICE: &str = "vec0";
/// Where Debian keeps the kernel's modules, by its version.
const MODULES: &str = "/usr/lib/uml/modules";
const MEMORY: OptionDescription =
    OptionDescription { key: "memory", default: "1024", values: &[], about: "memory of the guest in MiB" };

pub struct Uml;

impl Provider for Uml {
    fn name(&self) -> &'static str {
        "uml"
    }

    fn summary(&self) -> &'static str {
        "a whole Linux kernel as an ordinary process, catching system calls by ptrace"
    }

    fn stands_for(&self) -> &'static str {
        "a full kernel of its own beside the host's, with its own disk and a host folder shared in, where \
         neither KVM nor root is to be had: the structure of WSL2. Its system calls cost what ptrace costs, \
         a hundred times those of a virtual machine, so it is no stand-in for WSL2's speed. Shares are \
         hostfs, which passes each file operation to the host."
    }

    fn options(&self) -> &'static [OptionDescription] {
        &[OWN_DISK, SHARE, CACHE, NET, DELAY, LOSS, DUPLICATE, REORDER, MEMORY]
    }

    fn by_default(&self) -> &'static [&'static str] {
        &["uml"]
    }

    fn ready(&self, specification: &Specification, programs: &Programs) -> Result<Facts, NotReady> {
        let program = program(programs)
            .ok_or_else(|| NotReady::missing("user-mode Linux", "apt-get install user-mode-linux"))?;
        if OWN_DISK.value(specification) == "disk" {
            disk::ready(programs)?;
        }
        memory_mib(specification).map_err(|e| NotReady::because(e.what))?;
        guest::ready(&NET, specification)?;
        let [share, cache, net] = [SHARE, CACHE, NET].map(|option| option.value(specification));
        share_server::ready(share, cache, net, programs)?;
        let version = programs::version(&program, &["--version"])
            .map_err(|e| NotReady::because(format!("{}: {e}", program.display())))?;
        let mut facts = Facts::default();
        facts.note("runtime.path", program.to_string_lossy());
        facts.note("runtime.registers", if hides_state(&version) { "SSE only" } else { "all" });
        facts.note("runtime.version", version);
        for option in self.options() {
            facts.note(format!("runtime.{}", option.key), option.value(specification));
        }
        Ok(facts)
    }

    fn enter(
        &self,
        specification: &Specification,
        workspace: &mut dyn Workspace,
    ) -> Result<Entrance, LabError> {
        let program = program(workspace.programs())
            .ok_or_else(|| LabError::new(ErrorKind::Environment, "user-mode Linux is not installed"))?;
        let root = Root::build(workspace)?;
        let mut outside = Facts::default();
        root.note_places(&mut outside);
        let version = programs::version(&program, &["--version"]).map_err(|e| {
            LabError::new(ErrorKind::Environment, format!("cannot start {}", program.display())).because(e)
        })?;
        let mut environment = BTreeMap::from([(MARK.to_owned(), workspace.mark().to_owned())]);
        let mut command = Command::new(&program);
        command.env_clear().current_dir(workspace.folder());
        command.arg(format!("mem={}M", memory_mib(specification)?));
        command.arg("root=none").arg("rootfstype=hostfs").arg(argument("rootflags", &root.folder)?).arg("rw");
        let network = guest::prepare(&NET, DEVICE, specification, workspace, &mut outside)?;
        if let Some(network) = &network {
            network.inherit(&mut command)?;
            let tap = network.tap.as_deref().unwrap_or_default();
            command.arg(format!("{DEVICE}:transport=tap,ifname={tap},depth=128,gro=1"));
        }
        let modules = modules(specification, &version, &root, workspace.programs())?;
        let mut mounts: Vec<GuestMount> = Vec::new();
        if OWN_DISK.value(specification) == "disk" {
            let disk = disk::make(workspace)?;
            mounts::note(&mut outside, "own", &disk);
            command.arg(argument("ubd0", &disk)?);
            mounts.push(mount("ext4", "/dev/ubda", OWN, ""));
        }
        match (&network, SHARE.value(specification)) {
            (Some(network), "diod") => {
                let cache = CACHE.value(specification);
                mounts.extend(share_server::serve_9p(workspace, &root, network, cache)?);
            }
            (None, "diod") => return Err(share_needs_network()),
            _ => {
                for (path, inside) in &root.shares {
                    let path = plain(path)?;
                    mounts.push(mount("hostfs", "none", inside, path));
                }
            }
        }
        // Its sockets and process number go where they are taken away with the rest.
        command.arg(argument("uml_dir", workspace.folder())?).arg("umid=uml");
        // The console writes to standard error; the first serial line is the stream.
        command.args(["con=null", "con0=null,fd:2", "ssl=null", "ssl0=fd:0,fd:1", "quiet", "panic=-1"]);
        if hides_state(&version) {
            extended_state::hide(&mut command);
            let (name, value) = extended_state::TOLD;
            environment.insert(name.to_owned(), value.to_owned());
            // The kernel passes what it does not know on to the first process, as its environment.
            command.arg(format!("{name}={value}"));
        }
        // A word that the kernel does not know goes to the first process. After "--" all would, and
        // user-mode Linux appends words of its own.
        command.arg(format!("init={AGENT}")).arg(init::INIT);
        let stream = Stream::Serial("/dev/ttyS0".into());
        let host = GuestNetwork::host(network.as_ref());
        let network = network.map(|network| network.inside);
        let guest = Guest { modules, mounts, network, stream, environment, ending: Ending::PowerOff };
        write_plan(&guest, &root.outside(init::PLAN))?;
        Ok(Entrance { command, host, places: root.places, outside })
    }
}

fn program(programs: &Programs) -> Option<PathBuf> {
    KERNELS.iter().find_map(|name| programs.find(name))
}

fn share_needs_network() -> LabError {
    LabError::new(ErrorKind::Usage, "uml: share=diod goes by the network").hint("add net=tap")
}

/// Copies the modules that a specification needs into the guest's root; returns where they are inside.
fn modules(
    specification: &Specification,
    version: &str,
    root: &Root,
    programs: &Programs,
) -> Result<Vec<PathBuf>, LabError> {
    let mut wanted: Vec<&str> = Vec::new();
    wanted.extend(Netem::of(specification)?.map(|_| netem::MODULE));
    if SHARE.value(specification) == "diod" {
        wanted.extend(share_server::DIOD_MODULES);
    }
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let found = kernel::modules_in(programs, &Path::new(MODULES).join(version), &wanted)?;
    let storage = |path: &Path, e| {
        LabError::new(ErrorKind::Storage, format!("cannot write {}", path.display())).because(e)
    };
    let folder = root.outside("/modules");
    fs::create_dir_all(&folder).map_err(|e| storage(&folder, e))?;
    found
        .into_iter()
        .map(|(name, bytes)| {
            let inside = format!("/modules/{name}.ko");
            let path = root.outside(&inside);
            fs::write(&path, bytes).map_err(|e| storage(&path, e))?;
            Ok(PathBuf::from(inside))
        })
        .collect()
}

/// Whether the processor's extended registers must be hidden from a kernel of this version.
fn hides_state(version: &str) -> bool {
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    version < (6u32, 13u32) && extended_state::is_too_large()
}

/// Least memory with which the kernel and the probes' files have room.
const LEAST_MEMORY_MIB: u64 = 128;

fn memory_mib(specification: &Specification) -> Result<u64, LabError> {
    let text = MEMORY.value(specification);
    text.parse().ok().filter(|mib| *mib >= LEAST_MEMORY_MIB).ok_or_else(|| {
        let what = format!("uml: 'memory' cannot be '{text}'");
        LabError::new(ErrorKind::Usage, what).hint(format!("give whole MiB, {LEAST_MEMORY_MIB} or more"))
    })
}

fn mount(kind: &str, source: &str, target: &str, options: &str) -> GuestMount {
    let [kind, source, target, options] = [kind, source, target, options].map(str::to_owned);
    GuestMount { kind, source, target, options }
}

fn argument(key: &str, path: &Path) -> Result<String, LabError> {
    plain(path).map(|path| format!("{key}={path}"))
}

/// A kernel's command line is cut at spaces, and options at commas.
fn plain(path: &Path) -> Result<&str, LabError> {
    let simple = |text: &&str| !text.contains(|c: char| c.is_whitespace() || ",\"".contains(c));
    path.to_str().filter(simple).ok_or_else(|| {
        let what = format!("uml cannot work in {}", path.display());
        LabError::new(ErrorKind::Usage, what)
            .because("a kernel's command line has no way to write such a path")
            .hint("choose folders without spaces, commas and quotes")
    })
}

fn write_plan(guest: &Guest, path: &Path) -> Result<(), LabError> {
    let json = serde_json::to_vec(guest).map_err(std::io::Error::from);
    json.and_then(|json| fs::write(path, json))
        .map_err(|e| LabError::new(ErrorKind::Storage, format!("cannot write {}", path.display())).because(e))
}
