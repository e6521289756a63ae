//! The command of a job. Any node may write in a fleet's folder, so the program there is not trusted to check itself: the command,
//! which the engine carries from the machine that drives, compares it first.

/// Scratch folder of a job on its node, unless the plan names one.
const SCRATCH: &str = "/var/tmp";
/// Shell script that compares and runs a program. Its words are the SHA-256, a scratch folder, the program's path, its arguments. A copy is compared, which
/// nobody else can write, and it is run through a descriptor, so that nothing is left of it whatever happens to the job.
const CHECKED: &str = r#"d=$(mktemp -d "$1/tare-job-XXXXXX") && cp "$2" "$d/tare" && chmod 700 "$d/tare" && exec 3<"$d/tare" && s=$(sha256sum <"$d/tare") && rm -rf "$d" || { rm -rf "$d"; exit 4; }; case $s in "$0 "*) shift 2; exec /proc/self/fd/3 "$@";; esac; echo "$2 is not the program of the plan" >&2; exit 5"#;

/// Builds the words that run a program with arguments if it has this SHA-256.
pub(super) fn check_first(
    sha256: &str,
    scratch: Option<&str>,
    program: &str,
    arguments: &[String],
) -> Vec<String> {
    let before = ["sh", "-c", CHECKED, sha256, scratch.unwrap_or(SCRATCH), program];
    before.into_iter().map(str::to_owned).chain(arguments.iter().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;
    use crate::fleet::plan::hash_bytes;

    #[test]
    fn the_program_of_the_plan_is_run_and_no_other() {
        let place = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let (program, scratch) = (place.path().join("tare"), place.path().join("scratch"));
        fs::create_dir(&scratch).unwrap();
        let run = |sha256: &str| {
            let words = check_first(
                sha256,
                scratch.to_str(),
                program.to_str().unwrap(),
                &["%s|".to_owned(), "a b".to_owned()],
            );
            let ended = Command::new(&words[0]).args(&words[1..]).arg("$more").output().unwrap();
            assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0, "a copy stays");
            (
                ended.status.code(),
                String::from_utf8(ended.stdout).unwrap() + &String::from_utf8(ended.stderr).unwrap(),
            )
        };
        fs::copy("/usr/bin/printf", &program).unwrap();
        let sha256 = hash_bytes(&fs::read(&program).unwrap());
        assert_eq!(run(&sha256), (Some(0), "a b|$more|".to_owned()));
        fs::write(&program, "#!/bin/sh\necho another\n").unwrap();
        let (code, said) = run(&sha256);
        assert_eq!(code, Some(5), "{said}");
        assert!(said.contains("is not the program of the plan") && !said.contains("another"), "{said}");
        fs::remove_file(&program).unwrap();
        assert_eq!(run(&sha256).0, Some(4));
    }
}
