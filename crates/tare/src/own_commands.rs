//! User commands: turns arguments into a study.

use std::collections::BTreeMap;
use std::env;
use std::io;
use std::path::{Path, PathBuf};

use tare_data::shell;
use tare_lab::add_nearest_hint;
use tare_lab::error::{ErrorKind, LabError};
use tare_lab::provider::root::{Inside, RootFolder, Work};
use tare_lab::session::name_commands;
use tare_lab::study::Study;
use tare_lab::study::user_command::{BY_BASELINE, UserCommand};

use crate::args::Commands;
use crate::platform::RUNS_COMMANDS;

/// Separator between two commands.
const BETWEEN: &str = "---";
/// Maximum number of commands that parameters may produce. Each one is a case.
const MOST: usize = 200;
/// Maximum number of commands that a heading lists by name.
const MOST_NAMED: usize = 3;
/// Longest name of a case, without the number in front.
const LONGEST_NAME: usize = 18;
/// Characters that mean something to a shell outside of quotes.
const SHELLS: &str = "|&;<>()$`*?[]{}~#\n";

/// A value in place of `{NAME}`.
type Values = Vec<(String, String)>;

/// Folders that every environment has for itself.
const REMADE: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Search path for programs if PATH is not set.
const PROGRAMS: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Builds a study from the given commands, if there are any.
pub fn make_study(given: &Commands) -> Result<Option<Study>, LabError> {
    if !given.has_commands() {
        return refuse_options_of_none(given).map(|()| None);
    }
    let folders = list_folders(given)?;
    let texts = given.texts.iter().map(|text| Written::Text(text.clone()));
    let all: Vec<Written> = written(&given.words).into_iter().chain(texts).collect();
    let combinations = combinations(given)?;
    let count = all.len() * combinations.len();
    if folders.len() > 1 && count > 1 {
        return Err(LabError::usage_error(
            "several folders are compared with one command, and there are more",
        ));
    }
    if count > MOST {
        return Err(LabError::usage_error(format!("{count} commands are too many"))
            .with_cause(format!("a session measures at most {MOST}")));
    }
    let names = Names::of(&given.names, all.len() * folders.len(), combinations.len())?;
    let titles = |values: &Values| -> Vec<String> {
        let title = |(i, written): (usize, &Written)| {
            names.of_command(i).map_or_else(|| written.title(values), |name| filled(name, values))
        };
        all.iter().enumerate().map(title).collect()
    };
    let all_titles: Vec<String> = combinations.iter().flat_map(titles).collect();
    let mut commands = BTreeMap::new();
    for values in &combinations {
        for (written, title) in all.iter().zip(titles(values)) {
            // Equal titles are told apart by the values behind them.
            let is_alone =
                values.is_empty() || all_titles.iter().filter(|other| **other == title).count() < 2;
            let title = if is_alone { title } else { format!("{title} ({})", list_values(values)) };
            for (at, (folder_name, folder)) in folders.iter().enumerate() {
                let title = match (folders.len(), names.of_command(at)) {
                    (1, _) => title.clone(),
                    (_, Some(name)) => name.to_owned(),
                    (_, None) => folder_name.clone(),
                };
                let command = make_command(given, values, (written, &title), folder)?;
                commands.insert(case_name(&title, commands.len(), count * folders.len()), command);
            }
        }
    }
    let titles = match commands.len() {
        few if few <= MOST_NAMED => {
            commands.values().map(|command| command.title.as_str()).collect::<Vec<_>>().join(", ")
        }
        many => format!("{many} commands"),
    };
    let study = Study::of_commands(&titles, commands);
    Ok(Some(if given.calls { study.with_calls(list_called_words) } else { study }))
}

/// Makes a command that runs in a folder, with these values in place of its parameters.
fn make_command(
    given: &Commands,
    values: &Values,
    (written, title): (&Written, &str),
    folder: &Path,
) -> Result<UserCommand, LabError> {
    let aside = |text: &Option<String>| aside(text.as_deref(), values);
    Ok(UserCommand {
        command: written.words(values, given.by_shell())?,
        // A script of several lines has one line in a table.
        title: title.replace(char::is_control, " "),
        folder: Some(folder.to_owned()),
        setup: aside(&given.setup)?,
        prepare: aside(&given.prepare)?,
        clean: aside(&given.conclude)?,
        warmup: given.warmup.unwrap_or(1),
        discard_output: given.discards_output(),
        ignore_failure: given.ignore_failure,
        environment: variables(),
        timeout: given.timeout.clone().unwrap_or_else(|| BY_BASELINE.to_owned()),
        ..UserCommand::default()
    })
}

