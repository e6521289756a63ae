//! Jobs of a fleet, started by kubectl on a fake API server: each is measured once, and none is left when the fleet is stopped.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::api_server::ApiServer;
use crate::cluster::Said;
use crate::engines::Place;
use crate::manifests::kubectl_is_there;
use crate::pods::give_to_user;

const WAIT: Duration = Duration::from_secs(60);
/// User that measures where root may choose one, as in the pods.
const USER: u32 = 65532;

/// A place with a cluster, where kubectl is.
struct Site {
    server: ApiServer,
    place: Place,
}

impl Site {
    /// Sets up a site, and prints that the test is skipped without kubectl.
    fn new(test: &str) -> Option<Site> {
        if !kubectl_is_there(test) {
            return None;
        }
        let place = Place::new();
        let server = ApiServer::start(place.path(""), USER);
        let config = serde_json::json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "own",
            "clusters": [{ "name": "own", "cluster": { "server": format!("http://{}", server.address) } }],
            "contexts": [{ "name": "own", "context": { "cluster": "own", "user": "own" } }],
            "users": [{ "name": "own", "user": {} }],
        });
        fs::write(place.path("config"), config.to_string()).unwrap();
        // This server knows no schema to check manifests by.
        let kubectl = format!(
            "#!/bin/sh\nPATH=${{PATH#*:}}\nprintf '%s\\n' \"$*\" >>{}\n[ \"$1\" != create ] || set -- \"$@\" --validate=false\nexec kubectl \"$@\"\n",
            place.path("called").display()
        );
        fs::write(place.path("bin/kubectl"), kubectl).unwrap();
        fs::set_permissions(place.path("bin/kubectl"), Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(place.path(""), Permissions::from_mode(0o755)).unwrap();
        if geteuid().is_root() {
            give_to_user(&place.path(""), USER);
        }
        Some(Site { server, place })
    }

    fn start(&self, arguments: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tare"));
        let path = format!("{}:{}", self.place.path("bin").display(), std::env::var("PATH").unwrap());
        command.args(arguments).current_dir(self.place.path("")).env("PATH", path).stdin(Stdio::null());
        command.env("KUBECONFIG", self.place.path("config")).env("HOME", self.place.path(""));
        command.env("XDG_STATE_HOME", self.place.path("state")).env("NO_COLOR", "1").env("LC_ALL", "C");
        if geteuid().is_root() {
            command.uid(USER).gid(USER);
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Plans a fleet of one node and measures it.
    fn measure(&self, rounds: &str) -> Child {
        let on =
            ["--on", "kubernetes?namespace=perf&claim=c", "--nodes", "n1", "--sessions", "1", "--into", "f"];
        let measured = ["--in", "native", "--only", "sys.getppid", "--rounds", rounds, "--limit", "5m"];
        self.start(&[&["fleet", "run", "quick"], &on[..], &measured].concat())
    }

    /// Waits until the session has measured something.
    fn wait_until_it_measures(&self) {
        let has_begun = || {
            let record = fs::read_to_string(self.place.path("f/cells/n1/1.part")).unwrap_or_default();
            record.contains("{\"end\":") || record.contains("{\"pair\":")
        };
        let end = Instant::now() + WAIT;
        while !has_begun() {
            assert!(Instant::now() < end, "{:?}", self.server.cluster.lock().unwrap().changes);
            sleep(Duration::from_millis(20));
        }
    }
}

fn ended(child: Child) -> Said {
    Said::from_output(child.wait_with_output().unwrap())
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

#[test]
fn a_job_measures_its_node_once() {
    let Some(site) = Site::new("a_job_measures_its_node_once") else { return };
    let said = ended(site.measure("4"));
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(said.out, "1 of 1 sessions on 1 nodes\n");
    let changes = || site.server.cluster.lock().unwrap().changes.clone();
    let [job] = site.server.list_names("jobs").try_into().unwrap();
    assert_eq!(changes(), [format!("POST jobs/{job}")]);
    // Nothing is missing, and nothing is made again.
    let said = ended(site.start(&["fleet", "run", "f"]));
    assert_eq!((said.code, changes().len()), (Some(0), 1), "{said:?}");
}

#[test]
fn a_job_outlives_a_fleet_that_dies_and_goes_with_one_that_is_stopped() {
    let test = "a_job_outlives_a_fleet_that_dies_and_goes_with_one_that_is_stopped";
    let Some(site) = Site::new(test) else { return };
    let driver = site.measure("200");
    site.wait_until_it_measures();
    signal(&driver, Signal::KILL);
    ended(driver);
    let [job] = site.server.list_names("jobs").try_into().unwrap();
    let said = ended(site.start(&["fleet", "run", "f"]));
    assert_eq!((said.code, said.err.contains("submitted: ")), (Some(0), false), "{said:?}");
    assert_eq!(site.server.list_names("jobs"), [job]);

    let site = Site::new(test).unwrap();
    let driver = site.measure("100000");
    site.wait_until_it_measures();
    signal(&driver, Signal::INT);
    let said = ended(driver);
    assert_eq!(said.code, Some(130), "{said:?}");
    assert_eq!(site.server.list_names("jobs"), [""; 0]);
}

#[test]
fn a_job_that_is_refused_is_a_gap_with_its_reason() {
    let Some(site) = Site::new("a_job_that_is_refused_is_a_gap_with_its_reason") else { return };
    site.server.cluster.lock().unwrap().is_full = true;
    let said = ended(site.measure("4"));
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.out.contains("exceeded quota"), "{said:?}");
}
