//! Tests that keep the rules of the house; see `tests/`. There is nothing here to call.
