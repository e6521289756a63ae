//! The token of a flow: what proves to the far end that a connection or a datagram belongs to it.

use rustix::rand::{GetRandomFlags, getrandom};
use tare_data::failure::Failure;

use crate::harness::trial::broken;

/// Bytes of a flow's token.
pub const TOKEN_BYTES: usize = 16;
/// What a data flow carries to be let in: sent to the near end in private, valid for one flow.
pub type Token = [u8; TOKEN_BYTES];

/// A token that nobody can guess.
pub fn fresh_token() -> Result<Token, Failure> {
    let mut token = [0; TOKEN_BYTES];
    match getrandom(&mut token, GetRandomFlags::empty()) {
        Ok(TOKEN_BYTES) => Ok(token),
        Ok(_) => Err(broken("a random token", "the system gave too few bytes")),
        Err(e) => Err(broken("a random token", e)),
    }
}

/// What a far end answers to its token: as long, and no echo.
pub fn shown_back(token: &Token) -> Token {
    token.map(|byte| !byte)
}

/// Compares in a time that does not depend on where they differ.
pub fn same(one: &Token, other: &Token) -> bool {
    one.iter().zip(other).fold(0, |differing, (a, b)| differing | (a ^ b)) == 0
}
