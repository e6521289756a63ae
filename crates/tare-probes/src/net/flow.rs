//! A flow: what the two ends of a network trial do with each other, as the near end asks for it.

use serde::{Deserialize, Serialize};
use tare_data::failure::Failure;
use tare_data::names::Parameters;

use crate::harness::trial::broken_failure;

/// Beyond this the socket buffers fill and both ends of a stream wait for each other.
pub(crate) const LARGEST_MESSAGE: u64 = 1 << 16;
/// Payload of the largest IPv4 datagram: 65,535 less headers of 20 and 8.
pub(crate) const LARGEST_DATAGRAM: u64 = 65_507;
/// Limit on requests in flight: half of the numbers that fit into one byte.
pub(crate) const MOST_BURST: u64 = 128;
/// Limit on requests per second: below a microsecond a sleep has no meaning.
pub(crate) const HIGHEST_RATE: u64 = 1_000_000;
/// Largest piece that a one-way flow is written in.
pub(crate) const LARGEST_WRITE: u64 = 1 << 20;
/// Limit on the bytes of one batch of a one-way flow: a header with more is not the near end's.
pub(crate) const LARGEST_BATCH: u64 = 1 << 40;
/// Content of requests. That of responses differs, so that an echo is not taken for a response.
pub(crate) const REQUEST: u8 = b'q';
pub(crate) const RESPONSE: u8 = b'r';
/// Longest name of a congestion control: TCP_CA_NAME_MAX of the kernel, less its end.
const LONGEST_CONGESTION: usize = 15;

/// Agreement of the two ends: everything that the far end has to know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Flow {
    Rounds(Rounds),
    /// A connection per request.
    Connections {
        request: u32,
        response: u32,
    },
    Transfer(Transfer),
    /// Requests and responses with the times at which they passed.
    Hops,
}

/// Requests and responses of fixed sizes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rounds {
    pub transport: Transport,
    /// Bytes.
    pub request: u32,
    /// Bytes.
    pub response: u32,
    /// TCP_NODELAY at both ends.
    pub no_delay: bool,
}

/// Bytes in one direction over one connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    pub direction: Direction,
    /// Bytes of one write.
    pub size: u32,
    /// Name of the congestion control at the sending end; the system's own where none is named.
    pub congestion: Option<String>,
}

/// Bytes of a read at the receiving end, at least: as many as netperf's, and iperf3's unless it is told otherwise.
const LEAST_READ: usize = 128 << 10;

impl Transfer {
    /// Computes the size of an end's buffer: a write of it, or a read.
    pub(crate) fn buffer_bytes(&self, sends: Direction) -> usize {
        let write = self.size as usize;
        if self.direction == sends { write } else { write.max(LEAST_READ) }
    }
}

/// The direction of the bytes, as the near end sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    Send,
    Receive,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    Tcp,
    Udp,
}

impl Flow {
    /// Returns the protocol below it.
    #[cfg(unix)]
    pub(crate) fn transport(&self) -> Transport {
        match self {
            Flow::Rounds(Rounds { transport, .. }) => *transport,
            Flow::Connections { .. } | Flow::Transfer(_) => Transport::Tcp,
            Flow::Hops => Transport::Udp,
        }
    }

    /// Refuses values that are out of bounds. A far end checks before it allocates anything.
    pub fn check_bounds(&self) -> Result<(), String> {
        let message = |request: u32, response: u32, largest: u64| {
            let fits = |bytes: u32| (1..=largest).contains(&u64::from(bytes));
            if fits(request) && fits(response) {
                Ok(())
            } else {
                Err(format!("request and response are 1 to {largest} bytes"))
            }
        };
        match self {
            Flow::Hops => Ok(()),
            Flow::Rounds(Rounds { transport: Transport::Tcp, request, response, .. })
            | Flow::Connections { request, response } => message(*request, *response, LARGEST_MESSAGE),
            Flow::Rounds(Rounds { transport: Transport::Udp, request, response, .. }) => {
                message(*request, *response, LARGEST_DATAGRAM)?;
                if response > request {
                    return Err("over UDP a response is never longer than its request".into());
                }
                Ok(())
            }
            Flow::Transfer(Transfer { size, congestion, .. }) => {
                if !(1..=LARGEST_WRITE).contains(&u64::from(*size)) {
                    return Err(format!("a write is 1 to {LARGEST_WRITE} bytes"));
                }
                let plain = |name: &String| {
                    name.len() <= LONGEST_CONGESTION
                        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
                };
                match congestion.as_ref().filter(|name| !plain(name)) {
                    Some(_) => Err("that is not the name of a congestion control".into()),
                    None => Ok(()),
                }
            }
        }
    }

