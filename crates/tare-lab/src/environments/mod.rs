//! Environments: one file for each provider.

use std::ffi::OsString;
use std::sync::{Arc, LazyLock};

use tare_data::session::specification::Specification;

use crate::containers::silent_mounts;
use crate::containers::view;
use crate::error::LabError;
use crate::guests::init;
use crate::guests::kvm;
use crate::launching::relay;
use crate::provider::Provider;
use crate::provider::naming::{self, Known};

pub use crate::provider::naming::Named;

pub(crate) mod bwrap;
#[cfg(test)]
mod checks;
pub(crate) mod container;
pub(crate) mod docker;
pub(crate) mod emulated;
pub mod everyday;
pub(crate) mod exec;
pub mod found;
pub(crate) mod gvisor;
pub(crate) mod kubernetes;
pub mod ladders;
pub(crate) mod landlock;
pub(crate) mod launchers;
pub(crate) mod native;
pub(crate) mod nerdctl;
pub(crate) mod nspawn;
pub(crate) mod oci;
#[cfg(test)]
pub(crate) mod on_linux;
pub(crate) mod podman;
pub mod presets;
pub(crate) mod proot;
pub(crate) mod qemu;
pub(crate) mod ssh;
pub(crate) mod traced;
pub(crate) mod uml;
pub(crate) mod windows;
pub(crate) mod wsl;

/// All providers, in the order in which they are listed. Adding one: its `mod` line above and its line here.
pub static PROVIDERS: LazyLock<Vec<Arc<Provider>>> = LazyLock::new(|| {
    let compiled = [
        (native::PROVIDER)(),
        (container::PROVIDER)(),
        (landlock::PROVIDER)(),
        (traced::PROVIDER)(),
        (emulated::PROVIDER)(),
        (bwrap::PROVIDER)(),
        (proot::PROVIDER)(),
        (nspawn::PROVIDER)(),
        (oci::PROVIDER)(),
        (podman::PROVIDER)(),
        (docker::PROVIDER)(),
        (nerdctl::PROVIDER)(),
        (gvisor::PROVIDER)(),
        (uml::PROVIDER)(),
        (qemu::PROVIDER)(),
        (wsl::PROVIDER)(),
        (windows::PROVIDER)(),
        (ssh::PROVIDER)(),
        (kubernetes::PROVIDER)(),
        (exec::PROVIDER)(),
    ];
    compiled.map(Arc::new).into()
});

/// Lists everything that can be named here: launchers after the providers that are compiled in.
fn list_known() -> Known<'static> {
    static ALL: LazyLock<Vec<Arc<Provider>>> = LazyLock::new(|| {
        let launchers = launchers::LAUNCHERS.iter().map(|(launcher, _)| launcher);
        PROVIDERS.iter().chain(launchers).cloned().collect()
    });
    Known { providers: &ALL, presets: presets::list_preset_names, root_ready: view::check_view_ready }
}

/// Lists every provider, launchers that come along after those that are compiled in.
pub fn list_providers() -> impl Iterator<Item = &'static Provider> {
    list_known().providers.iter().map(|provider| &**provider)
}

/// Lists the launchers that come along, and whether tare's tests enter each.
pub fn list_launchers() -> impl Iterator<Item = (&'static Provider, bool)> {
    launchers::LAUNCHERS.iter().map(|(launcher, is_tested)| (&**launcher, *is_tested))
}

/// Parses a specification, or a preset's name for one.
pub fn parse_environment(text: &str) -> Result<Named, LabError> {
    find_environment(text.parse()?)
}

/// Finds the environment that a specification names, that a preset's name stands for, or that a file with a template of a launcher
/// describes.
pub fn find_environment(specification: Specification) -> Result<Named, LabError> {
    let mut specification = presets::resolve_preset(specification)?;
    exec::make_absolute(&mut specification);
    if launchers::is_file(&specification) {
        let providers = [Arc::new(launchers::read_provider(&mut specification)?)];
        return naming::find_environment(specification, &Known { providers: &providers, ..list_known() });
    }
    naming::find_environment(specification, &list_known())
}

