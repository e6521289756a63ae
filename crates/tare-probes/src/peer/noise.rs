//! The private channel between a peer and its client: a Noise handshake with a shared secret, then sealed messages.
//!
//! A frame is a length of two bytes, big-endian, and as many bytes. The first two frames are the handshake
//! (NNpsk0: each sends a fresh key, both prove the secret); all later ones are sealed JSON.

use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;
use snow::{Builder, HandshakeState, TransportState};
use tare_data::encoding::{encode_hex, hex_bytes};

use crate::net::token::draw_random_bytes;

/// Pattern and primitives; see noiseprotocol.org.
const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_SHA256";
/// Bound into the handshake: bytes of another protocol never pass for this one's.
const PROLOGUE: &[u8] = b"tare peer";
/// Bytes of a handshake message: a public key and the tag of an empty payload.
pub(crate) const HANDSHAKE_BYTES: usize = 48;
/// Bytes of a whole first frame.
pub const FIRST_FRAME: usize = 2 + HANDSHAKE_BYTES;
/// Longest frame without its length; the longest message that is sent is some 300 bytes.
pub const LONGEST_FRAME: usize = 4096;
/// Bytes of the tag on a sealed message.
const TAG: usize = 16;

/// Shared secret of both ends: 32 random bytes, written as 64 hex digits.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret([u8; 32]);

/// Secrets stay out of messages and logs.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    pub fn new_random() -> Result<Secret, String> {
        draw_random_bytes().map(Secret)
    }

    /// Reads 64 hex digits.
    pub fn parse(text: &str) -> Option<Secret> {
        hex_bytes(text).map(Secret)
    }

    pub fn to_hex(&self) -> String {
        encode_hex(&self.0)
    }
}

fn builder(secret: &Secret) -> Result<Builder<'_>, snow::Error> {
    Builder::new(PATTERN.parse()?).prologue(PROLOGUE)?.psk(0, &secret.0)
}

/// The near end's handshake: its first frame, and what turns the answer into a channel.
pub struct Opening(HandshakeState);

impl Opening {
    pub fn new(secret: &Secret) -> Result<(Opening, Vec<u8>), String> {
        let open = || {
            let mut state = builder(secret)?.build_initiator()?;
            let mut bytes = [0; HANDSHAKE_BYTES];
            let length = state.write_message(&[], &mut bytes)?;
            Ok((Opening(state), frame(&bytes[..length])))
        };
        open().map_err(|e: snow::Error| e.to_string())
    }

    /// Takes the body of the far end's answer; none where it does not know the secret.
    pub fn into_channel(mut self, body: &[u8]) -> Option<Channel> {
        let mut nothing = [0; LONGEST_FRAME];
        self.0.read_message(body, &mut nothing).ok()?;
        Some(Channel(self.0.into_transport_mode().ok()?))
    }
}

/// Completes the far end's handshake with the body of a first frame; None for a client that does not know the
/// secret.
pub fn accept_handshake(secret: &Secret, body: &[u8]) -> Option<(Channel, Vec<u8>)> {
    if body.len() != HANDSHAKE_BYTES {
        return None;
    }
    let mut state = builder(secret).ok()?.build_responder().ok()?;
    let mut nothing = [0; HANDSHAKE_BYTES];
    if state.read_message(body, &mut nothing).ok()? != 0 {
        return None;
    }
    let mut bytes = [0; HANDSHAKE_BYTES];
    let length = state.write_message(&[], &mut bytes).ok()?;
    Some((Channel(state.into_transport_mode().ok()?), frame(&bytes[..length])))
}

/// A private channel: seals and opens messages, each once and in order.
pub struct Channel(TransportState);

impl Channel {
    /// Encrypts a message into a frame.
    pub(crate) fn seal_message(&mut self, message: &impl Serialize) -> Option<Vec<u8>> {
        self.seal_bytes(&serde_json::to_vec(message).ok()?)
    }

    /// Encrypts bytes into a frame; None where they are too many for one.
    pub fn seal_bytes(&mut self, plain: &[u8]) -> Option<Vec<u8>> {
        if plain.len() + TAG > LONGEST_FRAME {
            return None;
        }
        let mut sealed = vec![0; plain.len() + TAG];
        let length = self.0.write_message(plain, &mut sealed).ok()?;
        Some(frame(&sealed[..length]))
    }

    /// Opens the body of a frame as bytes; none where it was changed, cut, repeated or is not the other end's.
    pub(crate) fn open_bytes(&mut self, body: &[u8]) -> Option<Vec<u8>> {
        let mut plain = vec![0; body.len().min(LONGEST_FRAME)];
        let length = self.0.read_message(body, &mut plain).ok()?;
        plain.truncate(length);
        Some(plain)
    }

