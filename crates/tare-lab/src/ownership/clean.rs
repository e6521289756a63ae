//! Cleaning: removes what a session made, and nothing else.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use tare_paths::remove_tree;

use crate::error::LabError;
use crate::host::mounts;
use crate::host::processes::{Mention, Signs};
use crate::host::programs::Programs;
use crate::host::running::Running;
use crate::host::wsl_distributions;
use crate::owned::{Owned, PREFIX};
pub use crate::ownership::journal::Elsewhere;
use crate::ownership::journal::{self, Abandoned, Found};
pub use crate::ownership::of_linux::remove_unnamed;
pub use crate::ownership::outcome::Outcome;
use crate::ownership::undoing::Undoing;

/// Time in which what only mentions a session may end by itself, as a helper of an engine does that writes to a busy disk, and the pause
/// between two looks at it.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);
/// Tries at emptying a folder in which a dying process may still have made a file.
const FOLDER_TRIES: u32 = 3;
/// Time in which Windows lets go of the files of a program that has ended.
const RELEASED_WITHIN: Duration = Duration::from_secs(2);

/// Removes everything that dead sessions left behind, by their journals in the state folder.
///
/// A session whose journal is locked lives and is not touched. What could not be removed stays in its
/// journal for the next time. A journal that somebody else may have written is named and left.
pub fn remove_leftovers(state: &Path, programs: &Programs) -> Result<Vec<Outcome>, LabError> {
    Ok(clean_as(&Running::from_this_host(), state, programs, None)?.0)
}

/// Removes the same, and also what is here of sessions of a named host. Returns the journals that other hosts have here, too.
pub fn remove_from_host(
    state: &Path,
    programs: &Programs,
    from_host: Option<&str>,
) -> Result<(Vec<Outcome>, Vec<Elsewhere>), LabError> {
    clean_as(&Running::from_this_host(), state, programs, from_host)
}

/// Lists what the journals of dead sessions hold, and removes nothing.
pub fn list_leftovers(state: &Path, from_host: Option<&str>) -> Result<Vec<String>, LabError> {
    let found = journal::find_journals(state, &Running::from_this_host(), from_host)?;
    let sessions = found.into_iter().filter_map(|found| match found {
        Found::Dead(session) => Some(session),
        Found::Doubtful { .. } | Found::Elsewhere(_) => None,
    });
    let list = |session: Abandoned| {
        let journal = format!("journal {}", session.path.display());
        session.things.iter().rev().map(Owned::describe).chain([journal]).collect::<Vec<_>>()
    };
    Ok(sessions.flat_map(list).collect())
}

/// Cleans like another machine would, with its own journals alone.
fn clean_as(
    running: &Running,
    state: &Path,
    programs: &Programs,
    from_host: Option<&str>,
) -> Result<(Vec<Outcome>, Vec<Elsewhere>), LabError> {
    let (mut outcomes, mut elsewhere) = (Vec::new(), Vec::new());
    for found in journal::find_journals(state, running, from_host)? {
        match found {
            Found::Dead(session) => outcomes.extend(clean_session(&session, programs)),
            Found::Doubtful { path, because } => {
                outcomes.push(Outcome::new_left(format!("journal {}", path.display()), because));
            }
            Found::Elsewhere(journal) => elsewhere.push(journal),
        }
    }
    Ok((outcomes, elsewhere))
}

fn clean_session(session: &Abandoned, programs: &Programs) -> Vec<Outcome> {
    let journal = format!("journal {}", session.path.display());
    let (mut outcomes, mut mentions) = (Vec::new(), Vec::new());
    if let Some(scratch) = &session.scratch {
        let name = format!("{PREFIX}{}", session.id);
        if scratch.file_name().is_none_or(|last| *last != *name)
            || !mounts::is_inside(scratch, Path::new("/"))
        {
            return vec![Outcome::new_left(
                journal,
                format!("{} is not a scratch folder of tare", scratch.display()),
            )];
        }
        mentions = signs(&session.id, scratch, &session.things, &name).find_mentions();
        outcomes = take_away(&session.id, scratch, &session.things, programs);
    }
    if session.unread > 0 {
        let because = format!("{} of its lines are unknown to this version of tare", session.unread);
        outcomes.push(Outcome::new_left(journal, because));
    } else if outcomes.iter().all(|outcome| outcome.left_because.is_none()) {
        match fs::remove_file(&session.path) {
            Ok(()) => outcomes.push(Outcome::new_removed(journal)),
            Err(e) => outcomes.push(Outcome::new_left(journal, e)),
        }
    }
    // Named once: they are nobody's to end, and keep no journal.
    let because = "it mentions the session, and nothing shows that the session started it";
    let others = living(mentions);
    outcomes.extend(others.iter().map(|process| Outcome::new_left(format!("process {process}"), because)));
    outcomes
}

