//! `docs/reference/environments.md`: every environment, as its provider describes it.

use std::fmt::Write;

use tare_lab::environments::PROVIDERS;
use tare_lab::environments::presets::PRESETS;
use tare_lab::provider::Provider;
use tare_lab::storage::file_systems::FILE_SYSTEMS;

use crate::book;

const OPENING: &str = "\
# Environments
Where probes run. Generated from the list of providers in `crates/tare-lab/src/environments/mod.rs`; a test keeps
it so. `tare check` says which of them are ready on a machine, and the one command that would make each of the
others so.

An environment is named `NAME`, or `provider:target?key=value&key=value`: `gvisor`, `gvisor?platform=ptrace`,
`oci:crun?net=host`. A shell wants quotes around `?` and `&`. `tare run` without `--in` takes every
specification that is listed as *by default* and is ready.

tare copies its own binary into each, speaks with it over standard input and output
([agent-protocol.md](agent-protocol.md)), and takes away afterwards whatever entering made: processes, mounts,
containers, network namespaces, control groups, folders. Where it was killed before it could, `tare clean` or the
next `tare run` does ([decision 11](decisions/0011-ownership-journal.md)).

## Places
| place | is |
|---|---|
| `own` | the environment's own file system, fresh at each start |
| `share` | a folder of the session's on the host's disk |
| FILE_SYSTEMS | a file system that the session makes for itself (needs root) |
| a folder's path | that folder of the host |

All but `own` are shared in by the environment's own means: a bind mount, gVisor's gofer, hostfs, 9P, virtiofs.
[places.md](places.md) says how they are made and taken away, and when the figures of one are not compared.

## Networks
The option `net` says by which way an environment reaches the peer `host` of a network probe, if by any:
[network-paths.md](network-paths.md).
";

/// The names of the file systems that a session can make.
fn file_systems() -> String {
    let names: Vec<String> = FILE_SYSTEMS.iter().map(|made| format!("`{}`", made.name)).collect();
    names.join(", ")
}

fn section(page: &mut String, provider: &dyn Provider) {
    write!(page, "\n## {}\n{}.\n\n", provider.name(), sentence(provider.summary())).unwrap();
    writeln!(page, "Stands for {}\n", provider.stands_for()).unwrap();
    let defaults: Vec<String> = provider.by_default().iter().map(|text| format!("`{text}`")).collect();
    match defaults.as_slice() {
        [] => page.push_str("By default: no; it must be named.\n"),
        some => writeln!(page, "By default: {}.", some.join(", ")).unwrap(),
    }
    if provider.options().is_empty() {
        return;
    }
    page.push_str("\n| option | default | values | |\n|---|---|---|---|\n");
    for option in provider.options() {
        let values: Vec<String> = option.values.iter().map(|value| format!("`{value}`")).collect();
        let values = if values.is_empty() { "any".to_owned() } else { values.join(", ") };
        let default = match option.default {
            "" => String::new(),
            default => format!("`{default}`"),
        };
        writeln!(page, "| `{}` | {default} | {values} | {} |", option.key, option.about).unwrap();
    }
}

/// The text with a capital letter, unless it begins with a name that has one further on (gVisor).
fn sentence(text: &str) -> String {
    let first_word = text.split(' ').next().unwrap_or_default();
    if first_word.contains(char::is_uppercase) {
        return text.to_owned();
    }
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The presets, behind the providers that they are made of.
fn presets(page: &mut String) {
    page.push_str("\n## Presets\n");
    page.push_str(
        "Names for specifications that stand for something people know. The column is headed by the ",
    );
    page.push_str(
        "name, and the record\nholds what was entered; options can be added: `wsl1-like?overlay=self`.\n",
    );
    for preset in PRESETS {
        write!(page, "\n### {}\n{}.\n\n", preset.name, sentence(preset.summary)).unwrap();
        writeln!(page, "Entered as `{}`.\n\nIn common: {}\n", preset.specification, preset.alike).unwrap();
        writeln!(page, "Not: {}", preset.unlike).unwrap();
    }
}

#[test]
fn every_environment_is_documented() {
    let _lock = book::lock();
    let mut page = OPENING.replace("FILE_SYSTEMS", &file_systems());
    PROVIDERS.iter().for_each(|provider| section(&mut page, *provider));
    presets(&mut page);
    book::keep(&book::root().join("docs/reference/environments.md"), &page);
}
