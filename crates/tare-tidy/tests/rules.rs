//! The rules of the house, held against this repository.

use std::fs;
use std::path::Path;

use tare_tidy::tree::Tree;
use tare_tidy::{arrows, comments, cycles, impls, inside, lists, names, public, shape, words};

/// Which of our crates each may import, and which its tests may besides; see ARCHITECTURE.md. No other arrow.
const ARROWS: arrows::Arrows<'_> = &[
    ("tare-data", &[], &[]),
    ("tare-paths", &["tare-data"], &[]),
    ("tare-probes", &["tare-data", "tare-paths"], &[]),
    ("tare-record", &["tare-data", "tare-paths"], &["tare-specimen"]),
    ("tare-import", &["tare-data", "tare-record"], &[]),
    ("tare-analysis", &["tare-data"], &["tare-specimen"]),
    (
        "tare-lab",
        &["tare-data", "tare-paths", "tare-probes", "tare-record", "tare-analysis"],
        &["tare-specimen"],
    ),
    ("tare-report", &["tare-data", "tare-analysis"], &["tare-specimen"]),
    (
        "tare",
        &[
            "tare-data",
            "tare-paths",
            "tare-probes",
            "tare-record",
            "tare-import",
            "tare-analysis",
            "tare-lab",
            "tare-report",
        ],
        &["tare-bench", "tare-specimen"],
    ),
    ("tare-specimen", &["tare-data", "tare-probes", "tare-record"], &[]),
    ("tare-bench", &["tare-data", "tare-probes", "tare-record", "tare-analysis", "tare-specimen"], &[]),
    (
        "tare-fuzz",
        &[
            "tare-data",
            "tare-probes",
            "tare-record",
            "tare-import",
            "tare-analysis",
            "tare-lab",
            "tare-report",
        ],
        &[],
    ),
    ("tare-tidy", &[], &[]),
];

/// Foreign crates that some of ours do without.
const FOREIGN: &[(&str, &str, &str)] = &[
    ("tare-probes", "clap", "the agent takes no arguments from a person"),
    ("tare-probes", "toml", "the agent reads requests and not studies"),
];

/// Folders that are one list of like things, and may be as long as the list.
const LIKE_THINGS: &[&str] = &[
    "crates/tare-probes/src/descriptions",
    "crates/tare-probes/src/probes",
    "crates/tare-lab/src/environments",
    "crates/tare/src/args",
    "crates/tare/src/commands",
];

/// Public names without a user, and why.
const SHOWN: &[(&str, &str)] = &[];

/// Banned words in quotations: of a file and a word.
const QUOTATIONS: &[(&str, &str)] = &[
    // Name of an environment in the first version's records, which the bench reads.
    ("crates/tare-bench/src/commands/precision.rs", "lane"),
    ("crates/tare-tidy/src/words.rs", "*"),
    ("crates/tare-tidy/tests/rules.rs", "*"),
    // Text that a workload sorts: another word would be another workload.
    ("crates/tare-probes/src/probes/proc_shell.rs", "weighs"),
];

/// Folders whose files are listed in the sources of a crate.
const LISTS: &[lists::Listed<'_>] =
    &[("studies", "tare-lab"), ("published", "tare-lab"), ("engines", "tare-lab"), ("launchers", "tare-lab")];

/// Crates of the product that may not name an environment.
const PRODUCT: [&str; 8] = [
    "tare-data",
    "tare-paths",
    "tare-probes",
    "tare-record",
    "tare-analysis",
    "tare-lab",
    "tare-report",
    "tare",
];

/// Strings that are an environment's name and name something else, by the beginning of the file's name.
const HOMONYMS: names::Homonyms<'_> = &[
    // Its one definition.
    ("crates/tare-data/src/session/specification.rs", "native"),
    // Layers and marks that `tare here` tells, of which some are called as an environment is.
    ("crates/tare-probes/src/here/", "*"),
    ("crates/tare-analysis/src/here/", "*"),
    ("crates/tare-report/src/here/", "*"),
    // Environments of articles.
    ("crates/tare-analysis/src/published/", "*"),
    // A key of JSON: whether the processor is a program.
    ("crates/tare/src/commands/check.rs", "emulated"),
    // Values of a variable that engines set.
    ("crates/tare/src/platform/unix.rs", "*"),
    // Programs and verbs of engines, and the filter of one.
    ("crates/tare-lab/src/owned.rs", "*"),
    ("crates/tare-lab/src/containers/seccomp.rs", "docker"),
    // Engines of fleets.
    ("crates/tare-lab/src/fleet/shipped.rs", "*"),
    // A processor that QEMU emulates.
    ("crates/tare-probes/src/facts/processor.rs", "qemu"),
    // The system call.
    ("crates/tare-analysis/src/bill/prices.rs", "exec"),
    ("crates/tare-probes/src/descriptions/", "exec"),
    ("crates/tare-probes/src/operations/", "exec"),
    ("crates/tare-probes/src/probes/proc_exec.rs", "exec"),
];

