//! Hostile input: environments that lie, other users, and records from elsewhere.

mod escapes;
mod liar;
mod lies;
mod memory;
mod owners;
mod strangers;
mod trust;

#[test]
fn attacks_are_seen_to_fail_by_a_defence_alone() {
    crate::refusals::assert_tests_see("hostile::escapes::");
    crate::refusals::assert_tests_see("hostile::trust::");
}
