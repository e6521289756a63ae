//! Landlock: the host itself, with rules by which the kernel allows paths: a sandbox that takes no privilege.

#![allow(unsafe_code, reason = "the kernel's version of Landlock is the answer to a raw system call")]

use std::collections::VecDeque;
use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus,
};

use crate::environments::native;
use crate::error::add_error_context;
use crate::provider::prelude::*;

/// First argument that makes the program restrict itself and become the following command.
pub const ENTER: &str = "enter-landlock";

/// Exit code when the program could not be restricted.
const NOT_RESTRICTED: i32 = 126;
/// Flag of landlock_create_ruleset(2) that asks for the version and makes nothing.
const ASK_VERSION: libc::c_ulong = 1;
/// Limit on the rules of a layer: more than any profile has, and fewer than a small system has folders.
const MOST_RULES: u32 = 1000;
/// Folders below which rules name others: what every system has, and where no place of a session is.
const NAMED_BELOW: [&str; 4] = ["usr", "etc", "opt", "nix"];
/// Limit on the layers, as the kernel has it (LANDLOCK_MAX_NUM_LAYERS).
const MOST_LAYERS: u32 = 16;

const RULES: OptionDescription = OptionDescription::new_text(
    "rules",
    "1",
    "folders that a layer names, 1 to 1000. The first is /, so that nothing is refused; the others are folders of /usr, \
     /etc, /opt and /nix, which no probe uses",
);
const LAYERS: OptionDescription = OptionDescription::new_text(
    "layers",
    "1",
    "times that the rules are laid over each other, 1 to 16, as where one sandbox starts another",
);

pub static PROVIDER: fn() -> Provider = provider! {
    name: "landlock",
    instance: None,
    parse: |specification| {
        Ok(Box::new(Landlock {
            rules: parse_count(&RULES, MOST_RULES, specification)?,
            layers: parse_count(&LAYERS, MOST_LAYERS, specification)?,
        }))
    },
    summary: "the host itself, with paths checked by Landlock, the kernel's sandbox for unprivileged programs",
    short_description: "the host, paths checked by Landlock",
    stands_for: "the check that Landlock adds in the sandboxes that use it, such as those of coding agents, landrun and some \
                 browsers. They name some ten folders, allow less, and most add a filter of system calls. Here everything is \
                 allowed but mounting, and the network is not restricted: the price is that of the check.",
    options: &[RULES, LAYERS],
    descends: true,
    kernel: KernelFacts::MACHINE,
    roots: Roots::Any,
    by_default: ByDefault::NEVER,
    footprint: Footprint::from_starts("the agent, as a plain process that restricts itself before it starts"),
};

#[derive(Clone, Copy)]
struct Landlock {
    rules: u32,
    layers: u32,
}

fn parse_count(
    option: &OptionDescription,
    most: u32,
    specification: &Specification,
) -> Result<u32, LabError> {
    let count = option.read_text(specification).parse().ok().filter(|count| (1..=most).contains(count));
    count.ok_or_else(|| {
        option.invalid_value_error(specification).with_hint(format!("give a number from 1 to {most}"))
    })
}

impl Environment for Landlock {
    fn proof(&self) -> Proof {
        Proof::Landlock
    }

    fn is_machine(&self) -> bool {
        true
    }

    fn check_ready(&self, _: &Programs) -> Result<Ready, NotReady> {
        let version = kernel_version().map_err(explain_absence)?;
        let mut facts = Facts::default();
        facts.add_fact("landlock.version", version.to_string());
        facts.add_fact("runtime.rules", self.rules.to_string());
        facts.add_fact("runtime.layers", self.layers.to_string());
        let words = [self.rules, self.layers].map(|count| count.to_string());
        Ok(Ready::new(facts, move |workspace| native::enter_by(workspace, &[ENTER, &words[0], &words[1]])))
    }
}

/// Asks the kernel for the version of its interface.
fn kernel_version() -> io::Result<i64> {
    let nothing = std::ptr::null::<u8>();
    // SAFETY: with this flag the kernel reads no memory of this process, and makes nothing.
    let version = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0usize, ASK_VERSION) };
    if version < 0 { Err(io::Error::last_os_error()) } else { Ok(version) }
}

/// Explains why a kernel has no Landlock, by its answer.
fn explain_absence(answer: io::Error) -> NotReady {
    NotReady::from_reason(match answer.raw_os_error() {
        Some(libc::EOPNOTSUPP) => {
            "Landlock is built into this kernel and not switched on (landlock is not among lsm= on its command line)"
                .to_owned()
        }
        Some(libc::ENOSYS) => "this kernel has no Landlock (Linux 5.13, CONFIG_SECURITY_LANDLOCK)".to_owned(),
        _ => format!("this process may not use Landlock: {answer}"),
    })
}

