//! The peer, attacked and used: strangers get no byte, those who know the secret are served in order, and the
//! death of either side ends the other's work.

#![allow(clippy::disallowed_methods, reason = "tests are told where they run, and start what they look for")]

mod measuring;

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tare_data::failure::{Failure, FailureKind};
use tare_probes::net::flow::{Flow, Rounds, Transport};
use tare_probes::peer::Secret;
use tare_probes::peer::client::PeerSession;
use tare_probes::peer::noise::{FIRST_FRAME, Opening};
use tare_probes::peer::process::{PEER, PeerReply, PeerRequest};

/// Far longer than anything here takes: only a defect waits so long.
const WAIT: Duration = Duration::from_secs(60);

/// A peer in a separate process.
struct Peer {
    child: Child,
    address: SocketAddr,
    secret: Secret,
}

impl Peer {
    fn start() -> Peer {
        Peer::expiring(600)
    }

    fn expiring(expires_s: u64) -> Peer {
        Peer::listening(Ipv4Addr::LOCALHOST.into(), expires_s)
    }

    fn listening(ip: IpAddr, expires_s: u64) -> Peer {
        let secret = Secret::new_random().unwrap();
        let mut child =
            Command::new(agent()).arg(PEER).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let told = PeerRequest { listen: (ip, 0).into(), secret: secret.to_hex(), expires_s };
        let line = serde_json::to_string(&told).unwrap();
        writeln!(child.stdin.as_mut().unwrap(), "{line}").unwrap();
        let mut line = String::new();
        let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut output, &mut line).unwrap();
        match serde_json::from_str(&line).unwrap() {
            PeerReply::Listening(address) => Peer { child, address, secret },
            PeerReply::Failed(reason) => panic!("{reason}"),
        }
    }

    fn open(&self) -> Result<PeerSession, Failure> {
        PeerSession::open(&self.address.to_string(), &self.secret)
    }

    /// Reads the memory of the process, in bytes.
    fn rss(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/statm", self.child.id())).unwrap();
        text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * rustix::param::page_size() as u64
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(WAIT)).unwrap();
        stream
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Finds the agent, which cargo builds next to this test.
fn agent() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().join("examples/agent")
}

fn rounds(transport: Transport) -> Flow {
    Flow::Rounds(Rounds { transport, request: 1, response: 1, no_delay: false })
}

/// Reads until the end; the bytes that came.
fn all_of(mut stream: TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A reset is an end too.
    let _ = stream.read_to_end(&mut bytes);
    bytes
}

#[test]
fn ten_thousand_strangers_get_no_byte_and_cost_little() {
    let peer = Peer::start();
    let before = peer.rss();
    let (_, first) = Opening::new(&peer.secret).unwrap();
    let mut open = Vec::new();
    for n in 0..10_000usize {
        let mut bytes = first.clone();
        match n % 4 {
            // Every cut, left open: it waits for the rest.
            0 => bytes.truncate(n / 4 % FIRST_FRAME),
            // Every bit flipped.
            1 => bytes[n / 4 % FIRST_FRAME] ^= 1 << (n / 4 / FIRST_FRAME % 8),
            2 => bytes = format!("GET /{n} HTTP/1.1\r\nHost: x\r\n\r\n").into_bytes(),
            _ => bytes = vec![n as u8; n % 300],
        }
        let mut stream = peer.connect();
        // It may have been turned away while it spoke.
        let _ = stream.write_all(&bytes);
        open.push(stream);
        if open.len() == 100 {
            for stream in open.drain(..) {
                let _ = stream.shutdown(std::net::Shutdown::Write);
                assert_eq!(all_of(stream), b"", "stranger {n}");
            }
        }
    }
    assert!(peer.rss() < before + 10_000_000, "{} to {} bytes", before, peer.rss());
    // And a client that knows the secret is served as before.
    assert_eq!(peer.open().unwrap().query_peer().unwrap().0, env!("CARGO_PKG_VERSION"));
}

#[test]
fn strangers_that_stay_open_make_room_for_who_knows_the_secret() {
    let peer = Peer::start();
    let open: Vec<TcpStream> = (0..600).map(|_| peer.connect()).collect();
    peer.open().unwrap().query_peer().unwrap();
    drop(open);
}

