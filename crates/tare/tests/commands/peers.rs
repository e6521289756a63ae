//! Peers: `tare serve`, `--peer`, and places where a secret must not appear.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use crate::program::Program;

/// A peer that was started by hand.
struct Served {
    child: Child,
    peer: String,
}

impl Served {
    fn start(program: &Program, more: &[&str]) -> Served {
        let listen = ["serve", "--listen", "127.0.0.1:0", "--expires", "10m"];
        let mut command = program.tare_command(&[&listen, more].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let line = lines.find(|line| line.contains("--peer ")).unwrap();
        let peer = line.split("--peer ").nth(1).unwrap().trim_matches('\'').to_owned();
        Served { child, peer }
    }

    fn secret(&self) -> &str {
        self.peer.split_once('#').unwrap().1
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_session_measures_at_each_peer_and_its_record_holds_no_secret() {
    let program = Program::new();
    let served = Served::start(&program, &[]);
    let peers = ["--peer", &served.peer, "--peer", "host", "--peer", "loopback"];
    let run =
        ["run", "--only", "net.rr*tcp*", "--in", "native", "--rounds", "2", "--record", "r.tare", "--json"];
    let said = program.run_tare(&[&run[..], &peers].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    let rows = said.parse_json()["rows"].as_array().unwrap().clone();
    let headlines: Vec<&str> =
        rows.iter().filter(|row| row["headline"] == true).filter_map(|row| row["peer"].as_str()).collect();
    let named = served.peer.split_once("/#").unwrap().0;
    assert_eq!(headlines, [named, "host", "loopback"], "{said:?}");
    let record = std::fs::read_to_string(program.path("r.tare")).unwrap();
    assert!(record.contains("peer.host") && record.contains(&format!("{named}/#...")));
    for text in [&record, &said.out, &said.err] {
        assert!(!text.contains(served.secret()), "the secret is shown");
    }
    assert!(program.list_remains().is_empty() && program.list_processes().is_empty());
}

/// Environments whose networks publish a port in each of the ways, as far as this machine has them.
const PUBLISHING: &str = "container?net=host,container?net=veth,container?net=nat,container?net=pasta";

#[test]
fn a_peer_outside_comes_to_every_port_that_is_published() {
    let program = Program::new();
    let ready = program.run_tare(&["check", "--in", PUBLISHING]);
    if ready.code != Some(0) {
        println!("SKIPPED a_peer_outside_comes_to_every_port_that_is_published: {}", ready.out);
        return;
    }
    let run =
        ["run", "inbound", "--hops", "--rounds", "2", "--record", "p.tare", "--json", "--in", PUBLISHING];
    let said = program.run_tare(&run);
    assert_eq!(said.code, Some(0), "{said:?}");
    let rows = said.parse_json()["rows"].as_array().unwrap().clone();
    let inwards: Vec<_> =
        rows.iter().filter(|row| row["peer"] == "published" && row["headline"] == true).collect();
    assert_eq!(inwards.len(), 5, "TCP, UDP, both directions of a stream, and hops");
    for row in inwards {
        for cell in row["cells"].as_array().unwrap() {
            assert!(cell["comparison"]["slowdown"].as_f64().is_some_and(|ratio| ratio > 0.0), "{row:#}");
        }
    }
    let none =
        ["run", "inbound", "--rounds", "1", "--record", "n.tare", "--json", "--in", "container?net=own"];
    let said = program.run_tare(&none);
    assert_eq!(said.code, Some(3), "{said:?}");
    assert!(said.err.contains("this environment does not reach the peer 'published'"), "{said:?}");
    assert!(program.list_remains().is_empty() && program.list_processes().is_empty());
}

#[test]
fn a_peer_for_one_session_ends_with_it_and_has_a_role() {
    let program = Program::new();
    let mut served = Served::start(&program, &["--sessions", "1"]);
    let peer = format!("node={}", served.peer);
    let run =
        ["run", "--only", "net.rr*tcp*", "--in", "native", "--rounds", "2", "--record", "r.tare", "--json"];
    let said = program.run_tare(&[&run[..], &["--peer", &peer]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    let ended = served.child.wait().unwrap();
    assert!(ended.success());
    let case = said.parse_json()["rows"][0]["case"].as_str().unwrap().to_owned();
    assert!(case.ends_with("->node"), "{case}");
    let record = std::fs::read_to_string(program.path("r.tare")).unwrap();
    let address = served.peer.split_once("/#").unwrap().0;
    assert!(record.contains(&format!("\"peer.node\":\"{address}\"")), "{record}");
    assert!(!record.contains(served.secret()));
    let again = program.run_tare(&["run", "--resume", "r.tare"]);
    assert!(again.err.contains("node=tare://HOST:PORT/#SECRET"), "{again:?}");
}

#[test]
fn a_secret_in_a_file_is_not_shown_and_must_be_the_users_alone() {
    use std::os::unix::fs::PermissionsExt;
    let program = Program::new();
    let file = program.path("secret");
    let served = Served::start(&program, &["--secret-file", "secret"]);
    let secret = std::fs::read_to_string(&file).unwrap();
    assert!(!served.peer.contains(secret.trim()) && served.peer.ends_with("?secret-file=secret"));
    let check = program.run_tare(&["check", "--peer", &served.peer]);
    assert_eq!(check.code, Some(0), "{check:?}");
    let is_ready =
        |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ").contains(" ready tare ");
    assert!(check.out.lines().any(is_ready), "{}", check.out);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let refused = program.run_tare(&["serve", "--listen", "127.0.0.1:0", "--secret-file", "secret"]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(refused.err.contains("hint: chmod 600"), "{}", refused.err);
}

#[test]
fn what_is_wrong_with_a_peer_is_said_with_its_next_step() {
    let program = Program::new();
    let served = Served::start(&program, &[]);
    let wrong = format!("{}{}", served.peer.split_once('#').unwrap().0, format_args!("#{}", "00".repeat(32)));
    let check = program.run_tare(&["check", "--peer", &wrong, "--json"]);
    assert_eq!(check.code, Some(3), "{check:?}");
    let reason = check.parse_json()["peers"][0]["reason"].to_string();
    assert!(reason.contains("wrong or expired secret"), "{reason}");
    for (peer, hint) in [("tare://h:1", "tare://HOST:PORT/#SECRET"), ("there", "netperf://HOST")] {
        let usage = program.run_tare(&["run", "--peer", peer]);
        assert_eq!(usage.code, Some(2), "{usage:?}");
        assert!(usage.err.contains(hint), "{}", usage.err);
    }
}
