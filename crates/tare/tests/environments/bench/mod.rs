//! A bench for environments: folders for a session, a running environment, and checks for leftovers.

pub mod actor;
pub mod machine;

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tare_data::batch::{ENDED, RunEnd};
use tare_data::failure::{Failure, FailureKind};
use tare_data::frame::Frame;
use tare_data::names::Case;
use tare_data::peer::Peer;
use tare_data::request::{Amount, Request, TrialRequest};
use tare_data::session::Side;
use tare_data::session::specification::Specification;
use tare_lab::environments;
use tare_lab::host::mounts;
use tare_lab::host::processes::Signs;
use tare_lab::host::programs::Programs;
use tare_lab::ownership::clean::Outcome;
use tare_lab::ownership::workspace::{SessionWorkspace, Setting};
use tare_lab::session::enter::{Entered, enter_environment};
use tare_lab::session::link::{Link, LinkError};
use tare_lab::storage::places::Wanted;
use tare_lab::study::user_command::UserCommand;
use tare_probes::probe::Size;

/// The program under test.
pub const TARE: &str = env!("CARGO_BIN_EXE_tare");
/// Longest that any answer may take: an emulated kernel boots in some seconds, on a busy machine in many.
pub const WAIT: Duration = Duration::from_secs(60);
/// Time in which helpers of engines and runtimes end by themselves, as one of Podman's does that clears up after a container.
const HELPERS_END: Duration = Duration::from_secs(10);

/// Control groups that existed before the first test, for example from systemd-nspawn.
static EARLIER: LazyLock<BTreeSet<PathBuf>> =
    LazyLock::new(|| control_groups(made_by_nspawn).into_iter().collect());
static PREPARING: Mutex<()> = Mutex::new(());
static NOT_INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Folders for one test, on a disk, removed at its end.
pub struct Bench {
    pub folder: Folder,
    pub shares: BTreeMap<String, PathBuf>,
    /// The program under test.
    pub binary: PathBuf,
}

/// A folder of this test's, or another's.
pub enum Folder {
    Own(tempfile::TempDir),
    Lent(PathBuf),
}

impl Folder {
    pub fn path(&self) -> &Path {
        match self {
            Folder::Own(folder) => folder.path(),
            Folder::Lent(folder) => folder,
        }
    }
}

impl Bench {
    /// Creates a bench next to the program, because /tmp may be in memory.
    pub fn new() -> Bench {
        Bench::new_in(Path::new(TARE).parent().unwrap())
    }

