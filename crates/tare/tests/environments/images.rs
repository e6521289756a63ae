//! Container images, with the programs inside them.

use std::fs;
use std::path::Path;
use std::process::Command;

use tare_data::session::specification::Specification;
use tare_lab::environments;
use tare_lab::host::programs::Programs;
use tare_lab::ownership::workspace::{SessionWorkspace, Setting};
use tare_lab::provider::root::{Inside, RootFolder, Work};
use tare_lab::storage::places::Wanted;

use crate::bench::{Bench, Spoken, find_programs, parse_if_ready};

/// Image with a shell and a file that identifies it, removed with the test.
struct Image {
    name: String,
}

impl Image {
    fn make(folder: &Path) -> Image {
        let root = folder.join("root");
        for below in ["bin", "etc", "tmp"] {
            fs::create_dir_all(root.join(below)).unwrap();
        }
        fs::copy("/bin/sh", root.join("bin/sh")).unwrap();
        fs::write(root.join("etc/image"), "of the image\n").unwrap();
        let needed = Command::new("ldd").arg("/bin/sh").output().unwrap().stdout;
        for word in String::from_utf8(needed).unwrap().split_whitespace().filter(|word| word.starts_with('/'))
        {
            let inside = root.join(word.trim_start_matches('/'));
            fs::create_dir_all(inside.parent().unwrap()).unwrap();
            fs::copy(word, inside).unwrap();
        }
        let archive = folder.join("image.tar");
        let name = format!("localhost/tare-test-{}", std::process::id());
        let packed =
            Command::new("tar").arg("-C").arg(&root).arg("-cf").arg(&archive).arg(".").status().unwrap();
        assert!(packed.success());
        // The image's user and entry point do not matter.
        let changes = ["--change=USER=nobody", "--change=ENTRYPOINT=[\"/bin/false\"]"];
        let mut import = Command::new("podman");
        import.args(["import", "--quiet"]).args(changes).arg(&archive).arg(&name);
        assert!(import.output().unwrap().status.success());
        Image { name }
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let _ = Command::new("podman").args(["rmi", "--force", &self.name]).output();
    }
}

/// Script that runs several times in each start, and must not see files from the start before.
const SCRIPT: &str = "test -e /tmp/ran || { read -r line </etc/image; test \"$line\" = 'of the image'; }; : >/tmp/ran; \
    echo x >/etc/image; test -e seen; echo w >written";

#[test]
fn a_command_has_the_programs_of_the_image() {
    const TEST: &str = "a_command_has_the_programs_of_the_image";
    if parse_if_ready(TEST, "podman").is_none() {
        return;
    }
    let bench = Bench::new();
    let image = Image::make(bench.folder.path());
    let specification = format!("podman:{}", image.name).parse::<Specification>().unwrap();
    let work = bench.folder.path().join("work");
    fs::create_dir(&work).unwrap();
    fs::write(work.join("seen"), "").unwrap();
    for shared in [false, true] {
        let inside = Inside { root: RootFolder::Empty, work: Some(Work { folder: work.clone(), shared }) };
        let wanted = Wanted { inside, folders: bench.shares.clone(), ..Default::default() };
        let session = SessionWorkspace::make_workspace(&Setting { wanted, ..bench.make_setting() }).unwrap();
        // Twice: what the first start writes into the image is gone in the second.
        for _ in 0..2 {
            let mut inside = Spoken::enter_environment(&session, &specification);
            inside.request_description();
            inside.run_null_trial(1, Some("own"));
            let command = format!("command = ['/bin/sh', '-ec', '''cd {}; {SCRIPT}''']", work.display());
            assert_eq!(inside.run_command(2, &command, &work), None);
            assert!(inside.leave_environment().iter().all(|outcome| outcome.left_because.is_none()));
            assert_eq!(work.join("written").exists(), shared);
        }
        assert!(session.close().iter().all(|outcome| outcome.left_because.is_none()));
        assert_eq!(bench.list_remains(), [""; 0]);
    }
    let kept = Command::new("podman").args(["image", "exists", &image.name]).status().unwrap();
    assert!(kept.success(), "somebody's image was removed");
}

#[test]
fn an_image_that_is_not_there_is_not_fetched() {
    const TEST: &str = "an_image_that_is_not_there_is_not_fetched";
    if parse_if_ready(TEST, "podman").is_none() {
        return;
    }
    let named = environments::parse_environment("podman:localhost/tare-has-none").unwrap();
    let not_ready = named.check_ready(&find_programs()).unwrap_err();
    assert!(not_ready.reason.starts_with("image localhost/tare-has-none is not here: "), "{not_ready:?}");
    assert_eq!(not_ready.command.as_deref(), Some("podman pull localhost/tare-has-none"));
}

#[test]
fn an_image_takes_no_other_root() {
    for text in ["podman:debian?root=host", "docker:debian?root=empty", "nerdctl:-v"] {
        assert!(environments::parse_environment(text).is_err(), "{text}");
    }
    let named = environments::parse_environment("docker:debian").unwrap().with_root(&RootFolder::Host);
    // Not for the sake of its root.
    assert_eq!(named.check_ready(&Programs::default()).unwrap_err().reason, "docker is not installed");
}
