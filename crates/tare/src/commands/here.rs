//! `tare here`: names the layers around this process from inside, its limits, and what to change.

use std::path::PathBuf;

use tare_analysis::here::costs::{add_changes, compute_costs};
use tare_analysis::here::layers::Confidence;
use tare_analysis::here::limits::{choose_changes, read_limits};
use tare_analysis::here::recognise_layers;
use tare_data::facts::Facts;
use tare_probes::here::{Place, VARIABLES, Wanted, collect_surroundings};
use tare_report::here::{Here, render_here_json, render_here_terminal};

use crate::args;
use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::ui;

/// Time after which everything that is known is printed, in ms.
const LONGEST_MS: u64 = 2_700;
/// Values of the variable `container` that are kept.
const CONTAINERS: [&str; 8] =
    ["docker", "podman", "oci", "lxc", "lxc-libvirt", "systemd-nspawn", "firejail", "flatpak"];

pub fn run_here(args: &args::Here) -> Result<Exit, CommandError> {
    let wanted = Wanted {
        variables: list_variables(),
        places: list_places(),
        references: list_references(),
        longest_ms: LONGEST_MS,
    };
    let surroundings = collect_surroundings(&wanted);
    let found = recognise_layers(&surroundings.facts);
    let limits = read_limits(&surroundings.facts);
    let costs = compute_costs(&surroundings.facts);
    let mut changes = choose_changes(&limits);
    add_changes(&costs, &mut changes);
    let here = Here {
        surroundings: &surroundings,
        found: &found,
        limits: &limits,
        costs: &costs,
        changes: &changes,
    };
    ui::print_output(match args.json {
        true => render_here_json(&here),
        false => render_here_terminal(&here, args.wide, ui::measure_width(), ui::find_language()),
    })?;
    let is_told = |name: &String| {
        found.layers.iter().any(|layer| layer.name == name && layer.confidence > Confidence::Possible)
    };
    Ok(match () {
        () if args.fail_if.iter().any(is_told) => Exit::Gate,
        () if surroundings.facts.get("kernel.name").is_none() => Exit::Environment,
        () => Exit::Done,
    })
}

/// Collects the variables that are set and say something of an environment.
fn list_variables() -> Facts {
    let mut facts = Facts::default();
    let names: Vec<String> = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    let is_set = |known: &&str| match known.ends_with('_') {
        true => names.iter().any(|name| name.starts_with(*known)),
        false => names.iter().any(|name| name == known),
    };
    facts.add_fact("variables", VARIABLES.into_iter().filter(is_set).collect::<Vec<_>>().join(" "));
    let container = std::env::var("container").unwrap_or_default();
    facts.add_fact(
        "variables.container",
        if CONTAINERS.contains(&container.as_str()) { &container } else { "" },
    );
    facts
}

/// Lists the folders in which people work. None of them is opened by this process.
fn list_places() -> Vec<Place> {
    let variable = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let all = [
        ("work", std::env::current_dir().ok()),
        ("tmp", Some(std::env::temp_dir())),
        ("home", variable("HOME")),
    ];
    all.into_iter().filter_map(|(role, path)| Some(Place { role, path: path? })).collect()
}

/// Lists folders that are on a file system of this environment where there is one, those in memory first.
fn list_references() -> Vec<PathBuf> {
    vec!["/dev/shm".into(), std::env::temp_dir(), "/tmp".into(), "/var/tmp".into()]
}
