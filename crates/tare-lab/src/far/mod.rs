//! Shared by environments that a command reaches on another machine or in a pod.

pub(crate) mod shell;
