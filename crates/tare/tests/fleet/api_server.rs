//! A fake API server of Kubernetes, with everything that kubectl needs for Jobs. Objects are kept in memory, and pods are local
//! processes.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// Path of the fleet's folder inside a pod.
const FOLDER: &str = "/fleet";

pub struct ApiServer {
    pub address: SocketAddr,
    pub cluster: Arc<Mutex<Cluster>>,
}

/// State of the server.
#[derive(Default)]
pub struct Cluster {
    /// By kind and name.
    pub objects: BTreeMap<(String, String), Value>,
    /// Requests that changed something, in order: method, kind and name.
    pub changes: Vec<String>,
    /// Jobs are refused.
    pub is_full: bool,
    /// Folder whose subfolder `f` holds the contents of the claim, and the user who owns it.
    pub place: PathBuf,
    pub user: u32,
    pods: Vec<(String, Child)>,
    made: usize,
}

struct Request {
    method: String,
    path: String,
    query: String,
    body: Value,
}

impl ApiServer {
    pub fn start(place: PathBuf, user: u32) -> ApiServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let cluster = Arc::new(Mutex::new(Cluster { place, user, ..Cluster::default() }));
        let own = Arc::clone(&cluster);
        // It ends with the tests.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let own = Arc::clone(&own);
                thread::spawn(move || serve(stream, &own));
            }
        });
        ApiServer { address, cluster }
    }

    /// Lists the names of all objects of a kind.
    pub fn list_names(&self, kind: &str) -> Vec<String> {
        let cluster = self.cluster.lock().unwrap();
        cluster.objects.keys().filter(|(of, _)| of == kind).map(|(_, name)| name.clone()).collect()
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        let mut cluster = self.cluster.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, pod) in &mut cluster.pods {
            let _ = pod.kill();
            let _ = pod.wait();
        }
    }
}

