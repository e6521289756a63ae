//! What a report shows beside the findings.

use crate::imported::Beside;

/// What a page shows beside the findings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Path of the record.
    pub record: Option<&'a str>,
    /// The command that measures the same again.
    pub again: Option<&'a str>,
    /// Served while the session may still run: the page asks its own server, at `events`, how it stands.
    pub live: bool,
    /// Results of other tools beside the session's own; none where nobody asked for them.
    pub beside: Option<&'a [Beside]>,
}