/// Does what the arguments of a program ask for as a way into an environment, and returns its exit code;
/// None when they are others.
pub fn run_subcommand(arguments: &[OsString]) -> Option<i32> {
    match (arguments.get(1)?.to_str()?, &arguments[2..]) {
        (container::ENTER, [plan]) => Some(container::enter_main(plan.to_str()?)),
        (landlock::ENTER, words) => Some(landlock::enter_main(words)),
        (traced::ENTER, words) => Some(traced::enter_main(words)),
        (kvm::PROVE, []) => Some(kvm::prove_main()),
        (init::INIT, []) => Some(init::init_main()),
        (relay::RELAY, [plan]) => Some(relay::relay_main(plan.to_str()?)),
        (silent_mounts::LOOK, [point]) => Some(silent_mounts::look_main(point)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use tare_data::session::Side;

    use super::*;
    use crate::error::ErrorKind;

    fn refusal(text: &str) -> LabError {
        parse_environment(text).err().unwrap_or_else(|| panic!("{text} is taken"))
    }

    #[test]
    fn a_misspelt_name_is_refused_with_the_nearest() {
        assert_eq!(refusal("gvisro").hint.as_deref(), Some("did you mean 'gvisor'?"));
        assert_eq!(refusal("gvisor?platfrom=ptrace").hint.as_deref(), Some("did you mean 'platform'?"));
        assert_eq!(refusal("gvisor?platform=ptrase").hint.as_deref(), Some("did you mean 'ptrace'?"));
        assert_eq!(refusal("native?x=1").hint.as_deref(), Some("it has none"));
        assert!(refusal("qqq").hint.unwrap().starts_with("tare list environments "));
    }

    #[test]
    fn an_instance_is_refused_where_there_can_be_none() {
        for text in ["native:x", "gvisor:runsc", "wsl1-like:x"] {
            assert_eq!(refusal(text).kind, ErrorKind::Usage);
        }
        parse_environment("oci:youki").unwrap();
    }

    #[test]
    fn every_environment_can_be_slower_on_purpose() {
        for text in ["native", "gvisor?platform=ptrace", "wsl1-like", "ssh:host", "oci:crun"] {
            let specification: Specification = text.parse().unwrap();
            let slower = |share: &str| find_environment(specification.clone().with_option("slower", share));
            assert_eq!(slower("2.5%").unwrap().slower, 0.025, "{text}");
            assert_eq!(parse_environment(text).unwrap().slower, 0.0);
            for wrong in ["5", "-1%", "101%", "NaN%", "inf%", "%", ""] {
                let refused = slower(wrong).err().unwrap_or_else(|| panic!("{text}: {wrong} is taken"));
                assert!(refused.what.ends_with(&format!("'slower' cannot be '{wrong}'")), "{refused}");
            }
        }
        let targets = ["native?slower=5%", "gvisor?platform=ptrace&slower=0.5%", "native"]
            .map(|text| Side::new(String::new(), parse_environment(text).unwrap().specification));
        assert_eq!(targets.map(|target| target.slower_share()), [Some(0.05), Some(0.005), None]);
    }

    #[test]
    fn trials_of_every_environment_can_run_alone() {
        for text in ["native", "container?net=host", "docker-like", "oci:crun"] {
            let specification: Specification = text.parse().unwrap();
            let alone = |value: &str| find_environment(specification.clone().with_option("turns", value));
            alone("no").and(alone("yes")).unwrap();
            let refused = alone("never").err().unwrap_or_else(|| panic!("{text}: 'never' is taken"));
            assert!(refused.what.ends_with("'turns' cannot be 'never'"), "{refused}");
        }
    }

    #[test]
    fn the_clock_is_waited_for_where_a_runtime_may_bring_a_kernel() {
        let waits = PROVIDERS.iter().filter(|provider| !provider.kernel.settling.longest.is_zero());
        let names: Vec<&str> = waits.map(|provider| provider.name.as_str()).collect();
        assert_eq!(names, ["oci", "podman", "docker", "nerdctl", "gvisor", "kubernetes", "exec"]);
    }

    #[test]
    fn every_preset_is_entered_by_a_provider_and_takes_no_name_of_one() {
        for preset in presets::PRESETS {
            let specification = parse_environment(preset.name).unwrap().specification;
            assert_eq!(specification, parse_environment(preset.specification).unwrap().specification);
            assert!(PROVIDERS.iter().all(|provider| provider.name != preset.name), "{}", preset.name);
        }
    }

    #[test]
    fn options_are_added_to_a_preset_and_replace_its_own() {
        let parsed = |text| parse_environment(text).unwrap().specification.to_string();
        assert_eq!(parsed("wsl1-like?overlay=self"), "gvisor?overlay=self&platform=systrap");
        assert_eq!(parsed("wsl2-like?memory=512"), "qemu?memory=512&share=virtiofs");
        // As records before mid-2026 have it.
        assert_eq!(parsed("wsl2-like?share=9p"), "qemu?cache=mmap");
        assert_eq!(parsed("wsl2-like?share=9p&cache=none&memory=512"), "qemu?cache=none&memory=512");
        for wrong in ["wsl1-like:x", "guest?nonsense=1", "wsl3-like"] {
            refusal(wrong);
        }
    }

    #[test]
    fn the_list_holds_every_file() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/environments");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
            .filter(|name| {
                ![
                    "checks",
                    "everyday",
                    "found",
                    "ladders",
                    "launchers",
                    "mod",
                    "native_on_windows",
                    "on_linux",
                    "on_windows",
                    "presets",
                ]
                .contains(&name.as_str())
            })
            .collect();
        let mut names: Vec<&str> = PROVIDERS.iter().map(|provider| provider.name.as_str()).collect();
        files.sort_unstable();
        names.sort_unstable();
        assert_eq!(files, names);
    }
}