/// Filters out processes that end by themselves, as an engine's own helper does that clears up after a
/// container.
fn living(mut mentions: Vec<Mention>) -> Vec<Mention> {
    let until = Instant::now() + PATIENCE;
    loop {
        mentions.retain(Mention::is_alive);
        if mentions.is_empty() || Instant::now() >= until {
            return mentions;
        }
        thread::sleep(LOOK);
    }
}

/// Removes things of a session, or of one start of it: processes, containers, distributions, mounts, network devices and
/// namespaces, control groups, folders, in this order. What is gone already is passed over.
///
/// `mark` is the value of [`crate::owned::MARK`] that its processes carry; `folder` is where it works.
pub(crate) fn take_away(mark: &str, folder: &Path, things: &[Owned], programs: &Programs) -> Vec<Outcome> {
    let undoing = Undoing { mark, folder, programs };
    let mut outcomes = end_processes(mark, folder, things, "");
    outcomes.extend(things.iter().rev().filter_map(|thing| undoing.remove_container(thing)));
    let called: Vec<Option<Outcome>> = things.iter().rev().map(|thing| undoing.call_back(thing)).collect();
    if things.iter().any(|thing| matches!(thing, Owned::Container { .. } | Owned::Engine { .. })) {
        // Their helpers go by the name, and only now: an engine wants to hear from its own of a container's end.
        let name = format!("{PREFIX}{}", mark.replace('/', "-"));
        outcomes.extend(end_processes(mark, folder, things, &name));
    }
    for (thing, outcome) in things.iter().rev().zip(called) {
        let again = outcome.as_ref().is_some_and(|outcome| outcome.left_because.is_some());
        outcomes.extend(if again { undoing.call_back(thing) } else { outcome });
    }
    outcomes.extend(things.iter().rev().filter_map(|thing| undoing.remove_distribution(thing)));
    outcomes.extend(undoing.of_kernel(things));
    let folders = things.iter().rev().filter_map(|thing| match thing {
        Owned::Folder(path) => Some(remove_folder(path, folder)),
        _ => None,
    });
    outcomes.extend(folders.flatten());
    let spared = signs(mark, folder, things, "").find_spared();
    outcomes.extend(spared.iter().map(Outcome::new_declared));
    outcomes
}

/// Lists programs whose processes stay.
pub(super) fn list_spared(things: &[Owned]) -> Vec<PathBuf> {
    let spared = things.iter().filter_map(|thing| match thing {
        Owned::Spared(program) => Some(program.clone()),
        _ => None,
    });
    spared.collect()
}

/// Collects the signs by which the processes of these things are known.
fn signs(mark: &str, folder: &Path, things: &[Owned], name: &str) -> Signs {
    let roots = things.iter().filter_map(|thing| match thing {
        Owned::Process { pid, started_ticks } => Some((*pid, *started_ticks)),
        _ => None,
    });
    let (mark, folder, name) = (mark.to_owned(), folder.to_owned(), name.to_owned());
    Signs { mark, folder, name, spared: list_spared(things), roots: roots.collect() }
}

fn end_processes(mark: &str, folder: &Path, things: &[Owned], name: &str) -> Vec<Outcome> {
    let (killed, left) = signs(mark, folder, things, name).kill_processes();
    let stays = |pid: &u32| Outcome::new_left(format!("process {pid}"), "it does not end when killed");
    killed
        .iter()
        .filter(|pid| !left.contains(pid))
        .map(|pid| Outcome::new_removed(format!("process {pid}")))
        .chain(left.iter().map(stays))
        .collect()
}

