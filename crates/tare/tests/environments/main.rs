//! Environments entered for real: the program under test is the agent in each.

mod actor;
mod bench;
mod cleaning;
mod commands;
mod docker;
mod entering;
mod images;
mod paths;
mod roots;
mod ssh;
mod wsl;
