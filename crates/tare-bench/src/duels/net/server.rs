//! The far end of a row: a tool's server, for as long as the row takes.

use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tare_data::names::Case;

use crate::duel::{Placement, Site, Way};
use crate::machine::{self, Pinned};
use crate::tool;
use crate::veth::{FAR, FAR_ADDRESS};

/// Longest that a server may take to listen.
const LISTENING: Duration = Duration::from_secs(5);
/// Time to begin, for a server that cannot be probed by a connection.
const BEGINNING: Duration = Duration::from_millis(500);

/// Position of both ends of a row.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    pub way: Way,
    pub placement: Placement,
}

impl Position {
    /// Formats the position for the name of a row.
    pub fn to_text(self) -> String {
        let way = if self.way == Way::Veth { "veth, " } else { "" };
        let placement = match self.placement {
            Placement::Free => "unpinned",
            Placement::Pinned => "1 CPU",
            Placement::Apart => "2 CPUs",
        };
        format!("{way}{placement}")
    }

    /// Chooses the value of a probe's `pin`: over loopback a probe itself places its far end.
    pub fn pin_value(self) -> &'static str {
        if self.is_for_tools() { "cross" } else { "none" }
    }

    /// Formats `0,1`, where a tool puts both ends on different processors. Over a pair of cards the ends are
    /// started there.
    pub fn tool_processors(self) -> Option<String> {
        let allowed = machine::list_allowed_processors();
        match (self.is_for_tools(), &allowed[..]) {
            (true, [first, second, ..]) => Some(format!("{first},{second}")),
            _ => None,
        }
    }

    fn is_for_tools(self) -> bool {
        self.placement == Placement::Apart && self.way == Way::Loopback
    }

    /// Returns the address on which servers of this row listen.
    pub fn address(self) -> IpAddr {
        match self.way {
            Way::Loopback => Ipv4Addr::LOCALHOST.into(),
            Way::Veth => FAR_ADDRESS.parse().unwrap_or(Ipv4Addr::LOCALHOST.into()),
        }
    }
}

/// Evidence that a server is ready.
#[derive(Clone, Copy, PartialEq)]
pub enum Known {
    /// It takes a connection.
    ByConnecting,
    /// It does not end.
    ByWaiting,
}

/// A server within the row's reach and nobody else's; ended when dropped.
pub struct Server {
    child: Child,
    pub address: SocketAddr,
}

impl Server {
    /// Starts a program with the arguments for an address.
    pub fn start(
        program: &Path,
        position: Position,
        known: Known,
        arguments: impl Fn(SocketAddr) -> Vec<String>,
    ) -> Result<Server, String> {
        // A port that is free now; the server says so if it is not any more.
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        let address =
            SocketAddr::new(position.address(), free.map_err(|e| format!("a free port: {e}"))?.port());
        let mut command = match position.way {
            Way::Loopback => Command::new(program),
            Way::Veth => {
                let mut command = Command::new(tool::find_program("ip")?);
                command.args(["netns", "exec", FAR]).arg(program);
                command
            }
        };
        command.args(arguments(address));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let elsewhere = position.placement == Placement::Apart && position.way == Way::Veth;
        let pinned = elsewhere.then(Pinned::last_of_all).transpose()?;
        let child = command.spawn().map_err(|e| format!("starting {name}: {e}"))?;
        drop(pinned);
        let mut server = Server { child, address };
        let began = Instant::now();
        let is_there = |server: &Server| match known {
            Known::ByConnecting => TcpStream::connect(server.address).is_ok(),
            Known::ByWaiting => began.elapsed() > BEGINNING,
        };
        while !is_there(&server) {
            let has_ended = server.child.try_wait().is_ok_and(|status| status.is_some());
            if has_ended || began.elapsed() > LISTENING {
                return Err(format!("{name} does not listen: {}", server.last_words()));
            }
            sleep(Duration::from_millis(20));
        }
        Ok(server)
    }

    /// Starts a stock netserver.
    pub fn start_netserver(position: Position) -> Result<Server, String> {
        Server::start(&tool::find_program("netserver")?, position, Known::ByConnecting, |address| {
            let (ip, port) = (address.ip().to_string(), address.port().to_string());
            ["-D", "-L", &ip, "-p", &port].map(str::to_owned).into()
        })
    }

    /// Starts a netserver as the far end of a case over a pair of cards. Over loopback a probe has its far end in its own
    /// process.
    pub fn far_end(
        site: &mut Site<'_>,
        position: Position,
        case: &mut Case,
    ) -> Result<Option<Server>, String> {
        if position.way == Way::Loopback {
            return Ok(None);
        }
        let server = Server::start_netserver(position)?;
        case.peer = Some(site.agent.add_netserver_peer(server.address));
        Ok(Some(server))
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
