//! tare's probes against a netserver, a stock one and the stand-in: every direction, size and family.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tare_data::batch::{Batch, Sample};
use tare_data::failure::{Failure, FailureKind};
use tare_data::names::Case;
use tare_data::peer::Peer;
use tare_data::request::{Amount, TrialRequest};
use tare_probes::harness::trial::Trial;
use tare_probes::netperf::client::try_out;
use tare_probes::probe::Size;

use crate::ports::ReservedPort;
use crate::stand_in::{Losing, StandIn};

const V4: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const V6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

/// Finds a stock netserver; none, with a word on it, where it is not installed.
fn find_netserver(test: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut all = std::env::split_paths(&folders).map(|folder| folder.join("netserver"));
    let found = all.find(|path| path.is_file());
    if found.is_none() {
        println!("SKIPPED {test}: netserver is not installed");
    }
    found
}

/// A stock netserver on loopback; ended when dropped.
struct Stock {
    child: Child,
    address: SocketAddr,
    _port: ReservedPort,
}

impl Stock {
    fn start(program: &Path, here: IpAddr) -> Stock {
        let port = ReservedPort::reserve(here).unwrap();
        let address = port.address;
        let mut command = Command::new(program);
        command.args(["-D", "-L", &here.to_string(), "-p", &address.port().to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let stock = Stock { child: command.spawn().unwrap(), address, _port: port };
        let end = Instant::now() + Duration::from_secs(20);
        while TcpStream::connect(address).is_err() {
            assert!(Instant::now() < end, "netserver does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        stock
    }
}

impl Drop for Stock {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const AMOUNT: Amount = Amount::Operations { batch: 50, batches: 3 };

fn trial(
    address: SocketAddr,
    probe: &str,
    parameters: &[(&str, &str)],
    amount: Amount,
) -> Result<Vec<Batch>, Failure> {
    let probe = tare_probes::find_probe(probe).unwrap();
    let mut all = probe.default_parameters(Size::Short);
    for (key, value) in parameters {
        assert!(all.0.insert((*key).into(), (*value).into()).is_some(), "{} has no {key}", probe.name);
    }
    let request = TrialRequest {
        turn: None,
        trial: 1,
        case: Case { probe: probe.name.into(), parameters: all, place: None, peer: Some("far".into()) },
        amount,
        directory: None,
        peer: Some(Peer::Netperf { address: address.to_string() }),
        seed: 7,
        deadline_ms: 20_000,
        slower: 0.0,
        settling_ms: 0,
        nonce: 0,
    };
    let mut batches = Vec::new();
    let mut sink = |batch| batches.push(batch);
    tare_probes::probes::run_of(probe.name).unwrap()(&mut Trial::new(
        &request,
        Path::new("/proc/self/exe"),
        None,
        &mut sink,
    ))?;
    Ok(batches)
}

/// Counts operations by series.
fn operations(batches: &[Batch]) -> BTreeMap<&str, u64> {
    let mut counts = BTreeMap::new();
    for batch in batches {
        let operations: u64 = batch.sample.iter_timed().map(|timed| timed.operations).sum();
        *counts.entry(batch.series.as_str()).or_default() += operations;
    }
    counts
}

/// Counts datagrams that were told as lost.
fn count_lost(batches: &[Batch]) -> u64 {
    let lost = batches.iter().filter(|batch| batch.series == "lost").map(|batch| match batch.sample {
        Sample::Gauge { value } => value as u64,
        _ => 0,
    });
    lost.sum()
}

/// A probe, its parameters, and the series that counts its operations.
type Flow = (&'static str, &'static [(&'static str, &'static str)], &'static str);

/// Runs every probe and direction; the probes check them against netserver's counts.
fn every_flow(address: SocketAddr) {
    let flows: [Flow; 8] = [
        ("net.rr", &[], "round"),
        ("net.rr", &[("request", "100"), ("response", "200"), ("nodelay", "yes")], "round"),
        ("net.rr", &[("burst", "4")], "round"),
        ("net.rr", &[("protocol", "udp")], "round"),
        ("net.rr", &[("protocol", "udp"), ("request", "200"), ("response", "100")], "round"),
        ("net.connect", &[], "transaction"),
        ("net.stream", &[("direction", "send")], "stream"),
        ("net.stream", &[("direction", "receive"), ("size", "1000")], "stream"),
    ];
    for (probe, parameters, series) in flows {
        let batches = trial(address, probe, parameters, AMOUNT);
        let batches = batches.unwrap_or_else(|failure| panic!("{probe} {parameters:?}: {failure}"));
        // A datagram for which a server had no time on a busy machine is told as lost.
        let lost = count_lost(&batches);
        assert!(lost < 10, "{probe} {parameters:?}: {lost}");
        assert_eq!(operations(&batches)[series] + lost, 151, "{probe} {parameters:?}");
        trial(address, probe, parameters, Amount::Calibrate)
            .unwrap_or_else(|failure| panic!("{probe} {parameters:?} calibrates: {failure}"));
    }
}

#[test]
fn a_stock_netserver_serves_every_flow() {
    let Some(program) = find_netserver("netserver.flows") else { return };
    every_flow(Stock::start(&program, V4).address);
}

#[test]
fn a_stock_netserver_serves_every_flow_over_ipv6() {
    let Some(program) = find_netserver("netserver.ipv6") else { return };
    every_flow(Stock::start(&program, V6).address);
}

#[test]
fn the_stand_in_serves_every_flow_as_a_stock_netserver_does() {
    every_flow(StandIn::start(V4, Losing::None).address);
    every_flow(StandIn::start(V6, Losing::None).address);
}

#[test]
fn a_netserver_is_tried_out_with_one_request() {
    let served = StandIn::start(V4, Losing::None);
    try_out(&served.address.to_string()).unwrap();
    let Some(program) = find_netserver("netserver.tried") else { return };
    let stock = Stock::start(&program, V4);
    let data = try_out(&stock.address.to_string()).unwrap();
    assert!(data.ip() == stock.address.ip() && data.port() != stock.address.port(), "{data}");
    // Another program answers there.
    let other = TcpListener::bind((V4, 0)).unwrap();
    let address = other.local_addr().unwrap();
    let hangs_up = std::thread::spawn(move || drop(other.accept().unwrap()));
    let failure = try_out(&address.to_string()).unwrap_err();
    hangs_up.join().unwrap();
    assert!(failure.reason.contains("not netserver 2.7"), "{failure}");
}

#[test]
fn what_netperfs_protocol_cannot_do_is_a_missing() {
    let served = StandIn::start(V4, Losing::None);
    let failure = trial(served.address, "net.rr", &[("pin", "same")], AMOUNT).unwrap_err();
    assert_eq!(failure.kind, FailureKind::NotSupported);
}

#[test]
fn nobody_there_is_told_as_such() {
    let port = ReservedPort::reserve(V4).unwrap();
    let failure = trial(port.address, "net.rr", &[], AMOUNT).unwrap_err();
    assert!(failure.reason.contains("netserver"), "{failure}");
}

#[test]
fn datagrams_that_are_lost_are_told() {
    let lossy = StandIn::start(V4, Losing::EachThirdDatagram);
    let amount = Amount::Operations { batch: 5, batches: 1 };
    let batches = trial(lossy.address, "net.rr", &[("protocol", "udp")], amount).unwrap();
    assert_eq!(count_lost(&batches), 2);
    assert_eq!(operations(&batches)["round"], 4);
}
