//! Jobs as engines receive them, and a pod's manifest as kubectl reads it.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Deserializer, Value, json};
use sha2::{Digest, Sha256};
use tare_data::encoding::encode_hex;

use crate::api_server::ApiServer;
use crate::engines::Place;

/// Tells whether kubectl is installed, and prints that the test is skipped if not.
pub fn kubectl_is_there(test: &str) -> bool {
    let is_there =
        Command::new("kubectl").args(["version", "--client"]).stdout(Stdio::null()).status().is_ok();
    if !is_there {
        println!("SKIPPED {test}: kubectl is not installed (apt-get install kubernetes-client)");
    }
    is_there
}

/// Prints a job with `tare fleet print`, with the random name of the fleet and the hash of the program replaced.
fn printed(on: &str) -> String {
    let place = Place::new();
    let said = place.run_tare(&["fleet", "print", "quick", "--on", on, "--nodes", "n1", "--seed", "1"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let at = said.out.find("tare-").expect(&said.out);
    let out = said.out.replace(&said.out[at..at + "tare-12345678".len()], "tare-01234567");
    let program = fs::read(env!("CARGO_BIN_EXE_tare")).unwrap();
    out.replace(&encode_hex(&Sha256::digest(program)), "PROGRAM")
}

#[test]
fn jobs_keep_their_shape() {
    insta::assert_snapshot!("a_pod", printed("kubernetes"));
    let options = "kubernetes?namespace=perf&claim=c&runtime=gvisor&priority=low&uid=1000&cpu=4&memory=8Gi";
    insta::assert_snapshot!("a_pod_with_options", printed(options));
    insta::assert_snapshot!("a_batch_job", printed("slurm?partition=long"));
}

/// Passes a manifest through kubectl, and returns its objects as JSON.
fn kubectl(place: &Place, words: &[&str], manifest: &str) -> Vec<Value> {
    let mut command = Command::new("kubectl");
    command.args(words).args(["--dry-run=client", "--output=json", "--filename=-"]);
    command.env("HOME", place.path("")).env("KUBECONFIG", place.path("none"));
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(manifest.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    Deserializer::from_slice(&output.stdout).into_iter().map(Result::unwrap).collect()
}

/// Collects the paths of all values of a document that another one lacks or changes.
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
    if !kubectl_is_there(test) {
        return;
    }
    let place = Place::new();
    let address = ApiServer::start(place.path(""), 0).address;
    let server = format!("--server=http://{address}");
    let printed = printed("kubernetes?claim=c&runtime=gvisor");
    let lines = printed.lines().filter(|line| !line.starts_with('#'));
    let manifest: String = lines.map(|line| format!("{line}\n")).collect();
    let [job] = kubectl(&place, &["create", "--validate=false", &server], &manifest).try_into().unwrap();
    let pod = &job["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    let pinned = &pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    for (value, expected) in [
        (
            &pinned["nodeSelectorTerms"],
            json!([{ "matchFields": [{ "key": "metadata.name", "operator": "In", "values": ["n1"] }] }]),
        ),
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
        (&container["securityContext"]["privileged"], Value::Null),
    ] {
        assert_eq!(value, &expected, "{manifest}");
    }
    let words = container["command"].as_array().unwrap();
    assert_eq!(
        (&words[0], &words[3..9]),
        (
            &json!("sh"),
            &["PROGRAM", "/var/tmp", "/fleet/tare", "fleet", "cell", "/fleet"].map(Value::from)[..]
        )
    );
    // Read by its types, a key that no Job has would be gone.
    let named = manifest.replace("generateName: tare-01234567-1-", "name: job");
    let [typed] = kubectl(&place, &["set", "image", "--local", "tare=other"], &named).try_into().unwrap();
    let mut unknown = Vec::new();
    lost(&job["spec"], &typed["spec"], "spec", &mut unknown);
    assert_eq!(unknown, ["spec/template/spec/containers/0/image"], "{manifest}");
}
