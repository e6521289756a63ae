//! net.stream compared with iperf3, with writes of one size and one congestion control.

use std::fs;
use std::process::Command;

use tare_data::names::Case;
use tare_data::request::Amount;

use super::server::{Known, Position, Server};
use crate::agent::make_case;
use crate::duel::{Duel, Figure, Placement, Site, Way};
use crate::ratio::Requirement;
use crate::tool;

/// iperf3's own size of a write; the same as it writes it.
const SIZE: &str = "128KiB";
const SIZE_OF_IPERF: &str = "128K";

pub fn list_duels() -> Vec<Box<dyn Duel>> {
    let duel = |way| {
        let position = Position { way, placement: Placement::Apart };
        Box::new(Stream { position, ready: None }) as Box<dyn Duel>
    };
    vec![duel(Way::Loopback), duel(Way::Veth)]
}

struct Stream {
    position: Position,
    ready: Option<Ready>,
}

struct Ready {
    case: Case,
    amount: Amount,
    server: Server,
    congestion: String,
    /// tare's own server, where the two ends are in different namespaces.
    _tare: Option<Server>,
}

impl Duel for Stream {
    fn name(&self) -> String {
        format!("net.stream {SIZE}, {}", self.position.to_text())
    }

    fn describe_tool(&self) -> String {
        format!("iperf3 -l {SIZE_OF_IPERF} over {}, the same congestion control", self.position.way.to_text())
    }

    fn placement(&self) -> Placement {
        self.position.placement
    }

    fn way(&self) -> Way {
        self.position.way
    }

    fn figures(&self) -> Vec<Figure> {
        vec![Figure { name: "rate", unit: "Mbit/s", required: Requirement::AtLeast(0.98) }]
    }

    fn prepare(&mut self, site: &mut Site<'_>) -> Result<(), String> {
        let program = tool::find_program("iperf3")?;
        let congestion = fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control");
        let congestion = congestion.map_err(|e| format!("this system's congestion control: {e}"))?;
        let congestion = congestion.trim().to_owned();
        let parameters = [
            ("direction", "send"),
            ("size", SIZE),
            ("congestion", &*congestion),
            ("pin", self.position.pin_value()),
        ];
        let mut case = make_case("net.stream", &parameters)?;
        let tare = Server::far_end(site, self.position, &mut case)?;
        let amount = site.agent.for_seconds(&case, site.setting.seconds().into())?;
        let server = Server::start(&program, self.position, Known::ByWaiting, |address| {
            let (ip, port) = (address.ip().to_string(), address.port().to_string());
            ["-s", "-B", &ip, "-p", &port].map(str::to_owned).into()
        })?;
        self.ready = Some(Ready { case, amount, server, congestion, _tare: tare });
        Ok(())
    }

    fn run_tare(&mut self, site: &mut Site<'_>) -> Result<Vec<f64>, String> {
        let ready = self.ready.as_ref().ok_or("not prepared")?;
        Ok(vec![site.agent.run_trial(&ready.case, ready.amount)?.metric_value("rate")? / 1e6])
    }

    fn run_tool(&mut self, site: &mut Site<'_>) -> Result<Vec<f64>, String> {
        let ready = self.ready.as_ref().ok_or("not prepared")?;
        let mut command = Command::new(tool::find_program("iperf3")?);
        command.arg("-c").arg(ready.server.address.ip().to_string());
        command.arg("-p").arg(ready.server.address.port().to_string());
        command.args(["-J", "-l", SIZE_OF_IPERF, "-C", &ready.congestion, "-t"]);
        command.arg(site.setting.seconds().to_string());
        if let Some(processors) = self.position.tool_processors() {
            command.args(["-A", &processors]);
        }
        let output = tool::run_program(&mut command, site.setting.patience())?.output;
        Ok(vec![received(&output)? / 1e6])
    }

    fn stop_programs(&mut self) {
        self.ready = None;
    }
}

/// Reads the bits a second that arrived from iperf3's JSON.
fn received(output: &str) -> Result<f64, String> {
    let document = tool::parse_json("iperf3", output)?;
    let rate = document["end"]["sum_received"]["bits_per_second"].as_f64();
    rate.ok_or_else(|| format!("iperf3 gave no rate: {}", document["error"].as_str().unwrap_or("no reason")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_comes_out_of_iperfs_document() {
        let text = r#"{"end":{"sum_sent":{"bits_per_second":2e9},"sum_received":{"bits_per_second":1.5e9}}}"#;
        assert_eq!(received(text), Ok(1.5e9));
        assert!(received(r#"{"error":"unable to connect"}"#).unwrap_err().contains("unable"));
        assert!(received("").is_err());
    }
}
