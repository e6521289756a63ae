//! net.rr and netperf's TCP_RR and UDP_RR: one byte there and one back over loopback, one request outstanding.

use std::io::Read;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tare_data::names::Case;
use tare_data::request::Amount;

use crate::agent::case;
use crate::duel::{Duel, Figure, Placement, Site};
use crate::ratio::Requirement;
use crate::tool;

/// netserver may take so long to listen.
const LISTENING: Duration = Duration::from_secs(5);

pub fn duels() -> Vec<Box<dyn Duel>> {
    let duel = |udp, placement| Box::new(RoundTrip { udp, placement, ready: None }) as Box<dyn Duel>;
    vec![
        duel(false, Placement::Pinned),
        duel(false, Placement::Free),
        duel(true, Placement::Pinned),
        duel(true, Placement::Free),
    ]
}

struct RoundTrip {
    udp: bool,
    placement: Placement,
    ready: Option<(Case, Amount, Server)>,
}

impl RoundTrip {
    fn test(&self) -> &'static str {
        if self.udp { "UDP_RR" } else { "TCP_RR" }
    }
}

impl Duel for RoundTrip {
    fn name(&self) -> String {
        let placement = if self.placement == Placement::Pinned { "1 CPU" } else { "unpinned" };
        format!("net.rr {}, {placement}", if self.udp { "UDP" } else { "TCP" })
    }

    fn tool(&self) -> String {
        format!("netperf -t {} over loopback", self.test())
    }

    fn placement(&self) -> Placement {
        self.placement
    }

    fn figures(&self) -> Vec<Figure> {
        // Unpinned, a whole run sits in one of two regimes, by where the scheduler put its ends.
        let (rate, mean) = match self.placement {
            Placement::Pinned => (Requirement::AtLeast(1.0), Requirement::Within(0.03)),
            Placement::Free => (Requirement::Shown, Requirement::Shown),
        };
        vec![
            Figure { name: "transactions", unit: "/s", required: rate },
            Figure { name: "mean latency", unit: "µs", required: mean },
        ]
    }

    fn prepare(&mut self, site: &mut Site<'_, '_>) -> Result<(), String> {
        tool::find("netperf")?;
        let case = match self.udp {
            true => case("net.rr", &[("protocol", "udp")])?,
            false => case("net.rr", &[])?,
        };
        let amount = site.agent.for_seconds(&case, site.setting.seconds().into())?;
        self.ready = Some((case, amount, Server::start()?));
        Ok(())
    }

    fn run_tare(&mut self, site: &mut Site<'_, '_>) -> Result<Vec<f64>, String> {
        let (case, amount, _) = self.ready.as_ref().ok_or("not prepared")?;
        let ran = site.agent.trial(case, *amount)?;
        Ok(vec![ran.value("rate")?, ran.value("mean")? / 1e3])
    }

    fn run_tool(&mut self, site: &mut Site<'_, '_>) -> Result<Vec<f64>, String> {
        let (_, _, server) = self.ready.as_ref().ok_or("not prepared")?;
        let mut command = Command::new(tool::find("netperf")?);
        command.args(["-H", "127.0.0.1", "-p"]).arg(server.port.to_string());
        command.args(["-t", self.test(), "-l"]).arg(site.setting.seconds().to_string());
        command.args(["--", "-k", "TRANSACTION_RATE,MEAN_LATENCY"]);
        let ended = tool::run(&mut command, site.setting.patience())?;
        let number = |label| tool::number_after(&ended.output, label);
        Ok(vec![number("TRANSACTION_RATE=")?, number("MEAN_LATENCY=")?])
    }
}

/// A netserver on loopback, for as long as a row takes: it answers whoever asks, so nobody else must reach it.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start() -> Result<Server, String> {
        // A port that is free now; netserver says so if it is not any more.
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        let port = free.map_err(|e| format!("a free port: {e}"))?.port();
        let mut command = Command::new(tool::find("netserver")?);
        command.args(["-D", "-L", "127.0.0.1", "-p"]).arg(port.to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let child = command.spawn().map_err(|e| format!("starting netserver: {e}"))?;
        let mut server = Server { child, port };
        let end = Instant::now() + LISTENING;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if Instant::now() > end || server.child.try_wait().is_ok_and(|status| status.is_some()) {
                return Err(format!("netserver does not listen: {}", server.last_words()));
            }
            sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    fn last_words(&mut self) -> String {
        let _ = self.child.kill();
        let mut text = String::new();
        if let Some(errors) = self.child.stderr.take() {
            let _ = errors.take(4096).read_to_string(&mut text);
        }
        text.trim().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
