//! `docs/reference/environments.md`: every environment, as described by its provider.

use std::fmt::Write;

use tare_data::session::specification::NATIVE;
use tare_lab::environments::presets::{PRESETS, Variant};
use tare_lab::environments::{PROVIDERS, list_launchers};
use tare_lab::launching::schema::make_launcher_schema;
use tare_lab::launching::shipped::SHIPPED;
use tare_lab::provider::Provider;
use tare_lab::provider::root::Roots;

use crate::book;

const OPENING: &str = "\
# Environments
The places where probes run. This page is generated from the list of providers in `crates/tare-lab/src/environments/mod.rs`;
a test compares it. `tare check` lists which of them are ready on a machine, and the command that makes each of the
others ready.

An environment is named `NAME`, or `provider:instance?key=value&key=value`: `gvisor`, `gvisor?platform=ptrace`,
`oci:crun?net=host`. Quote `?` and `&` in a shell. Without `--in`, `tare run` measures the first three, by
rank, of those that are listed as *by default* and are ready.

tare copies its own binary into each, and exchanges requests and answers with it over standard input and output
([agent-protocol.md](../internals/agent-protocol.md)). Afterwards it removes everything that it made: processes,
mounts, containers, network namespaces, control groups, folders. If it was killed before it could, `tare clean` or
the next `tare run` does ([decision 11](../internals/decisions/0011-ownership-journal.md)).

