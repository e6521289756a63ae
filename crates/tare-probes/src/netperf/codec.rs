//! The control protocol of netperf 2.7 as bytes: messages of 656 bytes, with one layout for each kind.
//!
//! A message is 164 words, big-endian, and states neither its kind (except in its first word) nor the version
//! that wrote it. The first word is the kind. The second is the server's processor in a request, and an errno
//! in a response. The words of the kind follow, and then raw strings. MessageReader never fails: any 656
//! bytes are some message, and the reader has to check whether it makes sense.

/// Bytes of every message.
pub const MESSAGE_BYTES: usize = 656;
pub type Message = [u8; MESSAGE_BYTES];

/// Kinds of messages.
pub(crate) const DO_OMNI: i32 = 97;
pub(crate) const OMNI_RESPONSE: i32 = 98;
/// The kind of a message with results, which netserver swaps twice; it is not checked.
const OMNI_RESULTS: i32 = 0x6200_0000;

/// Flags of a request.
pub(crate) const NO_DELAY: i32 = 1;
/// A connection a transaction.
pub const CONNECT_TEST: i32 = 4;
/// Packets may be routed; sent by default, and without meaning for the server.
pub(crate) const ROUTING_ALLOWED: i32 = 0x20;

/// Directions, as the server sees them.
pub const TRANSMIT: i32 = 2;
pub const RECEIVE: i32 = 4;
pub(crate) const BOTH: i32 = TRANSMIT | RECEIVE;

pub(crate) const STREAM: i32 = 1;
pub const DATAGRAM: i32 = 2;
/// Protocols, by their IP numbers.
pub(crate) const TCP: i32 = 6;
pub(crate) const UDP: i32 = 17;
/// Address families, in netperf's own numbering.
pub(crate) const IPV4: i32 = 4;
pub(crate) const IPV6: i32 = 6;

/// Reads the first word of a message.
pub(crate) fn read_message_kind(message: &Message) -> i32 {
    word(message, 0)
}

fn word(message: &Message, at: usize) -> i32 {
    let bytes = message.get(4 * at..4 * at + 4).and_then(|bytes| bytes.try_into().ok());
    bytes.map_or(0, i32::from_be_bytes)
}

/// A value of one or more words.
trait Words: Sized {
    fn write(&self, out: &mut MessageWriter<'_>);
    fn read(cursor: &mut MessageReader<'_>) -> Self;
}

struct MessageWriter<'m> {
    message: &'m mut Message,
    at: usize,
}

struct MessageReader<'m> {
    message: &'m Message,
    at: usize,
}

impl Words for i32 {
    fn write(&self, out: &mut MessageWriter<'_>) {
        if let Some(bytes) = out.message.get_mut(out.at..out.at + 4) {
            bytes.copy_from_slice(&self.to_be_bytes());
        }
        out.at += 4;
    }

    fn read(cursor: &mut MessageReader<'_>) -> i32 {
        let value = word(cursor.message, cursor.at / 4);
        cursor.at += 4;
        value
    }
}

/// The high half first.
impl Words for u64 {
    fn write(&self, out: &mut MessageWriter<'_>) {
        ((self >> 32) as i32).write(out);
        (*self as i32).write(out);
    }

    fn read(cursor: &mut MessageReader<'_>) -> u64 {
        let high = i32::read(cursor) as u32;
        u64::from(high) << 32 | u64::from(i32::read(cursor) as u32)
    }
}

impl Words for [i32; 4] {
    fn write(&self, out: &mut MessageWriter<'_>) {
        self.iter().for_each(|word| word.write(out));
    }

    fn read(cursor: &mut MessageReader<'_>) -> [i32; 4] {
        std::array::from_fn(|_| i32::read(cursor))
    }
}

/// A string in a fixed number of bytes, ended by a zero unless it fills them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text<const BYTES: usize>(Vec<u8>);

