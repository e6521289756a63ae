//! Blocks to paste: nothing that was planted reaches one.

use std::fs;

use crate::program::{Program, Said};

const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sessions/container-gvisor.tare");
const TOKEN: &str = "ghp_16C7e42F292c6912E7710c838347Ae178B4a";

/// Runs the program as a planted user with a planted home.
fn run_as(program: &Program, arguments: &[&str]) -> Said {
    let home = program.path("home-of-zaphod");
    fs::create_dir_all(&home).unwrap();
    let mut command = program.tare_command(arguments);
    command.env("HOME", &home).env("USER", "zaphod").env("LOGNAME", "beeblebrox");
    Said::from_output(command.output().unwrap())
}

fn check(said: &Said, program: &Program) {
    assert_eq!(said.code, Some(0), "{said:?}");
    let folder = program.path("").display().to_string();
    let host = rustix::system::uname().nodename().to_string_lossy().to_lowercase();
    let lower = said.out.to_lowercase();
    for planted in ["zaphod", "beeblebrox", folder.trim_end_matches('/'), TOKEN, "/mnt/secret"] {
        assert!(!lower.contains(&planted.to_lowercase()), "{planted}: {}", said.out);
    }
    let mut words = lower.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '.');
    assert!(host.len() < 2 || words.all(|word| word != host), "{host}: {}", said.out);
    assert!(said.out.contains("**tare ") && said.out.lines().count() <= 25, "{}", said.out);
}

#[test]
fn a_planted_user_home_and_token_never_reach_a_block() {
    let program = Program::new();
    let own = program.path("zaphods-record.tare");
    fs::copy(RECORD, &own).unwrap();
    let own = own.to_str().unwrap();
    check(&run_as(&program, &["report", own, "--paste"]), &program);
    check(&run_as(&program, &["compare", own, "--to", RECORD, "--paste"]), &program);
    check(&run_as(&program, &["here", "--only", "where", "--paste"]), &program);
    let token = format!("TOKEN={TOKEN}");
    let command = ["/usr/bin/env", token.as_str(), "sh", "-c", "echo zaphod in $HOME >&2; : /mnt/secret/x"];
    let mut words = vec!["run", "--in", "native", "--paste", "--rounds", "2", "--record", "r.tare", "--"];
    words.extend(command);
    let said = run_as(&program, &words);
    check(&said, &program);
    assert!(said.out.contains("/usr/bin/env 'TOKEN=***'") || said.out.contains("TOKEN=***"), "{}", said.out);
}
