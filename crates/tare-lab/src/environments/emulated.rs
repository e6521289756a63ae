//! Emulated: the host itself, running programs of another processor that QEMU translates.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use tare_data::facts::keys::CPU_EMULATED;

use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountFlags, mount};

use crate::containers::{private_mounts, user_namespaces};
use crate::environments::native;
use crate::provider::prelude::*;
use crate::provider::processor::Processor;

/// File system in which the kernel accepts rules for starting foreign programs.
const RULES: &str = "/proc/sys/fs/binfmt_misc";
/// First kernel in which a user namespace can have separate rules.
const FIRST_KERNEL: (u32, u32) = (6, 7);
/// Longest path that a rule takes.
const LONGEST_PATH: usize = 127;

/// Returns the processor's number in ELF files.
fn number(processor: Processor) -> u8 {
    match processor {
        Processor::Arm64 => 183,
        Processor::Riscv64 => 243,
        Processor::Amd64 => 62,
    }
}

/// Builds the rule that starts the processor's programs with an emulator. The emulator stays open for it (F),
/// because programs may be in another root.
fn rule(processor: Processor, emulator: &Path) -> Result<CString, NotReady> {
    let path = emulator.as_os_str().as_bytes();
    if path.len() > LONGEST_PATH || path.contains(&b':') {
        return Err(NotReady::from_reason(format!(
            "the kernel does not accept the path {}",
            emulator.display()
        )));
    }
    // 64 bits, little-endian; whichever system it names; a program, static or relocatable; the processor.
    let magic = r"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00";
    let mask = r"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff";
    let mut rule = format!(r":tare:M::{magic}\x{:02x}\x00:{mask}:", number(processor)).into_bytes();
    rule.extend(path);
    rule.extend(b":F");
    CString::new(rule).map_err(|e| NotReady::from_reason(e.to_string()))
}

pub static PROVIDER: fn() -> Provider = provider! {
    name: "emulated",
    instance: None,
    parse: |specification| {
        Ok(Box::new(Emulated { processor: Processor::from_specification(specification)? }))
    },
    summary: "the host itself, for programs of another processor, which QEMU translates",
    short_description: "another processor, emulated by QEMU",
    stands_for: "docker --platform, and what runs programs of another processor on a laptop or in CI. Computing is \
                 translated; system calls are converted and are then the host's own. It is a user namespace of the \
                 host's: what only root may do there is missing. Needs a tare for that processor beside this one, named \
                 tare-aarch64, tare-riscv64 or tare-x86_64.",
    options: &[Processor::OPTION],
    descends: true,
    kernel: KernelFacts::GUEST,
    roots: Roots::Own("programs of this machine would not be emulated"),
    by_default: ByDefault::NEVER,
    footprint: Footprint {
        programs: vec!["qemu-*".into()],
        mounts: Some("binfmt_misc, in a new user namespace and mount namespace"),
        ..Footprint::from_starts(
            "the agent for that processor, by QEMU, which is asked for its version before",
        )
    },
};

struct Emulated {
    processor: Processor,
}

impl Environment for Emulated {
    fn proof(&self) -> Proof {
        Proof::OtherMachine
    }

    fn check_ready(&self, programs: &Programs) -> Result<Ready, NotReady> {
        let architecture = self.processor.architecture();
        if self.processor == Processor::HERE {
            let name = self.processor.name();
            return Err(NotReady::from_reason(format!("{name} is this machine's own processor")));
        }
        let (agent, identity) = agent_for(programs, architecture)?;
        let emulator = [format!("qemu-{architecture}-static"), format!("qemu-{architecture}")]
            .iter()
            .find_map(|name| programs.find(name));
        let install = "apt-get install --no-install-recommends qemu-user-static";
        let emulator =
            emulator.ok_or_else(|| NotReady::missing_program(&format!("qemu-{architecture}"), install))?;
        user_namespaces::check_user_namespaces()?;
        rules_can_be_made()?;
        let rule = rule(self.processor, &emulator)?;
        let version = programs::read_program_version(&emulator, &["--version"]).unwrap_or_default();
        let mut facts = note_runtime(&emulator, &version);
        facts.add_fact(CPU_EMULATED, "QEMU user");
        self.processor.note_choice(&mut facts);
        Ok(Ready::new(facts, move |workspace| {
            let mut command = native::make_agent_command(&agent, &[], workspace);
            let rule = rule.clone();
            private_mounts::apply_as_user(&mut command, move || {
                mount(
                    c"binfmt_misc",
                    c"/proc/sys/fs/binfmt_misc",
                    c"binfmt_misc",
                    MountFlags::empty(),
                    None,
                )?;
                let flags = OFlags::WRONLY | OFlags::CLOEXEC;
                let register = c"/proc/sys/fs/binfmt_misc/register";
                let file = rustix::fs::open(register, flags, Mode::empty())?;
                Ok(rustix::io::write(&file, rule.to_bytes()).map(drop)?)
            })
            .map_err(|e| LabError::new(ErrorKind::Environment, "cannot enter emulated").with_cause(e))?;
            native::enter_with(command, workspace)
        })
        .with_agent(Some(identity)))
    }
}

/// Fails if the kernel has no separate rules for user namespaces.
fn rules_can_be_made() -> Result<(), NotReady> {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    if version(&release).is_some_and(|version| version < FIRST_KERNEL) {
        let (major, minor) = FIRST_KERNEL;
        return Err(NotReady::from_reason(format!(
            "rules for starting foreign programs affect the whole machine before Linux {major}.{minor}"
        )));
    }
    match Path::new(RULES).exists() {
        true => Ok(()),
        false => Err(NotReady {
            reason: "this kernel has no binfmt_misc".to_owned(),
            command: Some("modprobe binfmt_misc".to_owned()),
        }),
    }
}

/// Parses the first two numbers of a kernel's release.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_name_the_processor_and_the_emulator() {
        let text = rule(Processor::Arm64, Path::new("/usr/bin/qemu-aarch64")).unwrap();
        let text = text.to_str().unwrap();
        assert!(
            text.starts_with(r":tare:M::\x7fELF") && text.ends_with(":/usr/bin/qemu-aarch64:F"),
            "{text}"
        );
        assert!(text.contains(r"\x02\x00\xb7\x00:\xff"), "{text}");
        assert!(text.len() < 256, "longer than the kernel takes");
        assert!(rule(Processor::Arm64, Path::new("/a:b")).is_err());
    }

    #[test]
    fn releases_are_read_as_far_as_needed() {
        assert_eq!(version("6.18.44-cloud"), Some((6, 18)));
        assert_eq!(version("6.7"), Some((6, 7)));
        assert_eq!(version("unknown"), None);
    }
}