#[test]
fn a_recorded_handshake_is_not_answered_again() {
    let peer = Peer::start();
    let (_, first) = Opening::new(&peer.secret).unwrap();
    let mut once = peer.connect();
    once.write_all(&first).unwrap();
    let mut answer = [0; FIRST_FRAME];
    once.read_exact(&mut answer).unwrap();
    for _ in 0..3 {
        let mut again = peer.connect();
        again.write_all(&first).unwrap();
        assert_eq!(all_of(again), b"");
    }
}

#[test]
fn who_does_not_know_the_secret_is_told_what_may_be_wrong() {
    let peer = Peer::start();
    let address = peer.address.to_string();
    let wrong = PeerSession::open(&address, &Secret::new_random().unwrap()).err().unwrap();
    assert!(wrong.reason.starts_with("wrong or expired secret: "), "{wrong}");
    drop(peer);
    let refused = PeerSession::open(&address, &Secret::new_random().unwrap()).err().unwrap();
    assert!(refused.reason.starts_with("refused: nothing listens on"), "{refused}");
    assert!(refused.reason.contains("tare serve --listen"), "{refused}");
}

#[test]
fn another_program_on_the_port_is_told_as_such() {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let mut no_handshake = vec![7; FIRST_FRAME];
    no_handshake[..2].copy_from_slice(&[0, 48]);
    let speaks = std::thread::spawn(move || {
        let banners =
            [&b"SSH-2.0-OpenSSH_9.9\r\n"[..], b"HTTP/1.1 400 Bad Request\r\n\r\n", &[0, 48], &no_handshake];
        for banner in banners {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(banner).unwrap();
            let _ = stream.read(&mut [0; 100]);
        }
    });
    for kind in ["another program: ", "another program: ", "wrong or expired secret: ", "another program: "] {
        let failure = PeerSession::open(&address, &Secret::new_random().unwrap()).err().unwrap();
        assert!(failure.reason.starts_with(kind), "{failure}");
    }
    speaks.join().unwrap();
}

#[test]
fn names_and_addresses_that_lead_nowhere_are_told_apart() {
    let open = |address: &str| PeerSession::open(address, &Secret::new_random().unwrap()).err().unwrap();
    assert!(open("no-such-name.invalid:7").reason.starts_with("name not found: "));
    assert!(open("127.0.0.1").reason.contains("it is not HOST:PORT"));
}

#[test]
fn an_expired_secret_is_good_for_nothing() {
    // Long enough for one question on a busy machine.
    let mut peer = Peer::expiring(5);
    peer.open().unwrap().query_peer().unwrap();
    assert!(peer.child.wait().unwrap().success());
    let refused = peer.open().err().unwrap();
    assert!(refused.reason.starts_with("refused: "), "{refused}");
}

#[test]
fn two_hundred_sessions_are_served_in_the_order_in_which_they_asked() {
    let peer = Peer::start();
    let served = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for n in 0..200 {
            let mut session = peer.open().unwrap();
            let served = &served;
            // The question is sent before the next session asks.
            let asked = session.ask_for(&rounds(Transport::Tcp), WAIT);
            asked.unwrap();
            while n > 0 && peer.open().unwrap().query_peer().unwrap().1 < 1 {}
            scope.spawn(move || {
                let ready = session.wait_for_turn().unwrap();
                served.lock().unwrap().push(n);
                let mut data = TcpStream::connect(ready.address).unwrap();
                data.write_all(&ready.token).unwrap();
                let mut shown_back = [0; 16];
                data.read_exact(&mut shown_back).unwrap();
                data.write_all(b"q").unwrap();
                let mut answer = [0];
                data.read_exact(&mut answer).unwrap();
                assert_eq!(&answer, b"r");
                drop(data);
                assert_eq!(session.wait_for_end().unwrap(), 0);
            });
        }
    });
    let served = served.into_inner().unwrap();
    assert_eq!(served, (0..200).collect::<Vec<_>>());
}

