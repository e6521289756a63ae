//! A request: read within a bound of bytes and time, checked for where it came through, and nothing but GET.

use std::io::{self, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use httparse::{EMPTY_HEADER, Request};

/// Longest head of a request. A browser's is below 2 KiB.
const LONGEST_HEAD: usize = 8 << 10;
/// Most headers of a request. A browser sends about twenty.
const MOST_HEADERS: usize = 64;
/// A head has to arrive in this time: bytes that trickle in do not keep a thread.
pub const HEAD_DEADLINE: Duration = Duration::from_secs(5);

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No HTTP, or a head that is too long.
    Malformed,
    /// The head did not arrive in time.
    TooSlow,
    /// The address was reached under a name that is not its own: another site's script may hold that name.
    ForeignHost,
    /// Anything but GET.
    OtherMethod,
    /// The path has not the token, or names nothing.
    NotFound,
    /// Too many connections at once.
    Busy,
    /// The page cannot be made.
    Broken,
}

impl Refusal {
    /// The status line's code and reason.
    pub fn status(self) -> &'static str {
        match self {
            Refusal::Malformed => "400 Bad Request",
            Refusal::TooSlow => "408 Request Timeout",
            Refusal::ForeignHost => "403 Forbidden",
            Refusal::OtherMethod => "405 Method Not Allowed",
            Refusal::NotFound => "404 Not Found",
            Refusal::Busy => "503 Service Unavailable",
            Refusal::Broken => "500 Internal Server Error",
        }
    }
}

/// What can be requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requested {
    /// The page, with what is in the record now.
    Page,
    /// Progress as server-sent events.
    Events,
}

/// Reads the head of a request. What follows it is never read: a GET has no body.
pub fn read_head(stream: &mut TcpStream) -> Result<Vec<u8>, Refusal> {
    let until = Instant::now() + HEAD_DEADLINE;
    let mut head = Vec::new();
    let mut part = [0; 1024];
    while !is_whole(&head)? {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Refusal::TooSlow);
        }
        stream.set_read_timeout(Some(left)).map_err(|_| Refusal::Malformed)?;
        match stream.read(&mut part) {
            Ok(0) => return Err(Refusal::Malformed),
            Ok(read) if head.len() + read > LONGEST_HEAD => return Err(Refusal::Malformed),
            Ok(read) => head.extend_from_slice(&part[..read]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                return Err(Refusal::TooSlow);
            }
            Err(_) => return Err(Refusal::Malformed),
        }
    }
    Ok(head)
}

fn is_whole(head: &[u8]) -> Result<bool, Refusal> {
    let mut headers = [EMPTY_HEADER; MOST_HEADERS];
    let parsed = Request::new(&mut headers).parse(head).map_err(|_| Refusal::Malformed)?;
    Ok(parsed.is_complete())
}

/// What a head requests, if it may: the host is checked first, so that a foreign one learns nothing more.
pub fn requested(head: &[u8], port: u16, token: &str) -> Result<Requested, Refusal> {
    let mut headers = [EMPTY_HEADER; MOST_HEADERS];
    let mut request = Request::new(&mut headers);
    if !request.parse(head).is_ok_and(|parsed| parsed.is_complete()) {
        return Err(Refusal::Malformed);
    }
    let hosts = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("host"));
    let mut hosts = hosts.map(|header| std::str::from_utf8(header.value).unwrap_or_default());
    match (hosts.next(), hosts.next()) {
        (Some(host), None) if is_own(host, port) => {}
        _ => return Err(Refusal::ForeignHost),
    }
    if request.method != Some("GET") {
        return Err(Refusal::OtherMethod);
    }
    let path = request.path.and_then(|path| path.strip_prefix('/')).ok_or(Refusal::Malformed)?;
    let (first, rest) = path.split_once('/').ok_or(Refusal::NotFound)?;
    if !is_same(first.as_bytes(), token.as_bytes()) {
        return Err(Refusal::NotFound);
    }
    match rest {
        "" => Ok(Requested::Page),
        "events" => Ok(Requested::Events),
        _ => Err(Refusal::NotFound),
    }
}

/// Whether a browser that names this host reached us under a name that no other site can have.
fn is_own(host: &str, port: u16) -> bool {
    host == format!("127.0.0.1:{port}") || host.eq_ignore_ascii_case(&format!("localhost:{port}"))
}

