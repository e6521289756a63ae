//! proot: another root folder without privileges, by translating system calls through ptrace.

#![allow(unsafe_code, reason = "the standard library runs code between fork and exec only on promise")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;

use crate::containers::call_filter::{self, NUMBER, allow_call, fail_call, load_field, skip_unless_equal};
use crate::containers::root::Root;
use crate::containers::tracing;
use crate::containers::view;
use crate::environments::native;
use crate::provider::SHARES_FILES;
use crate::provider::prelude::*;
use crate::provider::root::RootFolder;

choice! {
    enum Seccomp: "seccomp",
        "on: a filter lets calls through that need no translation; off: every call stops twice"
    {
        On = "on",
        Off = "off",
    }
}

/// Beginning of a 64-bit little-endian ELF file, and byte offsets in its header (elf(5)).
const ELF_64: &[u8] = b"\x7fELF\x02\x01";
const KIND: usize = 16;
const EXECUTABLE: u16 = 2;
const MACHINE: usize = 18;
const SECTIONS: usize = 40;
const SECTION_BYTES: usize = 58;
const SECTION_COUNT: usize = 60;
/// Largest program that is taken for a loader; that of version 5.1 has 9 kB.
const LARGEST_LOADER: usize = 1 << 20;
/// Host folders that proot shows inside: without them a program finds no devices and no processes.
const SHOWN: [&str; 3] = ["/proc", "/dev", "/sys"];

pub static PROVIDER: fn() -> Provider = provider! {
    name: "proot",
    instance: None,
    parse: |specification| Ok(Box::new(Proot { seccomp: Seccomp::from_specification(specification)? })),
    summary: "another root folder, by translating system calls through ptrace",
    short_description: "another root folder through ptrace",
    stands_for: "Linux distributions on Android phones and on clusters without root. Calls that name files cost two \
                 stops of the tracer; with its filter the others pass. Network and processes are the host's own.",
    options: &[Seccomp::OPTION],
    descends: true,
    kernel: KernelFacts::TRACED,
    roots: Roots::Host(
        "proot does not translate every call that names a file: it can show this machine's root and no other",
    ),
    by_default: ByDefault { tried: &["proot"], ranked: &[], stays: false },
    footprint: Footprint {
        programs: vec!["proot".into()],
        ..Footprint::from_starts("the agent, traced by proot, which is asked for its version before")
    },
};

struct Proot {
    seccomp: Seccomp,
}

impl Environment for Proot {
    fn proof(&self) -> Proof {
        Proof::Tracer("proot")
    }

    fn is_machine(&self) -> bool {
        true
    }

    fn check_ready(&self, programs: &Programs) -> Result<Ready, NotReady> {
        let program = require_program(programs, "proot", "apt-get install proot")?;
        tracing::check_tracing()?;
        let ended =
            programs::run_program(programs::command(&program).arg("--version"), programs::VERSION_WAIT)
                .map_err(NotReady::from_program_error(&program))?;
        let mut facts = note_runtime(&program, version(&ended.output).unwrap_or_default());
        self.seccomp.note_choice(&mut facts);
        let seccomp = self.seccomp;
        Ok(Ready::new(facts, move |workspace| enter(&program, seccomp, workspace)))
    }
}

fn enter(program: &Found, seccomp: Seccomp, workspace: &mut dyn Workspace) -> Result<Entrance, LabError> {
    let mut command = programs::command(program);
    if workspace.inside().root == RootFolder::Empty && workspace.inside().work.is_some() {
        return enter_machine(command, program, seccomp, workspace);
    }
    let root = Root::build(workspace)?;
    // Its own files go into the folder of this start, with which they are removed.
    let temporary = if root.is_view() { Path::new(view::BASE) } else { workspace.folder() };
    command.env_clear().env("PROOT_TMP_DIR", temporary);
    if let Some(loader) = fs::read(&**program).ok().as_deref().and_then(find_loader) {
        let inside = root.inside_path("loader");
        let path = if root.is_view() { root.host_path(&inside) } else { workspace.folder().join("loader") };
        write_program(&path, loader).map_err(LabError::storage_error("write", &path))?;
        command.env("PROOT_LOADER", if root.is_view() { Path::new(&inside) } else { &path });
    }
    seccomp.choose(&mut command);
    // A view is its root before it begins, for whatever call it does not translate.
    let itself = if root.is_view() { Path::new("/") } else { root.path() };
    root.enter_with(&mut command, workspace)?;
    if root.is_view() {
        hide_statx(&mut command);
    }
    command.arg("-r").arg(itself).args(["-w", "/"]);
    for shown in SHOWN {
        command.args(["-b", shown]);
    }
    for (path, inside) in root.shares.iter().filter(|_| !root.is_view()) {
        let mut binding = path.clone().into_os_string();
        binding.push(":");
        binding.push(inside);
        command.arg("-b").arg(binding);
    }
    command.args(workspace.words_inside(&root.agent));
    let mut outside = Facts::default();
    if !root.is_view() {
        outside.add_fact(SHARES_FILES, "yes");
    }
    root.note_places(&mut outside);
    Ok(Entrance { command, host: Some(HostPath::LOOPBACK), places: root.places, outside })
}

