//! The footprint of a provider: what entering its environments starts, mounts, writes and sends, for those who want to know
//! beforehand.

/// Everything that a provider does on the way into an environment.
#[derive(Clone, Debug)]
pub struct Footprint {
    /// Programs that it starts in addition to tare, with `*` for the instance of an environment.
    pub programs: Vec<String>,
    pub starts: &'static str,
    pub mounts: Option<&'static str>,
    /// Files outside the session's folder.
    pub writes: Option<&'static str>,
    pub sends: Option<&'static str>,
}

impl Footprint {
    /// Describes a provider that only starts programs.
    pub(crate) const fn from_starts(starts: &'static str) -> Footprint {
        Footprint { programs: Vec::new(), starts, mounts: None, writes: None, sends: None }
    }
}

/// The mounts of a container that has a root and a mount namespace.
pub(crate) const OWN_MOUNTS: Option<&str> =
    Some("a new root with /proc, /dev and the places, in a new mount namespace");
