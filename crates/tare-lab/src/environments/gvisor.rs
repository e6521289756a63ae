//! gVisor: a kernel in user space that answers the system calls itself.

use std::fs;
use std::io::Read;
use std::time::Duration;

use crate::containers::bundle;
use crate::containers::private_mounts;
use crate::containers::root::Root;
use crate::containers::tracing;
use crate::containers::user_namespaces;
use crate::guests::kvm;
use crate::host::control_groups;
use crate::network::container::{Attachment, ContainerNetwork};
use crate::network::lab;
use crate::owned::{Owned, Runtime};
use crate::provider::LAST_WORDS;
use crate::provider::prelude::*;

/// Beginning of the line in a program of Go that states the version of gVisor's module.
const MODULE: &[u8] = b"mod\tgvisor.dev/gvisor\t";
/// Greatest length of a version, in letters.
const LONGEST_VERSION: usize = 80;
/// Time for which it measures its clock, in which each read of it is a system call: 0.9 to 1.2 s.
const SETTLING: Duration = Duration::from_millis(1_100);
/// Bytes of a program that are searched at once.
const SEARCHED_BYTES: usize = 1 << 20;
/// Command that installs a current runsc. Debian's is from 2022, has no systrap and does not run bundles.
const INSTALL: &str = "CGO_ENABLED=0 go install -ldflags='-s -w' \
                       gvisor.dev/gvisor/runsc@v0.0.0-20260905035102-160fafc42237";

choice! {
    enum Platform: "platform",
        "how system calls are caught: SIGSYS with patched call sites, ptrace, or a virtual machine"
    {
        Systrap = "systrap",
        Ptrace = "ptrace",
        Kvm = "kvm",
    }
}

choice! {
    enum Net: "net",
        "none: gVisor's own stack with nothing but loopback; sandbox: that stack with a way to the session's own \
         network, where the peer `host` is; host: the host's stack, passed through"
    {
        None = "none",
        Sandbox = "sandbox",
        Host = "host",
    }
}

choice! {
    enum Overlay: "overlay",
        "where writes to the root folder go: none: to the host's disk; self: to one sparse file there, which is \
         runsc's default and answers fsync without doing it; memory: nowhere"
    {
        None = "none",
        ItsOwnFile = "self",
        Memory = "memory",
    }
}

choice! {
    enum Directfs: "directfs",
        "on: the sandbox opens host files itself; off: it asks a second process for each"
    {
        On = "on",
        Off = "off",
    }
}

pub static PROVIDER: fn() -> Provider = provider! {
    name: "gvisor",
    instance: None,
    parse: |specification| Ok(Box::new(Gvisor::of(specification)?)),
    summary: "gVisor: system calls are answered by a kernel in user space",
    short_description: "gVisor: system calls in user space",
    stands_for: "translating system calls, which is WSL1's architecture: many small calls are slow, and computing \
                 costs nothing. WSL1 translates in the Windows kernel, gVisor in user space, so only the shape \
                 carries over. Google's cloud also runs untrusted containers in it; there, as with runsc's defaults, \
                 the root folder has an overlay whose fsync does nothing. Here writes go to the disk unless \
                 overlay=self is given, so that the place 'own' can be compared with the others.",
    options: &[Platform::OPTION, Net::OPTION, Overlay::OPTION, Directfs::OPTION],
    descends: true,
    kernel: KernelFacts {
        kind: KernelKind::Own,
        // A program's difference was 0.89 of that of its lines, and on one processor 1.04.
        serving: Serving { one_at_a_time: false, beside: 1.0, beside_pinned: 1.0 },
        settling: Settling { usual: SETTLING, longest: Settling::OF_RUNTIME.longest },
        is_process: true,
    },
    roots: Roots::Any,
    by_default: ByDefault {
        tried: &["gvisor", "gvisor?platform=ptrace"],
        ranked: &[(2, "gvisor")],
        stays: false,
    },
    footprint: Footprint {
        programs: vec!["runsc".into()],
        mounts: Some("the mounts of runsc, in a new mount namespace"),
        ..Footprint::from_starts("a sandbox by runsc, which is asked for its version before")
    },
};