/// Puts a command before the others, by its title or the name that a session shows, so that they are compared with it; false where
/// no command has it.
pub fn put_first(study: &mut Study, called: &str) -> bool {
    let titles = || study.commands.values().map(|command| command.title.as_str());
    let by_title = titles().position(|title| title == called);
    let by_name = || name_commands(titles()).iter().position(|name| name == called);
    let Some(at) = by_title.or_else(by_name) else { return false };
    let mut all: Vec<UserCommand> = std::mem::take(&mut study.commands).into_values().collect();
    all[..=at].rotate_right(1);
    let (count, all) = (all.len(), all.into_iter().enumerate());
    study.commands = all.map(|(i, command)| (case_name(&command.title, i, count), command)).collect();
    true
}

/// Lists the folders that a command runs in, as they were named and with their whole paths: the current one unless others are given.
fn list_folders(given: &Commands) -> Result<Vec<(String, PathBuf)>, LabError> {
    let current = PathBuf::from(".");
    let named = if given.folders.is_empty() { std::slice::from_ref(&current) } else { &given.folders };
    let whole = |folder: &PathBuf| {
        let inside = inside_folder(folder, given.shares_work())?;
        Ok((folder.display().to_string(), inside.work.map_or_else(PathBuf::new, |work| work.folder)))
    };
    named.iter().map(whole).collect()
}

/// Lists values as `n=1, opt=O2`.
fn list_values(values: &Values) -> String {
    values.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(", ")
}

/// Lists the words of a command as a call has them: with the whole path of its program, because environments have other paths to
/// search.
fn list_called_words(command: &UserCommand) -> Vec<String> {
    let mut words = command.command.clone();
    if let Some(first) = words.first_mut().filter(|first| !first.contains('/') && !first.starts_with('@')) {
        let folders = command.environment.get("PATH").map_or(PROGRAMS, String::as_str);
        let whole = env::split_paths(folders).map(|folder| folder.join(&*first));
        let found = whole.filter(|path| path.is_absolute()).find(|path| path.is_file());
        if let Some(path) = found.as_deref().and_then(Path::to_str) {
            path.clone_into(first);
        }
    }
    words
}

/// Rejects a command that this machine does not have, before anything is measured.
pub fn require_programs(study: &Study) -> Result<(), LabError> {
    for command in study.commands.values() {
        let folders = command.environment.get("PATH").map_or(PROGRAMS, String::as_str);
        let all: &[&[String]] = match command.setup.as_slice() {
            [] => &[&command.prepare, &command.command, &command.clean],
            // It may install the others.
            setup => &[setup],
        };
        for program in all.iter().filter_map(|words| words.first()) {
            if program.contains('/') {
                let whole = command.folder.as_ref().map(|folder| folder.join(program));
                // The step before each run may make it.
                if let Some(whole) = whole.filter(|whole| command.prepare.is_empty() && !whole.exists()) {
                    return Err(LabError::usage_error(format!("there is no program '{program}'"))
                        .with_cause(format!("{} does not exist", whole.display())));
                }
                continue;
            }
            let is_there = |folder: PathBuf| folder.join(program).is_file();
            if env::split_paths(folders).any(is_there) {
                continue;
            }
            let names =
                env::split_paths(folders).filter_map(|folder| folder.read_dir().ok()).flatten().flatten();
            let names: Vec<String> =
                names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
            let error = LabError::usage_error(format!("there is no program '{program}' in PATH"));
            return Err(add_nearest_hint(
                error,
                program,
                names.iter().map(String::as_str),
                "name it by its path",
            ));
        }
    }
    Ok(())
}

