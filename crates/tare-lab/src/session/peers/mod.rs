//! Peers: how a person names the other end of network cases, and the peer that a session runs on this machine.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use tare_data::facts::Facts;
use tare_data::failure::{Failure, FailureKind};
use tare_data::names::Case;
use tare_data::peer::{HOST, LOOPBACK, PUBLISHED, Peer};
use tare_data::shell::quote_word;
use tare_probes::netperf;
use tare_probes::peer::Secret;
use tare_probes::peer::client::PeerSession;
use tare_probes::peer::process::{PEER, PeerReply, PeerRequest};
use tare_probes::probe::Size;

use crate::asked::secrets::{TARE, redact_secret};
use crate::error::{ErrorKind, LabError};
use crate::host::network_namespace;
use crate::host::programs::{self, Found};
use crate::network::lab;
use crate::owned::MARK;
use crate::ownership::workspace::SessionWorkspace;
use crate::platform::until_ready;
use crate::provider::HostPath;
use crate::study::SelectedCase;
use crate::study::probes::probe_named;

/// Peers that a session runs itself, and that need no address.
const WITHOUT_ADDRESS: [&str; 3] = [LOOPBACK, HOST, PUBLISHED];
/// Scheme of a netserver: `netperf://HOST[:PORT]`.
const NETPERF: &str = "netperf://";
/// Text before the path of a file that holds the secret.
const SECRET_FILE: &str = "?secret-file=";
/// A session is shorter than this, in seconds: a day.
const SESSION_MOST_S: u64 = 86_400;
/// A peer reports its address within this time.
const LISTENS_WITHIN: Duration = Duration::from_secs(10);
/// Limit on a file that should hold 64 hex digits.
const LONGEST_SECRET_FILE: u64 = 1024;
/// Permission bits of a file that others than its owner have, and those of them that a group which reads it lacks.
const OF_OTHERS: u32 = 0o077;
const BUT_READING: u32 = 0o037;

const HINT: &str = "write loopback, host, published, tare://HOST:PORT/#SECRET or netperf://HOST";

/// The peers that a person names, in order.
#[derive(Clone, Debug, Default)]
pub struct Peers {
    names: Vec<String>,
    /// Addresses of those that are the same from everywhere.
    ways: BTreeMap<String, Peer>,
    /// True when a case needs a peer on this machine.
    host: bool,
}

impl Peers {
    /// Reads what was typed. Names in a record hold no secret.
    pub fn from_texts(texts: &[String]) -> Result<Peers, LabError> {
        let mut peers = Peers::default();
        for text in texts {
            let (name, way) = read(text)?;
            if !peers.names.contains(&name) {
                peers.names.push(name.clone());
            }
            peers.ways.extend(way.map(|way| (name, way)));
        }
        Ok(peers)
    }

    /// Replaces the peer of each case that has one by these; cases stay as they are where no peer was named.
    pub fn replace_peers(&self, selected: Vec<SelectedCase>) -> Vec<SelectedCase> {
        if self.names.is_empty() {
            return selected;
        }
        let mut replaced: Vec<SelectedCase> = Vec::new();
        for selected in selected {
            let with = |name: &String| Case { peer: Some(name.clone()), ..selected.case.clone() };
            let cases = match selected.case.peer {
                Some(_) => self.names.iter().map(with).collect(),
                None => vec![selected.case.clone()],
            };
            for case in cases {
                if replaced.iter().all(|other| other.case != case) {
                    replaced.push(SelectedCase { case, ..selected.clone() });
                }
            }
        }
        replaced
    }

    /// Adds the cases that are measured: a session only runs a peer where one needs it.
    pub(crate) fn for_cases<'a>(mut self, cases: impl Iterator<Item = &'a Case>) -> Result<Peers, LabError> {
        for name in cases.filter_map(|case| case.peer.as_deref()) {
            self.host |= [HOST, PUBLISHED].contains(&name);
            if !WITHOUT_ADDRESS.contains(&name) && !self.ways.contains_key(name) {
                return Err(LabError::new(
                    ErrorKind::Usage,
                    format!("the peer '{name}' cannot be reached by its name alone"),
                )
                .with_cause("studies and records contain no secrets, and tare does not contact a peer just because a record names it")
                .with_hint(format!("name it again: --peer {}", named_again(name))));
            }
        }
        Ok(self)
    }

    /// Tells whether a case needs a peer on this machine.
    pub(crate) fn wants_host(&self) -> bool {
        self.host
    }

    /// Lists addresses by name, of those that are the same from everywhere.
    pub fn ways(&self) -> &BTreeMap<String, Peer> {
        &self.ways
    }
}

