//! Real environments, with the program under test as the agent in each.

#![allow(clippy::disallowed_methods, reason = "tests start what they look for by name")]

mod bench;
mod cleaning;
mod commands;
mod daemon;
mod docker;
mod entering;
mod groups;
mod images;
mod inodes;
mod launchers;
mod paths;
mod roots;
mod services;
mod ssh;
mod wsl;