/// Describes the contents of each environment: with user commands, this machine's programs and the current
/// folder.
pub fn describe_inside(given: &Commands) -> Result<Inside, LabError> {
    match given.has_commands() {
        true => {
            inside_folder(given.folders.first().map_or(Path::new("."), |folder| folder), given.shares_work())
        }
        false => Ok(Inside::default()),
    }
}

/// Puts this machine's programs and the current folder into each environment.
pub fn inside_here(shared: bool) -> Result<Inside, LabError> {
    inside_folder(Path::new("."), shared)
}

/// Puts this machine's programs and a folder into each environment.
fn inside_folder(folder: &Path, shared: bool) -> Result<Inside, LabError> {
    if !RUNS_COMMANDS {
        return Err(LabError::new(ErrorKind::Environment, "commands of your own need Linux")
            .with_cause("running and counting them relies on Linux; tare for Windows only has probes")
            .with_hint("run tare for Linux inside WSL, which measures them there"));
    }
    let which = if folder == Path::new(".") { "the current folder" } else { "a folder of --folder" };
    let is_folder =
        |whole: PathBuf| whole.is_dir().then_some(whole).ok_or(io::ErrorKind::NotADirectory.into());
    let entered = folder.canonicalize().and_then(is_folder);
    let folder =
        entered.map_err(|e| LabError::usage_error(format!("{which} cannot be entered")).with_cause(e))?;
    let is_everything = folder.parent().is_none();
    if REMADE.iter().any(|remade| folder.starts_with(remade)) || (is_everything && shared) {
        let of_all = "an environment has its own: cd to a folder outside of /proc, /sys and /dev";
        let hint = if is_everything { "cd to a folder below it, or leave out --work share" } else { of_all };
        let what = format!("commands cannot work in {}", folder.display());
        return Err(LabError::usage_error(what).with_hint(hint));
    }
    let work = Work { folder, shared };
    Ok(Inside { root: RootFolder::Host, work: Some(work) })
}

/// Reads a study of commands, and runs them in the current folder like commands from the command line.
pub fn of_file(path: &Path) -> Result<Study, LabError> {
    let mut study = Study::from_name(&path.to_string_lossy())?;
    if study.commands.is_empty() || !study.cases.is_empty() {
        let what = format!("{} has other cases than commands", path.display());
        return Err(LabError::usage_error(what)
            .with_hint("a command is [probe.NAME] in a study, and only commands can be explained"));
    }
    let folder = inside_here(false)?.work.map(|work| work.folder);
    for command in study.commands.values_mut().filter(|command| command.carry.is_empty()) {
        command.folder = command.folder.take().or_else(|| folder.clone());
        let given = std::mem::replace(&mut command.environment, variables());
        command.environment.extend(given);
    }
    Ok(study)
}

/// Collects the environment variables that user commands get everywhere: search path, user and locale, but
/// none that leads to a socket of this machine.
fn variables() -> BTreeMap<String, String> {
    let passed = ["HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ"];
    let mut all: BTreeMap<String, String> =
        passed.iter().filter_map(|name| Some(((*name).to_owned(), env::var(name).ok()?))).collect();
    let path = env::var("PATH").unwrap_or_else(|_| PROGRAMS.to_owned());
    all.extend([("PATH".to_owned(), path), ("TERM".to_owned(), "dumb".to_owned())]);
    all
}

/// Rejects command options given without a command.
fn refuse_options_of_none(given: &Commands) -> Result<(), LabError> {
    let named = [
        ("--calls", given.calls),
        ("--command-name", !given.names.is_empty()),
        ("--warmup", given.warmup.is_some()),
        ("--runs", given.runs.is_some()),
        ("--prepare", given.prepare.is_some()),
        ("--conclude", given.conclude.is_some()),
        ("--setup", given.setup.is_some()),
        ("--parameter-scan", !given.parameter_scan.is_empty()),
        ("--parameter-list", !given.parameter_list.is_empty()),
        ("--shell", given.shell.is_some() || given.no_shell),
        ("--ignore-failure", given.ignore_failure),
        ("--output", given.output.is_some()),
        ("--timeout", given.timeout.is_some()),
        ("--work", given.work.is_some()),
        ("--folder", !given.folders.is_empty()),
        ("--export-json", given.export_json.is_some()),
    ];
    match named.iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => Err(LabError::usage_error(format!(
            "{option} is about a command, and there is none"
        ))
        .with_hint("tare run -- COMMAND measures your own command; --rounds N runs N rounds of a study")),
    }
}