/// Whether two texts are the same, in a time that does not depend on where they differ.
fn is_same(given: &[u8], token: &[u8]) -> bool {
    // The length of a token is public.
    given.len() == token.len()
        && std::hint::black_box(given.iter().zip(token).fold(0, |differ, (a, b)| differ | (a ^ b))) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    fn head(line: &str, host: &str) -> Vec<u8> {
        format!("{line}\r\nHost: {host}\r\nAccept: */*\r\n\r\n").into_bytes()
    }

    fn asks(line: &str, host: &str) -> Result<Requested, Refusal> {
        requested(&head(line, host), 4711, TOKEN)
    }

    #[test]
    fn the_token_and_the_own_host_open_the_page() {
        assert_eq!(asks(&format!("GET /{TOKEN}/ HTTP/1.1"), "127.0.0.1:4711"), Ok(Requested::Page));
        assert_eq!(asks(&format!("GET /{TOKEN}/events HTTP/1.1"), "LOCALHOST:4711"), Ok(Requested::Events));
    }

    #[test]
    fn everything_else_is_refused_by_its_reason() {
        let page = format!("GET /{TOKEN}/ HTTP/1.1");
        for host in ["evil.example:4711", "127.0.0.1", "127.0.0.1:4712", "", "127.0.0.1:4711.evil.example"] {
            assert_eq!(asks(&page, host), Err(Refusal::ForeignHost), "{host}");
        }
        for method in ["POST", "HEAD", "PUT", "DELETE", "OPTIONS", "get"] {
            let line = format!("{method} /{TOKEN}/ HTTP/1.1");
            assert_eq!(asks(&line, "127.0.0.1:4711"), Err(Refusal::OtherMethod), "{method}");
        }
        let changed = TOKEN.replace('f', "e");
        let paths =
            ["/", "/events", "//", &format!("/{changed}/"), &format!("/{TOKEN}"), &format!("/{TOKEN}0/")];
        for path in paths {
            assert_eq!(
                asks(&format!("GET {path} HTTP/1.1"), "127.0.0.1:4711"),
                Err(Refusal::NotFound),
                "{path}"
            );
        }
        assert_eq!(asks(&format!("GET /{TOKEN}/../x HTTP/1.1"), "127.0.0.1:4711"), Err(Refusal::NotFound));
        for line in ["", "GET", "GET / FTP/1.0", "GET  / HTTP/1.1", "GET / HTTP/1.1 x"] {
            assert_eq!(asks(line, "127.0.0.1:4711"), Err(Refusal::Malformed), "{line}");
        }
    }

    #[test]
    fn a_request_names_one_host() {
        let two = format!("GET /{TOKEN}/ HTTP/1.1\r\nHost: 127.0.0.1:4711\r\nHost: evil.example\r\n\r\n");
        assert_eq!(requested(two.as_bytes(), 4711, TOKEN), Err(Refusal::ForeignHost));
        let none = format!("GET /{TOKEN}/ HTTP/1.1\r\n\r\n");
        assert_eq!(requested(none.as_bytes(), 4711, TOKEN), Err(Refusal::ForeignHost));
        assert_eq!(requested(b"\xff\xfe\r\n\r\n", 4711, TOKEN), Err(Refusal::Malformed));
    }

    #[test]
    fn a_head_is_read_on_until_it_is_whole_or_broken() {
        let whole = head(&format!("GET /{TOKEN}/ HTTP/1.1"), "127.0.0.1:4711");
        for length in 0..whole.len() {
            assert_eq!(is_whole(&whole[..length]), Ok(false), "{length} bytes");
            assert_eq!(requested(&whole[..length], 4711, TOKEN), Err(Refusal::Malformed), "{length} bytes");
        }
        assert_eq!(is_whole(&whole), Ok(true));
        let headers = |number: usize| format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(number));
        assert_eq!(is_whole(headers(MOST_HEADERS).as_bytes()), Ok(true));
        for broken in [headers(MOST_HEADERS + 1), "GET / HTTP/1.1\r\nno header\r\n".to_owned()] {
            assert_eq!(is_whole(broken.as_bytes()), Err(Refusal::Malformed));
        }
    }
}