fn remove_folder(path: &Path, scratch: &Path) -> Option<Outcome> {
    let what = format!("folder {}", path.display());
    // Looks of earlier versions were written down as the environment answered. Nothing was made there, and the entry goes.
    if !path.is_absolute() || path.components().any(|part| part == Component::ParentDir) {
        return Some(Outcome::new_removed(format!(
            "entry of the journal, because its path is not whole: {what}"
        )));
    }
    // In a share, the session's folder has the same name as the scratch folder.
    let in_share = path.file_name() == scratch.file_name() && mounts::is_inside(path, Path::new("/"));
    if !in_share && !mounts::is_inside(path, scratch) {
        return Some(Outcome::new_left(what, "it is not in the scratch folder"));
    }
    path.symlink_metadata().ok()?;
    // A share that is still mounted there holds files that are not the session's.
    match mounts::list_mounts_below(path) {
        Ok(points) if points.is_empty() => {}
        Ok(points) => {
            return Some(Outcome::new_left(what, format!("{} is mounted in it", points[0].display())));
        }
        Err(e) => return Some(Outcome::new_left(what, e)),
    }
    let (mut removed, mut tries) = (remove_tree(path), 1);
    let is_of_windows =
        cfg!(windows) || mounts::find_mount(path).as_ref().is_some_and(wsl_distributions::is_drive);
    let released_within = if is_of_windows { RELEASED_WITHIN } else { Duration::ZERO };
    let until = Instant::now() + released_within;
    while removed.is_err() && (tries < FOLDER_TRIES || Instant::now() < until) {
        if is_of_windows {
            thread::sleep(LOOK);
        }
        (removed, tries) = (remove_tree(path), tries + 1);
    }
    Some(match removed {
        Ok(()) => Outcome::new_removed(what),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Outcome::new_removed(what),
        Err(e) => Outcome::new_left(what, e),
    })
}

/// Counts the things that a journal names, and its lines that cannot be read. Nothing is undone.
pub fn named_in(journal: &[u8]) -> (usize, usize) {
    let (_, things, unread) = journal::parse_journal(journal);
    (things.len(), unread)
}

#[cfg(test)]
mod tests {
    use tare_data::generator::Generator;

    use super::*;
    use crate::ownership::journal::Journal;

    /// Times that two machines begin, make, clean and die.
    const TIMES: u32 = 100;

    /// A session of one of two machines that share their state folder: what it made, and its journal while it lives.
    struct Session {
        journal: Option<Journal>,
        id: String,
        scratch: PathBuf,
    }

    impl Session {
        fn begin(home: &Path, id: String, running: &Running) -> Session {
            let scratch = home.join(format!("{PREFIX}{id}"));
            let mut journal = Journal::begin(&home.join("state"), &id, &scratch, running).unwrap();
            journal.record_owned(Owned::Folder(scratch.clone())).unwrap();
            fs::create_dir(&scratch).unwrap();
            Session { journal: Some(journal), id, scratch }
        }

        fn is_whole(&self, state: &Path) -> bool {
            let names = fs::read_dir(state).unwrap().map(|entry| entry.unwrap().file_name());
            let mut names = names.map(|name| name.into_string().unwrap());
            self.scratch.exists() && names.any(|name| name.starts_with(&format!("{}.", self.id)))
        }
    }

    /// Simulates a file system whose locks do not reach from one machine to the other.
    fn without_locks(state: &Path) {
        for entry in fs::read_dir(state).unwrap().flatten() {
            let copy = fs::read(entry.path()).unwrap();
            fs::remove_file(entry.path()).unwrap();
            fs::write(entry.path(), copy).unwrap();
        }
    }

    #[test]
    fn machines_that_share_a_home_leave_each_others_sessions_alone() {
        let home = tempfile::tempdir().unwrap();
        let state = home.path().join("state");
        let programs = Programs::default();
        let machines = ["here", "there"]
            .map(|machine| Running { machine: machine.into(), boot: format!("{machine} pid:[1]") });
        let mut generator = Generator::new(17);
        for time in 0..TIMES {
            let begin = |at: usize| Session::begin(home.path(), format!("{time:015x}{at}"), &machines[at]);
            let mut sessions = [begin(0), begin(1)];
            let (first, other) = if generator.draw_below(2) == 0 { (0, 1) } else { (1, 0) };
            if generator.draw_below(2) == 0 {
                // A journal that does not have its first line yet.
                let name = format!("{time:015x}f.{}.journal", machines[other].machine);
                fs::write(state.join(name), "").unwrap();
            }
            without_locks(&state);
            // The other's session lives, though nothing here shows that.
            sessions[first].journal.take();
            clean_as(&machines[first], &state, &programs, None).unwrap();
            assert!(!sessions[first].is_whole(&state) && sessions[other].is_whole(&state), "{time}");
            sessions[other].journal.take();
            clean_as(&machines[other], &state, &programs, None).unwrap();
            assert!(!sessions[other].is_whole(&state), "{time}");
            assert_eq!(fs::read_dir(&state).unwrap().count(), 0, "{time}");
        }
    }
}
