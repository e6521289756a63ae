//! A look: a launcher is started once to see how its environment can be reached, and what it shares with this machine.

use std::io::{self, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::PollFd;
use serde::de::DeserializeOwned;
use tare_data::frame::{MARKER, decode_frame};
use tare_probes::agent::launched::{Answer, Look};

use crate::host::heard::Heard;
use crate::host::processes::{self, Signs};
use crate::platform::until_ready;

/// Time that a launcher has until its command answers. Sandboxes of virtual machines take some seconds.
const LOOK_WAIT: Duration = Duration::from_secs(16);
/// Part of that time in which the input is closed: a launcher that holds its command's output back until its end shows it then.
const CLOSED_WAIT: Duration = Duration::from_secs(8);
/// Times after which the input is closed in further looks: a launcher that starts its command just then each time waited for that. One that
/// is slow takes about as long each time, or less once its files are in memory, and that fits one of the times at most.
const CLOSED_EARLY: [Duration; 2] = [Duration::from_secs(3), Duration::from_secs(1)];
/// Time in which a launcher that waited for the end of its input starts its command.
const WOKEN_WAIT: Duration = Duration::from_secs(1);
/// A command that waited this long for its input began before that was closed, and its output was kept back.
const KEPT_BACK_MS: u64 = 1000;
/// Time that it has to answer a word, and to return once its command has answered.
const RETURN_WAIT: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(2);
/// Word that a command is to answer.
const WORD: &str = "tare-word";
/// Longest part of a changed line that an error shows, in letters.
const LONGEST_CHANGE: usize = 40;

/// Addition to the words of a launcher that ended as if all were well.
const UNANSWERED: &str =
    " (its command never answered: the words after its own are a command, to be started as they are)";

/// The reason why a look found nothing.
#[derive(Debug)]
pub(super) struct Unseen {
    pub reason: String,
    /// True where another way would only fail as well.
    pub is_final: bool,
}

/// Starts a launcher that is to answer a look, with this much more time where the program has to be sent. One that does not return afterwards is ended by whoever ends the start.
pub(super) fn look_inside(command: &mut Command, sending: Duration) -> Result<Look, Unseen> {
    let first = LOOK_WAIT + sending - CLOSED_WAIT;
    look_for_reading(command, sending, std::iter::once(first).chain(CLOSED_EARLY))
}

/// Looks until a command starts at another moment than when its input is closed, which it is after each of these times.
fn look_for_reading(
    command: &mut Command,
    sending: Duration,
    closed_after: impl IntoIterator<Item = Duration>,
) -> Result<Look, Unseen> {
    let mut last_line = String::new();
    for open in closed_after {
        match look_once(command, sending, open)? {
            (look, None) => return Ok(look),
            (_, Some(said)) => last_line = said,
        }
    }
    let reason = format!("the launcher reads its command's input before it starts it ({last_line})");
    Err(Unseen { reason, is_final: true })
}

/// Looks with an input that is open for a time, and tells the last words of a launcher that started its command when that ended.
fn look_once(
    command: &mut Command,
    sending: Duration,
    open: Duration,
) -> Result<(Look, Option<String>), Unseen> {
    let unseen = |reason: String| Unseen { reason, is_final: false };
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let program = command.get_program().display().to_string();
    let child = processes::spawn_program(command).map_err(|e| unseen(format!("{program}: {e}")))?;
    let mut looking = Looking::listen_to(child);
    let status = looking.await_answer(LOOK_WAIT + sending, open).map_err(|e| unseen(e.to_string()))?;
    if let Some(look) = looking.find() {
        let woken = looking.was_woken.then(|| looking.errors.last_line().unwrap_or_default());
        return looking.check_streams().map(|()| (look, woken));
    }
    let said = looking.errors.last_line().or_else(|| looking.output.last_line());
    Err(match status {
        None => Unseen {
            reason: format!(
                "nothing answered within {} s{}",
                (LOOK_WAIT + sending).as_secs(),
                said.map(|line| format!(" ({line})")).unwrap_or_default()
            ),
            is_final: true,
        },
        Some(_) if let Some(line) = looking.find_changed() => Unseen {
            reason: format!("the launcher changes its command's output ('{line}'): let it through as it is"),
            is_final: true,
        },
        Some(status) => {
            let said = said.unwrap_or_else(|| format!("it printed nothing ({status})"));
            let words = if status.success() { UNANSWERED } else { "" };
            unseen(said + words)
        }
    })
}

/// A launcher that was started, and its output so far.
struct Looking {
    child: Child,
    /// None once it was closed.
    input: Option<ChildStdin>,
    output: Heard<ChildStdout>,
    errors: Heard<ChildStderr>,
    /// True once it has answered the look.
    was_found: bool,
    /// True where the command was asked, and its input left open meanwhile.
    was_asked: bool,
    /// True where the command began when its input had just been closed.
    was_woken: bool,
    /// True where the launcher returned before its command had answered.
    has_returned: bool,
}

impl Looking {
    fn listen_to(mut child: Child) -> Looking {
        let (output, errors) =
            (Heard::from_stream(child.stdout.take()), Heard::from_stream(child.stderr.take()));
        let input = child.stdin.take();
        let (was_found, was_asked, was_woken, has_returned) = Default::default();
        Looking { child, input, output, errors, was_found, was_asked, was_woken, has_returned }
    }

    /// Reads until the launcher has ended, or has answered and had its time to end; None where it had to be killed.
    fn await_answer(&mut self, wait: Duration, open: Duration) -> io::Result<Option<ExitStatus>> {
        let (closes, mut end) = (Instant::now() + open, Instant::now() + wait);
        loop {
            // Whatever it left behind may hold its streams open.
            let has_ended = self.child.try_wait()?;
            self.output.read_ready();
            self.errors.read_ready();
            let has_answered = self.find::<Answer>().is_some();
            if !self.was_found && self.find::<Look>().is_some() {
                self.was_found = true;
                end = Instant::now() + RETURN_WAIT;
                if let Some(input) = &mut self.input {
                    // A command that takes no word does not answer it.
                    let _ = input.write_all(format!("{WORD}\n").as_bytes());
                    self.was_asked = true;
                }
                self.was_woken = !self.was_asked && Instant::now() < closes + WOKEN_WAIT;
            }
            self.has_returned |= has_ended.is_some() && !has_answered;
            if has_answered || Instant::now() >= closes {
                self.input = None;
            }
            let are_over = self.output.has_ended() && self.errors.has_ended();
            if let Some(status) = has_ended.filter(|_| has_answered || are_over) {
                return Ok(Some(status));
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                Signs::from_descent(self.child.id()).kill_processes();
                self.child.wait()?;
                return Ok(None);
            }
            let mut streams: Vec<PollFd<'_>> =
                self.output.as_polled().into_iter().chain(self.errors.as_polled()).collect();
            if streams.is_empty() || !until_ready(&mut streams, left.min(LOOK_AGAIN * 10))? {
                thread::sleep(LOOK_AGAIN);
            }
        }
    }

    /// Finds a frame in what it printed.
    fn find<T: DeserializeOwned>(&self) -> Option<T> {
        self.output.bytes.split(|&byte| byte == b'\n').find_map(decode_frame)
    }

    /// Finds the beginning of a line that was a frame before the launcher changed it.
    fn find_changed(&self) -> Option<String> {
        let text = String::from_utf8_lossy(&self.output.bytes);
        let is_one = |line: &&str| line.to_ascii_lowercase().contains(MARKER.trim());
        Some(text.lines().find(is_one)?.chars().take(LONGEST_CHANGE).collect())
    }

    /// Checks that the command has the input that the launcher has, and that its output comes at once.
    fn check_streams(&self) -> Result<(), Unseen> {
        let answer: Answer = self.find().unwrap_or_default();
        if answer.word == WORD {
            return Ok(());
        }
        if self.was_asked {
            let how = if self.has_returned { "starts its command in the background, and " } else { "" };
            let reason = format!(
                "it {how}may not pass its input on (docker run and kubectl exec need -i), by which tare asks"
            );
            return Err(Unseen { reason, is_final: false });
        }
        if answer.waited_ms < KEPT_BACK_MS {
            // It takes longer to start than the input was open.
            return Ok(());
        }
        let line =
            self.output.bytes.split(|&byte| byte == b'\n').find(|line| decode_frame::<Look>(line).is_some());
        let line = String::from_utf8_lossy(line.unwrap_or_default()).into_owned();
        let change = match line.split_once(MARKER.trim()) {
            Some((before, _)) if !before.is_empty() => {
                format!(", and changes it ('{}')", before.chars().take(LONGEST_CHANGE).collect::<String>())
            }
            _ => String::new(),
        };
        let reason = format!(
            "the launcher keeps its command's output back until that ends{change}: let it through as it is (sed -u, stdbuf -oL)"
        );
        Err(Unseen { reason, is_final: true })
    }
}

/// Lists the reasons of ways, each once, after the ways that it is of.
pub(super) fn list_refusals(refusals: &[(String, String)]) -> String {
    let mut reasons: Vec<(Vec<&str>, &str)> = Vec::new();
    for (way, reason) in refusals {
        match reasons.iter_mut().find(|(_, known)| known == reason) {
            Some((ways, _)) => ways.push(way),
            None => reasons.push((vec![way], reason)),
        }
    }
    let listed: Vec<String> =
        reasons.iter().map(|(ways, reason)| format!("{}: {reason}", ways.join(", "))).collect();
    listed.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tare_data::frame::encode_frame;

    fn look(script: &str) -> Result<Look, Unseen> {
        look_inside(Command::new("/bin/sh").args(["-c", script]), Duration::ZERO)
    }

    /// Writes the lines of a shell that answers as a look does.
    fn inside(look: &Look) -> String {
        let answer = |word: &str, waited_ms| {
            encode_frame(&Answer { word: word.into(), waited_ms }).trim_end().to_owned()
        };
        format!(
            "echo '{}'; if read word; then echo '{}'; else echo '{}'; fi",
            encode_frame(look).trim_end(),
            answer(WORD, 1),
            answer("", 9000)
        )
    }

    #[test]
    fn a_look_is_found_among_what_a_launcher_prints() {
        let expected = Look { filters: "7".into(), ..Look::default() };
        let found = look(&format!("echo Welcome; {}; echo bye", inside(&expected)));
        assert_eq!(found.ok(), Some(expected.clone()));
        let prefixed =
            look(&format!("({}) | while read line; do echo \"[box] $line\"; done", inside(&expected)));
        assert_eq!(prefixed.ok(), Some(expected), "text before a frame is nobody's");
    }

    #[test]
    fn a_launcher_that_does_not_return_has_answered_all_the_same() {
        let began = Instant::now();
        assert!(look(&format!("{}; exec sleep 1000", inside(&Look::default()))).is_ok());
        assert!(began.elapsed() < LOOK_WAIT);
    }

    #[test]
    fn a_launcher_that_answers_late_and_does_not_return_is_not_waited_for() {
        let script = format!("{}; exec sleep 1000", inside(&Look::default()));
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut looking = Looking::listen_to(processes::spawn_program(&mut command).unwrap());
        // It was closed before anything came.
        looking.input = None;
        assert_eq!(looking.await_answer(Duration::from_secs(5), Duration::ZERO).unwrap(), None);
        assert!(looking.was_found && !looking.was_asked);
        looking.child.kill().unwrap();
        looking.child.wait().unwrap();
    }

    #[test]
    fn a_launcher_that_reads_the_input_itself_starts_its_command_when_that_ends() {
        let frames = [encode_frame(&Look::default()), encode_frame(&Answer::default())].concat();
        let woken = |before: &str, open: Duration| {
            let script = format!("{before}; cat <<'END'\n{frames}END");
            look_once(Command::new("/bin/sh").args(["-c", &script]), Duration::ZERO, open).unwrap().1
        };
        let short = Duration::from_millis(50);
        assert_eq!(woken("echo password: >&2; read -r line", short).as_deref(), Some("password:"));
        assert_eq!(woken("sleep 1.2", short), None, "it is slow");
    }

    #[test]
    fn a_launcher_that_starts_by_chance_when_the_input_ends_twice_is_only_slow() {
        // Its command does not wait for input that has ended before.
        let script = format!("sleep 0.5; {}", inside(&Look::default()).replace("9000", "3"));
        let closed_after = [0, 0, 60].map(Duration::from_secs);
        let mut command = Command::new("/bin/sh");
        let found = look_for_reading(command.args(["-c", &script]), Duration::ZERO, closed_after);
        assert_eq!(found.ok(), Some(Look::default()));
    }

    #[test]
    fn a_launcher_that_does_not_fit_is_told_why() {
        let inside = inside(&Look::default());
        let reason = |script: &str| look(script).err().map(|unseen| unseen.reason).unwrap();
        let closed = reason(&format!("({inside}) </dev/null; sleep 0.1"));
        assert!(closed.starts_with("it may not pass its input on (docker run"), "{closed}");
        // The command begins after its launcher was waited for: until then there is a process of its number.
        let away =
            reason(&format!("(while kill -0 $$; do sleep 0.01; done; sleep 0.1; {inside}) 2>/dev/null &"));
        assert!(away.starts_with("it starts its command in the background"), "{away}");
    }

    #[test]
    fn output_that_is_kept_back_until_the_input_ends_is_told_apart_from_a_slow_start() {
        let said = |before: &str, waited_ms| {
            let mut looking = Looking::listen_to(Command::new("true").spawn().unwrap());
            let answer = Answer { word: String::new(), waited_ms };
            let lines = [encode_frame(&Look::default()), encode_frame(&answer)];
            looking.output.bytes = lines.map(|line| format!("{before}{line}")).concat().into_bytes();
            looking.child.wait().unwrap();
            looking.check_streams().map_err(|unseen| unseen.reason)
        };
        assert_eq!(said("", 3), Ok(()));
        assert!(
            said("[box] ", 8000)
                .unwrap_err()
                .contains("back until that ends, and changes it ('[box] '): let it")
        );
        assert!(said("", 8000).unwrap_err().contains("back until that ends: let it"));
    }

    #[test]
    fn a_launcher_that_changes_the_command_or_its_output_is_told_so() {
        let reason = |script: &str| look(script).err().map(|unseen| unseen.reason).unwrap();
        let frame = encode_frame(&Look::default());
        for changed in [frame.to_uppercase(), frame[..frame.len() / 2].to_owned()] {
            let reason = reason(&format!("echo '{}'", changed.trim_end()));
            assert!(reason.starts_with("the launcher changes its command's output ('@"), "{reason}");
        }
        assert!(reason("echo hello").starts_with("hello (its command never answered"));
        assert_eq!(reason("echo hello; exit 1"), "hello");
    }

    #[test]
    fn a_launcher_that_fails_is_quoted() {
        let reason = |script: &str| look(script).err().map(|unseen| unseen.reason).unwrap();
        assert_eq!(reason("echo out; echo first >&2; echo no such thing >&2; exit 3"), "no such thing");
        assert!(reason("exit 3").contains("printed nothing"));
        assert_eq!(reason(r"printf '\033[0;1;31mHost is down\033[0m\n' >&2; exit 1"), "Host is down");
    }
}
