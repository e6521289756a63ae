//! slurm: a node of a cluster, entered with the system's srun.

use crate::far::shell::{ANSWER_WAIT, Agent, FarShell, HOME_CACHE, hash_words};
use crate::node_names::is_node_name;
use crate::owned::MARK;
use crate::provider::prelude::*;

const PARTITION: OptionDescription =
    OptionDescription::new_text("partition", "", "partition of the node, where it is not the usual one");
const ACCOUNT: OptionDescription =
    OptionDescription::new_text("account", "", "account that pays for the time");
const FOLDER: OptionDescription = OptionDescription::new_text(
    "folder",
    "/var/tmp",
    "folder on a local disk of the node, in which the place 'own' is created",
);

pub static PROVIDER: fn() -> Provider = provider! {
    name: "slurm",
    instance: Some("NODE"),
    parse: |specification| Ok(Box::new(Slurm::of(specification)?)),
    summary: "a node of a Slurm cluster, named after ':' as Slurm names it",
    short_description: "a node of a Slurm cluster",
    stands_for: "that node, as a job of yours has it: with Slurm's limits. Inside an allocation that has the node it is a step of \
                 it, and nobody else's job disturbs; elsewhere each start is a job, which has to wait its turn. The agent is \
                 kept in ~/.cache/tare under its content's hash, so that it is sent once.",
    options: &[PARTITION, ACCOUNT, FOLDER],
    roots: Roots::Own("a node runs its own programs"),
    by_default: ByDefault::NEVER,
    descends: false,
    kernel: KernelFacts::OWN,
    footprint: Footprint {
        programs: vec!["srun".into()],
        writes: Some("on the node: a copy of tare in the home folder, and a folder for each start"),
        sends: Some("to Slurm: a copy of tare, then requests of trials"),
        ..Footprint::from_starts(
            "the agent on the node, as a job step; the node is asked for its processor before",
        )
    },
};

#[derive(Clone)]
struct Slurm {
    /// None where the specification names none.
    node: Option<String>,
    options: Vec<String>,
    folder: String,
}

impl Slurm {
    fn of(specification: &Specification) -> Result<Self, LabError> {
        // A job that cannot begin soon is not waited for; and output must not wait for the end of a line.
        let mut options: Vec<String> = [
            "--overlap",
            "--immediate=15",
            "--nodes=1",
            "--ntasks=1",
            "--unbuffered",
            "--quiet",
            "--chdir=/",
            "--job-name=tare",
        ]
        .map(str::to_owned)
        .into();
        options.push(format!("--export=ALL,{MARK}="));
        for (flag, option) in [("--partition", PARTITION), ("--account", ACCOUNT)] {
            options.extend(option.read_non_empty(specification).map(|value| format!("{flag}={value}")));
        }
        let node = specification.instance.clone().filter(|node| is_node_name(node));
        Ok(Slurm { node, options, folder: FOLDER.plain_folder(specification)? })
    }
}

impl Environment for Slurm {
    fn proof(&self) -> Proof {
        Proof::Channel
    }

    fn check_ready(&self, programs: &Programs) -> Result<Ready, NotReady> {
        let program = require_program(programs, "srun", "apt-get install slurm-client")?;
        let nobody = || NotReady::from_reason("no node is named: write slurm:NODE ('sinfo' lists them)");
        let node = self.node.clone().ok_or_else(nobody)?;
        let Slurm { options, folder, .. } = self.clone();
        let try_out = format!("srun --nodelist={node} true");
        let found = program.clone();
        let srun = move |node: &str, script: &str| {
            let mut command = programs::command(&found);
            command.args(&options).arg(format!("--nodelist={node}")).args(["sh", "-c", script]);
            command
        };
        let machine =
            programs::run_for_output(&mut srun(&node, "uname -m"), ANSWER_WAIT).map_err(|reason| {
                NotReady { reason: format!("{node}: {reason}"), command: Some(try_out.clone()) }
            })?;
        let agent = Agent::for_machine(programs, machine.trim())?;
        let build = agent.as_ref().and_then(Agent::identity);
        let version = programs::read_program_version(&program, &["--version"]).unwrap_or_default();
        let mut facts = note_runtime(&program, &version);
        facts.add_fact("runtime.target", &node);
        Ok(Ready::new(facts, move |workspace| {
            let agent = agent.clone().map_or_else(|| Agent::from_workspace(workspace), Ok)?;
            let command = |script: &str| srun(&node, script);
            let (name, digest) = (format!("slurm:{node}"), hash_words(&format!("slurm {node}")));
            let try_out = try_out.clone();
            let shell = FarShell { name, try_out, command: &command, cache: HOME_CACHE, agent, digest };
            shell.prepare_entrance(&folder, None, workspace)
        })
        .with_agent(build))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_become_flags_and_a_node_is_not_one() {
        let of = |text: &str| Slurm::of(&text.parse().unwrap());
        let slurm = of("slurm:n1?partition=long").unwrap();
        assert_eq!(slurm.options.last().map(String::as_str), Some("--partition=long"));
        assert_eq!(slurm.node.as_deref(), Some("n1"));
        for text in ["slurm:--uid=0", "slurm", "slurm:a b", "slurm:n[1-3]"] {
            assert_eq!(of(text).unwrap().node, None, "{text}");
        }
        assert!(of("slurm:n1?folder=tmp").is_err());
    }
}