/// Reaches a peer and proves the secret, and returns who answers.
pub fn reach_peer(way: &Peer) -> Result<String, Failure> {
    match way {
        Peer::Loopback => Ok("in each environment".into()),
        Peer::Tare { address, secret } | Peer::Published { address, secret, .. } => {
            let wrong = || Failure::new(FailureKind::Broken, "its secret is not 64 hex digits");
            let secret = Secret::parse(secret).ok_or_else(wrong)?;
            let (version, sessions) = PeerSession::open(address, &secret)?.query_peer()?;
            Ok(format!("tare {version}, {sessions} sessions wait or are served"))
        }
        Peer::Netperf { address } => {
            let data = netperf::client::try_out(address)?;
            Ok(format!("a netserver 2.7, which answered a request on port {}", data.port()))
        }
    }
}

/// Formats a peer's name as it is typed again.
fn named_again(name: &str) -> String {
    quote_word(&match name {
        name if name.starts_with(TARE) => format!("{name}/#SECRET"),
        role if is_role(role) => format!("{role}=tare://HOST:PORT/#SECRET"),
        name => name.to_owned(),
    })
}

/// Adds a case of `net.hops` to each peer of the cases, which shows where round trips spend their time.
pub(crate) fn with_hops(mut selected: Vec<SelectedCase>) -> Result<Vec<SelectedCase>, LabError> {
    let probe = probe_named("net.hops")?;
    for at in 0..selected.len() {
        let SelectedCase { case: Case { peer, .. }, margin, .. } = selected[at].clone();
        let parameters = probe.default_parameters(Size::Short);
        let case = Case { probe: probe.name.into(), parameters, place: None, peer };
        if case.peer.is_some() && selected.iter().all(|other| other.case != case) {
            selected.push(SelectedCase {
                probe,
                case,
                margin,
                seconds: None,
                decide: Vec::new(),
                once: false,
            });
        }
    }
    Ok(selected)
}

/// Reads a peer, possibly by its role before the address: `node=tare://HOST:PORT/#SECRET`. Rows of all
/// addresses with a role are one case.
fn read(text: &str) -> Result<(String, Option<Peer>), LabError> {
    let Some((role, address)) = text.split_once('=').filter(|(role, _)| is_role(role)) else {
        return read_address(text);
    };
    match read_address(address)? {
        (_, Some(way)) => Ok((role.to_owned(), Some(way))),
        (name, None) => Err(LabError::usage_error(format!("'{name}' cannot have a role")).with_hint(HINT)),
    }
}

/// Recognises the role of a peer: a word that no other name is.
fn is_role(text: &str) -> bool {
    let is_word = text.bytes().all(|b| b.is_ascii_lowercase() || b == b'-') && !text.is_empty();
    is_word && !WITHOUT_ADDRESS.contains(&text)
}

