//! Words that name a machine, its user, their files or a secret, and what stands in their place.

/// Folders whose paths are those of every machine.
const COMMON: [&str; 4] = ["/proc", "/sys", "/dev", "/usr"];
/// Signs at which a path ends, whatever its folders are called.
const AFTER_PATH: &str = ",:;'\"()[]{}<>|=&`";
/// Parts of names whose values are secrets.
const SECRET: [&str; 11] =
    ["token", "secret", "key", "pass", "auth", "cred", "session", "cookie", "signature", "bearer", "pwd"];
/// Beginnings of secrets that are not random enough to be known by their letters.
const BEGINNINGS: [&str; 8] = ["ghp_", "gho_", "github_pat_", "glpat-", "sk-", "xox", "AKIA", "eyJ"];
/// Letters and digits from which a word that has many of both is random.
const RANDOM: usize = 20;
const LEAST_OF_EACH: usize = 4;
/// Letters from which a name is not part of another word by chance.
const LONG: usize = 5;
/// Accounts that everybody has.
const EVERYBODYS: [&str; 4] = ["root", "user", "nobody", "localhost"];

const MASKED: &str = "***";
const PATH: &str = "PATH";

/// The names that stay on this machine.
pub struct Private {
    /// Each name with its replacement, the longest first.
    names: Vec<(String, &'static str)>,
    folder: String,
}

impl Private {
    /// Collects the names of a machine, of its user, and the folder to which paths are relative.
    pub fn new(host: &str, users: &[String], home: &str, folder: &str) -> Private {
        let first = host.split('.').next().unwrap_or_default();
        let own = home.rsplit(['/', '\\']).next().unwrap_or_default();
        let hosts = [host, first].map(|name| (name.to_owned(), "HOST"));
        let users = users.iter().map(String::as_str).chain([own]).map(|name| (name.to_owned(), "USER"));
        let mut names: Vec<(String, &str)> = hosts.into_iter().chain(users).collect();
        names.retain(|(name, _)| name.chars().count() > 1 && !EVERYBODYS.contains(&name.as_str()));
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Private { names, folder: folder.trim_end_matches('/').to_owned() }
    }

    /// Strips words of a command line. A word behind an option for a secret is one.
    pub(super) fn strip_words(&self, words: &[String]) -> Vec<String> {
        let mut is_secret = false;
        let strip = |word: &String| {
            let hidden = std::mem::take(&mut is_secret) && !word.starts_with('-');
            is_secret = announces_secret(word) && !word.contains(' ');
            if hidden { MASKED.to_owned() } else { self.strip(word) }
        };
        words.iter().map(strip).collect()
    }

    /// Strips a text: values of variables, addresses, random words, paths, and then the names.
    pub(super) fn strip(&self, text: &str) -> String {
        // Blanks are parts of paths, and only of them.
        let text = self.strip_paths(text);
        let mut is_secret = false;
        let strip = |word: &str| {
            let is_hidden = std::mem::take(&mut is_secret) && !word.starts_with('-');
            is_secret = announces_secret(word);
            if is_hidden { MASKED.to_owned() } else { strip_word(word) }
        };
        self.strip_names(&text.split(' ').map(strip).collect::<Vec<_>>().join(" "))
    }

    /// Puts a word in place of every path but those below the folder and those of every machine.
    fn strip_paths(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = find_path(rest) {
            let (before, path) = rest.split_at(at);
            let end = path.find(|c| AFTER_PATH.contains(c)).unwrap_or(path.len());
            // The drive's own colon.
            let is_drive = path[1..].starts_with(":\\");
            let end = if is_drive {
                2 + path[2..].find(|c| AFTER_PATH.contains(c)).unwrap_or(path.len() - 2)
            } else {
                end
            };
            let (path, behind) = path.split_at(end);
            out.push_str(before);
            let shown = self.show_path(path);
            rest = match behind.rfind('/') {
                // A bracket or an `&` was a part of its name.
                Some(slash)
                    if shown == PATH && behind.starts_with(['(', '&']) && !behind.starts_with("&&") =>
                {
                    let last = &behind[slash..];
                    &last[last.find(' ').unwrap_or(last.len())..]
                }
                _ => behind,
            };
            out.push_str(&shown);
        }
        out + rest
    }

