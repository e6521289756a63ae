//! Completions, as shells compute them from the script: every shipped name, in every position that accepts
//! it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::program::Program;
use crate::reading::{find_reader, repository_root, run_reader};

/// Typed lines, each with the expected completion of its last word.
const LINES: &[(&str, &str)] = &[
    ("tare rep", "report"),
    ("tare report --exp", "--export"),
    ("tare run --in gvi", "gvisor"),
    // After the comma of a list too.
    ("tare run --in native,wsl1", "native,wsl1-like"),
    ("tare run --only sys.getp", "sys.getppid"),
    ("tare run --only sys.getppid,proc.ex", "sys.getppid,proc.exec"),
    ("tare report --only sys.getp", "sys.getppid"),
    ("tare run --place bt", "btrfs"),
    ("tare run --like tuni", "tuni-wsl2-linux"),
    ("tare report --published mynavi", "mynavi-wsl-filesystems"),
    ("tare report --export parq", "parquet"),
    ("tare run rt", "rtt"),
    ("tare show mynavi", "mynavi-wsl-filesystems"),
    ("tare show file.sy", "file.sync"),
    ("tare check --in gvi", "gvisor"),
    ("tare environment prepare qe", "qemu"),
    ("tare self compl", "completions"),
    ("tare fleet rep", "report"),
    ("tare ladder sec", "seccomp"),
];

/// Writes the completion script of a shell to a new folder.
fn written(program: &Program, shell: &str, file: &str) -> PathBuf {
    fs::create_dir(program.path("completions")).unwrap();
    let path = program.path("completions").join(file);
    fs::write(&path, program.run_tare(&["self", "completions", shell]).out).unwrap();
    path
}

fn offered(text: &str, line: &str, wanted: &str) {
    assert!(text.lines().any(|offered| offered == wanted), "'{line}': no '{wanted}' in {text:?}");
}

#[test]
fn bash_completes_every_name() {
    let Some(bash) = find_reader("bash_completes_every_name", "bash") else { return };
    let program = Program::new();
    let script = written(&program, "bash", "tare.bash");
    for (line, wanted) in LINES {
        let at = line.split(' ').count() - 1;
        let typed = format!(
            "source '{}'; COMP_WORDS=({line}); COMP_CWORD={at}; cur=\"${{COMP_WORDS[{at}]}}\"; \
             _tare tare \"$cur\" \"${{COMP_WORDS[{at}-1]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            script.display()
        );
        let mut command = Command::new(&bash);
        command.arg("-c").arg(typed);
        offered(&run_reader(command), line, wanted);
    }
}

#[test]
fn fish_completes_every_name() {
    let Some(fish) = find_reader("fish_completes_every_name", "fish") else { return };
    let program = Program::new();
    let script = written(&program, "fish", "tare.fish");
    for (line, wanted) in LINES {
        let mut command = Command::new(&fish);
        command.env("HOME", program.path("."));
        command.arg("-c").arg(format!("source '{}'; complete -C '{line}'", script.display()));
        // A description stands behind each.
        let text: String = run_reader(command)
            .lines()
            .map(|line| line.split('\t').next().unwrap().to_owned() + "\n")
            .collect();
        offered(&text, line, wanted);
    }
}

#[test]
fn zsh_completes_every_name() {
    let Some(zsh) = find_reader("zsh_completes_every_name", "zsh") else { return };
    let program = Program::new();
    let script = written(&program, "zsh", "_tare");
    for (at, (line, wanted)) in LINES.iter().enumerate() {
        let seen = program.path(&format!("seen-{at}"));
        let mut command = Command::new(&zsh);
        command.env("HOME", program.path(".")).env("TERM", "dumb").current_dir(program.path("."));
        command.arg("-f").arg(repository_root().join("crates/tare/tests/exports/readers/complete.zsh"));
        command.arg(script.parent().unwrap()).arg(line).arg(&seen);
        run_reader(command);
        offered(&last_words(&seen), line, wanted);
    }
}

/// Reads the candidates, followed by the last word of the line that zsh completed.
fn last_words(seen: &Path) -> String {
    let text = fs::read_to_string(seen).unwrap_or_default();
    let (line, rest) = text.split_once('\n').unwrap_or((&text, ""));
    // Behind an element of a list, zsh is ready for the next.
    let word = line.trim_end_matches([' ', ',']).rsplit(' ').next().unwrap_or_default();
    format!("{word}\n{rest}")
}
