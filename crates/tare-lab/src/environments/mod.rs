//! Environments: how each is entered, one file a provider.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::Command;

use tare_data::facts::Facts;

use crate::error::{ErrorKind, LabError};
use crate::guest;
use crate::kvm;
use crate::nearest::nearest;
use crate::ownership::Owned;
use crate::presets;
use crate::programs::Programs;
use crate::specification::Specification;

pub mod bwrap;
pub mod container;
pub mod docker;
pub mod gvisor;
pub mod native;
pub mod nerdctl;
pub mod nspawn;
pub mod oci;
pub mod podman;
pub mod proot;
pub mod qemu;
pub mod ssh;
pub mod uml;
pub mod wsl;

/// All providers, in the order in which they are listed. Adding one: its `mod` line above and its line here.
pub const PROVIDERS: &[&dyn Provider] = &[
    &native::Native,
    &container::Container,
    &bwrap::Bwrap,
    &proot::Proot,
    &nspawn::Nspawn,
    &oci::Oci,
    &podman::Podman,
    &docker::Docker,
    &nerdctl::Nerdctl,
    &gvisor::Gvisor,
    &uml::Uml,
    &qemu::Qemu,
    &wsl::Wsl,
    &ssh::Ssh,
];

/// A kind of environment: knows whether it can be entered here, and how.
pub trait Provider: Sync {
    /// What it is called on the command line, e.g. `gvisor`.
    fn name(&self) -> &'static str;

    /// One sentence: what it is.
    fn summary(&self) -> &'static str;

    /// What people know that it stands for, and what it has in common with that and what not.
    fn stands_for(&self) -> &'static str;

    /// Options that a specification may give. Any other is refused, with the nearest named.
    fn options(&self) -> &'static [OptionDescription];

    /// Specifications that `tare run` takes by itself where they are ready, e.g. `gvisor`, `gvisor?platform=ptrace`.
    fn by_default(&self) -> &'static [&'static str];

    /// Whether it can be entered here and now: cheap, changes nothing. Ready: facts from outside (version, path).
    fn ready(&self, specification: &Specification, programs: &Programs) -> Result<Facts, NotReady>;

    /// Does what is slow and has to be done once, like downloading a kernel; [`Programs::prepared`] is where.
    /// `tell` hears what happens.
    fn prepare(
        &self,
        _specification: &Specification,
        _programs: &Programs,
        _tell: &mut dyn FnMut(&str),
    ) -> Result<(), LabError> {
        Ok(())
    }

    /// Takes away what `prepare` made.
    fn remove(&self, _specification: &Specification, _programs: &Programs) -> Result<(), LabError> {
        Ok(())
    }

    /// Prepares an entrance. Everything made on the way is given to `ground` before it is made.
    fn enter(&self, specification: &Specification, ground: &mut dyn Ground) -> Result<Entrance, LabError>;
}

/// An option of a provider.
#[derive(Clone, Copy, Debug)]
pub struct OptionDescription {
    pub key: &'static str,
    /// What holds when it is not given.
    pub default: &'static str,
    /// The values it can take; empty for free text.
    pub values: &'static [&'static str],
    pub about: &'static str,
}

impl OptionDescription {
    /// What a specification says, or the default.
    pub fn value<'a>(&self, specification: &'a Specification) -> &'a str
    where
        'static: 'a,
    {
        specification.option(self.key).unwrap_or(self.default)
    }
}

/// Why an environment cannot be entered, and the one command that would make it so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotReady {
    pub reason: String,
    pub command: Option<String>,
}

impl NotReady {
    /// A program is missing; the command installs it.
    pub fn missing(program: &str, command: impl Into<String>) -> Self {
        NotReady { reason: format!("{program} is not installed"), command: Some(command.into()) }
    }

    /// Something that no command of the user's changes.
    pub fn because(reason: impl Into<String>) -> Self {
        NotReady { reason: reason.into(), command: None }
    }
}

/// Where a session builds: a scratch folder, the agent's binary, and the journal of what was made.
pub trait Ground {
    /// A folder of this start's own, empty, on a disk; removed after leaving.
    fn folder(&self) -> &std::path::Path;

    /// The static binary to copy in.
    fn agent(&self) -> &std::path::Path;

    /// SHA-256 of that binary, in hex.
    fn agent_sha256(&self) -> &str;

    /// The session's scratch folder, for what all starts share.
    fn session_folder(&self) -> &std::path::Path;

    /// What processes carry in [`crate::processes::MARK`] that outlive this start, and end with the session.
    fn session_mark(&self) -> &str;

    /// Host folders to share in: name of the place to path on the host. They appear as places of that name.
    fn shares(&self) -> &BTreeMap<String, PathBuf>;

    /// Where foreign programs are looked for.
    fn programs(&self) -> &Programs;

    /// What processes of this start carry in [`crate::processes::MARK`], so that they can be found again.
    fn mark(&self) -> &str;

    /// A name that nothing else on this machine has, for containers, control groups, network namespaces.
    fn name(&self) -> &str;

    /// The number of this start: no other of the session has it.
    fn number(&self) -> u32;

    /// Writes down what is about to be made.
    fn own(&mut self, thing: Owned) -> Result<(), LabError>;