    fn show_path(&self, path: &str) -> String {
        // A common path, and one of this folder, ends at a blank: nothing in it can be a name.
        let (first, behind) =
            path.split_once(' ').map_or((path, ""), |(first, _)| (first, &path[first.len()..]));
        let leaves = first.split('/').any(|part| part == "..");
        let is_common = COMMON.iter().any(|folder| {
            first.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        if first == "/" || (is_common && !leaves) {
            return format!("{first}{}", self.strip_paths(behind));
        }
        let below = first.strip_prefix(&self.folder).filter(|_| !self.folder.is_empty() && !leaves);
        match below {
            Some("") => format!(".{}", self.strip_paths(behind)),
            Some(rest) if rest.starts_with('/') => format!(".{rest}{}", self.strip_paths(behind)),
            _ => PATH.to_owned(),
        }
    }

    /// Puts a word in place of every name, whatever its case; of a short one where no letter or digit adjoins.
    fn strip_names(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, instead) in &self.names {
            let name: Vec<char> = name.to_lowercase().chars().collect();
            let is_long = name.len() >= LONG;
            let all: Vec<char> = text.chars().collect();
            let lower: Vec<char> = all.iter().map(|c| c.to_lowercase().next().unwrap_or(*c)).collect();
            let (mut out, mut at) = (String::new(), 0);
            while at < all.len() {
                let is_edge = |c: Option<&char>| is_long || c.is_none_or(|c| !c.is_alphanumeric());
                let before = at.checked_sub(1).and_then(|before| lower.get(before));
                let is_it =
                    lower[at..].starts_with(&name) && is_edge(before) && is_edge(lower.get(at + name.len()));
                match is_it {
                    true => (out.push_str(instead), at += name.len()),
                    false => (out.push(all[at]), at += 1),
                };
            }
            text = out;
        }
        text
    }
}

/// Finds where a path begins: `/`, `~`, `../` or a drive, behind no letter and no other part of a path.
fn find_path(text: &str) -> Option<usize> {
    let mut before: Option<char> = None;
    for (at, c) in text.char_indices() {
        let rest = &text[at..];
        // As in -I/its/folder.
        let word = &text[text[..at].rfind(' ').map_or(0, |blank| blank + 1)..at];
        let is_of_option = word.len() == 2 && word.starts_with('-') && "/~.".contains(c);
        let is_free = is_of_option
            || before.is_none_or(|before| !before.is_alphanumeric() && !"./\\_-~".contains(before));
        let begins = match c {
            '/' => !rest.starts_with("//") || before != Some(':'),
            '~' => rest[1..].starts_with(|c: char| c == '/' || c.is_alphabetic()),
            '.' => rest.starts_with("../") || rest == "..",
            _ => c.is_ascii_alphabetic() && rest[1..].starts_with(":\\"),
        };
        if is_free && begins {
            return Some(at);
        }
        before = Some(c);
    }
    None
}

/// Tells whether the next word is a secret: behind an option or the name of a header, and behind what such a header begins with.
fn announces_secret(word: &str) -> bool {
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let is_name = word.starts_with('-') && !word.contains('=') || word.ends_with(':') && bare != "session";
    is_name && names_secret(word) || ["bearer", "basic"].contains(&bare.as_str())
}

/// Tells whether a name is that of a secret.
fn names_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRET.iter().any(|part| name.contains(part))
}

/// Strips a word without blanks, each part between signs.
fn strip_word(word: &str) -> String {
    if word.split('/').any(|part| part == "..") {
        return PATH.to_owned();
    }
    if let Some((scheme, _)) = word.split_once("://") {
        let scheme = if scheme.contains([':', '=']) { MASKED } else { scheme };
        let end = word.find(['\'', '"', ')', '`']).filter(|end| *end > scheme.len()).unwrap_or(word.len());
        return format!("{scheme}://{MASKED}{}", &word[end..]);
    }
    if let Some((name, value)) = word.split_once('=') {
        let bare = name.trim_start_matches(|c: char| !c.is_alphanumeric() && c != '_');
        let is_variable = !bare.is_empty()
            && bare.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        let hides = !value.is_empty() && (is_variable || names_secret(name));
        return format!("{}={}", strip_list(name), if hides { MASKED.to_owned() } else { strip_word(value) });
    }
    match word.split_once(':') {
        Some((name, value)) if !value.is_empty() && names_secret(name) => format!("{name}:{MASKED}"),
        _ => strip_list(word),
    }
}

fn strip_list(list: &str) -> String {
    list.split(',').map(strip_part).collect::<Vec<_>>().join(",")
}

fn strip_part(part: &str) -> String {
    if let Some((begin, behind)) = part.split_once("ssh:") {
        return format!("{begin}ssh:{}", if behind.is_empty() { "" } else { "HOST" });
    }
    if let Some((image, digest)) = part.split_once("@sha256:") {
        let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
        return if is_digest { format!("{}@sha256:{digest}", strip_part(image)) } else { MASKED.to_owned() };
    }
    let is_address = part.split_once('@').is_some_and(|(user, host)| !user.is_empty() && !host.is_empty());
    if is_address || BEGINNINGS.iter().any(|beginning| part.contains(beginning)) || is_random(part) {
        return MASKED.to_owned();
    }
    part.to_owned()
}

/// Recognises a long word of letters and digits in which both are many.
fn is_random(word: &str) -> bool {
    let is_of_it = |c: char| c.is_ascii_alphanumeric() || "_-+/=".contains(c);
    word.split(|c| !is_of_it(c)).any(|run| {
        let count = |is: fn(&char) -> bool| run.chars().filter(is).count();
        let (letters, digits) = (count(char::is_ascii_alphabetic), count(char::is_ascii_digit));
        // The name of a record is a time.
        !run.starts_with("tare-")
            && run.len() >= RANDOM
            && letters >= LEAST_OF_EACH
            && digits >= LEAST_OF_EACH
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_tell_nothing_stay_and_others_go() {
        let private = Private::new("box", &["jo".to_owned()], "/home/jo", "/home/jo/p");
        for (text, expected) in [
            ("make -j4 ./x a/b", "make -j4 ./x a/b"),
            ("9.8 MB/s, n/a, 1 / 2", "9.8 MB/s, n/a, 1 / 2"),
            ("/home/jo/p/x /usr/bin/env", "./x /usr/bin/env"),
            ("/usr/../home/jo", "PATH"),
            ("/dev/null,/mnt/Jo Bloggs/x,y", "/dev/null,PATH,y"),
            ("'C:\\Users\\jo\\x'", "'PATH'"),
            ("~jo/x", "PATH"),
            ("cc -I/srv/acme/include -f../other/x", "cc -IPATH"),
            ("./../client-acme/run a/../../other/x", "PATH PATH"),
            ("/srv/Client (Acme)/x y", "PATH y"),
            ("/srv/R&D/x && ls", "PATH && ls"),
            ("./deploy --password hunter2 now", "./deploy --password *** now"),
            ("-H 'Authorization: Bearer abc' X-Api-Key:hunter2", "-H 'Authorization: *** *** X-Api-Key:***"),
            ("{\"token\":\"x\",\"url\":\"https://h\"}", "***://***"),
            ("jobs of Jo on BOX-2", "jobs of USER on HOST-2"),
            ("docker:alpine@sha256:aa", "***"),
            ("A=1 size=2 db_password=x", "A=*** size=2 db_password=***"),
            ("http://jo:x@h/y", "http://***"),
            ("ubuntu 22.04 tare-2026-01-31T12-00-00.tare", "ubuntu 22.04 tare-2026-01-31T12-00-00.tare"),
            ("wJalrXUtnFEMI7MDENGbPxRfiCY1234EXAMPLEKEY", "***"),
            ("native,ssh:jo@box?x=1,gvisor", "native,ssh:HOST=1,gvisor"),
        ] {
            assert_eq!(private.strip(text), expected, "{text}");
        }
        let long = Private::new("buildhost", &["zaphod".to_owned()], "", "");
        assert_eq!(long.strip("zaphods-notes MyBuildHost2"), "USERs-notes MyHOST2");
        let words = ["--token", "abc", "--force", "abc", "-p"].map(str::to_owned);
        assert_eq!(private.strip_words(&words), ["--token", "***", "--force", "abc", "-p"]);
        let digest = format!("docker:alpine@sha256:{}", "a1".repeat(32));
        assert_eq!(private.strip(&digest), digest);
    }
}
