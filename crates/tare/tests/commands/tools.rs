//! Other tools, run briefly and imported: their current formats, not those of an old sample.
//!
//! Network tools use loopback, on a port that is reserved for them.

use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tare_bench::ports::ReservedPort;
use tare_data::imported::Imported;
use tare_import::import_file;
use tare_lab::host::programs::{self, Programs};

/// A tool that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Finds a tool, and prints that the test is skipped if it is not installed.
fn tool(test: &str, name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    let folders = std::env::split_paths(&path).chain(system).collect();
    let found = Programs { folders, ..Default::default() }.find(name);
    if found.is_none() {
        println!("SKIPPED {test}: {name} is not installed");
    }
    found.map(|program| program.to_path_buf())
}

/// Runs a tool, and returns both of its outputs.
fn said(command: &mut Command) -> String {
    let ended = programs::run_program(command.env("LC_ALL", "C"), PATIENCE).unwrap();
    assert!(ended.status.success(), "{command:?}: {ended:?}");
    ended.output + &ended.errors
}

fn imported(text: &str) -> Imported {
    import_file(text.as_bytes(), "output", None)
        .unwrap_or_else(|refusal| panic!("{refusal}\n{text}"))
        .remove(0)
}

fn value(imported: &Imported, name: &str, statistic: &str) -> f64 {
    let figure = imported.figures.iter().find(|figure| figure.name.contains(name));
    let figure = figure.unwrap_or_else(|| panic!("no '{name}' in {imported:?}"));
    let stated = figure.values.iter().find(|value| value.statistic.to_string() == statistic);
    stated.unwrap_or_else(|| panic!("no {statistic} in {figure:?}")).value
}

/// A server that is ended with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn reserve_port() -> ReservedPort {
    ReservedPort::reserve(Ipv4Addr::LOCALHOST.into()).unwrap()
}

fn serve(command: &mut Command, port: &str) -> Server {
    let server =
        Server(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    // In /proc/net/tcp a port is listened on in state 0A. Connecting would be taken for a client by some servers.
    let listening = format!(":{:04X} ", port.parse::<u16>().unwrap());
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        let sockets =
            ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
        if sockets.concat().lines().any(|line| line.contains(&listening) && line.contains(" 0A ")) {
            return server;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{command:?} does not listen");
}

#[test]
fn sysbench() {
    let Some(sysbench) = tool("sysbench", "sysbench") else { return };
    let cpu = said(Command::new(&sysbench).args(["cpu", "--cpu-max-prime=1000", "--time=1", "run"]));
    let cpu = imported(&cpu);
    assert!(value(&cpu, "cpu", "rate") > 0.0 && value(&cpu, "cpu", "p95") > 0.0);
    assert_eq!(
        cpu.figures[0].counterpart.as_ref().unwrap().to_string(),
        "cpu.primes?max_prime=1000&threads=1"
    );
    assert!(cpu.version.unwrap().starts_with("1.0"));
    let folder = tempfile::tempdir().unwrap();
    let fileio = |action| {
        let size =
            ["fileio", "--file-num=2", "--file-total-size=1M", "--file-test-mode=rndrw", "--time=1", action];
        said(Command::new(&sysbench).args(size).current_dir(folder.path()))
    };
    fileio("prepare");
    let file = imported(&fileio("run"));
    assert!(value(&file, "rndrw reads", "rate") > value(&file, "rndrw writes", "rate"), "reads are 3 of 5");
    let memory = imported(&said(Command::new(&sysbench).args(["memory", "--memory-total-size=16M", "run"])));
    assert_eq!(value(&memory, "memory", "count"), 16.0 * 1024.0);
    let threads = said(Command::new(&sysbench).args(["threads", "--time=1", "run"]));
    assert!(value(&imported(&threads), "events", "count") > 0.0);
}

#[test]
fn fio() {
    let Some(fio) = tool("fio", "fio") else { return };
    let folder = tempfile::tempdir().unwrap();
    let job =
        ["--name=a", "--rw=randrw", "--size=256k", "--bs=4k", "--ioengine=psync", "--output-format=json"];
    let fio = imported(&said(Command::new(fio).args(job).current_dir(folder.path())));
    let requests = value(&fio, "a: read", "count") + value(&fio, "a: write", "count");
    assert_eq!(requests, 64.0, "{fio:?}");
    assert!(value(&fio, "a: read, completion latency", "p99") > 0.0);
}

#[test]
fn hyperfine() {
    let Some(hyperfine) = tool("hyperfine", "hyperfine") else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("h.json");
    let (csv, markdown) = (folder.path().join("h.csv"), folder.path().join("h.md"));
    let mut command = Command::new(hyperfine);
    command.args(["-r", "3", "sleep 0.01", "--export-json"]).arg(&file);
    let printed = said(command.arg("--export-csv").arg(&csv).arg("--export-markdown").arg(&markdown));
    let tables = [csv, markdown].map(|table| fs::read_to_string(table).unwrap());
    for text in [&printed, &tables[0], &tables[1]] {
        assert!(value(&imported(text), "sleep 0.01", "mean") > 0.0, "{text}");
    }
    let hyperfine = imported(&fs::read_to_string(file).unwrap());
    assert!(value(&hyperfine, "sleep 0.01", "mean") > 0.0);
    assert_eq!(hyperfine.figures[0].parameters["runs"], "3");
}

#[test]
fn iperf3() {
    let Some(iperf3) = tool("iperf3", "iperf3") else { return };
    let udp = ["-u", "-b", "20M"];
    for (protocol, more) in
        [("TCP", vec!["-J"]), ("UDP", [&udp[..], &["-J"]].concat()), ("TCP", vec![]), ("UDP", udp.to_vec())]
    {
        let reserved = reserve_port();
        let port = reserved.address.port().to_string();
        let _server = serve(Command::new(&iperf3).args(["-s", "-1", "-B", "127.0.0.1", "-p", &port]), &port);
        let client = ["-c", "127.0.0.1", "-p", &port, "-t", "1"];
        let iperf3 = imported(&said(Command::new(&iperf3).args(client).args(more)));
        assert_eq!(iperf3.parameters["protocol"], protocol);
        assert!(value(&iperf3, "sent", "count") >= 1_048_576.0, "{iperf3:?}");
        assert!(value(&iperf3, "received", "throughput") > 0.0, "{iperf3:?}");
    }
}

#[test]
fn netperf() {
    let (Some(netperf), Some(netserver)) = (tool("netperf", "netperf"), tool("netperf", "netserver")) else {
        return;
    };
    let reserved = reserve_port();
    let port = reserved.address.port().to_string();
    let _server = serve(Command::new(netserver).args(["-D", "-4", "-L", "127.0.0.1", "-p", &port]), &port);
    let selectors =
        "mean_latency,p99_latency,transaction_rate,request_size,throughput,throughput_units,command_line";
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&netperf);
        command.args(["-H", "127.0.0.1", "-p", &port, "-l", "1"]).args(arguments);
        imported(&said(&mut command))
    };
    let old = run(&["-t", "TCP_RR"]);
    assert!(value(&old, "TCP REQUEST/RESPONSE", "rate") > 0.0);
    for form in ["-k", "-o", "-O"] {
        let selected = run(&["-t", "TCP_RR", "--", form, selectors]);
        let figure = &selected.figures[0];
        assert_eq!(figure.values.len(), 4, "{form}: {figure:?}");
        assert_eq!(figure.parameters["request_size"], "1", "{form}: {figure:?}");
        assert!(figure.parameters["command_line"].contains(selectors), "{form}: {figure:?}");
        assert!(value(&selected, "TCP", "mean") > 0.0);
    }
    for (test, name, statistic) in [
        ("UDP_RR", "UDP REQUEST/RESPONSE", "rate"),
        ("TCP_CRR", "Connect", "rate"),
        ("TCP_STREAM", "TCP STREAM", "throughput"),
        ("UDP_STREAM", "UDP STREAM: received", "throughput"),
        ("omni", "OMNI", "throughput"),
    ] {
        // Datagrams that are longer than loopback's are not sent at all.
        let more: &[&str] = if test == "UDP_STREAM" { &["--", "-m", "1000"] } else { &[] };
        let figures = run(&[&["-t", test], more].concat());
        assert!(value(&figures, name, statistic) > 0.0, "{test}: {figures:?}");
    }
}