#[test]
fn a_data_flow_without_its_token_gets_no_byte() {
    let peer = Peer::start();
    for transport in [Transport::Tcp, Transport::Udp] {
        let mut session = peer.open().unwrap();
        let ready = session.request_flow(&rounds(transport), WAIT).unwrap();
        let mut wrong = ready.token;
        wrong[15] ^= 1;
        match transport {
            Transport::Tcp => {
                for shown in [&wrong[..], b"GET / HTTP/1.1\r\n\r\n", &ready.token[..15]] {
                    let mut data = TcpStream::connect(ready.address).unwrap();
                    let _ = data.write_all(shown);
                    // The peer may have closed already.
                    let _ = data.shutdown(std::net::Shutdown::Write);
                    data.set_read_timeout(Some(WAIT)).unwrap();
                    assert_eq!(all_of(data), b"");
                }
            }
            Transport::Udp => {
                let stranger = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
                stranger.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
                for shown in [&wrong[..], b"q", &ready.token[..15], &[7; 1400]] {
                    stranger.send_to(shown, ready.address).unwrap();
                    assert!(stranger.recv(&mut [0; 2000]).is_err());
                }
                // The client that came with the token is the only one that is heard from then on.
                let near = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
                near.set_read_timeout(Some(WAIT)).unwrap();
                near.send_to(&ready.token, ready.address).unwrap();
                let mut answer = [0; 100];
                assert_eq!(near.recv(&mut answer).unwrap(), ready.token.len());
                stranger.send_to(&ready.token, ready.address).unwrap();
                stranger.send_to(b"q", ready.address).unwrap();
                assert!(stranger.recv(&mut [0; 2000]).is_err());
                near.send_to(&[5], ready.address).unwrap();
                assert_eq!(near.recv(&mut answer).unwrap(), 1);
                assert_eq!(answer[0], !5);
            }
        }
    }
}

#[test]
fn a_flow_that_is_out_of_bounds_is_refused_with_its_reason() {
    let peer = Peer::start();
    let more_back = Rounds { transport: Transport::Udp, request: 1, response: 1400, no_delay: false };
    for flow in [Flow::Rounds(more_back), Flow::Connections { request: 0, response: 1 }] {
        let failure = peer.open().unwrap().request_flow(&flow, WAIT).err().unwrap();
        assert!(failure.reason.starts_with("the peer refuses: "), "{failure}");
    }
}

#[test]
fn a_client_that_is_gone_leaves_its_turn_to_the_next() {
    let peer = Peer::start();
    for transport in [Transport::Tcp, Transport::Udp] {
        let mut first = peer.open().unwrap();
        first.request_flow(&rounds(transport), WAIT).unwrap();
        let mut second = peer.open().unwrap();
        second.ask_for(&rounds(transport), WAIT).unwrap();
        drop(first);
        second.wait_for_turn().unwrap();
    }
}

#[test]
fn a_peer_that_is_killed_ends_the_trial_that_it_serves() {
    for transport in [Transport::Tcp, Transport::Udp] {
        let mut peer = Peer::start();
        let mut session = peer.open().unwrap();
        let ready = session.request_flow(&rounds(transport), WAIT).unwrap();
        if transport == Transport::Tcp {
            let mut data = TcpStream::connect(ready.address).unwrap();
            data.set_read_timeout(Some(WAIT)).unwrap();
            data.write_all(&ready.token).unwrap();
            data.read_exact(&mut [0; 16]).unwrap();
            peer.child.kill().unwrap();
            peer.child.wait().unwrap();
            assert_eq!(all_of(data), b"");
        } else {
            peer.child.kill().unwrap();
            peer.child.wait().unwrap();
        }
        let end = Instant::now() + WAIT;
        let failure = loop {
            match session.ended_early() {
                Err(failure) => break failure,
                Ok(_) => assert!(Instant::now() < end),
            }
        };
        assert_eq!(failure.kind, FailureKind::Broken);
    }
}

fn is_emulated() -> bool {
    std::env::var_os("TARE_EMULATED").is_some()
}

/// Runs `work` in a fresh network namespace, with loopback up; false where that is not permitted.
fn in_own_network(work: impl FnOnce() + Send) -> bool {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            // SAFETY: takes this thread alone into a fresh network, in which it ends.
            if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 || !ip("link set lo up") {
                return false;
            }
            work();
            true
        });
        thread.join().unwrap()
    })
}

fn ip(words: &str) -> bool {
    Command::new("ip").args(words.split(' ')).status().is_ok_and(|status| status.success())
}

