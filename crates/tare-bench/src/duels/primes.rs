//! cpu.primes and sysbench's cpu test: events a second and their mean latency, by thread.

use std::process::Command;

use tare_data::names::Case;
use tare_data::request::Amount;

use crate::agent::make_case;
use crate::duel::{Duel, Figure, Placement, Site};
use crate::ratio::Requirement;
use crate::tool;

const MAX_PRIME: &str = "20000";

pub fn list_duels() -> Vec<Box<dyn Duel>> {
    let duel = |threads, placement| Box::new(Primes { threads, placement, ready: None }) as Box<dyn Duel>;
    vec![duel("1", Placement::Pinned), duel("2", Placement::Free)]
}

struct Primes {
    threads: &'static str,
    placement: Placement,
    ready: Option<(Case, Amount)>,
}

impl Duel for Primes {
    fn name(&self) -> String {
        match self.placement {
            Placement::Pinned => "cpu.primes, 1 CPU".into(),
            _ => format!("cpu.primes, {} threads", self.threads),
        }
    }

    fn describe_tool(&self) -> String {
        format!("sysbench cpu --cpu-max-prime={MAX_PRIME} --threads={}", self.threads)
    }

    fn placement(&self) -> Placement {
        self.placement
    }

    fn figures(&self) -> Vec<Figure> {
        let required = Requirement::Within(0.03);
        vec![
            Figure { name: "events", unit: "/s", required },
            Figure { name: "mean latency", unit: "ms", required },
        ]
    }

    fn prepare(&mut self, site: &mut Site<'_>) -> Result<(), String> {
        tool::find_program("sysbench")?;
        let case = make_case("cpu.primes", &[("max_prime", MAX_PRIME), ("threads", self.threads)])?;
        let amount = site.agent.for_seconds(&case, site.setting.seconds().into())?;
        self.ready = Some((case, amount));
        Ok(())
    }

    fn run_tare(&mut self, site: &mut Site<'_>) -> Result<Vec<f64>, String> {
        let (case, amount) = self.ready.as_ref().ok_or("not prepared")?;
        let ran = site.agent.run_trial(case, *amount)?;
        Ok(vec![ran.metric_value("rate")?, ran.metric_value("mean")? / 1e6])
    }

    fn run_tool(&mut self, site: &mut Site<'_>) -> Result<Vec<f64>, String> {
        let mut command = Command::new(tool::find_program("sysbench")?);
        command.arg("cpu").arg(format!("--cpu-max-prime={MAX_PRIME}"));
        command.arg(format!("--threads={}", self.threads));
        command.arg(format!("--time={}", site.setting.seconds())).arg("run");
        let ended = tool::run_program(&mut command, site.setting.patience())?;
        let events = tool::number_after(&ended.output, "events per second:")?;
        // The mean has two decimals; the sum over the events has more digits.
        let (sum, count) = (
            tool::number_after(&ended.output, "sum:")?,
            tool::number_after(&ended.output, "total number of events:")?,
        );
        Ok(vec![events, sum / count])
    }
}
