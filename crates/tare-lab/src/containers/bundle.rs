//! An OCI bundle: the config.json from which a runtime starts the agent and nothing else.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::containers::root::Root;
use crate::error::LabError;
use crate::host::private_folder;
use crate::network::container::ContainerNetwork;
use crate::owned::MARK;
use crate::provider::Workspace;

/// Capabilities that Docker and Podman leave to root in a container.
const CAPABILITIES: [&str; 14] = [
    "CAP_AUDIT_WRITE",
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_MKNOD",
    "CAP_NET_BIND_SERVICE",
    "CAP_NET_RAW",
    "CAP_SETFCAP",
    "CAP_SETGID",
    "CAP_SETPCAP",
    "CAP_SETUID",
    "CAP_SYS_CHROOT",
];

/// Writes the bundle of a start into its folder; returns the bundle's path.
///
/// Without root the container gets a user namespace in which the user is root.
pub fn write_bundle(
    workspace: &dyn Workspace,
    root: &Root,
    network: &ContainerNetwork,
) -> Result<PathBuf, LabError> {
    let folder = workspace.folder().join("bundle");
    let file = folder.join("config.json");
    let config = config(workspace, root, network).to_string();
    let written = private_folder::make_private_folder(&folder).and_then(|()| fs::write(&file, config));
    written.map_err(LabError::storage_error("write", &file))?;
    Ok(folder)
}

fn config(workspace: &dyn Workspace, root: &Root, network: &ContainerNetwork) -> Value {
    let user = rustix::process::geteuid();
    json!({
        "ociVersion": "1.0.2",
        "process": {
            "terminal": false,
            "user": { "uid": 0, "gid": 0 },
            "args": workspace.words_inside(&root.agent),
            "env": [format!("{MARK}={}", workspace.mark())],
            "cwd": "/",
            "capabilities": {
                "bounding": CAPABILITIES,
                "effective": CAPABILITIES,
                "permitted": CAPABILITIES,
            },
            // Programs of a view may be such as need the bit that sets their user.
            "noNewPrivileges": !root.is_view(),
        },
        "root": { "path": root.path(), "readonly": false },
        "hostname": "tare",
        "mounts": mounts(root),
        "linux": linux(workspace, network, (!user.is_root()).then_some(user.as_raw())),
    })
}

fn mounts(root: &Root) -> Vec<Value> {
    let shared_memory = match root.is_view() {
        true => &["nosuid", "nodev", "mode=1777"][..],
        false => &["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"],
    };
    let mut mounts = vec![
        json!({ "destination": "/proc", "type": "proc", "source": "proc" }),
        json!({
            "destination": "/dev",
            "type": "tmpfs",
            "source": "tmpfs",
            "options": ["nosuid", "strictatime", "mode=755", "size=65536k"],
        }),
        json!({
            "destination": "/dev/shm",
            "type": "tmpfs",
            "source": "shm",
            "options": shared_memory,
        }),
        json!({
            "destination": "/sys",
            "type": "sysfs",
            "source": "sysfs",
            "options": ["nosuid", "noexec", "nodev", "ro"],
        }),
    ];
    if root.is_view() {
        mounts.push(json!({
            "destination": "/dev/pts",
            "type": "devpts",
            "source": "devpts",
            "options": ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"],
        }));
    }
    mounts.extend(root.shares.iter().map(|(path, inside)| {
        json!({ "destination": inside, "type": "bind", "source": path, "options": ["rbind", "rw"] })
    }));
    mounts
}

fn linux(workspace: &dyn Workspace, network: &ContainerNetwork, user: Option<u32>) -> Value {
    let mut namespaces = vec!["pid", "ipc", "uts", "mount"];
    namespaces.extend(network.is_own.then_some("network"));
    namespaces.extend(user.map(|_| "user"));
    let mut namespaces: Vec<Value> = namespaces.iter().map(|kind| json!({ "type": kind })).collect();
    namespaces.extend(network.namespace.as_ref().map(|path| json!({ "type": "network", "path": path })));
    let mut linux = json!({ "namespaces": namespaces });
    match user {
        // Only root may make control groups, and show this process's own as the root of all.
        None => linux["cgroupsPath"] = json!(workspace.own_groups().format_path(workspace.number()) + "/oci"),
        Some(user) => {
            let group = rustix::process::getegid().as_raw();
            linux["uidMappings"] = json!([{ "containerID": 0, "hostID": user, "size": 1 }]);
            linux["gidMappings"] = json!([{ "containerID": 0, "hostID": group, "size": 1 }]);
        }
    }
    linux
}
