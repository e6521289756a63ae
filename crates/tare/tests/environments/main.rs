//! Real environments, with the program under test as the agent in each.

mod actor;
mod bench;
mod cleaning;
mod commands;
mod docker;
mod entering;
mod images;
mod launchers;
mod paths;
mod roots;
mod services;
mod ssh;
mod wsl;
mod wslc;
