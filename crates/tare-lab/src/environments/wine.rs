//! Wine: the host itself, for programs of Windows, whose libraries are Wine's.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use crate::containers::{private_mounts, user_namespaces};
use crate::host::mounts;
use crate::host::private_folder;
use crate::owned::MARK;
use crate::provider::agent_for_windows;
use crate::provider::prelude::*;

/// Loaders of Wine. Debian's is not in a folder of programs: what is there is a script, which starts it.
const LOADERS: [&str; 3] = ["/usr/lib/wine/wine64", "wine64", "wine"];
/// The server that all programs of a prefix share; Debian's lies beside the loader, under the first name.
const SERVERS: [&str; 2] = ["wineserver64", "wineserver"];
/// What is not started: no menus of the desktop are written, and neither .NET nor a browser is offered for download.
const LEFT_OUT: &str = "winemenubuilder.exe,mscoree,mshtml=d";
/// Where Wine's server may listen, whatever it is told. It is the environment's own, so that nothing of it stays.
const SOCKETS: &str = "/tmp";
/// What is started in namespaces of its own, as their first process: it waits for all that its programs leave, and they
/// end with it. Wine's server and services are nobody's children.
const FIRST: &str = "mount -t tmpfs -o mode=700 tmpfs /tmp && \"$@\"; exit $?";
/// Time in which a prefix is made, which holds 800 MB. Wine 10 took 15 s on a busy machine.
const PREFIX_WAIT: Duration = Duration::from_secs(60);
/// Makes a prefix, and waits until all of it is written, which is when the server ends.
const MAKE_PREFIX: &str = "\"$0\" wineboot --init && \"$1\" -w";
/// What a prefix holds that was written to its end.
const WRITTEN: &str = "system.reg";

pub static PROVIDER: Provider = Provider {
    name: "wine",
    summary: "the host itself, for programs of Windows, by Wine",
    stands_for: "Wine, Proton and CrossOver, by which people run programs of Windows on Linux. A session has a \
                 prefix of its own, of 800 MB, in its scratch folder. It does not stand for Windows: the kernel, its file systems and its clock are Linux'. Needs \
                 tare.exe beside this program. What Windows has no word for (fork, system calls by number) is a gap.",
    instance: None,
    options: &[],
    descends: true,
    roots: Roots::Own("programs of this machine are not programs of Windows"),
    by_default: &[],
    parse: |_| Ok(Box::new(Wine)),
    preparation: None,
};

struct Wine;

impl Environment for Wine {
    fn ready(&self, programs: &Programs) -> Result<Ready, NotReady> {
        let install = "apt-get install --no-install-recommends wine64 wine";
        let missing = || NotReady::missing("wine", install);
        let loader = LOADERS.iter().find_map(|name| programs.find(name)).ok_or_else(missing)?;
        let beside = SERVERS.map(|name| loader.with_file_name(name).to_string_lossy().into_owned());
        let mut servers = beside.iter().map(String::as_str).chain(SERVERS);
        let server = servers.find_map(|name| programs.find(name)).ok_or_else(missing)?;
        let shell = program(programs, "sh", "apt-get install dash")?;
        let unshare = program(programs, "unshare", "apt-get install util-linux")?;
        let (agent, identity) = agent_for_windows(programs)?;
        if !private_mounts::permitted() {
            user_namespaces::allowed()?;
        }
        let version = programs::version(&loader, &["--version"]).map_err(NotReady::of(&loader))?;
        let mut facts = Facts::default();
        facts.note("runtime.path", loader.to_string_lossy());
        facts.note("runtime.version", version);
        let installed = Installed { loader, server, shell, unshare };
        Ok(Ready::new(facts, move |workspace| enter(&installed, &agent, workspace)).bringing(Some(identity)))
    }
}

/// Wine as it was found.
struct Installed {
    loader: PathBuf,
    server: PathBuf,
    shell: PathBuf,
    unshare: PathBuf,
}

impl Installed {
    /// What starts a program with the prefix and with nothing else of this machine's settings, in namespaces of its own.
    fn command(&self, prefix: &Path) -> Command {
        let mut command = Command::new(&self.unshare);
        if !private_mounts::permitted() {
            command.args(["--user", "--map-root-user"]);
        }
        command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]);
        command.arg(&self.shell).args(["-c", FIRST, "sh"]);
        command.env_clear().env("WINEPREFIX", prefix).env("HOME", prefix).env("PATH", "/usr/bin:/bin");
        command.env("WINELOADER", &self.loader).env("WINESERVER", &self.server);
        command.env("WINEDEBUG", "-all").env("WINEDLLOVERRIDES", LEFT_OUT).env("XDG_RUNTIME_DIR", SOCKETS);
        command
    }

    /// Makes the session's prefix, unless it is there.
    fn make(&self, prefix: &Path, workspace: &dyn Workspace) -> Result<(), LabError> {
        if prefix.join(WRITTEN).exists() {
            return Ok(());
        }
        private_folder::make(prefix).map_err(LabError::storage("make the folder", prefix))?;
        let mut command = self.command(prefix);
        command.arg(&self.shell).args(["-c", MAKE_PREFIX]).args([&self.loader, &self.server]);
        command.env(MARK, workspace.session_mark());
        programs::ask(&mut command, PREFIX_WAIT).map(drop).map_err(failed)
    }
}

fn failed(cause: impl Into<Cause>) -> LabError {
    LabError::new(ErrorKind::Environment, "cannot enter wine").because(cause)
}

fn enter(wine: &Installed, agent: &Path, workspace: &mut dyn Workspace) -> Result<Entrance, LabError> {
    let folder = workspace.folder();
    if folder.starts_with(SOCKETS) || agent.starts_with(SOCKETS) {
        let why = format!("{SOCKETS} is hidden from it, and tare or its scratch folder is there");
        return Err(failed(why).hint("choose another scratch folder with --scratch"));
    }
    let own = folder.join("own");
    private_folder::make(&own).map_err(LabError::storage("make the folder", &own))?;
    let prefix = workspace.session_folder().join("wine");
    wine.make(&prefix, workspace)?;
    let mut command = wine.command(&prefix);
    command.arg(&wine.loader).arg(agent).arg(tare_probes::agent::AGENT).current_dir(folder);
    let mut outside = Facts::default();
    let mut places = BTreeMap::new();
    let shares = workspace.shares().iter().map(|(name, path)| (name.as_str(), path));
    for (name, path) in [("own", &own)].into_iter().chain(shares) {
        mounts::note(&mut outside, name, path);
        places.insert(name.to_owned(), of_windows(path));
    }
    Ok(Entrance { command, host: Some(Ipv4Addr::LOCALHOST.into()), places, outside })
}

/// A path as programs of Windows see it: Wine's drive Z: is the host's root folder.
fn of_windows(path: &Path) -> String {
    format!("Z:{}", path.to_string_lossy().replace('/', "\\"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_on_the_drive_of_the_root_folder() {
        assert_eq!(of_windows(Path::new("/var/tmp/tare-1/own")), "Z:\\var\\tmp\\tare-1\\own");
    }
}
