//! Pairs of pods, started by kubectl on a fake API server: the secret of a pair is only in a Secret, and is
//! removed with its Job.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::api_server::ApiServer;
use crate::cluster::Said;
use crate::engines::Place;
use crate::manifests::{PAIRS, kubectl_is_there};
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
        fs::write(place.path("pairs.toml"), PAIRS).unwrap();
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

    /// Plans a fleet of one pair and measures it.
    fn measure(&self, rounds: &str) -> Child {
        let port = free_port().to_string();
        let words = [
            "fleet",
            "run",
            "pairs.toml",
            "--on",
            "kubernetes?namespace=perf&claim=c",
            "--nodes",
            "n1,n2",
            "--into",
            "f",
        ];
        self.start(
            &[&words[..], &["--in", "native", "--rounds", rounds, "--port", &port, "--limit", "5m"]].concat(),
        )
    }

    /// Waits until the session of the pair has measured something.
    fn wait_until_it_measures(&self) {
        let has_begun = |name: &str| {
            let record = fs::read_to_string(self.place.path("f/pairs/0").join(name)).unwrap_or_default();
            record.contains("{\"end\":") || record.contains("{\"pair\":")
        };
        let end = Instant::now() + WAIT;
        while !["n1--n2.part", "n2--n1.part"].into_iter().any(has_begun) {
            assert!(Instant::now() < end, "{:?}", self.server.cluster.lock().unwrap().changes);
            sleep(Duration::from_millis(20));
        }
    }

    /// Asserts that secrets were used, and that none is visible anywhere.
    fn nothing_shows_a_secret(&self, said: &Said) {
        assert_eq!(self.server.list_names("secrets"), [""; 0], "{said:?}");
        let secrets = self.server.cluster.lock().unwrap().secrets.clone();
        assert!(secrets.iter().all(|secret| secret.len() == 64) && !secrets.is_empty());
        let called = fs::read_to_string(self.place.path("called")).unwrap();
        assert!(called.contains("patch") && called.contains("create"), "{called}");
        for secret in &secrets {
            assert!(!(called.contains(secret) || said.out.contains(secret) || said.err.contains(secret)));
            in_no_file(&self.place.path("f"), secret);
        }
        assert!(!self.place.path("f/secret").exists());
    }
}

fn in_no_file(folder: &Path, secret: &str) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            in_no_file(&path, secret);
        } else {
            let bytes = fs::read(&path).unwrap();
            let shows = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!shows, "{}", path.display());
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
fn a_pair_of_pods_has_a_secret_that_goes_with_its_job() {
    let Some(site) = Site::new("a_pair_of_pods_has_a_secret_that_goes_with_its_job") else { return };
    let said = ended(site.measure("4"));
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(said.out, "1 of 1 pairs of 2 nodes\n");
    let changes = site.server.cluster.lock().unwrap().changes.clone();
    let [job] = site.server.list_names("jobs").try_into().unwrap();
    let of = |what: &str| format!("{what}/{job}");
    assert_eq!(changes, [of("POST secrets"), of("POST jobs"), of("PATCH secrets"), of("DELETE secrets")]);
    site.nothing_shows_a_secret(&said);
    // Nothing is missing, and nothing is made again.
    let said = ended(site.start(&["fleet", "run", "f"]));
    assert_eq!((said.code, site.server.cluster.lock().unwrap().changes.len()), (Some(0), 4), "{said:?}");
}

#[test]
fn no_secret_stays_where_a_fleet_is_stopped_or_dies() {
    let Some(site) = Site::new("no_secret_stays_where_a_fleet_is_stopped_or_dies") else { return };
    let driver = site.measure("200");
    site.wait_until_it_measures();
    signal(&driver, Signal::KILL);
    ended(driver);
    // Its job goes on, and owns the secret.
    let owner = {
        let cluster = site.server.cluster.lock().unwrap();
        let secret = cluster.objects.iter().find(|((kind, _), _)| kind == "secrets").unwrap().1;
        let job = cluster.objects.iter().find(|((kind, _), _)| kind == "jobs").unwrap().1;
        assert_eq!(secret["metadata"]["ownerReferences"][0]["uid"], job["metadata"]["uid"]);
        job["metadata"]["name"].clone()
    };
    let said = ended(site.start(&["fleet", "run", "f"]));
    assert_eq!((said.code, said.err.contains("submitted: ")), (Some(0), false), "{said:?}");
    assert_eq!(site.server.list_names("jobs"), [owner.as_str().unwrap()]);
    site.nothing_shows_a_secret(&said);

    let site = Site::new("no_secret_stays_where_a_fleet_is_stopped_or_dies").unwrap();
    let driver = site.measure("100000");
    site.wait_until_it_measures();
    signal(&driver, Signal::INT);
    let said = ended(driver);
    assert_eq!(said.code, Some(130), "{said:?}");
    assert_eq!(site.server.list_names("jobs"), [""; 0]);
    site.nothing_shows_a_secret(&said);
}

#[test]
fn a_secret_whose_job_is_refused_does_not_stay() {
    let Some(site) = Site::new("a_secret_whose_job_is_refused_does_not_stay") else { return };
    site.server.cluster.lock().unwrap().is_full = true;
    let said = ended(site.measure("4"));
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.out.contains("exceeded quota"), "{said:?}");
    let secrets = site.server.cluster.lock().unwrap().secrets.len();
    assert_eq!((secrets, site.server.list_names("secrets").len()), (1, 0));
}

/// Finds a free port below the ephemeral range, because the job listens on it only later.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let of_process = 20_000 + (std::process::id() % 100) as u16 * 100;
    let mut ports = (0..100).map(|_| of_process + NEXT.fetch_add(1, Ordering::Relaxed) % 100);
    ports
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .expect("one of a hundred ports is free")
}