/// Restricts this process, and becomes the command. For the hidden verb [`ENTER`] alone.
pub fn enter_main(words: &[OsString]) -> i32 {
    let failed = restrict(words).map_or_else(|e| e, |mut command| command.exec());
    eprintln!("landlock: {failed}");
    NOT_RESTRICTED
}

/// Restricts this process by the words `RULES LAYERS COMMAND...`, and returns the command.
fn restrict(words: &[OsString]) -> io::Result<Command> {
    let [rules, layers, program, arguments @ ..] = words else {
        return Err(io::Error::other("no program was named"));
    };
    let count = |word: &OsString| word.to_str().and_then(|word| word.parse::<u32>().ok());
    let (Some(rules), Some(layers)) = (count(rules), count(layers)) else {
        return Err(io::Error::other("the numbers of rules and layers cannot be read"));
    };
    let folders = find_folders(Path::new("/"), rules as usize)?;
    let ruleset = make_ruleset(&folders).map_err(io::Error::other)?;
    for layer in 1..=layers {
        let adding = |e: io::Error| add_error_context(&format!("adding layer {layer}"), e);
        let one = ruleset.try_clone().map_err(adding)?;
        let status = one.restrict_self().map_err(io::Error::other).map_err(adding)?;
        if status.ruleset == RulesetStatus::NotEnforced {
            return Err(adding(io::Error::other("the kernel enforces nothing of it")));
        }
    }
    let mut command = programs::command(&Found::called_here(program));
    command.args(arguments);
    Ok(command)
}

/// Makes rules that allow every access which the kernel can check, below each of the folders.
fn make_ruleset(folders: &[PathBuf]) -> Result<RulesetCreated, Box<dyn Error + Send + Sync>> {
    // The first version is there or the session does not get here; what later ones check is taken where they are.
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(ABI::V10))?
        .create()?;
    for folder in folders {
        let opened = PathFd::new(folder)?;
        ruleset = ruleset.add_rule(PathBeneath::new(opened, AccessFs::from_all(ABI::V10)))?;
    }
    Ok(ruleset)
}

/// Finds a root and folders of its system, those nearest to the root first.
fn find_folders(root: &Path, count: usize) -> io::Result<Vec<PathBuf>> {
    let mut found = vec![root.to_owned()];
    let mut next: VecDeque<PathBuf> = NAMED_BELOW.iter().map(|name| root.join(name)).collect();
    while let Some(folder) = next.pop_front().filter(|_| found.len() < count) {
        // Folders that are not there or closed to this user are skipped: there are others.
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        let mut below: Vec<PathBuf> = entries.flatten().filter(is_folder).map(|entry| entry.path()).collect();
        below.sort_unstable();
        found.push(folder);
        next.extend(below);
    }
    match found.len() {
        few if few < count => Err(io::Error::other(format!("the root has {few} folders for {count} rules"))),
        _ => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environments::parse_environment;

    #[test]
    fn numbers_beyond_the_kernels_are_refused() {
        for good in ["landlock", "landlock?rules=1000&layers=16"] {
            parse_environment(good).unwrap();
        }
        for wrong in ["rules=0", "rules=1001", "rules=x", "layers=17", "layers=-1"] {
            let refused = parse_environment(&format!("landlock?{wrong}")).err().unwrap();
            assert!(refused.hint.unwrap().starts_with("give a number from 1 to "), "{wrong}");
        }
    }

    #[test]
    fn a_kernel_without_it_says_why() {
        let reason = |errno| explain_absence(io::Error::from_raw_os_error(errno)).reason;
        assert!(reason(libc::ENOSYS).contains("CONFIG_SECURITY_LANDLOCK"));
        assert!(reason(libc::EOPNOTSUPP).contains("lsm="));
        assert!(reason(libc::EPERM).contains("may not"), "a filter of system calls forbids it");
    }

    #[test]
    fn rules_name_the_root_first_and_no_folder_twice() {
        let root = tempfile::tempdir().unwrap();
        for name in ["usr/b/x", "usr/a", "etc", "tmp/session"] {
            fs::create_dir_all(root.path().join(name)).unwrap();
        }
        std::os::unix::fs::symlink("a", root.path().join("usr/link")).unwrap();
        fs::write(root.path().join("usr/file"), "").unwrap();
        let found = find_folders(root.path(), 6).unwrap();
        let below: Vec<_> = found.iter().map(|path| path.strip_prefix(root.path()).unwrap()).collect();
        assert_eq!(below, ["", "usr", "etc", "usr/a", "usr/b", "usr/b/x"].map(Path::new));
        assert!(find_folders(root.path(), 7).unwrap_err().to_string().contains("6 folders for 7 rules"));
    }
}
