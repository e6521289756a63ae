//! The footprint of a provider: what entering its environments starts, mounts, writes and sends, for those who want to know
//! beforehand.

/// Everything that a provider does on the way into an environment.
#[derive(Clone, Copy, Debug)]
pub struct Footprint {
    /// Programs that it starts besides tare itself; `*` stands for the instance of an environment.
    pub programs: &'static [&'static str],
    pub starts: &'static str,
    pub mounts: Option<&'static str>,
    /// Besides the session's own folder.
    pub writes: Option<&'static str>,
    pub sends: Option<&'static str>,
}

impl Footprint {
    /// Starts this, and mounts, writes and sends nothing.
    pub(crate) const fn starting(starts: &'static str) -> Footprint {
        Footprint { programs: &[], starts, mounts: None, writes: None, sends: None }
    }
}

/// The mounts of a container that has a root and a mount namespace.
pub(crate) const OWN_MOUNTS: Option<&str> =
    Some("a root of its own with /proc, /dev and the places, in a mount namespace of its own");
