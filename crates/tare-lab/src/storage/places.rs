//! Places: where the files of a case live, what the user may call them, and what they are called inside.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, MAIN_SEPARATOR, Path, PathBuf};

use sha2::{Digest, Sha256};
use tare_data::encoding::encode_hex;
use tare_data::names::Case;
use tare_data::session::Inside;

use crate::error::{Cause, ErrorKind, LabError};
use crate::nearest::find_nearest;
use crate::platform;
use crate::storage::file_systems::{self, FILE_SYSTEMS, FileSystem};

/// The environment's own file system.
pub const OWN: &str = "own";
/// Folder of a start that an environment on this machine's kernel shares with it for the files by which it takes turns. No case
/// works there.
pub(crate) const TURNS: &str = "turns";
/// Path of that folder for an agent that inherits the open files instead.
pub(crate) const INHERITED: &str = "inherited";
/// Place where a command finds its files: a folder of the view that an environment has of this machine's
/// files; without a view, as [`OWN`].
pub(crate) const WORK: &str = "work";
/// A folder of the host's on the scratch disk.
pub(crate) const SHARE: &str = "share";
/// Parameters that hold the size of a probe's files.
const SIZES: [&str; 2] = ["size", "total"];
/// Longest name of a folder inside; file systems allow 255 bytes.
const LONGEST_FOLDER: usize = 120;
/// Longest brief name of a folder in a table, in characters.
const LONGEST_BRIEF: usize = 20;

/// Places that a session makes or shares in, besides those that environments have.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// The user's folders by the name of the place; the session works in a fresh folder below each.
    pub folders: BTreeMap<String, PathBuf>,
    /// True when a case uses the place where commands find their files.
    pub work: bool,
    /// True when a folder of the scratch folder is shared in as `share`.
    pub share: bool,
    /// File systems to be made, each a place of its name.
    pub file_systems: Vec<&'static FileSystem>,
    /// Content of every environment whose specification says nothing else.
    pub inside: Inside,
    /// True when a case measures files in the scratch folder, which must be on a disk then.
    pub disk: bool,
    /// Bytes that the largest case has in its files.
    pub room_bytes: u64,
}

impl Wanted {
    /// Collects the places of these cases, which must have been read by [`parse_place`].
    pub(crate) fn from_cases<'a>(cases: impl Iterator<Item = &'a Case>) -> Wanted {
        let mut wanted = Wanted::default();
        for case in cases {
            let Some(place) = case.place.as_deref() else { continue };
            let size = SIZES.iter().filter_map(|key| case.parameters.get_integer(key).ok()).max();
            wanted.room_bytes = wanted.room_bytes.max(size.unwrap_or(0));
            wanted.disk |= place != WORK && !place.contains('/');
            match place {
                OWN => {}
                WORK => wanted.work = true,
                SHARE => wanted.share = true,
                path if path.contains('/') => {
                    wanted.folders.insert(path.to_owned(), path.into());
                }
                name => {
                    let known = |file_system: &&FileSystem| file_system.name == name;
                    if !wanted.file_systems.iter().any(known) {
                        wanted.file_systems.extend(FILE_SYSTEMS.iter().find(known));
                    }
                }
            }
        }
        wanted
    }
}

/// Reads a place as a person writes it. A folder becomes its absolute path; everything else is one of the names.
pub(crate) fn parse_place(text: &str) -> Result<String, LabError> {
    if text.contains(platform::IN_PATHS) || text == "." || text == ".." {
        let path = platform::resolve_path(Path::new(text)).map_err(|e| no_folder(text, e))?;
        return match path.to_str() {
            Some(_) if path.parent().is_none() => {
                Err(no_folder(text, "tare does not write in the root folder"))
            }
            // Everywhere with the same sign between its parts, by which it is known to be one.
            Some(text) if path.is_dir() => Ok(text.replace(MAIN_SEPARATOR, "/")),
            Some(_) => Err(no_folder(text, "it is not a folder")),
            None => Err(no_folder(text, "its path is not UTF-8")),
        };
    }
    if list_place_names().any(|name| name == text) {
        return Ok(text.to_owned());
    }
    let error = LabError::usage_error(format!("there is no place '{text}'"));
    let all = list_place_names().collect::<Vec<_>>().join(", ");
    let otherwise = format!("there are {all}; a folder of yours has a / in its name, such as ./{text}");
    Err(match find_nearest(text, list_place_names()) {
        // File systems have names of three letters: what is near may be far from what was meant.
        Some(name) => error.with_hint(format!("did you mean '{name}'? {otherwise}")),
        None => error.with_hint(otherwise),
    })
}

fn no_folder(text: &str, cause: impl Into<Cause>) -> LabError {
    LabError::new(ErrorKind::Storage, format!("cannot use the place {text}"))
        .with_cause(cause)
        .with_hint("name a folder that you may write, on a disk with room")
}

/// Lists the names of places; a folder's path is one too.
pub fn list_place_names() -> impl Iterator<Item = &'static str> + Clone {
    [OWN, WORK, SHARE]
        .into_iter()
        .chain(file_systems::FILE_SYSTEMS.iter().map(|file_system| file_system.name))
}