/// Reads the name of a peer, and its address where that is the same from everywhere.
fn read_address(text: &str) -> Result<(String, Option<Peer>), LabError> {
    let wrong = |why: &str| {
        let what = format!("'{}' is not a peer", redact_secret(text));
        LabError::new(ErrorKind::Usage, what).with_cause(why).with_hint(HINT)
    };
    if WITHOUT_ADDRESS.contains(&text) {
        return Ok((text.to_owned(), None));
    }
    if let Some(rest) = text.strip_prefix(TARE) {
        let (address, secret) = match (rest.split_once('#'), rest.split_once(SECRET_FILE)) {
            (Some((address, secret)), _) => (address, secret.to_owned()),
            (None, Some((address, file))) => (address, secret_in(Path::new(file))?),
            (None, None) => return Err(wrong("its secret is missing")),
        };
        let address = address.trim_end_matches('/');
        if !has_port(address) {
            return Err(wrong("its port is missing"));
        }
        let secret = Secret::parse(&secret).ok_or_else(|| wrong("its secret is not 64 hex digits"))?;
        let (address, secret) = (address.to_owned(), secret.to_hex());
        return Ok((format!("{TARE}{address}"), Some(Peer::Tare { address, secret })));
    }
    if let Some(address) = text.strip_prefix(NETPERF) {
        let address = address.trim_end_matches('/');
        if address.is_empty() {
            return Err(wrong("its host is missing"));
        }
        let address = match address.parse::<Ipv6Addr>() {
            Ok(ip) => SocketAddr::from((ip, netperf::PORT)).to_string(),
            Err(_) if has_port(address) => address.to_owned(),
            Err(_) => format!("{address}:{}", netperf::PORT),
        };
        return Ok((format!("{NETPERF}{address}"), Some(Peer::Netperf { address })));
    }
    Err(wrong("it is neither a known name nor an address"))
}

/// Recognises an address with a port: `HOST:PORT`, `[ADDRESS]:PORT`.
fn has_port(address: &str) -> bool {
    let Some((host, port)) = address.rsplit_once(':') else { return false };
    let bracketed = host.starts_with('[') && host.ends_with(']');
    !host.is_empty() && (bracketed || !host.contains(':')) && port.parse::<u16>().is_ok()
}

/// Reads the secret in a file that is this user's, and that nobody else can read or write; or in one of
/// root's that this process's group can read too, as a pod is given it.
pub fn secret_in(path: &Path) -> Result<String, LabError> {
    let cannot = || LabError::new(ErrorKind::Storage, format!("cannot use the secret in {}", path.display()));
    let file = tare_record::input::open_regular_file(path).map_err(|e| cannot().with_cause(e))?;
    let about = file.metadata().map_err(|e| cannot().with_cause(e))?;
    let is_own = about.uid() == rustix::process::geteuid().as_raw();
    let is_given = about.uid() == 0 && about.gid() == rustix::process::getegid().as_raw();
    if !is_own && !is_given {
        return Err(cannot().with_cause("another user owns it"));
    }
    if about.mode() & (if is_own { OF_OTHERS } else { BUT_READING }) != 0 {
        let hint = format!("chmod 600 {}", quote_word(&path.display().to_string()));
        return Err(cannot().with_cause("others may read it or write in it").with_hint(hint));
    }
    let mut text = String::new();
    file.take(LONGEST_SECRET_FILE).read_to_string(&mut text).map_err(|e| cannot().with_cause(e))?;
    Ok(text.trim().to_owned())
}

impl SessionWorkspace {
    /// Finds the network namespace in which the host's peer listens on an address that environments report:
    /// the lab's, which exists from the first start that needs it. None: the host's own.
    pub fn namespace_of(&self, address: IpAddr) -> Option<PathBuf> {
        let of_lab = address == IpAddr::from(lab::ADDRESS);
        of_lab.then(|| network_namespace::namespace_path(&lab::lab_namespace_name(self.id())))
    }
}

/// The peers that a session runs on this machine, one an address; killed when dropped.
pub(crate) struct HostPeers<'a> {
    workspace: &'a SessionWorkspace,
    running: BTreeMap<IpAddr, HostPeer>,
}

struct HostPeer {
    child: Child,
    port: u16,
    secret: Secret,
}

impl Drop for HostPeer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl<'a> HostPeers<'a> {
    pub fn new(workspace: &'a SessionWorkspace) -> Self {
        HostPeers { workspace, running: BTreeMap::new() }
    }

    /// Returns the address and the secret of a peer that listens where an environment reaches this machine; started at
    /// the first call.
    ///
    /// An address that is none of this machine's (the inside of a user-mode network) leads to its loopback.
    pub fn ensure_peer(&mut self, reached_at: IpAddr) -> Result<(String, String), LabError> {
        let loopback = match reached_at {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
        };
        let is_ours = self.workspace.namespace_of(reached_at).is_some()
            || std::net::UdpSocket::bind((reached_at, 0)).is_ok();
        let listen = if is_ours { reached_at } else { loopback };
        let alive = |peer: &mut HostPeer| matches!(peer.child.try_wait(), Ok(None));
        let running = match self.running.remove(&listen).and_then(|mut p| alive(&mut p).then_some(p)) {
            Some(running) => running,
            None => start(self.workspace, listen)?,
        };
        let address = SocketAddr::new(reached_at, running.port).to_string();
        let secret = running.secret.to_hex();
        self.running.insert(listen, running);
        Ok((address, secret))
    }
}

