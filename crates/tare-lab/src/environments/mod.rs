//! Environments: how each is entered, one file a provider.

use std::ffi::OsString;

use crate::error::{ErrorKind, LabError};
use crate::guests::init;
use crate::guests::kvm;
use crate::nearest::nearest;
use crate::provider::Provider;
use crate::provider::specification::Specification;

pub mod bwrap;
pub mod container;
pub mod docker;
pub mod gvisor;
pub mod native;
pub mod nerdctl;
pub mod nspawn;
pub mod oci;
pub mod podman;
pub mod presets;
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
        (init::INIT, []) => Some(init::init_main()),
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
