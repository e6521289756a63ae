//! Prompts of shells: a line with one is a command that somebody typed, and no output.

/// Limit on the bytes of a prompt.
const LONGEST_PROMPT: usize = 120;

const MARKS: [char; 4] = ['$', '#', '%', '>'];
/// Marks that some shells draw in place of these.
const DRAWN: [char; 3] = ['❯', '➜', 'λ'];

/// Recognises a line with the prompt of a shell.
pub fn is_prompt(line: &str) -> bool {
    if !MARKS.iter().any(|mark| line.contains(*mark)) && !line.starts_with(DRAWN) {
        return false;
    }
    let is_mark = |word: &str| word == "$" || (word.chars().count() == 1 && word.starts_with(DRAWN));
    let mut words = line.split_whitespace();
    let (first, second) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    // netperf has columns of percent.
    let is_c_shell = first == "%" && second.starts_with(char::is_alphabetic);
    if is_mark(first) || is_c_shell || is_windows_prompt(line) {
        return true;
    }
    let is_place = first.contains(":~") || first.contains(":/") || first.starts_with(['~', '/']);
    let is_home = ["]#", "]$", "~#", "~$", "~%"].iter().any(|end| first.ends_with(end));
    let ends = first.ends_with(MARKS) && (is_home || is_place);
    // macOS writes `host:~ user$ `.
    let ends = ends || (is_place && second.ends_with(['$', '%', '#']));
    ends || (is_place && second.len() == 1 && second.starts_with(MARKS)) || is_user_at_host(line)
}

/// Recognises `user@host:~$ `, `[root@host ~]# `, `(base) user@host ~ % `.
fn is_user_at_host(line: &str) -> bool {
    let environment = line.strip_prefix('(').and_then(|rest| rest.split_once(") "));
    let line = environment.map_or(line, |(_, rest)| rest);
    let line = line.strip_prefix('[').unwrap_or(line);
    let is_name = |c: char| c.is_alphanumeric() || "._-".contains(c);
    let Some((user, rest)) = line.split_once('@') else { return false };
    if user.is_empty() || !user.chars().all(is_name) || !rest.starts_with(is_name) {
        return false;
    }
    let place = rest.char_indices().take_while(|(at, _)| *at < LONGEST_PROMPT);
    let mut marks = place.filter(|(_, c)| MARKS.contains(c));
    marks.any(|(at, _)| rest[at + 1..].is_empty() || rest[at + 1..].starts_with(' '))
}

/// Recognises `PS C:\Users> ` and `C:\Users>`.
fn is_windows_prompt(line: &str) -> bool {
    let path = line.strip_prefix("PS ").unwrap_or(line);
    let mut characters = path.chars();
    let drive = characters.next().is_some_and(|c| c.is_ascii_alphabetic());
    drive && path[1..].starts_with(":\\") && path.find('>').is_some_and(|at| at < LONGEST_PROMPT)
}

/// Programs whose outputs are read, and that stand first in a command.
const PROGRAMS: &[&str] =
    &["dd", "fio", "hyperfine", "iperf", "iperf3", "netperf", "netserver", "sysbench", "sync"];

/// Recognises a command that calls a tool with options, behind a `#` that is a prompt or begins a comment.
pub fn is_command(line: &str) -> bool {
    let mut words = line.split_whitespace().skip_while(|word| matches!(*word, "sudo" | "time" | "nice"));
    let program = words.next().unwrap_or("");
    let name = program.rsplit('/').next().unwrap_or("");
    let is_option = |word: &str| word.starts_with('-') || word.contains('=');
    PROGRAMS.contains(&name) && words.any(is_option) || program.starts_with("./Run")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_are_told_from_outputs() {
        for line in [
            "$ dd if=a",
            "user@host:~$ netperf",
            "[root@host ~]# fio",
            "root@host:/app/x# iperf3",
            "(base) me@mac ~ % hyperfine",
            "~]# dd if=/dev/zero",
            "board:~$ netperf -H host",
            "MacBook-Pro:~ me$ dd if=x",
            "linux:/xfs/a # dd of=/dev/null",
            "PS C:\\Users\\x> iperf3.exe",
            "C:\\>iperf3.exe",
        ] {
            assert!(is_prompt(line), "{line}");
        }
        for line in [
            "MIGRATED TCP STREAM TEST from 0.0.0.0 () port 0 AF_INET to host : +/-2.5% @ 99% conf.",
            "[  5]   0.00-1.00   sec  1.61 GBytes  13.8 Gbits/sec",
            "bytes   bytes    secs            #      #   10^6bits/sec",
            "%      %     %      %     Method",
            "Benchmark #1: ls",
            "8506/52172059 (0.016%)",
            "",
            "100%",
        ] {
            assert!(!is_prompt(line), "{line}");
        }
        assert!(
            is_command("iperf3 -c host") && is_command("sudo dd if=a of=b") && !is_command("iperf3 here")
        );
    }
}
