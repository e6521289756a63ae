//! The rules of the house that a compiler does not know, each a function from a tree of sources to what breaks it.
//!
//! `tests/rules.rs` holds them against this repository; the tests of each rule, against trees with a planted fault.

#![forbid(unsafe_code)]

pub mod arrows;
pub mod comments;
pub mod cycles;
pub mod impls;
pub mod inside;
pub mod lines;
pub mod lists;
mod modules;
pub mod names;
#[cfg(test)]
mod planted;
pub mod public;

pub mod shape;
pub mod tree;
pub mod words;
