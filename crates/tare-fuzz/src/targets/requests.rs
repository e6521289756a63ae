//! Requests of the page server: nothing but the token and the server's own host opens the page.

// The program has no library: its reader of requests is read here as it stands there.
#[allow(dead_code)]
#[path = "../../../tare/src/page_server/request.rs"]
mod request;

use self::request::requested;
use crate::target::Target;

const PORT: u16 = 4711;
const TOKEN: &str = "0123456789abcdef0123456789abcdef";

pub static TARGET: Target = Target {
    name: "requests",
    corpus,
    words: &[
        "GET /0123456789abcdef0123456789abcdef/ HTTP/1.1\r\n",
        "Host: 127.0.0.1:4711\r\n",
        "Host: localhost:4711\r\n",
        "\r\n\r\n",
        "events",
        "..",
        "%2e",
        "HTTP/1.0",
    ],
    run,
};

fn corpus() -> Vec<Vec<u8>> {
    let head =
        |path: &str| format!("GET /{TOKEN}/{path} HTTP/1.1\r\nHost: 127.0.0.1:{PORT}\r\nAccept: */*\r\n\r\n");
    ["", "events", "none"].map(|path| head(path).into_bytes()).into()
}

fn run(input: &[u8]) -> Result<String, String> {
    let contains = |wanted: &[u8]| input.windows(wanted.len()).any(|part| part.eq_ignore_ascii_case(wanted));
    match requested(input, PORT, TOKEN) {
        Ok(_) if !contains(TOKEN.as_bytes()) => Err("the page is opened without the token".into()),
        Ok(_) if !contains(b"127.0.0.1:4711") && !contains(b"localhost:4711") => {
            Err("the page is opened under another host's name".into())
        }
        answer => Ok(format!("{answer:?}")),
    }
}
