//! Node names: they come from outside, and files are named after them.

/// Longest name: that of a file.
const LONGEST: usize = 255;

pub fn is_node_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    (1..=LONGEST).contains(&name.len()) && name.bytes().all(plain) && !name.starts_with(['.', '-'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_named_like_a_file() {
        for name in ["n1", "rack-3.node_7", "N", &"a".repeat(255)] {
            assert!(is_node_name(name), "{name}");
        }
        for name in ["", ".", "..", "-n", ".n", "a/b", "a b", "ä", "a\n", "a*", &"a".repeat(256)] {
            assert!(!is_node_name(name), "{name}");
        }
    }
}
