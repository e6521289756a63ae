//! ssh: a temporary sshd on the loopback device, with a temporary key.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tare_bench::ports::ReservedPort;
use tare_data::session::Side;
use tare_data::session::specification::Specification;
use tare_lab::environments;

use crate::bench::{Bench, Spoken, WAIT, find_programs};

/// An sshd that lives as long as this does.
struct Server {
    process: Child,
    /// Configuration of the client: the machine is called `far`.
    config: PathBuf,
    cache: PathBuf,
    /// None once a test has taken it, so that nobody else listens there when this has ended.
    port: Option<ReservedPort>,
}

impl Server {
    /// Starts an sshd, and prints that the test is skipped if there is none.
    fn start(test: &str, bench: &Bench) -> Option<Server> {
        let (Some(sshd), Some(keygen)) = (find_programs().find("sshd"), find_programs().find("ssh-keygen"))
        else {
            println!("SKIPPED {test}: openssh-server is not installed");
            return None;
        };
        let folder = bench.folder.path().join("ssh");
        let cache = bench.folder.path().join("cache");
        fs::create_dir(&folder).unwrap();
        for key in ["host", "user"] {
            let mut command = Command::new(&*keygen);
            command.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(folder.join(key));
            assert!(command.status().unwrap().success());
        }
        // sshd wants it when it is started by root, and no package's service has made it here.
        let _ = fs::create_dir_all("/run/sshd");
        let reserved = ReservedPort::reserve(Ipv4Addr::LOCALHOST.into()).unwrap();
        let port = reserved.address.port();
        write(&folder, "server", &server_config(&folder, &cache, port));
        write(&folder, "client", &client_config(&folder, port));
        // By its whole path: it starts itself again for each connection.
        let process = Command::new(&*sshd)
            .args(["-D", "-f"])
            .arg(folder.join("server"))
            .arg("-E")
            .arg(folder.join("log"))
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let server = Server { process, config: folder.join("client"), cache, port: Some(reserved) };
        let end = Instant::now() + WAIT;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < end, "{}", fs::read_to_string(folder.join("log")).unwrap_or_default());
            std::thread::sleep(Duration::from_millis(5));
        }
        Some(server)
    }

    fn specification(&self, bench: &Bench) -> Specification {
        let (config, folder) = (self.config.display(), bench.folder.path().join("far"));
        fs::create_dir_all(&folder).unwrap();
        format!("ssh:far?config={config}&folder={}", folder.display()).parse().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).unwrap();
}

fn server_config(folder: &Path, cache: &Path, port: u16) -> String {
    let folder = folder.display();
    format!(
        "ListenAddress 127.0.0.1:{port}\nHostKey {folder}/host\nAuthorizedKeysFile {folder}/user.pub\n\
         StrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\n\
         PermitRootLogin prohibit-password\nSetEnv XDG_CACHE_HOME={}\n",
        cache.display()
    )
}

fn client_config(folder: &Path, port: u16) -> String {
    format!(
        "Host far\n HostName 127.0.0.1\n Port {port}\n IdentityFile {}/user\n IdentitiesOnly yes\n\
         StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n LogLevel ERROR\n",
        folder.display()
    )
}

#[test]
fn another_machine_is_entered_and_left() {
    // A control socket's path must be short.
    let bench = Bench::new_in(Path::new("/var/tmp"));
    let Some(server) = Server::start("another_machine_is_entered_and_left", &bench) else { return };
    let specification = server.specification(&bench);
    environments::find_environment(specification.clone()).unwrap().check_ready(&find_programs()).unwrap();
    let session = bench.make_session();
    let far = bench.folder.path().join("far");
    for _ in 0..2 {
        let mut inside = Spoken::enter_environment(&session, &specification);
        inside.request_description();
        inside.run_null_trial(1, Some("own"));
        assert_eq!(fs::read_dir(&far).unwrap().count(), 1);
        assert!(inside.leave_environment().iter().all(|outcome| outcome.left_because.is_none()));
        assert_eq!(fs::read_dir(&far).unwrap().count(), 0, "its folder stayed there");
        let kept: Vec<_> = fs::read_dir(server.cache.join("tare")).unwrap().collect();
        assert_eq!(kept[0].as_ref().unwrap().file_name(), session.agent_sha256().unwrap());
        assert_eq!(kept.len(), 1);
    }
    assert!(session.close().iter().all(|outcome| outcome.left_because.is_none()));
    assert_eq!(bench.list_remains(), [""; 0]);
}

#[test]
fn commands_of_a_users_run_on_another_machine() {
    // A control socket's path must be short.
    let bench = Bench::new_in(Path::new("/var/tmp"));
    let Some(server) = Server::start("commands_of_a_users_run_on_another_machine", &bench) else { return };
    let session = bench.make_session();
    let mut inside = Spoken::enter_environment(&session, &server.specification(&bench));
    crate::commands::try_all(&mut inside, true);
    assert!(inside.leave_environment().iter().all(|outcome| outcome.left_because.is_none()));
}

#[test]
fn a_broken_line_leaves_nothing_there() {
    let bench = Bench::new_in(Path::new("/var/tmp"));
    let Some(server) = Server::start("a_broken_line_leaves_nothing_there", &bench) else { return };
    let session = bench.make_session();
    let inside = Spoken::enter_environment(&session, &server.specification(&bench));
    let far = bench.folder.path().join("far");
    assert_eq!(fs::read_dir(&far).unwrap().count(), 1);
    // Not a word of goodbye.
    drop(inside);
    drop(session);
    let end = Instant::now() + WAIT;
    while fs::read_dir(&far).unwrap().count() > 0 {
        assert!(Instant::now() < end, "its folder stayed there");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(bench.list_remains(), [""; 0]);
}

#[test]
fn a_machine_that_does_not_answer_is_told_with_the_command_to_try() {
    let bench = Bench::new_in(Path::new("/var/tmp"));
    let Some(mut server) = Server::start("a_machine_that_does_not_answer", &bench) else { return };
    let specification = server.specification(&bench);
    let named = environments::find_environment(specification.clone()).unwrap();
    let ready = named.check_ready(&find_programs()).unwrap();
    let _port = server.port.take();
    drop(server);
    let not_ready = named.check_ready(&find_programs()).unwrap_err();
    assert!(not_ready.reason.contains("Connection refused"), "{not_ready:?}");
    assert_eq!(not_ready.command.as_deref(), Some("ssh far true"));
    let session = bench.make_session();
    let refused =
        tare_lab::session::enter::enter_environment(&Side::new("", specification), &ready, (&session, 0))
            .unwrap_err();
    assert!(refused.what.contains("cannot enter ssh:far"), "{refused}");
}
