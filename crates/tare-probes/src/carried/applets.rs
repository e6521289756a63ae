//! The programs that `proc.shell` carries: sort, od, grep, tee, wc, rm, and the script that runs them.
//!
//! Each does only what the script asks of it. They are the same in every environment, so that a difference
//! is the environment's and not its coreutils'.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::variables::inherited_variables;

/// First argument under which the program is one of these; the applet and its arguments follow.
pub const APPLET: &str = "agent-applet";
/// The word that the script searches for.
pub const WORD: &str = "the";
/// Upper bound on the bytes that an applet reads: the data are 8,546 bytes, their octal dump five times that.
const MOST_BYTES: u64 = 1 << 20;

/// Runs an applet, and returns its exit code.
pub fn run_applet(program: &Path, arguments: &[OsString]) -> i32 {
    let arguments: Option<Vec<&str>> = arguments.iter().map(|a| a.to_str()).collect();
    let done = match arguments.as_deref() {
        Some(["scripts", count]) => scripts(program, count),
        Some(["script", number]) => script(program, number, true),
        Some(["script", number, "keep"]) => script(program, number, false),
        Some(["sort"]) => filter(sorted),
        Some(["sort", "-n"]) => filter(sorted_by_number),
        Some(["od"]) => filter(octal),
        Some(["grep"]) => filter(with_word),
        Some(["tee", path]) => tee(path),
        Some(["wc"]) => filter(counted),
        Some(["rm", paths @ ..]) => paths.iter().try_for_each(std::fs::remove_file),
        _ => Err(io::Error::other("no such applet")),
    };
    done.map_or(1, |()| 0)
}

/// Runs `count` scripts in parallel, each in a process of its own.
fn scripts(program: &Path, count: &str) -> io::Result<()> {
    let count: u32 = count.parse().map_err(io::Error::other)?;
    let start = |i: u32| command(program, &["script", &i.to_string()]).spawn();
    let running = (1..=count).map(start).collect::<io::Result<Vec<_>>>()?;
    running.into_iter().try_for_each(wait)
}

/// Runs one script: sort, od to sort -n, grep to tee to wc, and rm unless the files are wanted.
fn script(program: &Path, number: &str, remove: bool) -> io::Result<()> {
    let [sorted, dumped, found, counted] = list_script_files(number);
    let sort = command(program, &["sort"]).stdin(File::open(DATA)?).stdout(File::create(&sorted)?).spawn()?;
    wait(sort)?;
    let mut od = command(program, &["od"]).stdin(File::open(&sorted)?).stdout(Stdio::piped()).spawn()?;
    let sort_dump =
        command(program, &["sort", "-n"]).stdin(pipe_of(&mut od)?).stdout(File::create(&dumped)?).spawn()?;
    wait(od)?;
    wait(sort_dump)?;
    let mut grep = command(program, &["grep"]).stdin(File::open(&sorted)?).stdout(Stdio::piped()).spawn()?;
    let mut tee =
        command(program, &["tee", &found]).stdin(pipe_of(&mut grep)?).stdout(Stdio::piped()).spawn()?;
    let wc = command(program, &["wc"]).stdin(pipe_of(&mut tee)?).stdout(File::create(&counted)?).spawn()?;
    wait(grep)?;
    wait(tee)?;
    wait(wc)?;
    if remove {
        wait(command(program, &["rm", &sorted, &found, &dumped, &counted]).spawn()?)?;
    }
    Ok(())
}

/// Input of the script, in its working folder.
pub const DATA: &str = "sort.src";

/// Lists the files that a script writes: sorted, dumped, found, counted.
pub fn list_script_files(number: &str) -> [String; 4] {
    ["sort", "od", "grep", "wc"].map(|name| format!("{name}.{number}"))
}

/// Builds a command that runs this program as an applet, with only the variables that every process needs: in
/// user-mode Linux, an applet whose C library uses wide registers loses data at page faults.
fn command(program: &Path, arguments: &[&str]) -> Command {
    let mut command = crate::starting::command(program);
    // Not /dev/null for standard input, which may be missing: a pipe that is closed at once.
    command.arg(APPLET).args(arguments).env_clear().envs(inherited_variables()).stdin(Stdio::piped());
    command
}

fn pipe_of(child: &mut Child) -> io::Result<Stdio> {
    child.stdout.take().map(Stdio::from).ok_or_else(|| io::Error::other("no pipe"))
}

fn wait(mut child: Child) -> io::Result<()> {
    let status = child.wait()?;
    if status.success() { Ok(()) } else { Err(io::Error::other("an applet failed")) }
}

fn filter(work: fn(&[u8]) -> Vec<u8>) -> io::Result<()> {
    let mut input = Vec::new();
    io::stdin().lock().take(MOST_BYTES).read_to_end(&mut input)?;
    io::stdout().lock().write_all(&work(&input))
}

fn lines(input: &[u8]) -> impl Iterator<Item = &[u8]> {
    input.split_inclusive(|&byte| byte == b'\n')
}

fn sorted(input: &[u8]) -> Vec<u8> {
    let mut all: Vec<&[u8]> = lines(input).collect();
    all.sort_unstable();
    all.concat()
}

fn sorted_by_number(input: &[u8]) -> Vec<u8> {
    let number = |line: &[u8]| {
        let digits = line.iter().take_while(|byte| byte.is_ascii_digit());
        digits.fold(0u64, |sum, digit| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0')))
    };
    let mut all: Vec<&[u8]> = lines(input).collect();
    all.sort_by(|a, b| number(a).cmp(&number(b)).then_with(|| a.cmp(b)));
    all.concat()
}

/// Prints two-byte words in octal, eight to a line, after their offset in the input.
fn octal(input: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(input.len() * 5);
    for (i, line) in input.chunks(16).enumerate() {
        out.extend(format!("{:07o}", i * 16).bytes());
        for word in line.chunks(2) {
            let word = u16::from_le_bytes([word[0], word.get(1).copied().unwrap_or(0)]);
            out.extend(format!(" {word:06o}").bytes());
        }
        out.push(b'\n');
    }
    out.extend(format!("{:07o}\n", input.len()).bytes());
    out
}

fn with_word(input: &[u8]) -> Vec<u8> {
    lines(input).filter(|line| has_word(line)).collect::<Vec<_>>().concat()
}

pub fn has_word(line: &[u8]) -> bool {
    line.windows(WORD.len()).any(|part| part == WORD.as_bytes())
}

fn counted(input: &[u8]) -> Vec<u8> {
    let words = input.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).count();
    format!("{:7} {words:7} {:7}\n", lines(input).count(), input.len()).into_bytes()
}

fn tee(path: &str) -> io::Result<()> {
    let mut input = Vec::new();
    io::stdin().lock().take(MOST_BYTES).read_to_end(&mut input)?;
    File::create(OsStr::new(path))?.write_all(&input)?;
    io::stdout().lock().write_all(&input)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn applets_do_what_their_namesakes_do() {
        assert_eq!(sorted(b"b\na\nc\n"), b"a\nb\nc\n");
        assert_eq!(sorted_by_number(b"10 x\n9 y\n"), b"9 y\n10 x\n");
        // As `printf 'abc' | od` prints on a little-endian machine.
        assert_eq!(octal(b"abc"), b"0000000 061141 000143\n0000003\n");
        assert_eq!(with_word(b"one\nother\n"), b"other\n");
        assert_eq!(counted(b"a b\nc\n"), b"      2       3       6\n");
    }
}
