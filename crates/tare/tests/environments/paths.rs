//! Network paths: every way from an environment to the session's network, with an answer over each.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use tare_lab::host::network_namespace::{namespace_path, run_in_namespace};
use tare_lab::ownership::workspace::SessionWorkspace;

use crate::bench::{Bench, Spoken, parse_if_ready};

/// Time limit for a connection: the first packet may have to wait for address resolution.
const CONNECT_WAIT: Duration = Duration::from_secs(20);

/// Directions in which a path must work.
#[derive(Clone, Copy)]
enum Reach {
    /// A connection is made from the environment's network namespace to the lab.
    FromInside,
    /// A packet is sent to the environment, whose network stack refuses it, so the answer has come all the
    /// way.
    ToInside,
}

/// Enters twice, and reaches the lab's network each time; leaves nothing.
fn walk(test: &str, text: &str, reach: Reach) {
    let Some(specification) = parse_if_ready(test, text) else { return };
    let bench = Bench::new();
    let session = bench.make_session();
    for start in 0..2 {
        let mut inside = Spoken::enter_environment(&session, &specification);
        let host = inside.entered.host.expect("a network has a way to the host").address;
        let lab = session.namespace_of(host).expect("the way leads into the lab's network");
        assert_eq!(inside.entered.outside.get("path.host"), Some(host.to_string().as_str()));
        match reach {
            Reach::FromInside => {
                let listener = run_in_namespace(&lab, || TcpListener::bind((host, 0))).unwrap();
                let namespace = namespace_path(&format!("tare-{}-{start:05}", session.id()));
                talk(&listener, namespace);
            }
            Reach::ToInside => {
                let address: IpAddr = inside.entered.outside.get("path.address").unwrap().parse().unwrap();
                let refused = run_in_namespace(&lab, || {
                    TcpStream::connect_timeout(&SocketAddr::new(address, 9), CONNECT_WAIT)
                });
                assert_eq!(refused.unwrap_err().kind(), ErrorKind::ConnectionRefused, "{text}");
            }
        }
        inside.request_description();
        inside.run_trial(1, "net.rr", None, Some("loopback"));
        for outcome in inside.leave_environment() {
            assert_eq!(outcome.left_because, None, "{}", outcome.what);
        }
    }
    close(session, &bench);
}

/// Exchanges one byte in each direction.
fn talk(listener: &TcpListener, namespace: PathBuf) {
    let to = listener.local_addr().unwrap();
    let client = thread::spawn(move || {
        run_in_namespace(&namespace, || {
            let mut stream = TcpStream::connect_timeout(&to, CONNECT_WAIT)?;
            stream.write_all(b"?")?;
            let mut answer = [0];
            stream.read_exact(&mut answer)?;
            Ok(answer[0])
        })
    });
    listener.set_nonblocking(true).unwrap();
    let mut served = None;
    while served.is_none() && !client.is_finished() {
        match listener.accept() {
            Ok((stream, _)) => served = Some(stream),
            Err(_) => thread::sleep(Duration::from_millis(1)),
        }
    }
    if let Some(mut stream) = served {
        stream.set_nonblocking(false).unwrap();
        let mut asked = [0];
        stream.read_exact(&mut asked).unwrap();
        stream.write_all(b"!").unwrap();
    }
    assert_eq!(client.join().unwrap().unwrap(), b'!');
}

/// Closes the session: neither it nor its network is left.
fn close(session: SessionWorkspace, bench: &Bench) {
    let id = session.id().to_owned();
    assert!(session.close().iter().all(|outcome| outcome.left_because.is_none()));
    assert_eq!(bench.list_remains(), [""; 0]);
    assert_eq!(list_namespaces(&id), [""; 0]);
}

/// Lists the network namespaces of a session.
pub fn list_namespaces(session: &str) -> Vec<String> {
    let folder = std::fs::read_dir(tare_lab::host::network_namespace::FOLDER).into_iter().flatten().flatten();
    let names = folder.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains(session)).collect()
}

#[test]
fn container_paths() {
    for net in ["veth", "bridge", "nat", "slirp", "pasta"] {
        walk("container_paths", &format!("container?net={net}"), Reach::FromInside);
    }
}

#[test]
fn tool_made_container_paths() {
    for text in ["bwrap?net=veth", "oci:runc?net=veth", "oci:crun?net=nat", "nspawn?net=bridge"] {
        walk("tool_made_container_paths", text, Reach::FromInside);
    }
}

#[test]
fn gvisor_paths() {
    walk("gvisor_paths", "gvisor?net=sandbox", Reach::ToInside);
}

#[test]
fn uml_paths() {
    walk("uml_paths", "uml?net=tap", Reach::ToInside);
}

#[test]
fn qemu_paths() {
    walk("qemu_paths", "qemu?acceleration=tcg&net=tap", Reach::ToInside);
}

/// Measures the shortest round trip to a guest, whose network stack refuses the connection.
fn shortest_round_trip(test: &str, text: &str) -> Option<Duration> {
    const TRIPS: usize = 20;
    const TRIP_WAIT: Duration = Duration::from_millis(500);
    let specification = parse_if_ready(test, text)?;
    let bench = Bench::new();
    let session = bench.make_session();
    let inside = Spoken::enter_environment(&session, &specification);
    let lab = session.namespace_of(inside.entered.host.unwrap().address).unwrap();
    let address: IpAddr = inside.entered.outside.get("path.address").unwrap().parse().unwrap();
    let trip = || {
        let began = Instant::now();
        let answer = TcpStream::connect_timeout(&SocketAddr::new(address, 9), TRIP_WAIT);
        (answer.unwrap_err().kind(), began.elapsed())
    };
    let trips: Vec<_> =
        run_in_namespace(&lab, || Ok((0..TRIPS).map(|_| trip()).collect::<Vec<_>>())).unwrap();
    inside.leave_environment();
    close(session, &bench);
    let answered = trips.into_iter().filter(|(kind, _)| *kind == ErrorKind::ConnectionRefused);
    Some(answered.map(|(_, elapsed)| elapsed).min().unwrap_or(Duration::MAX))
}

/// Asserts that a guest delays its answers for as long as it was told, never shorter.
#[test]
fn a_known_delay_is_there() {
    for guest in ["uml?net=tap", "qemu?acceleration=tcg&net=tap"] {
        let text = format!("{guest}&delay=20ms");
        if let Some(shortest) = shortest_round_trip("a_known_delay_is_there", &text) {
            assert!(shortest >= Duration::from_millis(20), "{guest}: {shortest:?}");
            assert!(shortest < Duration::MAX, "{guest} never answered");
        }
    }
}

/// Asserts that nothing arrives at a loss of 100 %, and that something does at a lower one.
#[test]
fn a_known_loss_is_there() {
    let test = "a_known_loss_is_there";
    let Some(none) = shortest_round_trip(test, "uml?net=tap&loss=100%") else { return };
    assert_eq!(none, Duration::MAX);
    assert!(shortest_round_trip(test, "uml?net=tap&loss=10%&duplicate=50%").unwrap() < Duration::MAX);
}
