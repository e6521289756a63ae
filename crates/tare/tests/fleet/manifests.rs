//! Jobs as engines are handed them, and a pod's manifest as kubectl reads it.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;

use serde_json::{Value, json};

use crate::engines::Place;

/// What `tare fleet print` says, with the fleet's random name replaced.
fn printed(on: &str, study: &str, nodes: &str) -> String {
    let place = Place::new();
    std::fs::write(
        place.path("pairs.toml"),
        "name='pairs'\ntitle='x'\nabout=''\nbudget='5s'\n[[case]]\nprobe='net.rr'\npeers=['node']\n",
    )
    .unwrap();
    let said = place.run(&["fleet", "print", study, "--on", on, "--nodes", nodes, "--seed", "1"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let at = said.out.find("tare-").expect(&said.out);
    said.out.replace(&said.out[at..at + "tare-12345678".len()], "tare-01234567")
}

#[test]
fn jobs_keep_their_shape() {
    insta::assert_snapshot!("a_pod", printed("kubernetes", "quick", "n1"));
    let options = "kubernetes?namespace=perf&claim=c&runtime=gvisor&priority=low&hostnetwork=true&uid=1000&cpu=4&memory=8Gi";
    insta::assert_snapshot!("a_pod_with_options", printed(options, "quick", "n1"));
    insta::assert_snapshot!("a_pair_of_pods", printed("kubernetes", "pairs.toml", "n1,n2"));
    insta::assert_snapshot!("a_batch_job", printed("slurm?partition=long", "quick", "n1"));
    insta::assert_snapshot!("a_pair", printed("slurm", "pairs.toml", "n1,n2"));
}

/// What a server would tell kubectl of the kinds that it knows: Jobs alone.
fn kinds(path: &str) -> Option<Value> {
    let version = json!({ "groupVersion": "batch/v1", "version": "v1" });
    let jobs = json!({ "name": "jobs", "singularName": "job", "namespaced": true, "kind": "Job", "verbs": ["create"] });
    Some(match path {
        "/api" => json!({ "kind": "APIVersions", "versions": ["v1"] }),
        "/api/v1" => json!({ "kind": "APIResourceList", "groupVersion": "v1", "resources": [] }),
        "/apis" => json!({ "kind": "APIGroupList", "apiVersion": "v1",
            "groups": [{ "name": "batch", "versions": [version], "preferredVersion": version }] }),
        "/apis/batch/v1" => {
            json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "batch/v1",
            "resources": [jobs] })
        }
        _ => return None,
    })
}

/// Answers one question of kubectl's; None where it hung up.
fn answer(mut stream: TcpStream) -> Option<()> {
    let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
    let first = lines.next()?.ok()?;
    while !lines.next()?.ok()?.is_empty() {}
    let path = first.split(' ').nth(1)?.split('?').next()?;
    let (status, body) = match kinds(path) {
        Some(document) => ("200 OK", document.to_string()),
        None => ("404 Not Found", json!({ "kind": "Status", "status": "Failure", "code": 404 }).to_string()),
    };
    let head =
        format!("HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}", body.len());
    stream.write_all(format!("{head}\r\nConnection: close\r\n\r\n{body}").as_bytes()).ok()
}

/// What kubectl makes of a manifest, as JSON.
fn kubectl(place: &Place, words: &[&str], manifest: &str) -> Value {
    let mut command = Command::new("kubectl");
    command.args(words).args(["--dry-run=client", "--output=json", "--filename=-"]);
    command.env("HOME", place.path("")).env("KUBECONFIG", place.path("none"));
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(manifest.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Paths of all values of a document that another lacks or has otherwise.
fn lost(whole: &Value, other: &Value, path: &str, lost_paths: &mut Vec<String>) {
    let mut inner = |key: &str, value: &Value, there: Option<&Value>| match there {
        Some(there) => lost(value, there, &format!("{path}/{key}"), lost_paths),
        None => lost_paths.push(format!("{path}/{key}")),
    };
    match (whole, other) {
        (Value::Object(whole), Value::Object(other)) => {
            whole.iter().for_each(|(key, value)| inner(key, value, other.get(key)));
        }
        (Value::Array(whole), Value::Array(other)) => {
            whole.iter().enumerate().for_each(|(at, value)| inner(&at.to_string(), value, other.get(at)));
        }
        _ if whole == other => {}
        _ => lost_paths.push(path.to_owned()),
    }
}

#[test]
fn kubectl_takes_the_manifest_of_a_pod_that_is_restricted_and_pinned() {
    let test = "kubectl_takes_the_manifest_of_a_pod_that_is_restricted_and_pinned";
    if Command::new("kubectl").args(["version", "--client"]).stdout(Stdio::null()).status().is_err() {
        println!("SKIPPED {test}: kubectl is not installed (apt-get install kubernetes-client)");
        return;
    }
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("--server=http://{}", listener.local_addr().unwrap());
    // It ends with the tests.
    thread::spawn(move || {
        listener.incoming().flatten().for_each(|stream| answer(stream).unwrap_or_default())
    });
    let printed = printed("kubernetes?claim=c&runtime=gvisor", "quick", "n1");
    let manifest: String =
        printed.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    let job = kubectl(&place, &["create", "--validate=false", &server], &manifest);
    let pod = &job["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    let pinned = &pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    for (value, expected) in [
        (
            &pinned["nodeSelectorTerms"],
            json!([{ "matchFields": [{ "key": "metadata.name", "operator": "In", "values": ["n1"] }] }]),
        ),
        (&job["spec"]["completions"], json!(1)),
        (&pod["runtimeClassName"], json!("gvisor")),
        (&pod["restartPolicy"], json!("Never")),
        (&pod["automountServiceAccountToken"], json!(false)),
        (&pod["securityContext"]["runAsNonRoot"], json!(true)),
        (&pod["securityContext"]["seccompProfile"]["type"], json!("RuntimeDefault")),
        (&container["securityContext"]["allowPrivilegeEscalation"], json!(false)),
        (&container["securityContext"]["readOnlyRootFilesystem"], json!(true)),
        (&container["securityContext"]["capabilities"], json!({ "drop": ["ALL"] })),
        (&container["resources"]["requests"], container["resources"]["limits"].clone()),
        (&job["spec"]["backoffLimit"], json!(0)),
        (&pod["volumes"][0]["persistentVolumeClaim"]["claimName"], json!("c")),
        (&pod["hostNetwork"], Value::Null),
        (&container["securityContext"]["privileged"], Value::Null),
    ] {
        assert_eq!(value, &expected, "{manifest}");
    }
    assert_eq!(container["command"].as_array().unwrap()[..4], ["/fleet/tare", "fleet", "cell", "/fleet"]);
    // Read by its types, a key that no Job has would be gone.
    let named = manifest.replace("generateName: tare-01234567-", "name: job");
    let typed = kubectl(&place, &["set", "image", "--local", "tare=other"], &named);
    let mut unknown = Vec::new();
    lost(&job["spec"], &typed["spec"], "spec", &mut unknown);
    assert_eq!(unknown, ["spec/template/spec/containers/0/image"], "{manifest}");
}