Every environment accepts `slower=SHARE`, e.g. `native?slower=5%`: its trials work longer by that share, on purpose. This
shows whether a session finds a cost of that size; `tare selftest` tries several. With `turns=no` its trials run alone, one
after the other, also where they could [take turns](../method/methodology.md#taking-turns) with the baseline's.

Every environment accepts `root=`, which chooses the programs inside:

| value | inside |
|---|---|
| `empty` | the default: only tare; in native, ssh and wsl, their usual programs |
| `host` | this machine's own root with all its programs |
| a path | the same with that folder of this machine as the root |

With `host` or a path, an environment has a view of that folder: a layer over every file system (overlayfs), mounted only
for the environment. All writes to files go to the layers, in the session's scratch folder, and are removed with them.
/proc, /sys and /dev are fresh; tare itself and the places are below `/run/tare`. UNIX sockets of this machine's programs are visible and refuse connections. The facts `root` and
`root.upper` name the root and the file system of the layers. Where no layers can be made, native, landlock and traced have `host`
without them, and the fact `root.changes` is `kept`.

From native, traced, emulated and proot, which separate nothing else, a command keeps for itself:

- files, the host's name, System V and POSIX message queues, semaphores and shared memory, and the nodes of /dev;
- processes that it leaves running, which end with the environment.

Other changes reach this machine, as far as the user may make them. Root can signal processes, set clocks, limits and
/proc/sys, configure networks and devices, and write to files by /proc/PID/root of a process outside. Run as an
unprivileged user, or in an environment that separates more, a command that is not trusted.

For an unprivileged user the layers are mounted in a user namespace, one for each folder. Files that the user cannot read
are missing, files of others belong to nobody, and writing to them fails. If an environment cannot have such a root, its
section has the reason.

The location of files is a separate choice: [places.md](../guide/places.md). The option `net` chooses the path to the
peer `host` of a network probe: [networks.md](../guide/networks.md#paths-to-the-peer-host).
";

fn section(page: &mut String, provider: &Provider) {
    write!(page, "\n## {}\n{}.\n\n", provider.name, sentence(&provider.summary)).unwrap();
    writeln!(page, "Stands for {}\n", provider.stands_for).unwrap();
    let ranked = provider.by_default.ranked.iter();
    let defaults: Vec<String> = ranked.map(|(rank, text)| format!("`{text}` with rank {rank}")).collect();
    match defaults.as_slice() {
        [] if provider.name == NATIVE => page.push_str("By default: as the baseline.\n"),
        [] => page.push_str("By default: no; it must be named.\n"),
        some => writeln!(page, "By default: {}.", some.join(", ")).unwrap(),
    }
    match provider.roots {
        Roots::Any => {}
        Roots::Host(reason) => writeln!(page, "\n`root=` takes no path: {reason}.").unwrap(),
        Roots::Own(reason) => writeln!(page, "\n`root=` takes nothing but `empty`: {reason}.").unwrap(),
    }
    if provider.options.is_empty() {
        return;
    }
    page.push_str("\n| option | default | values | |\n|---|---|---|---|\n");
    for option in &provider.options {
        let values: Vec<String> = option.values.iter().map(|value| format!("`{value}`")).collect();
        let values = if values.is_empty() { "any".to_owned() } else { values.join(", ") };
        let default = match &*option.default {
            "" => String::new(),
            default => format!("`{default}`"),
        };
        writeln!(page, "| `{}` | {default} | {values} | {} |", option.key, option.about).unwrap();
    }
}

/// Capitalises a text, unless it begins with a name such as gVisor.
fn sentence(text: &str) -> String {
    let first_word = text.split(' ').next().unwrap_or_default();
    if first_word.contains(char::is_uppercase) {
        return text.to_owned();
    }
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Writes the presets, after the providers that they use.
fn presets(page: &mut String) {
    page.push_str("\n## Presets\n");
    page.push_str(
        "Names for specifications that stand for something people know. The column has the preset's name, and \
         the record\nthe specification. Options can be added: `wsl1-like?overlay=self`.\n",
    );
    for preset in PRESETS {
        write!(page, "\n### {}\n{}.\n\n", preset.name, sentence(preset.summary)).unwrap();
        writeln!(page, "Entered as `{}`.\n", preset.specification).unwrap();
        for Variant { option: (key, value), specification, imitates } in preset.variants {
            let name = preset.name;
            writeln!(page, "`{name}?{key}={value}` is entered as `{specification}`: {imitates}.\n").unwrap();
        }
        writeln!(page, "In common: {}\n", preset.alike).unwrap();
        writeln!(page, "Not: {}", preset.unlike).unwrap();
    }
}

/// Writes the launchers, those that are tested first.
fn launchers(page: &mut String) {
    page.push_str("\n## Launchers\n");
    page.push_str(
        "Sandboxes, containers and machines that are entered by words before a command. Each is a file in the folder\n\
         `launchers`; [my-sandbox.md](../guide/my-sandbox.md) has its keys, and shows how to add one.\n",
    );
    for tested in [true, false] {
        page.push_str(match tested {
            true => "\n### Launchers that are tested\ntare's own tests enter these.\n",
            false => {
                "\n### Launchers that were not tried\nThese have the words of their manuals, and were never entered by a test.\n"
            }
        });
        for (provider, _) in list_launchers().filter(|(_, its)| *its == tested) {
            let instance =
                provider.instance.as_ref().map(|meaning| format!(":{meaning}")).unwrap_or_default();
            write!(
                page,
                "\n#### {}\n{}. Stands for {}\n",
                provider.name,
                sentence(&provider.summary),
                provider.stands_for
            )
            .unwrap();
            if !instance.is_empty() {
                writeln!(page, "\nNamed `{}{instance}`.", provider.name).unwrap();
            }
            for option in &provider.options {
                let (key, usual) = (option.key, &option.default);
                writeln!(page, "\n`{key}=`, `{usual}` unless given; {}.", option.about).unwrap();
            }
        }
    }
}

#[test]
fn the_schema_of_launchers_takes_those_that_come_along_and_refuses_slips() {
    let _lock = book::lock_documents();
    let schema = make_launcher_schema();
    let path = book::repository_root().join("docs/reference/launcher.schema.json");
    book::compare_or_rewrite(&path, &format!("{schema:#}\n"));
    let complaint = |text: &str| {
        let mut schemas = boon::Schemas::new();
        let mut compiler = boon::Compiler::new();
        compiler.add_resource("file:///launcher.schema.json", make_launcher_schema()).unwrap();
        let index = compiler.compile("file:///launcher.schema.json", &mut schemas).unwrap();
        let value: toml::Value = toml::from_str(text).unwrap();
        schemas.validate(&serde_json::to_value(value).unwrap(), index).err().map(|e| e.to_string())
    };
    for (name, text) in SHIPPED {
        assert_eq!(complaint(text), None, "{name}");
    }
    let least = "name='b'\ntitle='b'\nsummary='b'\nstands_for='b'\ninstall='b'\nenter=['b']\n";
    assert_eq!(complaint(least), None);
    for slip in ["entre=['x']", "far='near'", "inside=['moon']", "[profile.x]\nwords=[]"] {
        assert!(complaint(&format!("{least}{slip}")).is_some(), "{slip}");
    }
}

#[test]
fn every_environment_is_documented() {
    let _lock = book::lock_documents();
    let mut page = OPENING.to_owned();
    PROVIDERS.iter().for_each(|provider| section(&mut page, provider));
    presets(&mut page);
    launchers(&mut page);
    book::compare_or_rewrite(&book::repository_root().join("docs/reference/environments.md"), &page);
}