/// Answers one question; None where it hung up.
fn serve(mut stream: TcpStream, cluster: &Mutex<Cluster>) -> Option<()> {
    let request = read(&stream)?;
    let (status, body) = cluster.lock().unwrap().answer(&request);
    let (body, kind) = (body.to_string(), "Content-Type: application/json\r\nConnection: close");
    let head = format!("HTTP/1.1 {status}\r\n{kind}\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all((head + &body).as_bytes()).ok()
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ').map(str::to_owned);
    let (method, target) = (words.next()?, words.next()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Some(Request { method, path: path.to_owned(), query: query.replace("%3D", "="), body })
}

fn status(code: u16, message: &str) -> Value {
    let status = if code < 300 { "Success" } else { "Failure" };
    json!({ "kind": "Status", "apiVersion": "v1", "status": status, "message": message, "reason": message, "code": code })
}

/// Describes the kinds that the server knows.
fn kinds(path: &str) -> Option<Value> {
    let version = json!({ "groupVersion": "batch/v1", "version": "v1" });
    let resource = |name: &str, kind: &str| {
        let verbs = ["create", "delete", "deletecollection", "get", "list", "patch"];
        json!({ "name": name, "singularName": kind.to_lowercase(), "namespaced": true, "kind": kind, "verbs": verbs })
    };
    let list = |version: &str, resources: Value| json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": resources });
    Some(match path {
        "/api" => json!({ "kind": "APIVersions", "versions": ["v1"] }),
        "/api/v1" => list("v1", json!([])),
        "/apis" => json!({ "kind": "APIGroupList", "apiVersion": "v1",
            "groups": [{ "name": "batch", "versions": [version], "preferredVersion": version }] }),
        "/apis/batch/v1" => list("batch/v1", json!([resource("jobs", "Job")])),
        _ => return None,
    })
}

impl Cluster {
    fn answer(&mut self, request: &Request) -> (&'static str, Value) {
        if let Some(document) = kinds(&request.path) {
            return ("200 OK", document);
        }
        let parts: Vec<&str> =
            request.path.split('/').skip_while(|part| *part != "namespaces").skip(2).collect();
        let (kind, name) = match parts.as_slice() {
            [kind] => ((*kind).to_owned(), String::new()),
            [kind, name] => ((*kind).to_owned(), (*name).to_owned()),
            _ => return ("404 Not Found", status(404, "NotFound")),
        };
        self.look_at_pods();
        let key = (kind.clone(), name.clone());
        let found = self.objects.get(&key);
        match (request.method.as_str(), found) {
            ("POST", _) => self.create(&kind, request.body.clone()),
            ("GET", None) if name.is_empty() => ("200 OK", self.list(&kind, &request.query)),
            ("GET", Some(object)) => ("200 OK", object.clone()),
            ("DELETE", Some(_)) => {
                self.delete(&key);
                ("200 OK", status(200, ""))
            }
            _ => ("404 Not Found", status(404, "NotFound")),
        }
    }

    fn create(&mut self, kind: &str, mut object: Value) -> (&'static str, Value) {
        if kind == "jobs" && self.is_full {
            return ("403 Forbidden", status(403, "exceeded quota"));
        }
        self.made += 1;
        let metadata = &mut object["metadata"];
        let name = match metadata["name"].as_str() {
            Some(name) => name.to_owned(),
            None => format!("{}x{}", metadata["generateName"].as_str().unwrap(), self.made),
        };
        metadata["name"] = name.clone().into();
        metadata["uid"] = format!("uid-{}", self.made).into();
        object["status"] = json!({});
        self.changes.push(format!("POST {kind}/{name}"));
        if kind == "jobs" {
            self.start_pod(&name, &object["spec"]["template"]["spec"]);
        }
        self.objects.insert((kind.to_owned(), name), object.clone());
        ("201 Created", object)
    }

    fn list(&self, kind: &str, query: &str) -> Value {
        let selector = query.split('&').find_map(|part| part.strip_prefix("labelSelector="));
        let is_meant = |object: &&Value| {
            let label = selector.and_then(|selector| selector.split_once('='));
            label.is_none_or(|(key, value)| object["metadata"]["labels"][key] == value)
        };
        let of_kind = self.objects.iter().filter(|((of, _), _)| of == kind).map(|(_, object)| object);
        let items: Vec<&Value> = of_kind.filter(is_meant).collect();
        json!({ "kind": "JobList", "apiVersion": "batch/v1", "metadata": { "resourceVersion": "1" }, "items": items })
    }

    /// Deletes an object, and ends its pods.
    fn delete(&mut self, key: &(String, String)) {
        self.objects.remove(key);
        self.changes.push(format!("DELETE {}/{}", key.0, key.1));
        for (_, pod) in self.pods.iter().filter(|(job, _)| key.0 == "jobs" && *job == key.1) {
            let _ = kill_process(Pid::from_child(pod), Signal::TERM);
        }
    }

    /// Starts a process for the node of a Job.
    fn start_pod(&mut self, job: &str, pod: &Value) {
        let here = |path: &str| match path.strip_prefix(FOLDER) {
            Some(rest) => self.place.join("f").display().to_string() + rest,
            None => path.to_owned(),
        };
        let words = pod["containers"][0]["command"].as_array().unwrap();
        let words: Vec<String> = words.iter().map(|word| here(word.as_str().unwrap())).collect();
        let node = &words[words.iter().position(|word| word == "--node").unwrap() + 1];
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir("/").stdin(Stdio::null());
        command.env("TARE_POD_NODE", node).env("LC_ALL", "C");
        command.env("XDG_STATE_HOME", self.place.join("state"));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        if rustix::process::geteuid().is_root() {
            command.uid(self.user).gid(self.user);
        }
        self.pods.push((job.to_owned(), command.spawn().unwrap()));
    }

    /// Marks Jobs whose pods have ended as finished.
    fn look_at_pods(&mut self) {
        let mut ended: BTreeMap<&str, bool> = BTreeMap::new();
        for (job, pod) in &mut self.pods {
            *ended.entry(job).or_insert(true) &= matches!(pod.try_wait(), Ok(Some(_)));
        }
        for (job, _) in ended.iter().filter(|(_, ended)| **ended) {
            if let Some(object) = self.objects.get_mut(&("jobs".to_owned(), (*job).to_owned())) {
                object["status"]["conditions"] = json!([{ "type": "Complete", "status": "True" }]);
            }
        }
    }
}
