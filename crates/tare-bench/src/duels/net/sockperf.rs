//! net.rr compared with sockperf's ping-pong, which keeps every round trip and shows the far percentiles.

use std::process::Command;

use tare_data::names::Case;
use tare_data::request::Amount;

use super::server::{Known, Position, Server};
use crate::agent::make_case;
use crate::duel::{Duel, Figure, Placement, Site, Way};
use crate::ratio::Requirement;
use crate::tool;

/// sockperf's smallest message: its own header.
const BYTES: &str = "14";
const POSITION: Position = Position { way: Way::Loopback, placement: Placement::Pinned };

pub fn list_duels() -> Vec<Box<dyn Duel>> {
    let duel = |protocol| Box::new(PingPong { protocol, ready: None }) as Box<dyn Duel>;
    vec![duel("tcp"), duel("udp")]
}

struct PingPong {
    protocol: &'static str,
    ready: Option<(Case, Amount, Server)>,
}

impl PingPong {
    /// Builds the arguments for both of sockperf's ends.
    fn arguments(&self, address: std::net::SocketAddr) -> Vec<String> {
        let mut arguments =
            vec!["-i".to_owned(), address.ip().to_string(), "-p".to_owned(), address.port().to_string()];
        if self.protocol == "tcp" {
            // Nagle's algorithm is left on, as tare leaves it.
            arguments.extend(["--tcp", "--tcp-avoid-nodelay"].map(str::to_owned));
        }
        arguments
    }
}

impl Duel for PingPong {
    fn name(&self) -> String {
        format!("net.rr {} {BYTES} B, {}", self.protocol.to_uppercase(), POSITION.to_text())
    }

    fn describe_tool(&self) -> String {
        let tcp = if self.protocol == "tcp" { " --tcp --tcp-avoid-nodelay" } else { "" };
        format!("sockperf ping-pong -m {BYTES} --full-rtt{tcp} over loopback")
    }

    fn placement(&self) -> Placement {
        POSITION.placement
    }

    fn figures(&self) -> Vec<Figure> {
        let figure = |name, required| Figure { name, unit: "µs", required };
        vec![figure("p50", Requirement::Within(0.05)), figure("p99", Requirement::Shown)]
    }

    fn prepare(&mut self, site: &mut Site<'_>) -> Result<(), String> {
        let program = tool::find_program("sockperf")?;
        let case =
            make_case("net.rr", &[("protocol", self.protocol), ("request", BYTES), ("response", BYTES)])?;
        let amount = site.agent.for_seconds(&case, site.setting.seconds().into())?;
        let server = Server::start(&program, POSITION, Known::ByWaiting, |address| {
            let mut arguments = vec!["server".to_owned()];
            arguments.extend(self.arguments(address));
            arguments
        })?;
        self.ready = Some((case, amount, server));
        Ok(())
    }

    fn run_tare(&mut self, site: &mut Site<'_>) -> Result<Vec<f64>, String> {
        let (case, amount, _) = self.ready.as_ref().ok_or("not prepared")?;
        let ran = site.agent.run_trial(case, *amount)?;
        Ok(vec![ran.metric_value("p50")? / 1e3, ran.metric_value("p99")? / 1e3])
    }

    fn run_tool(&mut self, site: &mut Site<'_>) -> Result<Vec<f64>, String> {
        let (_, _, server) = self.ready.as_ref().ok_or("not prepared")?;
        let mut command = Command::new(tool::find_program("sockperf")?);
        command.arg("ping-pong").args(self.arguments(server.address));
        command.args(["-m", BYTES, "--full-rtt", "-t"]).arg(site.setting.seconds().to_string());
        let output = tool::run_program(&mut command, site.setting.patience())?.output;
        let percentile = |name: &str| tool::number_after(&output, &format!("percentile {name} ="));
        Ok(vec![percentile("50.000")?, percentile("99.000")?])
    }

    fn stop_programs(&mut self) {
        self.ready = None;
    }
}