/// Reads the tree, once for each rule: tokens belong to a thread.
fn tree() -> Tree {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    Tree::read_workspace(&root).unwrap()
}

/// Fails with everything that breaks a rule, a line each.
#[track_caller]
fn none(broken: Vec<String>) {
    assert!(broken.is_empty(), "{} times:\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn crates_import_only_along_the_arrows() {
    none(arrows::list_broken_arrows(&tree(), ARROWS));
    none(arrows::list_banned_imports(&tree(), FOREIGN));
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    none(cycles::between_files(&tree()));
}

#[test]
fn no_folders_import_each_other_in_a_circle() {
    none(cycles::between_folders(&tree()));
}

#[test]
fn what_a_library_shows_has_a_user() {
    none(public::without_user(&tree(), SHOWN));
}

#[test]
fn every_file_opens_with_its_purpose_and_tells_one_story() {
    none(shape::of_files(&tree()));
}

/// Modules that read what any node of a fleet can write, and their calls that open a path: of files that the user named, and of this
/// program.
const BEHIND_THE_DOOR: [(&str, &[(&str, usize)]); 2] = [
    ("crates/tare-lab/src/fleet", &[("cell.rs", 1), ("making.rs", 2)]),
    ("crates/tare/src/commands/fleet", &[("planning.rs", 2)]),
];

/// Counts calls that open a path without the door, tests apart.
fn paths_opened(text: &str) -> usize {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("use "));
    lines
        .map(|line| {
            line.matches("fs::").count()
                + line.matches("File::open").count()
                + line.matches("input::").count()
        })
        .sum()
}

#[test]
fn what_nodes_can_write_is_opened_by_the_door_alone() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    assert_eq!(paths_opened("use std::fs;\nfs::read(x);\n#[cfg(test)]\nfs::write(x)"), 1);
    for (folder, allowed) in BEHIND_THE_DOOR {
        let files = fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        for file in files.filter(|path| path.is_file()) {
            let name = file.file_name().unwrap().to_str().unwrap();
            let most = allowed.iter().find(|(known, _)| *known == name).map_or(0, |(_, most)| *most);
            let opened = paths_opened(&fs::read_to_string(&file).unwrap());
            assert_eq!(opened, most, "{folder}/{name}: paths that are opened without tare_paths::door");
        }
    }
}

/// Counts the calls in a piece of code that compute findings.
fn count_computations(code: &str) -> usize {
    code.matches("compute_findings(").count() + code.matches("Shown::compute(").count()
}

#[test]
fn table_page_exports_gate_and_exit_share_findings_that_are_computed_once() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tare/src");
    let read = |file: &str| fs::read_to_string(source.join(file)).unwrap();
    for file in ["commands/run.rs", "commands/report.rs", "outputs.rs", "session_exit.rs"] {
        let text = read(file);
        assert_eq!(count_computations(text.split("#[cfg(test)]").next().unwrap()), 0, "{file}");
    }
    let functions = read("show/session.rs");
    let counts: Vec<usize> = functions.split("\npub fn ").map(count_computations).collect();
    assert!(counts.iter().all(|count| *count <= 1) && counts.iter().sum::<usize>() >= 3, "{counts:?}");
}

#[test]
fn the_methods_of_a_type_lie_in_two_files_at_most() {
    none(impls::list_spread_types(&tree()));
}

#[test]
fn functions_fit_a_screen() {
    none(shape::of_functions(&tree()));
}

#[test]
fn folders_are_short_unless_they_are_one_list() {
    none(shape::of_folders(&tree(), LIKE_THINGS));
}

#[test]
fn modules_have_names_that_say_something() {
    none(shape::of_names(&tree()));
}

#[test]
fn nothing_is_left_unfinished() {
    none(shape::of_work(&tree()));
}

#[test]
fn every_study_and_every_article_is_listed() {
    none(lists::find_unlisted_files(&tree(), LISTS));
}

#[test]
fn a_crate_is_built_of_what_lies_in_it() {
    none(inside::included_from_outside(&tree()));
}

#[test]
fn environments_are_named_at_home_alone() {
    let list = "crates/tare-lab/src/environments/on_linux.rs";
    let home = "crates/tare-lab/src/environments/";
    none(names::find_named(&tree(), list, home, &PRODUCT, HOMONYMS).unwrap());
}

#[test]
fn words_are_those_of_the_field() {
    none(words::find_banned_words(&tree(), QUOTATIONS));
}

#[test]
fn comments_of_functions_begin_with_a_verb_and_those_of_types_with_a_noun() {
    let tree = tree();
    none(comments::list_broken_comments(&tree).iter().map(ToString::to_string).collect());
    none(comments::list_dull_crates(&tree));
}
