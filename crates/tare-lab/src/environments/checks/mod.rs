//! Checks of every provider, and of the one that CONTRIBUTING has as its example.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tare_data::session::specification::Specification;

use crate::environments::{self, Named, PROVIDERS, on_linux};
use crate::error::LabError;
use crate::host::programs::Programs;
use crate::provider::naming::{self, Known};
use crate::provider::{ByDefault, Provider};

mod chroot;

/// Finds CONTRIBUTING's example, as if it were registered.
fn find_example(specification: Specification) -> Result<Named, LabError> {
    let providers = [Arc::new((chroot::PROVIDER)())];
    let known = Known { providers: &providers, presets: Vec::new, root_ready: |_| Ok(()) };
    naming::find_environment(specification, &known)
}

/// Fails where something is missing of all that others read of a provider.
fn check(provider: &Provider, find: fn(Specification) -> Result<Named, LabError>) {
    let name = provider.name.as_str();
    let words = provider.short_description.split_whitespace().count();
    assert!((2..=6).contains(&words), "{name}: {words} words");
    assert!(!provider.footprint.starts.is_empty() && !provider.stands_for.is_empty(), "{name}");
    for option in provider.options.iter().filter(|option| !option.values.is_empty()) {
        let given = |value: &str| find(Specification::from_provider(name).with_option(option.key, value));
        for value in option.values {
            // Some values need another option as well; the error is then about both.
            if let Err(e) = given(value) {
                assert!(!e.what.contains("cannot be"), "{e}");
            }
        }
        let refused = given("nonsense").err().map(|e| e.what);
        assert_eq!(refused, Some(format!("{name}: '{}' cannot be 'nonsense'", option.key)));
    }
    let ByDefault { tried, ranked, .. } = provider.by_default;
    for text in tried.iter().chain(ranked.iter().map(|(_, text)| text)) {
        assert_eq!(find(text.parse().unwrap()).unwrap().provider.name, name);
    }
}

#[test]
fn every_provider_says_all_that_is_read_of_it() {
    PROVIDERS.iter().for_each(|provider| check(provider, environments::find_environment));
}

#[test]
fn every_build_knows_the_names() {
    let names: Vec<&str> = PROVIDERS.iter().map(|provider| provider.name.as_str()).collect();
    assert_eq!(names, on_linux::NAMES);
}

/// The module `chroot` is the text of CONTRIBUTING: it is compiled, and goes through the checks of other providers.
#[test]
fn the_example_of_an_environment_is_a_provider() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let contributing = fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    let (_, fence) = contributing.split_once("```rust\n//! chroot").expect("the example");
    let (example, _) = fence.split_once("```").expect("its end");
    assert_eq!(
        format!("//! chroot{example}"),
        include_str!("chroot.rs"),
        "CONTRIBUTING.md and checks/chroot.rs"
    );

    check(&(chroot::PROVIDER)(), find_example);
    let named = find_example("chroot?user=nobody".parse().unwrap()).unwrap();
    // Nothing can be found without programs to search.
    let not_ready = named.check_ready(&Programs::default()).unwrap_err();
    assert_eq!(not_ready.command.as_deref(), Some("apt-get install coreutils"));
}
