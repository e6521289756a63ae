//! net.rr, net.connect and net.stream compared with netperf's TCP_RR, UDP_RR, TCP_CRR and TCP_STREAM.

use std::process::Command;

use tare_data::names::Case;
use tare_data::request::Amount;

use super::server::{Position, Server};
use crate::agent::make_case;
use crate::duel::{Duel, Figure, Placement, Site, Way};
use crate::ratio::Requirement;
use crate::tool;

/// A test of netperf's and the probe that measures the same.
struct Test {
    netperf: &'static str,
    name: &'static str,
    probe: &'static str,
    parameters: &'static [(&'static str, &'static str)],
    arguments: &'static [&'static str],
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Rounds,
    Connections,
    Stream,
}

static TCP_RR: Test = Test {
    netperf: "TCP_RR",
    name: "net.rr TCP",
    probe: "net.rr",
    parameters: &[],
    arguments: &[],
    kind: Kind::Rounds,
};
static UDP_RR: Test =
    Test { netperf: "UDP_RR", name: "net.rr UDP", parameters: &[("protocol", "udp")], ..TCP_RR };
static TCP_CRR: Test = Test {
    netperf: "TCP_CRR",
    name: "net.connect",
    probe: "net.connect",
    arguments: &["-r", "16,1"],
    kind: Kind::Connections,
    ..TCP_RR
};
static TCP_STREAM: Test = Test {
    netperf: "TCP_STREAM",
    name: "net.stream 16KiB",
    probe: "net.stream",
    parameters: &[("direction", "send"), ("size", "16KiB")],
    arguments: &["-m", "16384"],
    kind: Kind::Stream,
};

pub fn list_duels() -> Vec<Box<dyn Duel>> {
    use Placement::{Apart, Free, Pinned};
    let rows = [
        (&TCP_RR, Way::Loopback, Pinned),
        (&TCP_RR, Way::Loopback, Apart),
        (&TCP_RR, Way::Loopback, Free),
        (&TCP_RR, Way::Veth, Pinned),
        (&UDP_RR, Way::Loopback, Pinned),
        (&UDP_RR, Way::Loopback, Apart),
        (&UDP_RR, Way::Loopback, Free),
        (&UDP_RR, Way::Veth, Pinned),
        (&TCP_CRR, Way::Loopback, Pinned),
        (&TCP_STREAM, Way::Loopback, Apart),
    ];
    let duel = |(test, way, placement)| {
        Box::new(Netperf { test, position: Position { way, placement }, ready: None }) as Box<dyn Duel>
    };
    rows.map(duel).into()
}

struct Netperf {
    test: &'static Test,
    position: Position,
    ready: Option<Ready>,
}

struct Ready {
    case: Case,
    amount: Amount,
    server: Server,
    /// tare's own server, where the two ends are in different namespaces.
    _tare: Option<Server>,
}

impl Duel for Netperf {
    fn name(&self) -> String {
        format!("{}, {}", self.test.name, self.position.to_text())
    }

    fn describe_tool(&self) -> String {
        let arguments = self.test.arguments.iter().map(|argument| format!(" {argument}")).collect::<String>();
        format!("netperf -t {}{arguments} over {}", self.test.netperf, self.position.way.to_text())
    }

    fn placement(&self) -> Placement {
        self.position.placement
    }

    fn way(&self) -> Way {
        self.position.way
    }

    fn figures(&self) -> Vec<Figure> {
        // Unpinned, a whole run sits in one of two regimes, by where the scheduler put its ends.
        let free = self.position.placement == Placement::Free;
        let required = |requirement| if free { Requirement::Shown } else { requirement };
        let rate = |least| Figure {
            name: "transactions",
            unit: "/s",
            required: required(Requirement::AtLeast(least)),
        };
        let within = Requirement::Within(0.03);
        let mean = |required| Figure { name: "mean latency", unit: "µs", required };
        match self.test.kind {
            Kind::Rounds => vec![rate(1.0), mean(required(within))],
            // netperf binds each connection to a fresh port before, and its mean is without that.
            Kind::Connections => vec![rate(1.0), mean(Requirement::Shown)],
            Kind::Stream => {
                vec![Figure { name: "rate", unit: "Mbit/s", required: required(Requirement::AtLeast(0.98)) }]
            }
        }
    }

    fn prepare(&mut self, site: &mut Site<'_>) -> Result<(), String> {
        tool::find_program("netperf")?;
        let mut parameters = self.test.parameters.to_vec();
        parameters.push(("pin", self.position.pin_value()));
        let mut case = make_case(self.test.probe, &parameters)?;
        let tare = Server::far_end(site, self.position, &mut case)?;
        let amount = site.agent.for_seconds(&case, site.setting.seconds().into())?;
        let server = Server::start_netserver(self.position)?;
        self.ready = Some(Ready { case, amount, server, _tare: tare });
        Ok(())
    }

    fn run_tare(&mut self, site: &mut Site<'_>) -> Result<Vec<f64>, String> {
        let ready = self.ready.as_ref().ok_or("not prepared")?;
        let ran = site.agent.run_trial(&ready.case, ready.amount)?;
        match self.test.kind {
            Kind::Stream => Ok(vec![ran.metric_value("rate")? / 1e6]),
            Kind::Rounds | Kind::Connections => {
                Ok(vec![ran.metric_value("rate")?, ran.metric_value("mean")? / 1e3])
            }
        }
    }

    fn run_tool(&mut self, site: &mut Site<'_>) -> Result<Vec<f64>, String> {
        let Ready { server, .. } = self.ready.as_ref().ok_or("not prepared")?;
        let mut command = Command::new(tool::find_program("netperf")?);
        command.arg("-H").arg(server.address.ip().to_string());
        command.arg("-p").arg(server.address.port().to_string());
        command.args(["-t", self.test.netperf, "-l"]).arg(site.setting.seconds().to_string());
        if let Some(processors) = self.position.tool_processors() {
            command.args(["-T", &processors]);
        }
        command.arg("--").args(self.test.arguments);
        command.args(["-k", "THROUGHPUT,TRANSACTION_RATE,MEAN_LATENCY"]);
        let ended = tool::run_program(&mut command, site.setting.patience())?;
        let number = |label| tool::number_after(&ended.output, label);
        match self.test.kind {
            // In 10^6 bits a second.
            Kind::Stream => Ok(vec![number("THROUGHPUT=")?]),
            Kind::Rounds | Kind::Connections => {
                Ok(vec![number("TRANSACTION_RATE=")?, number("MEAN_LATENCY=")?])
            }
        }
    }

    fn stop_programs(&mut self) {
        self.ready = None;
    }
}