    /// Checks like [`Flow::check_bounds`], and fails as a trial does.
    pub(crate) fn into_checked(self) -> Result<Self, Failure> {
        self.check_bounds().map_err(|reason| broken_failure("parameters", reason)).map(|()| self)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Requests in flight at most.
    pub burst: u64,
    /// From one intended send to the next; 0 in a closed loop, where a response brings the next request.
    pub interval_ns: u64,
}

impl Pace {
    pub(crate) fn from_parameters(parameters: &Parameters) -> Result<Pace, Failure> {
        let (burst, rate) = (parameters.get_integer("burst")?, parameters.get_integer("rate")?);
        if !(1..=MOST_BURST).contains(&burst) {
            return Err(broken_failure("burst", format!("{burst} is not 1 to {MOST_BURST}")));
        }
        if rate > HIGHEST_RATE {
            return Err(broken_failure("rate", format!("{rate} is more than {HIGHEST_RATE} a second")));
        }
        if rate > 0 && burst > 1 {
            return Err(broken_failure("rate", "a fixed rate has one request in flight; leave burst at 1"));
        }
        Ok(Pace { burst, interval_ns: 1_000_000_000u64.checked_div(rate).unwrap_or(0) })
    }

    /// Waits for the start of request `index` in a schedule that began at `first_ns`, at a fixed rate, and
    /// returns that time.
    #[inline(always)]
    pub fn start_ns(&self, first_ns: u64, index: u64) -> u64 {
        let now_ns = crate::harness::stopwatch::now_ns();
        if self.interval_ns == 0 {
            return now_ns;
        }
        let intended_ns = first_ns + index * self.interval_ns;
        if now_ns < intended_ns {
            // Woken early by a signal, the request goes out early; its time still counts from the intended one.
            let _ = crate::harness::syscall::sleep_until(intended_ns);
        }
        intended_ns
    }
}

/// Starts of the requests in flight, by their numbers.
pub struct Starts([u64; MOST_BURST as usize]);

impl Starts {
    pub fn new() -> Self {
        Starts([0; MOST_BURST as usize])
    }

    #[inline(always)]
    pub fn set(&mut self, number: u64, started_ns: u64) {
        self.0[(number % MOST_BURST) as usize] = started_ns;
    }

    #[inline(always)]
    pub fn get(&self, number: u64) -> u64 {
        self.0[(number % MOST_BURST) as usize]
    }
}

impl Default for Starts {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(transport: Transport, request: u32, response: u32) -> Flow {
        Flow::Rounds(Rounds { transport, request, response, no_delay: false })
    }

    #[test]
    fn what_is_out_of_bounds_is_refused() {
        assert!(rounds(Transport::Tcp, 1, 1 << 16).check_bounds().is_ok());
        assert!(rounds(Transport::Tcp, 1, (1 << 16) + 1).check_bounds().is_err());
        assert!(rounds(Transport::Tcp, 0, 1).check_bounds().is_err());
        assert!(rounds(Transport::Udp, 100, 100).check_bounds().is_ok());
        assert!(rounds(Transport::Udp, 100, 101).check_bounds().is_err());
        let transfer = |size, congestion: &str| {
            let congestion = Some(congestion.to_owned());
            Flow::Transfer(Transfer { direction: Direction::Send, size, congestion }).check_bounds()
        };
        assert!(transfer(1 << 20, "cubic").is_ok());
        assert!(transfer((1 << 20) + 1, "cubic").is_err());
        assert!(transfer(1, "../../etc").is_err());
    }

    #[test]
    fn a_paced_request_counts_from_the_intended_time() {
        let pace = Pace { burst: 1, interval_ns: 10 };
        // Long past: nothing is waited for.
        assert_eq!(pace.start_ns(1_000, 7), 1_070);
    }
}
