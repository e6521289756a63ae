//! The token of a flow: what proves to the far end that a connection or a datagram belongs to it.

use rustix::rand::{GetRandomFlags, getrandom};
use tare_data::failure::Failure;

use crate::harness::trial::broken_failure;

pub const TOKEN_BYTES: usize = 16;
/// Secret that a data flow shows to be let in: sent to the near end in private, valid for one flow.
pub type Token = [u8; TOKEN_BYTES];

/// Generates bytes that nobody can guess.
pub(crate) fn draw_random_bytes<const N: usize>() -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    match getrandom(&mut bytes, GetRandomFlags::empty()) {
        Ok(got) if got == N => Ok(bytes),
        Ok(_) => Err("the system gave too few random bytes".into()),
        Err(e) => Err(e.to_string()),
    }
}

pub fn fresh_token() -> Result<Token, Failure> {
    draw_random_bytes().map_err(|e| broken_failure("a random token", e))
}

/// Computes the far end's answer to its token: as long, and no echo.
pub fn shown_back(token: &Token) -> Token {
    token.map(|byte| !byte)
}

/// Compares in a time that does not depend on where they differ.
pub(crate) fn is_same_token(one: &Token, other: &Token) -> bool {
    one.iter().zip(other).fold(0, |differing, (a, b)| differing | (a ^ b)) == 0
}
