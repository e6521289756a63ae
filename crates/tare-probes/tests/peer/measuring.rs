//! Network probes, measured at a peer in both directions.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tare_data::batch::Batch;
use tare_data::failure::{Failure, FailureKind};
use tare_data::names::Case;
use tare_data::request::{Amount, TrialRequest};
use tare_probes::harness::trial::Trial;
use tare_probes::probe::Size;

use crate::{Peer, agent, is_emulated};

/// Runs a trial of a probe at a peer, in this process.
pub fn measure(peer: &Peer, probe: &str, parameters: &[(&str, &str)]) -> Result<Vec<Batch>, Failure> {
    let (address, secret) = (peer.address.to_string(), peer.secret.to_hex());
    measure_at(tare_data::peer::Peer::Tare { address, secret }, probe, parameters)
}

/// Runs a trial of a probe, to which a peer comes at a port of this process.
fn measure_inwards(peer: &Peer, probe: &str, parameters: &[(&str, &str)]) -> Result<Vec<Batch>, Failure> {
    let (address, secret) = (peer.address.to_string(), peer.secret.to_hex());
    measure_at(tare_data::peer::Peer::Published { address, secret, port: 0 }, probe, parameters)
}

fn measure_at(
    way: tare_data::peer::Peer,
    probe: &str,
    parameters: &[(&str, &str)],
) -> Result<Vec<Batch>, Failure> {
    let probe = tare_probes::find_probe(probe).unwrap();
    let mut all = probe.default_parameters(Size::Short);
    parameters.iter().for_each(|(key, value)| drop(all.0.insert((*key).into(), (*value).into())));
    let request = TrialRequest {
        turn: None,
        trial: 1,
        case: Case { probe: probe.name.into(), parameters: all, place: None, peer: Some("host".into()) },
        amount: Amount::Operations { batch: 23, batches: 2 },
        directory: None,
        peer: Some(way),
        seed: 7,
        deadline_ms: 60_000,
        slower: 0.0,
        settling_ms: 0,
        nonce: 0,
    };
    let mut batches = Vec::new();
    let mut sink = |batch| batches.push(batch);
    tare_probes::probes::run_of(probe.name).unwrap()(&mut Trial::new(&request, &agent(), None, &mut sink))?;
    Ok(batches)
}

#[test]
fn every_network_probe_measures_at_a_peer() {
    let v6 = std::net::TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok();
    let mut at: Vec<IpAddr> = vec![Ipv4Addr::LOCALHOST.into()];
    at.extend(v6.then_some(IpAddr::V6(Ipv6Addr::LOCALHOST)));
    for ip in at {
        let peer = Peer::listening(ip, 600);
        for (probe, parameters) in [
            ("net.rr", &[("protocol", "tcp")][..]),
            ("net.rr", &[("protocol", "tcp"), ("burst", "9"), ("nodelay", "yes")]),
            ("net.rr", &[("protocol", "udp")]),
            ("net.rr", &[("protocol", "udp"), ("request", "1000"), ("response", "900"), ("burst", "9")]),
            ("net.connect", &[]),
            ("net.hops", &[]),
            ("net.stream", &[("direction", "send")]),
            ("net.stream", &[("direction", "receive"), ("congestion", "reno")]),
        ] {
            let batches = match measure(&peer, probe, parameters) {
                Ok(batches) => batches,
                // Some emulators lack a call that a probe needs.
                Err(e) if e.kind == FailureKind::NotSupported && is_emulated() => continue,
                Err(e) => panic!("{probe}: {e}"),
            };
            assert!(batches.len() > 2, "{probe} {parameters:?}");
        }
        for (probe, parameters) in [
            ("net.rr", &[("protocol", "tcp"), ("nodelay", "yes")][..]),
            ("net.rr", &[("protocol", "udp")]),
            ("net.hops", &[]),
            ("net.stream", &[("direction", "send")]),
            ("net.stream", &[("direction", "receive")]),
        ] {
            match measure_inwards(&peer, probe, parameters) {
                Ok(batches) => {
                    assert!(batches.len() > 2, "{probe} {parameters:?}");
                    let connects = batches.iter().any(|batch| batch.series == "connect");
                    assert!(!connects, "the peer connects, and {probe} times it");
                }
                Err(e) if e.kind == FailureKind::NotSupported && is_emulated() => {}
                Err(e) => panic!("{probe}: {e}"),
            }
        }
        let refused = measure_inwards(&peer, "net.connect", &[]).unwrap_err();
        assert!(refused.reason.contains("makes no connections to a published port"), "{refused}");
        for (probe, parameters) in [("net.connect", &[("request", "15")][..]), ("net.rr", &[("pin", "same")])]
        {
            let failure = measure(&peer, probe, parameters).unwrap_err();
            assert_eq!(failure.kind, FailureKind::NotSupported, "{failure}");
        }
    }
}
