//! Datagrams that are dropped, held up, doubled and swapped on the way are counted, each under its fate.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::thread;
use std::time::Instant;

use tare_probes::harness::stopwatch::Laps;
use tare_probes::net::datagrams::{self, GIVEN_UP_AFTER};
use tare_probes::net::flow::Pace;
use tare_probes::net::flow::{Flow, Rounds, Transport};
use tare_probes::net::ledger::{Counts, Ledger, MOST_LOST};
use tare_probes::net::serving::Serving;
use tare_probes::net::token::fresh_token;

/// The fate of the n-th request, or of its answer.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Delivered,
    Dropped,
    /// The answer is dropped, not the request.
    Unanswered,
    /// The answer comes just before the next one.
    Held,
    Doubled,
    /// The answer changes its place with the next one.
    Swapped,
}

/// Starts a far end behind a way on which each request has a fate; returns the address to talk to.
fn lossy(size: u32, fate: impl Fn(u64) -> Fate + Send + 'static) -> (SocketAddr, [u8; 16]) {
    let flow =
        Flow::Rounds(Rounds { transport: Transport::Udp, request: size, response: size, no_delay: false });
    let token = fresh_token().unwrap();
    let far = Serving::listen_at(&flow, (Ipv4Addr::LOCALHOST, 0).into(), token, None).unwrap();
    let to = far.address();
    // Both serve until the test's process ends.
    thread::spawn(move || far.serve_flow());
    let front = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = front.local_addr().unwrap();
    let back = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    back.connect(to).unwrap();
    thread::spawn(move || forward(&front, &back, fate));
    (address, token)
}

fn forward(front: &UdpSocket, back: &UdpSocket, fate: impl Fn(u64) -> Fate) {
    let mut bytes = [0; 2000];
    let (mut number, mut held): (u64, Option<Vec<u8>>) = (0, None);
    loop {
        let (length, near) = front.recv_from(&mut bytes).unwrap();
        // The greeting is not a request.
        let is_request = number > 0 || length != 16;
        let fate = if is_request { fate(number) } else { Fate::Delivered };
        number += u64::from(is_request);
        if fate == Fate::Dropped {
            continue;
        }
        back.send(&bytes[..length]).unwrap();
        let length = back.recv(&mut bytes).unwrap();
        let answer = &bytes[..length];
        let send = |answer: &[u8]| assert_eq!(front.send_to(answer, near).unwrap(), answer.len());
        match fate {
            Fate::Held | Fate::Swapped => held = Some(answer.to_vec()),
            Fate::Unanswered => {}
            fate => {
                // A held datagram comes first when it is late, and last when it changes places.
                let late = held.take();
                if fate == Fate::Delivered
                    && let Some(late) = late
                {
                    send(answer);
                    send(&late);
                } else {
                    late.iter().for_each(|late| send(late));
                    send(answer);
                }
                if fate == Fate::Doubled {
                    send(answer);
                }
            }
        }
    }
}

/// Sends this many requests over a lossy way, and counts their fates and the rounds that were timed.
fn run(
    size: u32,
    operations: u64,
    burst: u64,
    fate: impl Fn(u64) -> Fate + Send + 'static,
) -> (Counts, Laps) {
    let (address, token) = lossy(size, fate);
    let line = datagrams::greet_far_end(address, &token).unwrap();
    let (mut request, mut response) = (vec![0; size as usize], vec![0; size as usize + 1]);
    let (mut ledger, mut laps) = (Ledger::new(size as usize, size as usize), Laps::new());
    let messages = (&mut request[..], &mut response[..]);
    let pace = Pace { burst, interval_ns: 0 };
    datagrams::request_datagrams(operations, &line, messages, pace, &mut ledger, &mut laps).unwrap();
    datagrams::listen_on(&line, &mut response, &mut ledger).unwrap();
    (ledger.counts, laps)
}

#[test]
fn each_datagram_that_goes_astray_is_counted_as_what_it_was() {
    // A single byte, as netperf sends, and a full number.
    for size in [1, 8] {
        let fate = |number| match number {
            7 => Fate::Dropped,
            20 => Fate::Unanswered,
            40 => Fate::Held,
            number if number % 10 == 5 => Fate::Doubled,
            _ => Fate::Delivered,
        };
        let began = Instant::now();
        let (counts, laps) = run(size, 60, 1, fate);
        let expected = Counts { lost: 2, late: 1, duplicated: 6, reordered: 0, stray: 0 };
        assert_eq!(counts, expected, "{size} bytes");
        assert_eq!(laps.operations(), 57);
        // The waits in vain are not part of the time that a rate is read from.
        let in_vain = 3 * GIVEN_UP_AFTER;
        assert!(u128::from(laps.elapsed_ns()) <= (began.elapsed() - in_vain).as_nanos());
    }
}

#[test]
fn answers_in_another_order_are_all_taken_and_counted() {
    for size in [1, 8] {
        let fate = |number| if number % 10 == 4 { Fate::Swapped } else { Fate::Delivered };
        let (counts, laps) = run(size, 200, 8, fate);
        assert_eq!(counts, Counts { reordered: 20, ..Counts::default() }, "{size} bytes");
        assert_eq!(laps.operations(), 200);
    }
}

#[test]
fn a_loss_among_many_in_flight_holds_nobody_up_for_ever() {
    let (counts, laps) =
        run(
            1,
            2_000,
            8,
            |number| {
                if number == 100 || number == 1_500 { Fate::Dropped } else { Fate::Delivered }
            },
        );
    assert_eq!((counts, laps.operations()), (Counts { lost: 2, ..Counts::default() }, 1_998));
}

#[test]
fn a_way_that_loses_too_much_fails_the_trial() {
    let (address, token) = lossy(1, |_| Fate::Dropped);
    let line = datagrams::greet_far_end(address, &token).unwrap();
    let (mut ledger, mut laps) = (Ledger::new(1, 1), Laps::new());
    let pace = Pace { burst: 64, interval_ns: 0 };
    let messages = (&mut [0][..], &mut [0; 2][..]);
    let failure = datagrams::request_datagrams(1_000, &line, messages, pace, &mut ledger, &mut laps);
    assert!(failure.unwrap_err().reason.starts_with(&format!("more than {MOST_LOST} requests")));
}