    /// Opens the body of a frame as a message.
    pub(crate) fn open_message<T: DeserializeOwned>(&mut self, body: &[u8]) -> Option<T> {
        serde_json::from_slice(&self.open_bytes(body)?).ok()
    }
}

/// Prepends the length.
fn frame(body: &[u8]) -> Vec<u8> {
    let mut frame = (body.len() as u16).to_be_bytes().to_vec();
    frame.extend_from_slice(body);
    frame
}

/// Bytes that arrive, cut into frames. Holds no more than one frame.
#[derive(Default)]
pub(crate) struct Frames(Vec<u8>);

/// A frame that is longer than any that is sent.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLong;

impl Frames {
    /// Computes how many more bytes may be pushed now, so that nothing after the current frame is held.
    pub fn remaining_room(&self) -> Result<usize, TooLong> {
        match self.0[..] {
            [] => Ok(2),
            [_] => Ok(1),
            [high, low, ref rest @ ..] => {
                let length = usize::from(u16::from_be_bytes([high, low]));
                if length == 0 || length > LONGEST_FRAME { Err(TooLong) } else { Ok(length - rest.len()) }
            }
        }
    }

    /// Takes bytes, no more than there was room for, and returns the body of a frame that they complete.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Option<Vec<u8>>, TooLong> {
        self.0.extend_from_slice(bytes);
        if self.0.len() < 2 || self.remaining_room()? > 0 {
            return Ok(None);
        }
        let mut whole = std::mem::take(&mut self.0);
        Ok(Some(whole.split_off(2)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Channel, Channel) {
        let secret = Secret::new_random().unwrap();
        let (opening, first) = Opening::new(&secret).unwrap();
        assert_eq!(first.len(), FIRST_FRAME);
        let (far, answer) = accept_handshake(&secret, &first[2..]).unwrap();
        (opening.into_channel(&answer[2..]).unwrap(), far)
    }

    #[test]
    fn who_knows_the_secret_gets_a_channel_and_nobody_else_an_answer() {
        let (mut near, mut far) = pair();
        let sealed = near.seal_message(&"hello").unwrap();
        assert_eq!(far.open_message::<String>(&sealed[2..]).as_deref(), Some("hello"));
        assert_eq!(far.open_message::<String>(&sealed[2..]), None, "a message is taken once");

        let (secret, other) = (Secret::new_random().unwrap(), Secret::new_random().unwrap());
        let (opening, first) = Opening::new(&secret).unwrap();
        assert!(accept_handshake(&other, &first[2..]).is_none());
        for at in 2..first.len() {
            assert!(accept_handshake(&secret, &first[2..at]).is_none(), "cut at {at}");
            let mut changed = first.clone();
            changed[at] ^= 1;
            assert!(accept_handshake(&secret, &changed[2..]).is_none(), "changed at {at}");
        }
        let (_, answer) = accept_handshake(&secret, &first[2..]).unwrap();
        let mut changed = answer.clone();
        changed[30] ^= 1;
        assert!(opening.into_channel(&changed[2..]).is_none());
    }

    #[test]
    fn frames_are_cut_out_of_any_pieces_and_hold_no_more() {
        let whole = [frame(b"one"), frame(&[7; LONGEST_FRAME]), frame(b"three")].concat();
        for piece in [1, 2, 3, 1000] {
            let (mut frames, mut at, mut bodies) = (Frames::default(), 0, Vec::new());
            while at < whole.len() {
                let more = frames.remaining_room().unwrap().min(piece).min(whole.len() - at);
                bodies.extend(frames.push(&whole[at..at + more]).unwrap());
                at += more;
            }
            assert_eq!(bodies.len(), 3);
            assert_eq!((&bodies[0][..], &bodies[2][..]), (&b"one"[..], &b"three"[..]));
        }
        let mut frames = Frames::default();
        assert_eq!(frames.push(&[0xff]), Ok(None));
        assert_eq!(frames.push(&[0xff]), Err(TooLong));
        assert_eq!(Frames(vec![0, 0]).remaining_room(), Err(TooLong));
    }

    #[test]
    fn a_secret_is_64_hex_digits() {
        let secret = Secret::new_random().unwrap();
        assert_eq!(Secret::parse(&secret.to_hex()), Some(secret.clone()));
        assert_eq!(Secret::parse(&secret.to_hex()[1..]), None);
        assert_eq!(Secret::parse(&"é".repeat(32)), None);
        assert_eq!(format!("{secret:?}"), "Secret");
    }
}
