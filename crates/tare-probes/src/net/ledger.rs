//! The ledger of numbered requests: which were answered, lost, answered late, twice or out of order.

/// Requests that are remembered; what comes for an older one counts as late.
const REMEMBERED: u64 = 4096;
/// A trial gives up when more requests than this were lost: each waits for [`super::datagrams::GIVEN_UP_AFTER`].
pub const MOST_LOST: u64 = 40;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Answered,
    Lost,
}

/// Numbers requests and matches answers to them.
///
/// A request begins with its number, little-endian, in as many bytes as both messages have, eight at most; an
/// answer begins with the complement of those bytes. So one byte each way, as netperf sends, holds the number
/// modulo 256: the form on the wire is netperf's, and still no answer is taken for another request's.
pub struct Ledger {
    width: usize,
    response: usize,
    is_numbered: bool,
    next: u64,
    /// Lowest number that may still be waited for.
    oldest: u64,
    highest_answered: Option<u64>,
    states: Box<[State; REMEMBERED as usize]>,
    pub counts: Counts,
}

/// Requests that were not answered in time and in order, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub lost: u64,
    /// Answered after they had been given up.
    pub late: u64,
    /// Answers that came again.
    pub duplicated: u64,
    /// Answers that came after the answer to a later request.
    pub reordered: u64,
    /// Datagrams that answer nothing that was sent.
    pub stray: u64,
}

impl Ledger {
    pub fn new(request: usize, response: usize) -> Self {
        Ledger {
            width: request.min(response).min(8),
            response,
            is_numbered: true,
            next: 0,
            oldest: 0,
            highest_answered: None,
            states: Box::new([State::Answered; REMEMBERED as usize]),
            counts: Counts::default(),
        }
    }

    /// Creates a ledger for a peer that answers without a number, as netserver: an answer counts for the
    /// oldest waiting request. A late one cannot be distinguished from the next, which is why a trial with a
    /// loss in it is reported.
    #[cfg_attr(windows, expect(dead_code, reason = "netserver is not reached from there"))]
    pub(crate) fn new_unnumbered(request: usize, response: usize) -> Self {
        Ledger { is_numbered: false, ..Ledger::new(request, response) }
    }

    /// Writes the next number into a request, and returns it.
    #[inline(always)]
    pub(crate) fn number_request(&mut self, request: &mut [u8]) -> u64 {
        let number = self.next;
        request[..self.width].copy_from_slice(&number.to_le_bytes()[..self.width]);
        self.states[(number % REMEMBERED) as usize] = State::Waiting;
        self.next += 1;
        number
    }

    /// Finds the request that this datagram answers, by its number, if one waits for it.
    #[inline(always)]
    pub(crate) fn match_answer(&mut self, datagram: &[u8]) -> Option<u64> {
        if datagram.len() != self.response {
            self.counts.stray += 1;
            return None;
        }
        if !self.is_numbered {
            return self.arrived_unnumbered();
        }
        let mut bytes = [0; 8];
        bytes[..self.width].copy_from_slice(&datagram[..self.width]);
        let mask = u64::MAX >> (64 - 8 * self.width as u32);
        let written = !u64::from_le_bytes(bytes) & mask;
        // The latest number that ends in these bytes.
        let back = self.next.wrapping_sub(1).wrapping_sub(written) & mask;
        let Some(number) = self.next.checked_sub(1).and_then(|last| last.checked_sub(back)) else {
            self.counts.stray += 1;
            return None;
        };
        if self.next - number > REMEMBERED {
            self.counts.late += 1;
            self.counts.lost = self.counts.lost.saturating_sub(1);
            return None;
        }
        let state = &mut self.states[(number % REMEMBERED) as usize];
        match std::mem::replace(state, State::Answered) {
            State::Waiting => {
                if self.highest_answered.is_some_and(|highest| number < highest) {
                    self.counts.reordered += 1;
                }
                self.highest_answered = self.highest_answered.max(Some(number));
                Some(number)
            }
            State::Lost => {
                self.counts.lost -= 1;
                self.counts.late += 1;
                None
            }
            State::Answered => {
                self.counts.duplicated += 1;
                None
            }
        }
    }

