//! The invocation: this program's file, its arguments, and the current time.

use std::env;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use tare_lab::asked::secrets::redact_secret;
use tare_lab::error::{ErrorKind, LabError};
use tare_lab::session::Caller;

/// Words of the command line as they were read, where that is not as they were typed.
static READ: OnceLock<Vec<String>> = OnceLock::new();

/// Keeps the words as they were read: they can be typed again with further options, where a command needs `--`.
pub fn keep_words(words: &[String]) {
    let _ = READ.set(words.to_vec());
}

/// Collects the arguments after the program's name, without secrets.
pub fn list_arguments() -> Vec<String> {
    let typed = || env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    READ.get().cloned().unwrap_or_else(typed).iter().map(|word| redact_secret(word)).collect()
}

/// Describes this call of the program for a session, whose budget counts from `began`.
pub fn make_caller(began: Instant, interrupted: &AtomicBool) -> Caller<'_> {
    Caller { command: list_arguments(), now: &format_current_time, began, interrupted }
}

/// Formats the current time in RFC 3339 with its offset.
pub fn format_current_time() -> String {
    jiff::ZonedDateTime::now().strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

/// Picks a record name from the current time that is still free, in a folder or in this one: two sessions may begin in the same second.
pub fn fresh_record(folder: Option<PathBuf>, prefix: &str) -> PathBuf {
    let folder = folder.unwrap_or_default();
    let stem = jiff::ZonedDateTime::now().strftime(&format!("{prefix}-%Y-%m-%dT%H-%M-%S")).to_string();
    let names = (1..).map(|n| if n == 1 { format!("{stem}.tare") } else { format!("{stem}-{n}.tare") });
    // A link that leads nowhere is in the way, too.
    names
        .map(|name| folder.join(name))
        .find(|path| path.symlink_metadata().is_err())
        .expect("numbers do not end")
}

/// Finds the file of this program. One whose name was removed since, as that of a fleet's job, is reached by the kernel's.
pub fn find_binary() -> Result<PathBuf, LabError> {
    let path = env::current_exe()
        .map_err(|e| LabError::new(ErrorKind::Storage, "cannot find tare's own file").with_cause(e))?;
    let kernels = PathBuf::from(format!("/proc/{}/exe", std::process::id()));
    Ok(if path.exists() || !kernels.exists() { path } else { kernels })
}