/// A command as it was given.
enum Written {
    Words(Vec<String>),
    Text(String),
}

/// Splits the words after `--` into commands. A single word that contains a space is one quoted string, as
/// for hyperfine.
fn written(words: &[String]) -> Vec<Written> {
    let groups = words.split(|word| word == BETWEEN).filter(|group| !group.is_empty());
    groups
        .map(|group| match group {
            [text] if text.contains(char::is_whitespace) => Written::Text(text.clone()),
            words => Written::Words(words.to_vec()),
        })
        .collect()
}

impl Written {
    fn words(&self, values: &Values, by_shell: bool) -> Result<Vec<String>, LabError> {
        match (self, by_shell) {
            (Written::Words(words), true) => {
                Ok(through_shell(&shell::join_for_script(words.iter().map(|word| filled(word, values)))))
            }
            (Written::Words(words), false) => Ok(words.iter().map(|word| filled(word, values)).collect()),
            (Written::Text(text), true) => Ok(through_shell(&filled(text.as_str(), values))),
            (Written::Text(text), false) => {
                let text = filled(text.as_str(), values);
                if needs_shell(&text) {
                    return Err(LabError::usage_error(format!("'{text}' needs a shell"))
                        .with_cause("without one it is a program and its arguments")
                        .with_hint("add --shell default, which adds the shell's start to the time"));
                }
                split(&text)
            }
        }
    }

    fn title(&self, values: &Values) -> String {
        match self {
            Written::Words(words) => shell::join_words(words.iter().map(|word| filled(word, values))),
            Written::Text(text) => filled(text, values),
        }
    }
}

fn through_shell(text: &str) -> Vec<String> {
    ["sh", "-c", text].map(str::to_owned).to_vec()
}

fn split(text: &str) -> Result<Vec<String>, LabError> {
    shlex::split(text).filter(|words| !words.is_empty()).ok_or_else(|| {
        LabError::usage_error(format!(
            "'{text}' cannot be split into words: it is empty, or a quote is not closed"
        ))
    })
}

/// Parses a command that is not timed, and wraps it in a shell if it needs one.
fn aside(text: Option<&str>, values: &Values) -> Result<Vec<String>, LabError> {
    let Some(text) = text else { return Ok(Vec::new()) };
    let text = filled(text, values);
    if needs_shell(&text) { Ok(through_shell(&text)) } else { split(&text) }
}

/// Tells whether a text needs a shell: it has unquoted operators or patterns, or sets a variable first.
fn needs_shell(text: &str) -> bool {
    let mut quote = None;
    let mut escaped = false;
    for c in text.chars() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (None | Some('"'), '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (Some('"'), '$' | '`') => return true,
            (None, '\'' | '"') => quote = Some(c),
            (None, c) if SHELLS.contains(c) => return true,
            _ => {}
        }
    }
    text.split_whitespace().next().is_some_and(|first| first.contains('='))
}

fn filled(text: &str, values: &Values) -> String {
    values.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

/// Builds every combination of the parameters: a single empty one if there are none.
fn combinations(given: &Commands) -> Result<Vec<Values>, LabError> {
    let mut lists: Vec<(String, Vec<String>)> = Vec::new();
    if let [name, from, to] = given.parameter_scan.as_slice() {
        lists.push((name.clone(), scan(from, to, given.parameter_step_size.as_deref().unwrap_or("1"))?));
    }
    for pair in given.parameter_list.chunks(2) {
        if let [name, values] = pair {
            lists.push((name.clone(), values.split(',').map(str::to_owned).collect()));
        }
    }
    let mut all: Vec<Values> = vec![Vec::new()];
    for (name, values) in lists {
        all = all
            .iter()
            .flat_map(|before| {
                values.iter().map(|value| [before.as_slice(), &[(name.clone(), value.clone())]].concat())
            })
            .take(MOST + 1)
            .collect();
    }
    Ok(all)
}

/// Lists the numbers of a range, with as many decimals as its step and its first number have.
fn scan(from: &str, to: &str, step: &str) -> Result<Vec<String>, LabError> {
    let number = |text: &str| {
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| LabError::usage_error(format!("'{text}' in --parameter-scan is not a number")))
    };
    let decimals = |text: &str| text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let (least, most, by) = (number(from)?, number(to)?, number(step)?);
    if !(by > 0.0 && most >= least) {
        return Err(LabError::usage_error(format!(
            "--parameter-scan has nothing from {from} to {to} in steps of {step}"
        ))
        .with_hint("MIN must be at most MAX, and STEP above 0"));
    }
    // A step that does not fit exactly in binary still reaches the last number.
    let steps = ((most - least) / by + 1e-9).floor() as usize;
    let places = decimals(from).max(decimals(step));
    Ok((0..=steps.min(MOST)).map(|i| format!("{:.places$}", least + i as f64 * by)).collect())
}