    pub fn new_in(parent: &Path) -> Bench {
        let folder = tempfile::Builder::new().prefix("bench-").tempdir_in(parent).unwrap();
        for name in ["state", "scratch", "share"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Bench::on(Folder::Own(folder))
    }

    /// Opens a bench that another process has set up.
    pub fn from_folder(folder: PathBuf) -> Bench {
        Bench::on(Folder::Lent(folder))
    }

    fn on(folder: Folder) -> Bench {
        LazyLock::force(&EARLIER);
        let shares = BTreeMap::from([("share".to_owned(), folder.path().join("share"))]);
        // Another user may not be able to read the program where it was built.
        let copy = folder.path().join("tare");
        let binary = if copy.exists() { copy } else { TARE.into() };
        Bench { folder, shares, binary }
    }

    pub fn state_folder(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    pub fn scratch_folder(&self) -> PathBuf {
        self.folder.path().join("scratch")
    }

    pub fn make_setting(&self) -> Setting {
        Setting {
            moved: None,
            state: self.state_folder(),
            scratch: self.scratch_folder(),
            binary: self.binary.clone(),
            wanted: Wanted { folders: self.shares.clone(), ..Default::default() },
            programs: find_programs(),
        }
    }

    pub fn make_session(&self) -> SessionWorkspace {
        SessionWorkspace::make_workspace(&self.make_setting()).unwrap()
    }

    /// Finds the folder of a side of a session in the place `share`.
    pub fn find_share(&self, session: &str, side: usize) -> PathBuf {
        let of_session = std::fs::read_dir(self.shares["share"].join(format!("tare-{session}"))).unwrap();
        let mut folders = of_session.map(|entry| entry.unwrap().path());
        let is_sides =
            |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(&format!("{side:02}-"));
        folders.find(is_sides).unwrap()
    }

    /// Lists everything that stays of the sessions that worked here. A helper of an engine may end by itself a moment later.
    pub fn list_remains(&self) -> Vec<String> {
        let end = Instant::now() + HELPERS_END;
        loop {
            let remains = self.look_for_remains();
            if remains.is_empty() || Instant::now() > end {
                return remains;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn look_for_remains(&self) -> Vec<String> {
        let signs = Signs {
            mark: "no session".into(),
            folder: self.scratch_folder(),
            name: String::new(),
            spared: Vec::new(),
            roots: Vec::new(),
        };
        let mut remains: Vec<String> =
            signs.find_processes().keys().map(|pid| format!("process {pid}")).collect();
        remains.extend(signs.find_mentions().iter().map(|process| format!("process {process}")));
        remains.extend(
            mounts::list_mounts_below(self.folder.path())
                .unwrap()
                .iter()
                .map(|m| format!("mount {}", m.display())),
        );
        let groups: BTreeSet<PathBuf> = control_groups(made_by_nspawn).into_iter().collect();
        remains.extend(groups.difference(&EARLIER).map(|group| format!("control group {}", group.display())));
        for folder in [self.state_folder(), self.scratch_folder()] {
            let entries = std::fs::read_dir(folder).unwrap();
            remains.extend(entries.map(|entry| format!("file {}", entry.unwrap().path().display())));
        }
        remains
    }
}

/// Recognises the groups that systemd-nspawn creates in the group it is started in.
fn made_by_nspawn(name: &str) -> bool {
    ["payload", "supervisor"].contains(&name)
}

/// Lists the control groups whose names fit, in all hierarchies.
pub fn control_groups(fits: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let points =
        mounts::list_mounts().unwrap().into_iter().filter(|mount| mount.filesystem.starts_with("cgroup"));
    let groups = points.flat_map(|mount| std::fs::read_dir(mount.point).into_iter().flatten().flatten());
    groups.filter(|entry| fits(&entry.file_name().to_string_lossy())).map(|entry| entry.path()).collect()
}

/// Locates programs in the same way as tare itself.
pub fn find_programs() -> Programs {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.extend(["/usr/sbin", "/sbin"].map(PathBuf::from));
    folders.extend(std::env::var_os("HOME").map(|home| Path::new(&home).join("go/bin")));
    // Kernels are kept beside the program, from one run of the tests to the next.
    Programs {
        folders,
        own: Vec::new(),
        tare: TARE.into(),
        prepared: Path::new(TARE).with_file_name("prepared"),
    }
}

/// Parses a specification if its environment is ready, and prints that the test is skipped if not.
pub fn parse_if_ready(test: &str, text: &str) -> Option<Specification> {
    let named = environments::parse_environment(text).unwrap();
    // Only the first test downloads a kernel, and the others wait for it.
    let alone = PREPARING.lock().unwrap_or_else(PoisonError::into_inner);
    let unprepared = named
        .check_ready(&find_programs())
        .is_err_and(|not| not.command.is_some_and(|command| command.starts_with("tare environment prepare")));
    if let (true, Some(preparation)) = (unprepared, named.preparation()) {
        let mut begins = |step: &str| println!("{test}: {step}");
        if let Err(e) = (preparation.prepare)(&named.specification, &find_programs(), &mut begins) {
            println!("{test}: {e}");
        }
    }
    drop(alone);
    match named.check_ready(&find_programs()) {
        Ok(_) => Some(named.specification),
        Err(not) => {
            println!("SKIPPED {test}: {}", not.reason);
            None
        }
    }
}

/// An environment with its agent, spoken to.
pub struct Spoken {
    pub entered: Entered,
    link: Link<'static>,
}

impl Spoken {
    /// Enters, and waits for the agent's first frame.
    ///
    /// One boot in hundreds of a kernel on an emulated processor hangs: such a guest gets a second one.
    pub fn enter_environment(session: &SessionWorkspace, specification: &Specification) -> Spoken {
        Spoken::enter_side(session, 0, specification)
    }

    /// Enters as a side of the session.
    pub fn enter_side(session: &SessionWorkspace, side: usize, specification: &Specification) -> Spoken {
        let mut spoken = Spoken::start((session, side), specification);
        let mut first = spoken.link.receive(Instant::now() + WAIT);
        if matches!(first, Err(LinkError::Deadline)) && specification.provider == "qemu" {
            println!("{specification} hangs and is booted once more: {:#?}", spoken.link.take_notes());
            drop(spoken.link);
            for outcome in spoken.entered.leave_environment(Duration::ZERO) {
                assert_eq!(outcome.left_because, None, "{}", outcome.what);
            }
            spoken = Spoken::start((session, side), specification);
            first = spoken.link.receive(Instant::now() + WAIT);
        }
        match first.map(|arrived| arrived.frame) {
            Ok(Frame::Hello { .. }) => spoken,
            other => panic!("{other:?}; notes: {:#?}", spoken.link.take_notes()),
        }
    }

    fn start(session: (&SessionWorkspace, usize), specification: &Specification) -> Spoken {
        let named = environments::find_environment(specification.clone()).unwrap();
        let ready = named.check_ready(session.0.programs()).unwrap();
        let mut entered = enter_environment(&Side::new("", specification.clone()), &ready, session).unwrap();
        let input = OwnedFd::from(entered.child.stdin.take().unwrap());
        let output = OwnedFd::from(entered.child.stdout.take().unwrap());
        let errors = OwnedFd::from(entered.child.stderr.take().unwrap());
        let link = Link::new(input, output, Some(errors), &NOT_INTERRUPTED);
        Spoken { entered, link }
    }

    pub fn receive_frame(&mut self) -> Frame {
        match self.link.receive(Instant::now() + WAIT) {
            Ok(arrived) => arrived.frame,
            Err(e) => panic!("{e:?}; notes: {:#?}", self.link.take_notes()),
        }
    }

    pub fn send(&mut self, request: &Request) {
        self.link.send(request, Instant::now() + WAIT).unwrap();
    }

    /// Asks for a description; the agent must know every place.
    pub fn request_description(&mut self) {
        let places = self.entered.places.clone();
        self.send(&Request::Describe { places: places.clone() });
        match self.receive_frame() {
            Frame::Description { places: described, .. } => assert!(described.keys().eq(places.keys())),
            other => panic!("{other:?}"),
        }
    }

    /// Runs a trial of the probe `null` in a place.
    pub fn run_null_trial(&mut self, number: u64, place: Option<&str>) {
        self.run_trial(number, "null", place, None);
    }

    /// Runs a trial of a probe, which must succeed.
    pub fn run_trial(&mut self, number: u64, probe: &str, place: Option<&str>, peer: Option<&str>) {
        let described = tare_probes::find_probe(probe).unwrap();
        let parameters = described.default_parameters(Size::Short);
        let folder = place.or(described.writes_program().then_some("own"));
        let (place_name, peer_name) = (place.map(str::to_owned), peer.map(str::to_owned));
        self.send(&Request::Trial(Box::new(TrialRequest {
            turn: None,
            trial: number,
            case: Case { probe: probe.into(), parameters, place: place_name, peer: peer_name },
            // A shell script takes a second in user-mode Linux.
            amount: Amount::Operations { batch: 1, batches: 2 },
            directory: folder.map(|name| self.entered.places[name].clone()),
            peer: peer.map(|_| Peer::Loopback),
            seed: 1,
            deadline_ms: WAIT.as_millis() as u64,
            slower: 0.0,
            settling_ms: 0,
            nonce: 0,
        })));
        loop {
            match self.receive_frame() {
                Frame::Done { trial, .. } => return assert_eq!(trial, number),
                Frame::Failed { failure, .. } => {
                    panic!("{probe}: {failure}; notes: {:#?}", self.link.take_notes())
                }
                _ => {}
            }
        }
    }

    /// Runs a command as a study's `[probe.NAME]` has it, with its files carried along from `folder`. A run that ends otherwise than it
    /// should is a failure.
    pub fn run_command(&mut self, number: u64, text: &str, folder: &Path) -> Option<Failure> {
        let command: UserCommand = toml::from_str(text).unwrap();
        let good = RunEnd::ExitCode(command.expect_exit);
        let (parameters, files) = command.make_case("tried", folder).unwrap();
        tare_lab::session::enter::carrying::carry_files(
            &mut self.link,
            self.entered.places.get("own"),
            &files,
        )
        .unwrap();
        self.send(&Request::Trial(Box::new(TrialRequest {
            turn: None,
            trial: number,
            case: Case { probe: "user.tried".into(), parameters, place: Some("own".into()), peer: None },
            amount: Amount::Operations { batch: 2, batches: 1 },
            directory: self.entered.places.get("own").cloned(),
            peer: None,
            seed: 1,
            deadline_ms: WAIT.as_millis() as u64,
            slower: 0.0,
            settling_ms: 0,
            nonce: 0,
        })));
        let mut wrong = None;
        loop {
            match self.receive_frame() {
                Frame::Batch { batch, .. } if batch.series == ENDED => {
                    let other = RunEnd::from_batch(&batch).filter(|end| *end != good);
                    wrong =
                        wrong.or(other.map(|end| Failure::new(FailureKind::WrongWork, format!("{end:?}"))));
                }
                Frame::Done { trial, .. } if trial == number => return wrong,
                Frame::Failed { failure, .. } => return Some(failure),
                _ => {}
            }
        }
    }

    /// Says goodbye and leaves; everything must be gone.
    pub fn leave_environment(mut self) -> Vec<Outcome> {
        self.send(&Request::Leave);
        assert_eq!(self.receive_frame(), Frame::Bye);
        drop(self.link);
        self.entered.leave_environment(WAIT)
    }
}