    fn arrived_unnumbered(&mut self) -> Option<u64> {
        match self.oldest_waiting() {
            Some(number) => {
                self.states[(number % REMEMBERED) as usize] = State::Answered;
                Some(number)
            }
            None => {
                self.counts.duplicated += 1;
                None
            }
        }
    }

    #[inline(always)]
    pub(crate) fn oldest_waiting(&mut self) -> Option<u64> {
        while self.oldest < self.next {
            if self.states[(self.oldest % REMEMBERED) as usize] == State::Waiting {
                return Some(self.oldest);
            }
            self.oldest += 1;
        }
        None
    }

    /// Gives the oldest request up; false when none waits.
    pub(crate) fn give_up(&mut self) -> bool {
        let Some(number) = self.oldest_waiting() else { return false };
        self.states[(number % REMEMBERED) as usize] = State::Lost;
        self.counts.lost += 1;
        true
    }
}

/// Writes the answer to a request over the beginning of a response: the complement of the number's bytes.
#[inline(always)]
pub(crate) fn write_answer(request: &[u8], response: &mut [u8]) {
    for (to, from) in response.iter_mut().zip(request).take(8) {
        *to = !from;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds the answer to a request, as the far end does.
    fn answered(request: &[u8], response: usize) -> Vec<u8> {
        let mut bytes = vec![0; response];
        write_answer(request, &mut bytes);
        bytes
    }

    #[test]
    fn every_fate_of_a_request_is_counted_in_every_width() {
        for size in [1, 2, 7, 8, 100] {
            let mut ledger = Ledger::new(size, size);
            let mut request = vec![0u8; size];
            // Numbers that have gone round one byte.
            for _ in 0..300 {
                let number = ledger.number_request(&mut request);
                assert_eq!(ledger.match_answer(&answered(&request, size)), Some(number));
            }
            assert_eq!(ledger.match_answer(&answered(&request, size)), None, "a second answer");
            let first = ledger.number_request(&mut request);
            let held = answered(&request, size);
            let second = ledger.number_request(&mut request);
            assert_eq!(ledger.match_answer(&answered(&request, size)), Some(second));
            assert_eq!(ledger.match_answer(&held), Some(first), "out of order");
            ledger.number_request(&mut request);
            assert!(ledger.give_up() && !ledger.give_up());
            let late = answered(&request, size);
            ledger.number_request(&mut request);
            assert!(ledger.give_up());
            assert_eq!(ledger.match_answer(&late), None);
            assert_eq!(ledger.match_answer(&late), None, "late, and again");
            assert_eq!(ledger.match_answer(&[0; 101]), None);
            let expected = Counts { lost: 1, late: 1, duplicated: 2, reordered: 1, stray: 1 };
            assert_eq!(ledger.counts, expected, "{size} bytes");
        }
    }

    #[test]
    fn without_numbers_an_answer_is_for_the_oldest_that_waits() {
        let mut ledger = Ledger::new_unnumbered(1, 1);
        let mut request = [0u8; 1];
        let (first, second) = (ledger.number_request(&mut request), ledger.number_request(&mut request));
        assert_eq!((ledger.match_answer(b"n"), ledger.match_answer(b"n")), (Some(first), Some(second)));
        assert_eq!(ledger.match_answer(b"n"), None, "nothing waits");
        ledger.number_request(&mut request);
        assert!(ledger.give_up());
        assert_eq!(ledger.counts, Counts { lost: 1, duplicated: 1, ..Counts::default() });
    }

    #[test]
    fn an_echo_or_an_answer_to_nothing_is_a_stray() {
        let mut ledger = Ledger::new(8, 8);
        let mut request = [0u8; 8];
        ledger.number_request(&mut request);
        assert_eq!(ledger.match_answer(&request), None, "an echo");
        assert_eq!(ledger.match_answer(&(!5u64).to_le_bytes()), None, "never sent");
        assert_eq!(ledger.counts.stray, 2);
    }
}