#[test]
fn no_route_and_a_firewall_that_drops_are_told_apart() {
    let done = in_own_network(|| {
        let open = |address: &str| PeerSession::open(address, &Secret::new_random().unwrap()).err().unwrap();
        let nowhere = open("192.0.2.2:12866");
        assert!(nowhere.reason.starts_with("no route to 192.0.2.2:12866"), "{nowhere}");
        // A neighbour that answers nothing, as behind a firewall that drops.
        assert!(ip("link add far type veth peer name beyond") && ip("addr add 192.0.2.1/24 dev far"));
        assert!(ip("link set far up") && ip("link set beyond up"));
        assert!(ip("neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev far"));
        let dropped = open("192.0.2.2:12866");
        assert!(dropped.reason.starts_with("filtered: no answer from 192.0.2.2:12866"), "{dropped}");
        assert!(dropped.reason.contains("th dport 12866-12867 accept"), "{dropped}");
    });
    if !done {
        println!("SKIPPED no_route_and_a_firewall_that_drops_are_told_apart: no network of its own");
    }
}

/// Opens a socket that sees every packet of this network.
fn capture() -> std::os::fd::OwnedFd {
    // SAFETY: makes a socket, which is owned from then on.
    unsafe {
        let protocol = i32::from((libc::ETH_P_ALL as u16).to_be());
        let raw = libc::socket(libc::AF_PACKET, libc::SOCK_DGRAM | libc::SOCK_NONBLOCK, protocol);
        assert!(raw >= 0);
        // Room for all of a test: a full buffer would hide the last packets.
        let room: i32 = 16 << 20;
        let length = size_of::<i32>() as libc::socklen_t;
        let room = (&raw const room).cast();
        assert_eq!(libc::setsockopt(raw, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, room, length), 0);
        std::os::fd::FromRawFd::from_raw_fd(raw)
    }
}

#[test]
fn no_datagram_goes_to_who_has_not_shown_the_token() {
    if is_emulated() {
        return println!("SKIPPED emulated: QEMU has no SO_RCVBUFFORCE, without which packets may be missed");
    }
    let done = in_own_network(|| {
        let peer = Peer::start();
        let seen = capture();
        let mut session = peer.open().unwrap();
        let ready = session.request_flow(&rounds(Transport::Udp), WAIT).unwrap();
        let bind = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (near, stranger) = (bind(), bind());
        // From another address of this machine, with the right token: the session's is 127.0.0.1.
        let elsewhere = UdpSocket::bind((Ipv4Addr::new(127, 0, 0, 2), 0)).unwrap();
        elsewhere.send_to(&ready.token, ready.address).unwrap();
        for n in 0..200u8 {
            stranger.send_to(&vec![n; usize::from(n)], ready.address).unwrap();
        }
        near.set_read_timeout(Some(WAIT)).unwrap();
        let mut answer = [0; 100];
        near.send_to(&ready.token, ready.address).unwrap();
        assert_eq!(near.recv(&mut answer).unwrap(), 16);
        stranger.send_to(&ready.token, ready.address).unwrap();
        for n in 0..200u8 {
            stranger.send_to(&[n], ready.address).unwrap();
            near.send_to(&[n], ready.address).unwrap();
            assert_eq!((near.recv(&mut answer).unwrap(), answer[0]), (1, !n));
        }
        let (mut bytes, mut to_near, mut sent) = ([0u8; 2000], 0, 0);
        let near_port = near.local_addr().unwrap().port();
        while let Ok((length, _)) = rustix::net::recv(&seen, &mut bytes, rustix::net::RecvFlags::DONTWAIT) {
            let head = 4 * usize::from(bytes[0] & 15);
            let port = |at: usize| u16::from_be_bytes([bytes[head + at], bytes[head + at + 1]]);
            if bytes[0] >> 4 != 4 || bytes[9] != 17 || length < head + 8 {
                continue;
            }
            if port(0) == ready.address.port() {
                sent += 1;
                to_near += u32::from(port(2) == near_port);
            }
        }
        assert!(sent >= 201, "the capture saw {sent}");
        assert_eq!(to_near, sent, "datagrams of the peer's to somebody else");
    });
    if !done {
        println!("SKIPPED no_datagram_goes_to_who_has_not_shown_the_token: no network of its own");
    }
}