/// User-given names, for the table.
struct Names<'a>(&'a [String]);

impl<'a> Names<'a> {
    fn of(names: &'a [String], commands: usize, combinations: usize) -> Result<Names<'a>, LabError> {
        if names.iter().any(|name| name.trim().is_empty()) {
            return Err(LabError::usage_error("a name of --command-name is empty"));
        }
        if names.is_empty() || names.len() == commands || (names.len() == 1 && combinations > 1) {
            return Ok(Names(names));
        }
        Err(LabError::usage_error(format!("{} names for {commands} commands", names.len()))
            .with_hint("give --command-name once per command, in order"))
    }

    fn of_command(&self, index: usize) -> Option<&'a str> {
        self.0.get(index).or(self.0.first()).map(String::as_str)
    }
}

/// Turns a title into a valid case name, with a number in front if there are several, to keep their order.
fn case_name(title: &str, index: usize, count: usize) -> String {
    let plain: String =
        title.to_ascii_lowercase().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let words: Vec<&str> = plain.split('-').filter(|word| !word.is_empty()).collect();
    let mut name = words.join("-");
    name.truncate(LONGEST_NAME);
    let name = if name.is_empty() { "command" } else { name.trim_end_matches('-') };
    let digits = count.to_string().len();
    if count == 1 { name.to_owned() } else { format!("{:0digits$}-{name}", index + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(words: &[&str]) -> Commands {
        Commands { words: words.iter().map(|word| (*word).to_owned()).collect(), ..Commands::default() }
    }

    fn commands(given: &Commands) -> Vec<(String, Vec<String>)> {
        let study = make_study(given).unwrap().unwrap();
        study.commands.into_iter().map(|(name, command)| (name, command.command)).collect()
    }

    fn error(given: &Commands) -> String {
        make_study(given).unwrap_err().to_string()
    }

    #[test]
    fn words_are_taken_as_they_are_and_a_text_is_split() {
        assert_eq!(
            commands(&given(&["make", "-j4"])),
            [("make-j4".to_owned(), vec!["make".to_owned(), "-j4".to_owned()])]
        );
        let two = commands(&given(&["git status", "---", "git log -1 --format='%H x'"]));
        assert_eq!(two[0].0, "1-git-status");
        assert_eq!(two[1].1, ["git", "log", "-1", "--format=%H x"]);
    }

    #[test]
    fn a_text_that_needs_a_shell_says_so_or_gets_one() {
        let mut piped = given(&["ls | wc -l"]);
        assert!(error(&piped).contains("needs a shell"), "{}", error(&piped));
        piped = Commands { shell: clap::ValueEnum::from_str("default", true).ok(), ..piped };
        assert_eq!(commands(&piped)[0].1, ["sh", "-c", "ls | wc -l"]);
        let script = Commands { words: vec!["echo a\n\techo b".into()], ..piped };
        let first = make_study(&script).unwrap().unwrap().commands.into_values().next().unwrap();
        assert_eq!((first.title.as_str(), first.command[2].as_str()), ("echo a  echo b", "echo a\n\techo b"));
        for (text, needs) in [
            ("a 'b|c'", false),
            ("a \"b$c\"", true),
            ("A=1 b", true),
            ("a b=1", false),
            (r"a \;", false),
            ("a *", true),
        ] {
            assert_eq!(needs_shell(text), needs, "{text}");
        }
    }

    #[test]
    fn parameters_fill_in_everything_in_every_combination() {
        let mut scanned = given(&["make", "-j{n}"]);
        scanned.parameter_scan = ["n", "1", "3"].map(str::to_owned).to_vec();
        scanned.parameter_list = ["opt", "O0,O2"].map(str::to_owned).to_vec();
        scanned.prepare = Some("touch {opt}".into());
        let study = make_study(&scanned).unwrap().unwrap();
        assert_eq!(study.commands.len(), 6);
        let first = study.commands.values().next().unwrap();
        assert_eq!(
            (first.title.as_str(), first.prepare.as_slice()),
            ("make -j1 (n=1, opt=O0)", &["touch".to_owned(), "O0".into()][..])
        );
        assert_eq!(scan("0.5", "1", "0.25").unwrap(), ["0.50", "0.75", "1.00"]);
        assert_eq!(scan("1", "2", "0.1").unwrap().len(), 11);
        assert!(scan("2", "1", "1").is_err() && scan("1", "2", "0").is_err() && scan("x", "2", "1").is_err());
    }

    #[test]
    fn every_title_that_another_command_has_gets_its_values() {
        let mut scanned = given(&["cmd", "{b}"]);
        scanned.parameter_list = ["a", "1,2", "b", "x,y"].map(str::to_owned).to_vec();
        scanned.prepare = Some("setup {a}".into());
        let titles = |given: &Commands| -> Vec<String> {
            let study = make_study(given).unwrap().unwrap();
            study.commands.into_values().map(|command| command.title).collect()
        };
        assert_eq!(
            titles(&scanned),
            ["cmd x (a=1, b=x)", "cmd y (a=1, b=y)", "cmd x (a=2, b=x)", "cmd y (a=2, b=y)"]
        );
        let apart =
            Commands { parameter_list: ["b", "x,y"].map(str::to_owned).to_vec(), ..given(&["cmd", "{b}"]) };
        assert_eq!(titles(&apart), ["cmd x", "cmd y"]);
        assert_eq!(titles(&given(&["a", "---", "a"])), ["a", "a"], "no values tell these apart");
    }

    #[test]
    fn the_first_command_is_named_by_its_title_or_as_it_is_shown() {
        let long = format!("{} -j1", "make -C a/very/long/path".repeat(4));
        let first = |called: &str| {
            let mut study =
                make_study(&given(&["./x", "a", "---", "./x", "a", "---", &long])).unwrap().unwrap();
            let is_found = put_first(&mut study, called);
            is_found.then(|| study.commands.into_values().next().unwrap().title)
        };
        assert_eq!(first("make").as_deref(), None);
        assert_eq!(first("./x a-2").as_deref(), Some("./x a"));
        assert_eq!(first("./x a again"), None, "a control cannot be the first");
    }

    #[test]
    fn a_program_that_is_not_there_is_refused_unless_a_step_may_make_it() {
        let check = |given: &Commands| require_programs(&make_study(given).unwrap().unwrap());
        let missing = given(&["./Cargo.toml", "---", "./no-such-file", "x"]);
        let refused = check(&missing).unwrap_err().to_string();
        assert!(refused.starts_with("there is no program './no-such-file': /"), "{refused}");
        assert!(
            check(&given(&["./Cargo.toml"])).is_ok(),
            "whether it can be started shows where it is entered"
        );
        for step in [
            Commands { prepare: Some("true".into()), ..missing.clone() },
            Commands { setup: Some("true".into()), ..missing },
        ] {
            assert!(check(&step).is_ok());
        }
    }

    #[test]
    fn options_of_a_command_need_one_and_names_fit() {
        let alone = Commands { warmup: Some(3), ..Commands::default() };
        assert!(error(&alone).contains("--warmup is about a command"));
        let mut named = given(&["a", "---", "b"]);
        named.names = vec!["one".into()];
        assert!(error(&named).contains("1 names for 2 commands"));
        named.names = vec!["one".into(), " ".into()];
        assert!(error(&named).contains("a name of --command-name is empty"));
        assert_eq!(case_name("Größe ./x", 4, 12), "05-gr-e-x");
        assert_eq!(case_name("…", 0, 1), "command");
    }
}
