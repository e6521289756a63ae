//! The front page's example: the report of a session that `bench/front-page` measured, whose record is in the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};
use tare_data::encoding::encode_hex;
use tare_data::session::Ending;

use crate::book;

/// The record of the session that the front page shows.
const RECORD: &str = "fixtures/sessions/front-page.tare";
/// The opening of the fence that shows its report.
const EXAMPLE: &str = "text example";

/// Prints the report of the record, on a terminal of 80 columns without colours.
fn report(options: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tare"));
    command
        .current_dir(book::repository_root())
        .args(["report", RECORD])
        .args(options)
        .env("NO_COLOR", "1")
        .env("LC_ALL", "C.UTF-8");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Cuts a report after its summary: what follows is of use to whoever has the record.
fn example() -> String {
    let whole = report(&[]);
    let (example, _) = whole.split_once("\nrecord ").expect("a report names its record");
    example.to_owned()
}

#[test]
fn the_front_page_shows_the_report_of_its_record() {
    let _lock = book::lock_documents();
    let readme = book::repository_root().join("README.md");
    let laid = book::keep_fences(&readme, |fence, _| (fence.info == EXAMPLE).then(example));
    assert_eq!(laid, 1, "one example on the front page");
    let session = tare_record::read_session(&book::repository_root().join(RECORD)).unwrap().session;
    let facts = ["cpu.model", "kernel.release"].map(|key| session.header.host.get(key).unwrap_or_default());
    assert!(facts.iter().all(|fact| !fact.is_empty() && !fact.contains("made-up")), "measured: {facts:?}");
    assert!(session.header.identity.is_some() && session.ending == Ending::Complete);
    let pairs = session.trials.iter().filter(|trial| trial.partner.is_some()).count() / 2;
    assert!(pairs >= 12 * session.plan.count_comparisons(), "{pairs} pairs");
}

#[test]
fn the_picture_is_of_the_session_in_the_table() {
    let _lock = book::lock_documents();
    let picture = book::repository_root().join("docs/images/report.png");
    let digest = encode_hex(&Sha256::digest(example().as_bytes()));
    if std::env::var_os("UPDATE_DOCS").is_some()
        && label(&fs::read(&picture).unwrap()) != Some(digest.clone())
    {
        take_picture(&picture, &digest);
    }
    assert_eq!(
        label(&fs::read(&picture).unwrap()),
        Some(digest),
        "docs/images/report.png shows other figures than README's table: UPDATE_DOCS=1 takes it again"
    );
}

/// Keyword of the text in the picture that says of which table it is.
const KEYWORD: &[u8] = b"table\0";
/// Length of a PNG's signature and of its first chunk, after which texts may be.
const HEAD: usize = 8 + 25;

/// Reads the digest of the table in the picture's text chunk; None where it has none.
fn label(png: &[u8]) -> Option<String> {
    let text = png.get(HEAD..)?.get(4..)?.strip_prefix(b"tEXt")?.strip_prefix(KEYWORD)?;
    String::from_utf8(text.get(..64)?.to_vec()).ok()
}

/// Has Chromium open the report of the record, and labels the picture with the digest of the table.
fn take_picture(picture: &Path, digest: &str) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (page, shot) = (folder.join("front-page.html"), folder.join("front-page.png"));
    report(&["--html", page.to_str().unwrap()]);
    let status = Command::new("chromium-headless-shell")
        .args(["--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1280,900"])
        .arg(format!("--screenshot={}", shot.display()))
        .arg(format!("file://{}", page.display()))
        .status()
        .expect("chromium-headless-shell takes the picture");
    assert!(status.success());
    let png = fs::read(&shot).unwrap();
    let content = [b"tEXt", KEYWORD, digest.as_bytes()].concat();
    let length = u32::try_from(content.len() - 4).unwrap().to_be_bytes();
    let sum = crc32fast::hash(&content).to_be_bytes();
    fs::write(picture, [&png[..HEAD], &length, &content, &sum, &png[HEAD..]].concat()).unwrap();
}

#[test]
fn the_words_of_each_article_lead_to_its_command() {
    let readme = fs::read_to_string(book::repository_root().join("README.md")).unwrap();
    for (word, article) in [
        ("netperf: ", "qiita-wsl-rtt"),
        ("CrystalDiskMark: ", "mynavi-wsl-filesystems"),
        ("UnixBench: ", "ascii-wsl2-unixbench"),
        ("fork and threads", "qiita-wsl-guest-native"),
        ("VirtualBox guest", "qiita-wsl-guest-native"),
        ("sysbench: ", "tuni-wsl2-linux"),
    ] {
        let line = readme.lines().find(|line| line.contains(word)).unwrap_or_default();
        assert!(line.contains(&format!("run --like {article}")), "{word}: {line}");
        let mut command = Command::new(env!("CARGO_BIN_EXE_tare"));
        let shown = command.args(["show", article]).output().unwrap();
        assert!(shown.status.success(), "{}", String::from_utf8_lossy(&shown.stderr));
        let line = readme.lines().find(|line| line.starts_with("tare.exe run --like")).unwrap();
        let is_of_article = line.contains(&format!("--like {article} "));
        assert!(!is_of_article || String::from_utf8_lossy(&shown.stdout).contains(line), "{line}");
    }
    for what in ["articles", "article", "published", "probe", "study"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tare"));
        assert!(command.args(["list", what]).output().unwrap().status.success(), "{what}");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_tare"));
    let refused = command.args(["run", "--dry-run", "--like", "rtt"]).output().unwrap();
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("tare run --like qiita-wsl-rtt"),
        "{refused:?}"
    );
}

#[test]
fn the_example_has_a_container_that_is_the_same_and_a_sandbox_that_is_slower() {
    let document: serde_json::Value = serde_json::from_str(&report(&["--json"])).unwrap();
    let headlines: Vec<_> =
        document["rows"].as_array().unwrap().iter().filter(|row| row["headline"] == true).collect();
    let count = |environment: &str, answer: &str| {
        let cells = headlines.iter().flat_map(|row| row["cells"].as_array().unwrap());
        cells.filter(|cell| cell["environment"] == environment && cell["answer"] == answer).count()
    };
    assert!(count("container", "same") * 2 > headlines.len(), "the container is mostly the same");
    assert_eq!(count("container", "slower"), 0);
    assert!(count("gvisor", "slower") * 2 > headlines.len(), "gVisor is mostly slower");
}