/// Starts a peer for this session. It carries the session's mark, by which cleaning recognises it.
fn start(workspace: &SessionWorkspace, listen: IpAddr) -> Result<HostPeer, LabError> {
    try_start(workspace, listen).map_err(|cause| {
        LabError::new(ErrorKind::Environment, format!("cannot run a peer on {listen}")).with_cause(cause)
    })
}

/// Why a peer of the session's own does not run.
#[derive(Debug, thiserror::Error)]
enum PeerError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("it has no streams")]
    NoStreams,
    #[error("it wrote nothing for {} s", LISTENS_WITHIN.as_secs())]
    Silent,
    #[error("it wrote no address: {0}")]
    NoAddress(#[from] serde_json::Error),
    /// In its own words.
    #[error("{0}")]
    Refused(String),
}

fn try_start(workspace: &SessionWorkspace, listen: IpAddr) -> Result<HostPeer, PeerError> {
    let secret = Secret::new_random().map_err(PeerError::Refused)?;
    let mut command = programs::command(&Found::own(workspace.agent()));
    command.arg(PEER).env_clear().env(MARK, workspace.id()).current_dir("/");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    if let Some(namespace) = workspace.namespace_of(listen) {
        network_namespace::inherit_namespace(&mut command, &namespace)?;
    }
    workspace.hold_program(&mut command)?;
    let mut peer = HostPeer { child: command.spawn()?, port: 0, secret };
    let request = PeerRequest {
        listen: SocketAddr::new(listen, 0),
        secret: peer.secret.to_hex(),
        expires_s: SESSION_MOST_S,
    };
    let line = serde_json::to_string(&request).expect("tare's own types always serialise");
    let (Some(mut input), Some(output)) = (peer.child.stdin.take(), peer.child.stdout.take()) else {
        return Err(PeerError::NoStreams);
    };
    writeln!(input, "{line}")?;
    match first_line(output)? {
        PeerReply::Listening(address) => peer.port = address.port(),
        PeerReply::Failed(reason) => return Err(PeerError::Refused(reason)),
    }
    Ok(peer)
}