#[test]
fn dd() {
    let Some(dd) = tool("dd", "dd") else { return };
    let copy = ["if=/dev/zero", "of=/dev/null", "bs=1M", "count=64"];
    let copied = |command: &mut Command| {
        let ended = programs::run_program(command.args(copy), PATIENCE).unwrap();
        let dd = imported(&ended.errors);
        assert_eq!(value(&dd, "dd", "count"), 67_108_864.0, "{}", ended.errors);
        assert!(value(&dd, "dd", "throughput") > 0.0, "{}", ended.errors);
        ended.errors
    };
    copied(Command::new(&dd).env("LC_ALL", "C"));
    // Messages of every language that is there, with the figures of C; then two languages' own figures as well.
    for folder in fs::read_dir("/usr/share/locale").into_iter().flatten().map(Result::unwrap) {
        if folder.path().join("LC_MESSAGES/coreutils.mo").exists() {
            copied(Command::new(&dd).env("LC_ALL", "C.UTF-8").env("LANGUAGE", folder.file_name()));
        }
    }
    let Some(localedef) = tool("dd", "localedef") else { return };
    if !Path::new("/usr/share/i18n/locales/de_DE").exists() {
        return println!("SKIPPED dd: the sources of locales are not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    for locale in ["de_DE", "fr_FR", "es_ES", "ja_JP"] {
        let made = folder.path().join(format!("{locale}.UTF-8"));
        programs::run_program(
            Command::new(&localedef).args(["-i", locale, "-f", "UTF-8"]).arg(&made),
            PATIENCE,
        )
        .unwrap();
        let mut command = Command::new(&dd);
        let said = copied(command.env("LOCPATH", folder.path()).env("LC_ALL", format!("{locale}.UTF-8")));
        assert_eq!(
            said.contains(", 0,"),
            locale != "ja_JP",
            "{locale} writes its decimals in its own way: {said}"
        );
    }
}