#[derive(Clone, Copy)]
struct Gvisor {
    platform: Platform,
    net: Net,
    overlay: Overlay,
    directfs: Directfs,
}

impl Gvisor {
    fn of(specification: &Specification) -> Result<Self, LabError> {
        Ok(Gvisor {
            platform: Platform::from_specification(specification)?,
            net: Net::from_specification(specification)?,
            overlay: Overlay::from_specification(specification)?,
            directfs: Directfs::from_specification(specification)?,
        })
    }

    fn enter(self, program: &Found, workspace: &mut dyn Workspace) -> Result<Entrance, LabError> {
        let root = Root::build(workspace)?;
        let mut outside = Facts::default();
        // gVisor takes addresses and routes away from the namespace that it is given: each start has a fresh one.
        let network = match self.net {
            Net::None => ContainerNetwork::OWN,
            Net::Sandbox => Attachment::Veth.make_namespace(workspace, &mut outside)?,
            Net::Host => ContainerNetwork::HOST,
        };
        let bundle = bundle::write_bundle(workspace, &root, &network)?;
        let state = workspace.folder().join("state");
        let flags = self.flags(&state);
        let id = workspace.name().to_owned();
        workspace.record_owned(Owned::Container {
            runtime: Runtime::from_program(program),
            state,
            id: id.clone(),
        })?;
        let mut command = programs::command(program);
        command.args(&flags).arg("run").arg("--bundle").arg(&bundle).arg(&id);
        command.env("TMPDIR", workspace.folder());
        root.mount_for(&mut command, workspace)?;
        // runsc mounts an empty network namespace in its state folder and leaves it there.
        private_mounts::apply_mount_namespace(&mut command);
        root.note_places(&mut outside);
        Ok(Entrance { command, host: network.host, places: root.places, outside })
    }

    fn flags(self, state: &Path) -> Vec<String> {
        let overlay = match self.overlay {
            Overlay::None => "none",
            Overlay::ItsOwnFile => "root:self",
            Overlay::Memory => "root:memory",
        };
        vec![
            format!("--root={}", state.display()),
            // Control groups limit nothing here, and runsc's needs differ from one host to the next.
            "--ignore-cgroups".to_owned(),
            format!("--platform={}", self.platform.name()),
            format!("--debug-log={}%COMMAND%", state.with_file_name(LAST_WORDS).display()),
            format!("--network={}", self.net.name()),
            format!("--overlay2={overlay}"),
            format!("--directfs={}", self.directfs == Directfs::On),
        ]
    }
}

impl Environment for Gvisor {
    fn proof(&self) -> Proof {
        Proof::Kernel("gvisor")
    }

    fn check_ready(&self, programs: &Programs) -> Result<Ready, NotReady> {
        let program = require_program(programs, "runsc", INSTALL)?;
        if !private_mounts::can_make_mount_namespace() {
            return Err(NotReady::from_reason(
                "runsc needs root here: it makes namespaces for its own processes",
            ));
        }
        user_namespaces::check_container_namespaces()?;
        match self.net {
            Net::None | Net::Host => {}
            Net::Sandbox => lab::check_lab_ready()?,
        }
        match self.platform {
            Platform::Systrap | Platform::Ptrace => tracing::check_tracing()?,
            Platform::Kvm => kvm::check_kvm(programs)?,
        }
        let ended =
            programs::run_program(programs::command(&program).arg("--version"), programs::VERSION_WAIT)
                .map_err(NotReady::from_program_error(&program))?;
        let (stated, specified) = versions(&ended.output);
        let version =
            stated.map(str::to_owned).or_else(|| find_module_version(fs::File::open(&*program).ok()?));
        // The first line of the bundle format that the runsc of 2022 knew was 1.0.
        if specified.is_some_and(|version| version.starts_with("1.0")) {
            return Err(NotReady {
                reason: format!(
                    "{} is too old ({})",
                    program.display(),
                    version.as_deref().unwrap_or("version unknown")
                ),
                command: Some(INSTALL.to_owned()),
            });
        }
        let mut facts = note_runtime(&program, version.as_deref().unwrap_or("unknown"));
        self.platform.note_choice(&mut facts);
        self.net.note_choice(&mut facts);
        self.overlay.note_choice(&mut facts);
        self.directfs.note_choice(&mut facts);
        facts.add_fact("cgroup.version", control_groups::find_versions());
        let options = *self;
        Ok(Ready::new(facts, move |workspace| options.enter(&program, workspace)))
    }
}