/// Enters the machine itself, where no view of it can be made for commands: every path is translated to itself.
fn enter_machine(
    mut command: Command,
    program: &Found,
    seccomp: Seccomp,
    workspace: &mut dyn Workspace,
) -> Result<Entrance, LabError> {
    command.env_clear().env("PROOT_TMP_DIR", workspace.folder());
    if let Some(loader) = fs::read(&**program).ok().as_deref().and_then(find_loader) {
        let path = workspace.folder().join("loader");
        write_program(&path, loader).map_err(LabError::storage_error("write", &path))?;
        command.env("PROOT_LOADER", &path);
    }
    seccomp.choose(&mut command);
    command.args(["-r", "/", "-w", "/"]).args(workspace.words_inside(&workspace.agent().to_string_lossy()));
    native::enter_with(command, workspace)
}

impl Seccomp {
    fn choose(self, command: &mut Command) {
        match self {
            Seccomp::On => {}
            Seccomp::Off => drop(command.env("PROOT_NO_SECCOMP", "1")),
        }
    }
}

/// Finds the program in proot's own that loads others. Some versions unpack it into /tmp, whatever they are told, and leave it there when
/// they are killed: an ELF file for the same processor, which ends with the headers of its
/// sections.
fn find_loader(proot: &[u8]) -> Option<&[u8]> {
    let half = |file: &[u8], at: usize| Some(u16::from_le_bytes(file.get(at..at + 2)?.try_into().ok()?));
    let machine = half(proot, MACHINE)?;
    let starts = proot.windows(ELF_64.len()).enumerate().skip(1).filter(|(_, window)| *window == ELF_64);
    starts.map(|(at, _)| &proot[at..]).find_map(|file| {
        let sections = u64::from_le_bytes(file.get(SECTIONS..SECTIONS + 8)?.try_into().ok()?);
        let headers = u64::from(half(file, SECTION_BYTES)?) * u64::from(half(file, SECTION_COUNT)?);
        let length = usize::try_from(sections.checked_add(headers)?).ok()?;
        let is_program = half(file, KIND)? == EXECUTABLE && half(file, MACHINE)? == machine;
        file.get(..length).filter(|_| is_program && (1..=LARGEST_LOADER).contains(&length))
    })
}

fn write_program(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    fs::write(path, bytes)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

/// Makes statx(2) fail as on an old kernel. proot does not translate it, so it would find nothing relative to
/// a folder that the program opened through proot. Callers fall back to older calls, which proot does
/// translate.
fn hide_statx(command: &mut Command) {
    let refuse = || {
        call_filter::install_filter(&mut [
            load_field(NUMBER),
            skip_unless_equal(libc::SYS_statx as u32, 1),
            fail_call(libc::ENOSYS),
            allow_call(),
        ])
    };
    // SAFETY: between fork and exec only system calls are made, and nothing is allocated.
    unsafe { command.pre_exec(refuse) };
}

/// Parses proot's version from the end of its banner: the last word that begins with a digit.
fn version(banner: &str) -> Option<&str> {
    banner
        .split_ascii_whitespace()
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loader_is_found_in_the_program() {
        let mut loader = vec![0; 200];
        loader[..6].copy_from_slice(ELF_64);
        for (at, value) in [(KIND, EXECUTABLE), (MACHINE, 62), (SECTION_BYTES, 20), (SECTION_COUNT, 2)] {
            loader[at..at + 2].copy_from_slice(&u16::to_le_bytes(value));
        }
        loader[SECTIONS..SECTIONS + 8].copy_from_slice(&u64::to_le_bytes(160));
        let mut other = loader.clone();
        other[MACHINE] = 3;
        let program = [&other[..], b"text", &loader, b"more"].concat();
        assert_eq!(find_loader(&program), None, "of another processor than the program");
        let program = [&loader[..], b"text", &other, &loader, b"more"].concat();
        assert_eq!(find_loader(&program), Some(&loader[..]));
        for length in 0..loader.len() * 3 + 4 {
            assert!(find_loader(&program[..length]).is_none_or(|found| found == loader), "{length}");
        }
    }

    #[test]
    fn the_version_is_found_in_the_banner() {
        let banner = " _____ _____\n|  __ \\  __ \\\n|__|  |__|__\\_____/\\_____/\\____| 5.1.0\n\nbuilt-in accelerators: yes\n";
        assert_eq!(version(banner), Some("5.1.0"));
        assert_eq!(version(""), None);
    }
}