    /// Starts a program that serves the environment, and ends with this start. Its output is a file in the
    /// start's folder: the path is returned.
    fn accompany(&mut self, name: &str, command: Command) -> Result<PathBuf, LabError>;

    /// The same as `own` for what outlives this start, and is taken away when the session ends.
    fn own_for_session(&mut self, thing: Owned) -> Result<(), LabError>;
}

/// How to get in: a command whose standard input and output are the agent's.
#[derive(Debug)]
pub struct Entrance {
    /// Started by the lab with pipes on all three standard streams; lines on standard error become notes.
    /// Must die when its parent dies, or be found through what `ground` owns.
    pub command: Command,
    /// Address at which the environment reaches this machine; none where it has no network to it.
    pub host: Option<IpAddr>,
    /// Places by name (`own`, `share` ...) with their paths inside.
    pub places: BTreeMap<String, String>,
    /// Facts taken from outside: versions, flags, file systems under the places.
    pub outside: Facts,
}

/// Reads a specification, or a preset's name for one, and checks it against its provider.
pub fn parse(text: &str) -> Result<Specification, LabError> {
    let specification = Specification::parse(text).and_then(presets::resolve).map_err(|cause| {
        LabError::new(ErrorKind::Usage, format!("cannot read the environment '{text}'"))
            .because(cause)
            .hint("write NAME or provider:target?key=value&key=value")
    })?;
    find(&specification).map(|_| specification)
}

/// The provider that a specification names, with its options checked.
pub fn find(specification: &Specification) -> Result<&'static dyn Provider, LabError> {
    let presets = presets::PRESETS.iter().map(|preset| preset.name);
    let names: Vec<&str> = PROVIDERS.iter().map(|provider| provider.name()).chain(presets).collect();
    match PROVIDERS.iter().find(|provider| provider.name() == specification.provider) {
        Some(provider) => check_options(*provider, specification).map(|()| *provider),
        None => {
            let what = format!("there is no environment '{}'", specification.provider);
            Err(unknown(what, &specification.provider, &names))
        }
    }
}

/// Refuses options that the provider does not have, and values that they cannot take.
pub fn check_options(provider: &dyn Provider, specification: &Specification) -> Result<(), LabError> {
    let keys: Vec<&str> = provider.options().iter().map(|option| option.key).collect();
    for (key, value) in &specification.options {
        let Some(option) = provider.options().iter().find(|option| option.key == key) else {
            return Err(unknown(format!("{} has no option '{key}'", provider.name()), key, &keys));
        };
        if !option.values.is_empty() && !option.values.contains(&value.as_str()) {
            let what = format!("{}: '{key}' cannot be '{value}'", provider.name());
            return Err(unknown(what, value, option.values));
        }
    }
    Ok(())
}

fn unknown(what: String, given: &str, known: &[&str]) -> LabError {
    let error = LabError::new(ErrorKind::Usage, what);
    match nearest(given, known.iter().copied()) {
        Some(name) => error.hint(format!("did you mean '{name}'?")),
        None if known.is_empty() => error.hint("it has none"),
        None => error.hint(format!("there are: {}", known.join(", "))),
    }
}

/// Does what the arguments of a program ask of it as a way into an environment, and gives its exit code;
/// None when they ask nothing.
pub fn answer(arguments: &[OsString]) -> Option<i32> {
    match (arguments.get(1)?.to_str()?, &arguments[2..]) {
        (container::ENTER, [plan]) => Some(container::enter_main(plan.to_str()?)),
        (kvm::PROVE, []) => Some(kvm::prove_main()),
        (guest::INIT, []) => Some(guest::init_main()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> LabError {
        find(&Specification::parse(text).unwrap()).err().unwrap()
    }

    #[test]
    fn a_misspelt_name_is_refused_with_the_nearest() {
        assert_eq!(refusal("gvisro").hint.as_deref(), Some("did you mean 'gvisor'?"));
        assert_eq!(refusal("gvisor?platfrom=ptrace").hint.as_deref(), Some("did you mean 'platform'?"));
        assert_eq!(refusal("gvisor?platform=ptrase").hint.as_deref(), Some("did you mean 'ptrace'?"));
        assert_eq!(refusal("native?x=1").hint.as_deref(), Some("it has none"));
        assert!(refusal("qqq").hint.unwrap().starts_with("there are: native, "));
    }

    #[test]
    fn every_default_names_its_own_provider_and_known_options() {
        for provider in PROVIDERS {
            for text in provider.by_default() {
                let specification = Specification::parse(text).unwrap();
                assert_eq!(specification.provider, provider.name());
                find(&specification).unwrap();
            }
            for option in provider.options() {
                assert!(
                    option.values.is_empty() || option.values.contains(&option.default),
                    "{}",
                    option.key
                );
            }
        }
    }

    #[test]
    fn the_list_holds_every_file() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/environments");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
            .filter(|name| name != "mod")
            .collect();
        let mut names: Vec<&str> = PROVIDERS.iter().map(|provider| provider.name()).collect();
        files.sort();
        names.sort_unstable();
        assert_eq!(files, names);
    }
}
