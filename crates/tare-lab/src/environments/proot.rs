//! proot: another root folder without privileges, by translating system calls through ptrace.

#![allow(unsafe_code, reason = "the standard library runs code between fork and exec only on promise")]

use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt;

use crate::containers::call_filter::{self, NUMBER, allow_call, fail_call, load_field, skip_unless_equal};
use crate::containers::root::Root;
use crate::containers::view;
use crate::provider::prelude::*;

choice! {
    enum Seccomp: "seccomp",
        "on: a filter lets calls through that need no translation; off: every call stops twice"
    {
        On = "on",
        Off = "off",
    }
}

/// Host folders that proot shows inside: without them a program finds no devices and no processes.
const SHOWN: [&str; 3] = ["/proc", "/dev", "/sys"];

pub static PROVIDER: Provider = Provider {
    name: "proot",
    summary: "another root folder, by translating system calls through ptrace",
    short_description: "another root folder through ptrace",
    stands_for: "Linux distributions on Android phones and on clusters without root. Calls that name files cost two \
                 stops of the tracer; with its filter the others pass. Network and processes are the host's own.",
    instance: None,
    options: &[Seccomp::OPTION],
    descends: true,
    roots: Roots::Host(
        "proot does not translate every call that names a file: it can show this machine's root and no other",
    ),
    by_default: &["proot"],
    parse: |specification| Ok(Box::new(Proot { seccomp: Seccomp::from_specification(specification)? })),
    preparation: None,
    footprint: Footprint {
        programs: &["proot"],
        ..Footprint::from_starts("the agent, traced by proot, which is asked for its version before")
    },
};

struct Proot {
    seccomp: Seccomp,
}

impl Environment for Proot {
    fn check_ready(&self, programs: &Programs) -> Result<Ready, NotReady> {
        let program = require_program(programs, "proot", "apt-get install proot")?;
        let ended = programs::run_program(Command::new(&program).arg("--version"), programs::VERSION_WAIT)
            .map_err(NotReady::from_program_error(&program))?;
        let mut facts = Facts::default();
        facts.add_fact("runtime.path", program.to_string_lossy());
        facts.add_fact("runtime.version", version(&ended.output).unwrap_or_default());
        self.seccomp.note_choice(&mut facts);
        let seccomp = self.seccomp;
        Ok(Ready::new(facts, move |workspace| enter(&program, seccomp, workspace)))
    }
}

fn enter(program: &Path, seccomp: Seccomp, workspace: &mut dyn Workspace) -> Result<Entrance, LabError> {
    let root = Root::build(workspace)?;
    let mut command = Command::new(program);
    // Its own files go into the folder of this start, with which they are removed.
    let temporary = if root.is_view() { Path::new(view::BASE) } else { workspace.folder() };
    command.env_clear().env("PROOT_TMP_DIR", temporary);
    match seccomp {
        Seccomp::On => {}
        Seccomp::Off => drop(command.env("PROOT_NO_SECCOMP", "1")),
    }
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
    command.args([&root.agent, tare_probes::agent::AGENT]);
    let mut outside = Facts::default();
    root.note_places(&mut outside);
    Ok(Entrance { command, host: Some(Ipv4Addr::LOCALHOST.into()), places: root.places, outside })
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
    fn the_version_is_found_in_the_banner() {
        let banner = " _____ _____\n|  __ \\  __ \\\n|__|  |__|__\\_____/\\_____/\\____| 5.1.0\n\nbuilt-in accelerators: yes\n";
        assert_eq!(version(banner), Some("5.1.0"));
        assert_eq!(version(""), None);
    }
}
