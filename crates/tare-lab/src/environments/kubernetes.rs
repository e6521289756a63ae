//! kubernetes: a container of a running pod, entered with the system's kubectl and its configuration.

use std::collections::BTreeMap;

use crate::far::shell::{ANSWER_WAIT, Agent, FarShell, hash_words};
use crate::provider::prelude::*;

const NAMESPACE: OptionDescription =
    OptionDescription::new_text("namespace", "", "the pod's namespace, where it is not the configuration's");
const CONTEXT: OptionDescription = OptionDescription::new_text(
    "context",
    "",
    "context of kubectl's configuration, where it is not the current one",
);
const FOLDER: OptionDescription = OptionDescription::new_text(
    "folder",
    "/var/tmp",
    "folder of the container that can be written, in which the place 'own' is made: a mounted claim is the claim's storage",
);
const TARE: OptionDescription = OptionDescription::new_text(
    "tare",
    "",
    "path of this version of tare in an image without a shell, which then starts directly; 'own' is then the folder as it is",
);

pub static PROVIDER: fn() -> Provider = provider! {
    name: "kubernetes",
    instance: Some("POD[/CONTAINER]"),
    parse: |specification| Ok(Box::new(Kubernetes::of(specification)?)),
    summary: "a pod that runs, named after ':' with its container after '/' where there are several",
    short_description: "a pod of a Kubernetes cluster",
    stands_for: "that pod: its runtime class, its network, its limits and its storage, on its node. Two pods of one node differ in the \
                 layer alone, e.g. runc against gVisor; pods of different nodes differ in the machine, too. The image needs sh, \
                 uname, mkdir, cat, wc, chmod, mv, env and rm, or tare itself.",
    options: &[NAMESPACE, CONTEXT, FOLDER, TARE],
    roots: Roots::Own("a pod has the root of its image"),
    by_default: ByDefault::NEVER,
    descends: false,
    kernel: KernelFacts { kind: KernelKind::Own, ..KernelFacts::OF_RUNTIME },
    footprint: Footprint {
        programs: vec!["kubectl".into()],
        writes: Some("in the pod: a copy of tare, and a folder for each start"),
        sends: Some("to the cluster's API server: a copy of tare, then requests of trials"),
        ..Footprint::from_starts(
            "the agent in the pod, by kubectl exec; the pod is asked for its processor before",
        )
    },
};

#[derive(Clone)]
struct Kubernetes {
    /// None where the specification names none.
    pod: Option<String>,
    /// Options for every call of kubectl, followed by those of `exec`.
    options: Vec<String>,
    container: Vec<String>,
    folder: String,
    tare: Option<String>,
}

impl Kubernetes {
    fn of(specification: &Specification) -> Result<Self, LabError> {
        let mut options = vec!["--request-timeout=0".to_owned()];
        for (flag, option) in [("--namespace", NAMESPACE), ("--context", CONTEXT)] {
            options.extend(option.read_non_empty(specification).map(|value| format!("{flag}={value}")));
        }
        let instance = specification.instance.as_deref().unwrap_or_default();
        let (pod, container) = match instance.split_once('/') {
            Some((pod, container)) => (pod, Some(container)),
            None => (instance, None),
        };
        let named = is_name(pod) && container.is_none_or(is_name);
        let container = container.map(|container| format!("--container={container}"));
        let tare = match TARE.read_text(specification) {
            "" => None,
            _ => Some(TARE.plain_folder(specification)?),
        };
        Ok(Kubernetes {
            pod: named.then(|| pod.to_owned()),
            options,
            container: container.into_iter().collect(),
            folder: FOLDER.plain_folder(specification)?,
            tare,
        })
    }

    /// Runs words in the container.
    fn exec(&self, program: &Found, pod: &str, words: &[&str]) -> Command {
        let mut command = programs::command(program);
        command
            .args(&self.options)
            .args(["exec", "--stdin", pod])
            .args(&self.container)
            .arg("--")
            .args(words);
        command
    }
}

/// Tells whether a text is a DNS subdomain (RFC 1123), as names of pods and containers must be.
fn is_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.';
    (1..=253).contains(&name.len()) && name.bytes().all(plain) && !name.starts_with(['-', '.'])
}

impl Environment for Kubernetes {
    fn proof(&self) -> Proof {
        Proof::Channel
    }

    fn check_ready(&self, programs: &Programs) -> Result<Ready, NotReady> {
        let program = require_program(programs, "kubectl", "apt-get install kubernetes-client")?;
        let nobody =
            || NotReady::from_reason("no pod is named: write kubernetes:POD or kubernetes:POD/CONTAINER");
        let pod = self.pod.clone().ok_or_else(nobody)?;
        let this = self.clone();
        let try_out = format!("kubectl exec {pod} -- true");
        let mut facts = Facts::default();
        facts.add_fact("runtime.path", program.to_string_lossy());
        facts.add_fact("runtime.target", &pod);
        if let Some(tare) = this.tare.clone() {
            return Ok(Ready::new(facts, move |_| {
                let command = this.exec(&program, &pod, &[&tare, tare_probes::agent::AGENT]);
                let places = BTreeMap::from([("own".to_owned(), this.folder.clone())]);
                Ok(Entrance { command, host: None, places, outside: Facts::default() })
            }));
        }
        let machine =
            programs::run_for_output(&mut this.exec(&program, &pod, &["uname", "-m"]), ANSWER_WAIT).map_err(
                |reason| NotReady { reason: format!("{pod}: {reason}"), command: Some(try_out.clone()) },
            )?;
        let agent = Agent::for_machine(programs, machine.trim())?;
        let build = agent.as_ref().and_then(Agent::identity);
        Ok(Ready::new(facts, move |workspace| {
            let agent = agent.clone().map_or_else(|| Agent::from_workspace(workspace), Ok)?;
            let command = |script: &str| this.exec(&program, &pod, &["sh", "-c", script]);
            let name = format!("kubernetes:{pod}");
            let digest = hash_words(&format!("{name} {:?} {:?}", this.options, this.container));
            // A root that cannot be written has no home either.
            let cache = format!("{}/tare-cache", this.folder);
            let try_out = try_out.clone();
            let shell = FarShell { name, try_out, command: &command, cache: &cache, agent, digest };
            shell.prepare_entrance(&this.folder, None, workspace)
        })
        .with_agent(build))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_is_named_with_its_container_and_is_not_a_flag() {
        let of = |text: &str| Kubernetes::of(&text.parse().unwrap());
        let pod = of("kubernetes:p-1/main?namespace=x").unwrap();
        assert_eq!(pod.pod.as_deref(), Some("p-1"));
        let command = pod.exec(&Found::own(Path::new("kubectl")), "p-1", &["uname"]);
        let words: Vec<_> = command.get_args().map(|word| word.to_str().unwrap()).collect();
        let options = ["--request-timeout=0", "--namespace=x"];
        assert_eq!(
            words,
            [&options[..], &["exec", "--stdin", "p-1", "--container=main", "--", "uname"]].concat()
        );
        for text in
            ["kubernetes:--kubeconfig=x", "kubernetes", "kubernetes:P", "kubernetes:p/-c", "kubernetes:p/"]
        {
            assert_eq!(of(text).unwrap().pod, None, "{text}");
        }
        for text in ["kubernetes:p?folder=tmp", "kubernetes:p?tare=tare"] {
            assert!(of(text).is_err(), "{text}");
        }
    }
}
