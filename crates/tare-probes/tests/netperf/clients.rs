//! A stock netperf against tare's server: five tests, repeated, in other sizes, without delay, over IPv6.

use std::net::IpAddr;
use std::path::Path;
use std::process::{Command, Output};

use crate::stand::{Served, V4, V6, number, run, stock};

const TESTS: [&str; 5] = ["TCP_RR", "UDP_RR", "TCP_CRR", "TCP_STREAM", "TCP_MAERTS"];
const KEYS: &str = "THROUGHPUT,ELAPSED_TIME,LOCAL_BYTES_SENT,LOCAL_BYTES_RECVD,REMOTE_BYTES_SENT,REMOTE_BYTES_RECVD,\
                    REMOTE_RECV_CALLS,LOCAL_SEND_CALLS";

fn netperf(program: &Path, served: &Served, before: &[&str], after: &[&str]) -> Output {
    let mut command = Command::new(program);
    command.arg("-H").arg(served.address.ip().to_string());
    command.arg("-p").arg(served.address.port().to_string());
    command.args(before).arg("--").args(after).args(["-k", KEYS]);
    let output = run(&mut command);
    assert!(output.status.success(), "{before:?} {after:?}: {output:?}");
    output
}

/// netperf's own write is not counted when its alarm cuts it short: that many bytes may arrive uncounted.
const LARGEST_WRITE: f64 = (1 << 18) as f64;

/// What one side sent is what the other received.
fn hold_bytes(output: &Output, what: &str) {
    let bytes = |name| number(output, name);
    let (sent, arrived) = (bytes("LOCAL_BYTES_SENT"), bytes("REMOTE_BYTES_RECVD"));
    let uncounted = if what == "TCP_STREAM" { LARGEST_WRITE } else { 1.0 };
    assert!((sent..sent + uncounted).contains(&arrived), "{what}: {sent} bytes sent, {arrived} arrived");
    assert!(sent + bytes("REMOTE_BYTES_SENT") > 0.0, "{what} moved nothing");
}

fn every_test(here: IpAddr, length: &[&str], stream_length: &[&str], after: &[&str], name: &str) {
    let Some(program) = stock("netperf", name) else { return };
    let served = Served::at(here);
    for test in TESTS {
        let is_stream = matches!(test, "TCP_STREAM" | "TCP_MAERTS");
        let length = if is_stream { stream_length } else { length };
        let mut before = vec!["-t", test];
        before.extend(length);
        let output = netperf(&program, &served, &before, if is_stream { &[] } else { after });
        hold_bytes(&output, test);
        if length.contains(&"-300") {
            let size = if after.is_empty() { 1.0 } else { 100.0 };
            assert_eq!(number(&output, "LOCAL_BYTES_SENT"), 300.0 * size, "{test}");
        }
    }
}

#[test]
fn a_stock_netperf_counts_transactions_and_bytes() {
    every_test(V4, &["-l", "-300"], &["-l", "-1000000"], &[], "netperf.counts");
}

#[test]
fn a_stock_netperf_runs_for_a_time() {
    every_test(V4, &["-l", "1"], &["-l", "1"], &[], "netperf.time");
}

#[test]
fn a_stock_netperf_may_ask_for_other_sizes_and_no_delay() {
    every_test(V4, &["-l", "-300"], &["-l", "-1000000"], &["-r", "100,200", "-D"], "netperf.sizes");
}

#[test]
fn a_stock_netperf_comes_over_ipv6() {
    every_test(V6, &["-l", "-300"], &["-l", "-1000000"], &[], "netperf.ipv6");
}

#[test]
fn a_stock_netperf_repeats_tests_over_one_control_connection() {
    let Some(program) = stock("netperf", "netperf.repeated") else { return };
    let served = Served::at(V4);
    for test in TESTS {
        let length = if matches!(test, "TCP_STREAM" | "TCP_MAERTS") { "-200000" } else { "-200" };
        // Whether three runs agree closely enough is netperf's business; that all three ran is ours.
        let output = netperf(&program, &served, &["-t", test, "-i", "3,3", "-l", length], &[]);
        assert!(number(&output, "THROUGHPUT") > 0.0, "{test}");
    }
}
