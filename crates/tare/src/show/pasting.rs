//! A block to paste: the names that it must not have, and a text of this call in it.

use std::env;

use tare_report::paste::{Private, paste_text};

use crate::invocation::list_arguments;
use crate::{paths, platform};

/// Collects the names of this machine and its user.
pub fn collect_private() -> Private {
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let users: Vec<String> =
        ["USER", "LOGNAME", "USERNAME", "SUDO_USER"].into_iter().filter_map(variable).collect();
    let home = paths::home().unwrap_or_default().display().to_string();
    let folder = env::current_dir().unwrap_or_default().display().to_string();
    Private::new(&platform::host_name(), &users, &home, &folder)
}

/// Renders a text of this call as a block to paste.
pub fn paste_lines(text: &str) -> String {
    paste_text(env!("CARGO_PKG_VERSION"), &list_arguments(), text, &collect_private())
}