/// Finds the version of gVisor's module in a program that `go install` made, which does not state it: `v0.0.0-20250106-…`.
fn find_module_version(mut program: impl Read) -> Option<String> {
    // By pieces, since it is larger than what some machines can spare.
    let (mut kept, mut piece) = (Vec::new(), vec![0; SEARCHED_BYTES]);
    loop {
        let read = program.read(&mut piece).ok()?;
        kept.extend_from_slice(&piece[..read]);
        let found = kept.windows(MODULE.len()).position(|part| part == MODULE);
        if let Some(from) = found.map(|at| at + MODULE.len())
            && (read == 0 || kept.len() >= from + LONGEST_VERSION)
        {
            let version = kept[from..].iter().take(LONGEST_VERSION).copied();
            let version: Vec<u8> = version.take_while(u8::is_ascii_graphic).collect();
            return String::from_utf8(version).ok().filter(|version| version.starts_with('v'));
        }
        if read == 0 {
            return None;
        }
        // The name may begin in this piece and end in the next, and its version follows.
        let from = found.unwrap_or(kept.len().saturating_sub(MODULE.len()));
        kept.drain(..from);
    }
}

/// Parses the versions of runsc and of the bundle format from its output: `runsc version X`, `spec: Y`.
fn versions(output: &str) -> (Option<&str>, Option<&str>) {
    let after = |beginning| output.lines().find_map(|line| line.strip_prefix(beginning)).map(str::trim);
    (after("runsc version").filter(|version| *version != "VERSION_MISSING"), after("spec:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_go_install_has_the_version_of_its_module() {
        let program = b"\0path\tgvisor.dev/gvisor/runsc\nmod\tgvisor.dev/gvisor\tv0.0.0-20250106-4f\t\n";
        assert_eq!(find_module_version(&program[..]).as_deref(), Some("v0.0.0-20250106-4f"));
        // Wherever the pieces end.
        for before in SEARCHED_BYTES - program.len()..=SEARCHED_BYTES {
            let before = vec![b'x'; before];
            let found = find_module_version((&before[..]).chain(&program[..]));
            assert_eq!(found.as_deref(), Some("v0.0.0-20250106-4f"), "after {} bytes", before.len());
        }
        assert_eq!(find_module_version(&b"mod\tgvisor.dev/gvisor\t(devel)\t"[..]), None);
        assert_eq!(find_module_version(&b"no program of Go"[..]), None);
    }

    #[test]
    fn both_versions_are_read() {
        assert_eq!(versions("runsc version release-1\nspec: 1.2.1\n"), (Some("release-1"), Some("1.2.1")));
        assert_eq!(versions("runsc version VERSION_MISSING\nspec: 1.2.1\n"), (None, Some("1.2.1")));
        assert_eq!(versions(""), (None, None));
    }

    #[test]
    fn options_become_flags() {
        let specification =
            "gvisor?platform=ptrace&overlay=self&directfs=off".parse::<Specification>().unwrap();
        assert_eq!(
            Gvisor::of(&specification).unwrap().flags(Path::new("/s")),
            [
                "--root=/s",
                "--ignore-cgroups",
                "--platform=ptrace",
                "--debug-log=/last-words-%COMMAND%",
                "--network=none",
                "--overlay2=root:self",
                "--directfs=false"
            ]
        );
    }
}