/// Builds the name of the folder inside at which a place is: a plain path component, different for every place.
///
/// A path has `-` for its slashes; its own `-` is doubled, and characters that a command line or a mount
/// table would trip over become `_` and two hex digits.
pub(crate) fn folder_inside(place: &str) -> String {
    let Some(path) = place.strip_prefix('/') else { return place.to_owned() };
    let mut name = "path".to_owned();
    for byte in [b'/'].into_iter().chain(path.bytes()) {
        match byte {
            b'/' => name.push('-'),
            b'-' => name.push_str("--"),
            b'.' => name.push('.'),
            plain if plain.is_ascii_alphanumeric() => name.push(char::from(plain)),
            other => name.push_str(&format!("_{other:02x}")),
        }
    }
    if name.len() > LONGEST_FOLDER {
        let digest = Sha256::digest(place.as_bytes());
        name = format!("path-{}-{}", &name[name.len() - LONGEST_FOLDER / 2..], encode_hex(&digest[..16]));
    }
    name
}

/// Shortens the names of places for the headings of rows. Folders end in a slash, and have as many of their
/// parents as it takes to distinguish them.
pub(crate) fn shorten_names<'a>(places: impl Iterator<Item = &'a str>) -> BTreeMap<String, String> {
    let places: BTreeSet<&str> = places.collect();
    let is_path = |place: &&&str| place.contains('/');
    let paths: Vec<&str> = places.iter().filter(is_path).copied().collect();
    let names =
        places.iter().filter(|place| !is_path(place)).map(|name| (name.to_string(), name.to_string()));
    let mut brief: BTreeMap<String, String> = names.collect();
    for path in &paths {
        let depth = Path::new(path).components().count();
        let alone =
            |count: &usize| paths.iter().filter(|other| end(other, *count) == end(path, *count)).count() == 1;
        let count = (1..depth).find(alone).unwrap_or(depth);
        brief.insert(path.to_string(), end(path, count));
    }
    brief
}

/// Takes the last `count` parts of a path.
fn end(path: &str, count: usize) -> String {
    let parts: Vec<&str> = Path::new(path)
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    let end = parts[parts.len().saturating_sub(count)..].join("/");
    let length = end.chars().count();
    if count == 1 && length > LONGEST_BRIEF {
        let kept: String = end.chars().skip(length - LONGEST_BRIEF + 1).collect();
        return format!("…{kept}/");
    }
    format!("{end}/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_name_or_a_folder() {
        assert_eq!(parse_place("btrfs").unwrap(), "btrfs");
        assert_eq!(parse_place("/usr/../usr/").unwrap(), "/usr");
        let hint = |text: &str| parse_place(text).unwrap_err().hint.unwrap();
        assert!(hint("brtfs").starts_with("did you mean 'btrfs'? there are own, work, share, "));
        assert!(
            hint("zfs").starts_with("did you mean 'xfs'? there are own, "),
            "all are named: no place was meant"
        );
        assert!(hint("zzz").contains("./zzz"));
        for text in ["/no/such/folder", "/etc/passwd", "/"] {
            let error = parse_place(text).unwrap_err();
            assert_eq!((error.kind, error.causes().count()), (ErrorKind::Storage, 1), "{text}");
        }
    }

    #[test]
    fn cases_say_what_is_wanted() {
        let case = |place: &str, size: &str| Case {
            probe: "file.seq".into(),
            parameters: tare_data::names::Parameters([("size".to_owned(), size.to_owned())].into()),
            place: Some(place.into()),
            peer: None,
        };
        let cases = [case("own", "1GiB"), case("xfs", "4KiB"), case("xfs", "1MiB"), case("/mnt", "1")];
        let wanted = Wanted::from_cases(cases.iter());
        assert_eq!((wanted.room_bytes, wanted.share, wanted.folders.len()), (1 << 30, false, 1));
        assert_eq!(wanted.file_systems.iter().map(|f| f.name).collect::<Vec<_>>(), ["xfs"]);
    }

    #[test]
    fn folders_inside_are_plain_and_differ() {
        assert_eq!(folder_inside("ext4"), "ext4");
        assert_eq!(folder_inside("/mnt/data"), "path-mnt-data");
        let long = format!("/{}", "x".repeat(300));
        let places = ["/mnt-data", "/mnt/data", "/mnt_data", "/ext4", "/a b:c,d", "/a b:c_d", "/ä", &long];
        let inside: BTreeSet<String> = places.iter().map(|place| folder_inside(place)).collect();
        assert_eq!(inside.len(), places.len());
        for name in inside {
            assert!(name.len() <= LONGEST_FOLDER, "{name}");
            assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)), "{name}");
        }
    }

    #[test]
    fn brief_names_are_told_apart() {
        let brief =
            shorten_names(["own", "/mnt/a/data", "/mnt/b/data", "/srv", "/x/ext4", "ext4"].into_iter());
        let texts: Vec<&str> = brief.values().map(String::as_str).collect();
        assert_eq!(texts, ["a/data/", "b/data/", "srv/", "ext4/", "ext4", "own"]);
        let long = super::shorten_names(["/a-very-long-name-of-a-folder-of-mine"].into_iter());
        assert_eq!(long.values().next().unwrap().chars().count(), LONGEST_BRIEF + 1);
    }
}
