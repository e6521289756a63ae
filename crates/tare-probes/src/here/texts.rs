//! Texts that an environment may have put in place of the kernel's files: every parser of this folder in one function, for tests that
//! feed any text.

use super::{bounded, kin, machine, mounted, steps};
use crate::facts::control_groups::{Group, count_listed, find_groups, parse_counts, parse_cpu_max};
use crate::facts::mounts::parse_table;
use crate::harness::vdso;

/// Parses a text as each file that is read here, and returns the length of everything that would be noted.
pub fn parse_as_every_file(text: &[u8]) -> usize {
    let lossy = String::from_utf8_lossy(text);
    let text_of = &lossy[..lossy.floor_char_boundary(bounded::MOST_BYTES)];
    let line = text_of.lines().next().unwrap_or_default();
    let mounts = parse_table(text);
    let signs: usize = mounted::list_signs(&mounts).iter().map(String::len).sum();
    let groups: usize = find_groups(text_of, &mounts).iter().map(Group::count_bytes).sum();
    let kept = [
        kin::parse_stat(line).map_or(0, |(name, _)| name.len()),
        count_listed(line).map_or(0, |count| count.to_string().len()),
        parse_cpu_max(line).map_or(0, |_| 1),
        parse_counts(text_of).map_or(0, |_| 1),
        machine::kind_of_listing(text_of).map_or(0, str::len),
        vdso::find_release(text).map_or(0, |release| release.len()),
        steps::decode_line(line.as_bytes()).map_or(0, |(key, value)| key.len() + value.len()),
    ];
    signs + groups + kept.iter().sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_table_with_escapes_is_parsed_within_its_length() {
        let escaped = r"36 35 98:0 /\040\134\011\ /mnt\040\777\04 rw - ext3 /dev/\040root rw,errors=\134"
            .to_owned()
            + "\n";
        let table = escaped.repeat(2_000);
        assert!(parse_as_every_file(table.as_bytes()) <= table.len());
        assert!(parse_as_every_file(&vec![b'\\'; 100_000]) <= 100);
        // A deep control group of many controllers, below a mount of all of them.
        let names = (0..1_000).map(|at| format!("c{at}")).collect::<Vec<_>>().join(",");
        let deep =
            format!("4:cpu,{names}:{}\n1 0 0:9 / /g rw - cgroup c rw,cpu,{names}\n", "/a".repeat(1_000));
        assert!(parse_as_every_file(deep.as_bytes()) <= 2 * deep.len());
        assert_eq!(parse_as_every_file(b""), parse_as_every_file(b"\n"));
    }
}