impl<const BYTES: usize> Text<BYTES> {
    /// Creates a text, truncated if it is too long.
    pub fn new(text: &str) -> Self {
        let bytes = text.bytes().take_while(|byte| *byte != 0).take(BYTES);
        Text(bytes.collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Converts to a string, with invalid bytes replaced.
    pub fn to_string_lossy(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

impl<const BYTES: usize> Words for Text<BYTES> {
    fn write(&self, out: &mut MessageWriter<'_>) {
        if let Some(bytes) = out.message.get_mut(out.at..out.at + self.0.len().min(BYTES)) {
            bytes.copy_from_slice(&self.0[..bytes.len()]);
        }
        out.at += BYTES;
    }

    fn read(cursor: &mut MessageReader<'_>) -> Self {
        let bytes = cursor.message.get(cursor.at..cursor.at + BYTES).unwrap_or_default();
        cursor.at += BYTES;
        Text(bytes.iter().copied().take_while(|byte| *byte != 0).collect())
    }
}

/// Defines a struct whose fields are the words of a message from the second one on, in order.
macro_rules! layout {
    (
        $kind:expr;
        $(#[$about:meta])*
        pub struct $name:ident { $($(#[$doc:meta])* pub $field:ident: $type:ty,)* }
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name { $($(#[$doc])* pub $field: $type,)* }

        impl $name {
            /// Encodes the words as a message.
            pub fn encode(&self) -> Message {
                let mut message = [0; MESSAGE_BYTES];
                let mut cursor = MessageWriter { message: &mut message, at: 0 };
                let kind: i32 = $kind;
                kind.write(&mut cursor);
                $(self.$field.write(&mut cursor);)*
                message
            }

            /// Decodes the words of a message, whatever its kind.
            pub fn decode(message: &Message) -> Self {
                let mut cursor = MessageReader { message, at: 4 };
                $(let $field = Words::read(&mut cursor);)*
                $name { $($field),* }
            }
        }
    };
}

layout! {
    DO_OMNI;
    /// Request for one test. Sizes are in bytes, and -1 means the default.
    pub struct OmniRequest {
        /// Processor for the server, or -1 for any.
        pub affinity: i32,
        pub send_buffer: i32,
        pub send_size: i32,
        pub send_alignment: i32,
        pub send_offset: i32,
        /// Number of buffers to send from in turn.
        pub send_width: i32,
        pub request_size: i32,
        pub receive_buffer: i32,
        pub receive_size: i32,
        pub receive_alignment: i32,
        pub receive_offset: i32,
        pub receive_width: i32,
        pub response_size: i32,
        /// Flags such as `NO_DELAY`.
        pub flags: i32,
        /// A number with a fraction, 0 unless the server shall measure its processor.
        pub cpu_rate: i32,
        /// Seconds, or if negative the number of transactions or bytes.
        pub test_length: i32,
        pub avoid_receive_copies: i32,
        pub avoid_send_copies: i32,
        pub send_dirty: i32,
        pub receive_dirty: i32,
        pub receive_clean: i32,
        /// Port for the server, or 0 for any.
        pub data_port: i32,
        /// `IPV4` or `IPV6`.
        pub family: i32,
        /// `STREAM` or `DATAGRAM`.
        pub socket_type: i32,
        /// `TCP` or `UDP`.
        pub protocol: i32,
        /// `TRANSMIT`, `RECEIVE` or `BOTH`, as the server sees it.
        pub direction: i32,
        pub client_port: i32,
        pub interval_burst: i32,
        pub interval_usecs: i32,
        pub client_address: [i32; 4],
        /// Address for the server's data, or zeros for any.
        pub server_address: [i32; 4],
        pub socket_priority: i32,
        pub type_of_service: i32,
        pub congestion_control: Text<16>,
        /// A file on the server to send from.
        pub fill_file: Text<32>,
    }
}

layout! {
    OMNI_RESPONSE;
    /// Answer to a request, before data flows, as far as it is read.
    pub struct OmniResponse {
        /// 0, or the reason why the test is refused.
        pub errno: i32,
        pub receive_buffer: i32,
        pub receive_size: i32,
        pub receive_width: i32,
        pub send_buffer: i32,
        pub send_size: i32,
        pub send_width: i32,
        pub flags: i32,
        pub cpu_rate: i32,
        pub test_length: i32,
        pub avoid_receive_copies: i32,
        pub avoid_send_copies: i32,
        pub data_port: i32,
    }
}

layout! {
    OMNI_RESULTS;
    /// Results of a finished test, as far as they are read.
    pub struct OmniResults {
        pub errno: i32,
        pub bytes_received: u64,
        pub receive_calls: i32,
        pub receive_buffer: i32,
        pub bytes_sent: u64,
        pub send_calls: i32,
        pub send_buffer: i32,
        pub failed_sends: i32,
        /// Number of transactions that the server answered.
        pub transactions: i32,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A request of netperf 2.7.0: `-t TCP_RR -l -100`, as it came over the wire.
    fn stock_request() -> Message {
        let words = [
            97, -1, -1, -1, 8, 0, 1, 1, -1, -1, 8, 0, 1, 1, 32, 0, -100, 0, 0, -1, -1, -1, 0, 4, 1, 6, 6,
            36339, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1,
        ];
        let mut message = [0; MESSAGE_BYTES];
        for (at, word) in words.into_iter().enumerate() {
            message[4 * at..4 * at + 4].copy_from_slice(&i32::to_be_bytes(word));
        }
        message
    }

    #[test]
    fn the_words_of_a_stock_request_are_where_they_should_be() {
        let message = stock_request();
        let request = OmniRequest::decode(&message);
        assert_eq!(read_message_kind(&message), DO_OMNI);
        assert_eq!((request.affinity, request.request_size, request.response_size), (-1, 1, 1));
        assert_eq!((request.flags, request.test_length), (ROUTING_ALLOWED, -100));
        assert_eq!((request.family, request.socket_type, request.protocol), (IPV4, STREAM, TCP));
        assert_eq!((request.direction, request.client_port), (BOTH, 36339));
        assert_eq!((request.socket_priority, request.type_of_service), (-1, -1));
        assert!(request.congestion_control.is_empty() && request.fill_file.is_empty());
        assert_eq!(request.encode(), message);
    }

    #[test]
    fn the_counts_of_results_are_where_netserver_puts_them() {
        let mut message = [0; MESSAGE_BYTES];
        message[12..16].copy_from_slice(&100i32.to_be_bytes());
        message[44..48].copy_from_slice(&7i32.to_be_bytes());
        let results = OmniResults::decode(&message);
        assert_eq!((results.bytes_received, results.transactions), (100, 7));
    }

    #[test]
    fn strings_are_cut_and_ended() {
        let request = OmniRequest { fill_file: Text::new(&"x".repeat(99)), ..Default::default() };
        let again = OmniRequest::decode(&request.encode());
        assert_eq!(again.fill_file.to_string_lossy(), "x".repeat(32));
        assert_eq!(Text::<16>::new("cubic\0more").to_string_lossy(), "cubic");
    }

    proptest! {
        #[test]
        fn any_bytes_are_some_message_and_what_is_read_is_what_was_written(
            bytes in proptest::collection::vec(any::<u8>(), MESSAGE_BYTES)
        ) {
            let message: Message = bytes.try_into().unwrap();
            let request = OmniRequest::decode(&message).encode();
            prop_assert_eq!(OmniRequest::decode(&request).encode(), request);
            let response = OmniResponse::decode(&message).encode();
            prop_assert_eq!(OmniResponse::decode(&response).encode(), response);
            let results = OmniResults::decode(&message).encode();
            prop_assert_eq!(OmniResults::decode(&results).encode(), results);
        }
    }

    proptest! {
        #[test]
        fn counts_of_any_size_come_through(received in any::<u64>(), sent in any::<u64>()) {
            let results = OmniResults { bytes_received: received, bytes_sent: sent, ..Default::default() };
            let again = OmniResults::decode(&results.encode());
            prop_assert_eq!((again.bytes_received, again.bytes_sent), (received, sent));
        }
    }
}