/// Reads the one line that a peer writes.
fn first_line(output: ChildStdout) -> Result<PeerReply, PeerError> {
    if !until_ready(&mut [PollFd::new(&output, PollFlags::IN)], LISTENS_WITHIN)? {
        return Err(PeerError::Silent);
    }
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

/// Lets peers go that serve a number of sessions: this one has ended. Others take no notice.
pub(crate) fn release_peers(peers: &Peers) {
    for way in peers.ways.values() {
        let Peer::Tare { address, secret } = way else { continue };
        // A peer that is not reached from here ends when its time is over.
        if let Some(secret) = Secret::parse(secret) {
            let _ = PeerSession::open(address, &secret).and_then(PeerSession::end_session);
        }
    }
}

/// Finds routes to the peers that an environment can reach; the address of this machine is a fact.
pub(crate) fn find_peer_ways(
    named: &Peers,
    host_peers: &mut HostPeers<'_>,
    path: Option<HostPath>,
    outside: &mut Facts,
) -> BTreeMap<String, Peer> {
    let mut ways = named.ways().clone();
    for (role, way) in ways.iter().filter(|(name, _)| is_role(name)) {
        outside.add_fact(format!("peer.{role}"), format!("{way:?}"));
    }
    let Some(path) = path.filter(|_| named.wants_host()) else { return ways };
    match host_peers.ensure_peer(path.address) {
        Ok((address, secret)) => {
            let out = Peer::Tare { address: address.clone(), secret: secret.clone() };
            let inwards = path.published.map(|published| {
                let port = published.number();
                (PUBLISHED, Peer::Published { address, secret, port })
            });
            for (name, way) in [(HOST, out)].into_iter().chain(inwards) {
                outside.add_fact(format!("peer.{name}"), format!("{way:?}"));
                ways.insert(name.to_owned(), way);
            }
        }
        Err(error) => outside.add_fact("peer.host", error.to_string()),
    }
    ways
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Study;

    fn secret() -> String {
        "ab".repeat(32)
    }

    #[test]
    fn peers_are_named_without_their_secrets() {
        let text = format!("{TARE}example.org:7/#{}", secret());
        let peers =
            Peers::from_texts(&[text, "host".into(), "netperf://[::1]:9".into(), "netperf://h".into()]);
        let peers = peers.unwrap();
        assert_eq!(peers.names, ["tare://example.org:7", "host", "netperf://[::1]:9", "netperf://h:12865"]);
        assert!(peers.ways.contains_key("tare://example.org:7") && !peers.ways.contains_key("host"));
        assert!(!format!("{peers:?}").contains(&secret()));
    }

    #[test]
    fn what_is_no_peer_is_refused_and_its_secret_not_repeated() {
        let short = format!("tare://h:7/#{}", &secret()[1..]);
        for wrong in ["there", "tare://h:7", "tare://h/#00", "tare://::1:7/#00", "netperf://", &short] {
            let error = Peers::from_texts(&[wrong.to_owned()]).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Usage, "{wrong}");
            assert!(!format!("{error:?}").contains(&secret()[1..]), "{wrong}");
        }
    }

    #[test]
    fn a_role_is_one_case_whatever_the_address() {
        let read =
            |address: &str| Peers::from_texts(&[format!("node={TARE}{address}/#{}", secret())]).unwrap();
        let (one, other) = (read("n1:7"), read("n2:7"));
        assert_eq!(one.names, ["node"]);
        assert_eq!(one.names, other.names);
        assert_ne!(one.ways, other.ways);
        for wrong in ["node=host", "node=loopback", "host=tare://h:7/#00", "No de=tare://h:7/#00"] {
            assert_eq!(Peers::from_texts(&[wrong.to_owned()]).unwrap_err().kind, ErrorKind::Usage, "{wrong}");
        }
        assert_eq!(named_again("node"), "'node=tare://HOST:PORT/#SECRET'");
    }

    #[test]
    fn hops_are_added_to_each_peer_once() {
        let text = "name='x'\ntitle='x'\nabout=''\nbudget='1m'\n[[case]]\nprobe='null'\n\
                    [[case]]\nprobe='net.rr'\npeers=['loopback','host']\nparameters={burst=[1,2]}";
        let selected = with_hops(Study::parse(text, "x").unwrap().expand_cases(None, None).unwrap()).unwrap();
        let hops = selected.iter().filter(|selected| selected.probe.name == "net.hops");
        let peers: Vec<_> = hops.map(|selected| selected.case.peer.as_deref().unwrap()).collect();
        assert_eq!(peers, ["loopback", "host"]);
        assert_eq!(selected.len(), 1 + 4 + 2);
    }

    #[test]
    fn named_peers_replace_those_of_cases_that_have_one() {
        let text = "name='x'\ntitle='x'\nabout=''\nbudget='1m'\n[[case]]\nprobe='net.rr'\n\
                    peers=['loopback','host']\n[[case]]\nprobe='null'";
        let selected = || Study::parse(text, "x").unwrap().expand_cases(None, None).unwrap();
        let names = |peers: &Peers| -> Vec<Option<String>> {
            peers.replace_peers(selected()).into_iter().map(|selected| selected.case.peer).collect()
        };
        let some = |name: &str| Some(name.to_owned());
        assert_eq!(names(&Peers::default()), [some("loopback"), some("host"), None]);
        let peers = Peers::from_texts(&["host".into(), "netperf://h".into()]).unwrap();
        assert_eq!(names(&peers), [some("host"), some("netperf://h:12865"), None]);
        let named = Peers::from_texts(&["netperf://h".into()]).unwrap().replace_peers(selected());
        let cases = || named.iter().map(|selected| &selected.case);
        assert!(!peers.clone().for_cases(cases()).unwrap().wants_host());
        assert!(Peers::default().for_cases(cases()).is_err());
    }
}
