//! netperf's control protocol: any bytes are some message, read the same once written, and refused or taken in bounds.

use std::net::{IpAddr, Ipv4Addr};

use tare_probes::netperf::admission::{LARGEST_TRANSFER, LONGEST_TEST, Length, Test, admit};
use tare_probes::netperf::codec::{MESSAGE_BYTES, Message, OmniRequest, OmniResults, read_and_write};

use crate::target::Target;

pub static TARGET: Target = Target {
    name: "netperf-codec",
    corpus,
    words: &["\0\0\0a", "\0\0\0b", "\0\0\0\u{6}", "\0\0\0\u{11}", "\0\0\0\u{4}", "\0\0\0\u{2}", "netperf\0"],
    run,
};

/// Requests of the five tests, and results.
fn corpus() -> Vec<Vec<u8>> {
    let stock = OmniRequest {
        affinity: -1,
        request_size: 1,
        response_size: 1,
        test_length: 10,
        family: 4,
        socket_type: 1,
        protocol: 6,
        direction: 6,
        ..Default::default()
    };
    let requests = [
        OmniRequest { flags: 4, ..stock.clone() },
        OmniRequest { direction: 4, ..stock.clone() },
        OmniRequest { direction: 2, send_size: 16_384, ..stock.clone() },
        OmniRequest { socket_type: 2, protocol: 17, ..stock.clone() },
        stock,
    ];
    let results = OmniResults { bytes_received: 1 << 40, elapsed_s: 1.5, ..Default::default() };
    requests.iter().map(|request| request.encode().to_vec()).chain([results.encode().to_vec()]).collect()
}

fn run(input: &[u8]) -> Result<String, String> {
    let mut message: Message = [0; MESSAGE_BYTES];
    let length = input.len().min(MESSAGE_BYTES);
    message[..length].copy_from_slice(&input[..length]);
    read_and_write(&message);
    match admit(&OmniRequest::decode(&message), IpAddr::V4(Ipv4Addr::LOCALHOST), LONGEST_TEST) {
        Err(errno) => Ok(format!("refused: {errno:?}")),
        Ok(admitted) => {
            let sizes = match admitted.test {
                Test::StreamRounds { request, response }
                | Test::ConnectionRounds { request, response }
                | Test::DatagramRounds { request, response } => [request, response],
                Test::Receive { size } | Test::Send { size } => [size.unwrap_or(1), 1],
            };
            if sizes.iter().any(|size| !(1..=LARGEST_TRANSFER).contains(&(*size as u64))) {
                return Err(format!("{sizes:?} bytes are taken"));
            }
            match admitted.length {
                Length::Time(time) if time > LONGEST_TEST => Err(format!("{time:?} are taken")),
                _ => Ok(format!("taken: {:?}", std::mem::discriminant(&admitted.test))),
            }
        }
    }
}
