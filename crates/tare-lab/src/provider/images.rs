//! Images of engines, as far as engines are alike: their names, and those that a session makes, of nothing but links.

use crate::error::LabError;

/// Longest name or target of a link in an archive.
const LONGEST: usize = 100;

/// A symbolic link: its name and its target.
pub(crate) type Link = (Vec<u8>, Vec<u8>);

/// Writes a tar archive of symbolic links, from which an engine makes an image. A link that does not fit in is left out.
pub(crate) fn archive_links(links: &[Link]) -> Vec<u8> {
    let fits = |(name, target): &&Link| name.len().max(target.len()) <= LONGEST;
    let headers = links.iter().filter(fits).flat_map(|(name, target)| write_header(name, target));
    // Two blocks of zeros end it.
    headers.chain([0; 1024]).collect()
}

/// Writes the header of a link as POSIX has it, of root's and at the beginning of time.
fn write_header(name: &[u8], target: &[u8]) -> [u8; 512] {
    let mut header = [0; 512];
    let mut put = |at: usize, field: &[u8]| header[at..at + field.len()].copy_from_slice(field);
    put(0, name);
    put(100, b"0000777");
    for (at, digits) in [(108, 7), (116, 7), (124, 11), (136, 11)] {
        put(at, &b"00000000000"[..digits]);
    }
    // The sum is over this field as blanks.
    put(148, b"        2");
    put(157, target);
    put(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

/// Refuses the name of an image that looks like an option; `provider` is the word before it in a specification.
pub fn check_image_name(image: String, provider: &str) -> Result<String, LabError> {
    match image.is_empty() || image.starts_with('-') {
        false => Ok(image),
        true => Err(LabError::usage_error(format!("'{image}' is not the name of an image"))
            .with_hint(format!("give one as {provider}:NAME"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_the_links_that_fit_in() {
        assert_eq!(archive_links(&[]), [0; 1024]);
        let long = (b"long".to_vec(), vec![b'x'; 101]);
        let archive = archive_links(&[(b"bin".to_vec(), b"usr/bin".to_vec()), long]);
        assert_eq!(archive.len(), 512 + 1024);
        let sum: u32 = archive[..512].iter().map(|byte| u32::from(*byte)).sum();
        assert_eq!(&archive[..4], b"bin\0");
        assert_eq!(&archive[156..165], b"2usr/bin\0");
        let told = u32::from_str_radix(std::str::from_utf8(&archive[148..154]).unwrap(), 8).unwrap();
        let field: u32 = archive[148..156].iter().map(|byte| u32::from(*byte)).sum();
        assert_eq!(told, sum - field + 8 * u32::from(b' '));
    }
}
