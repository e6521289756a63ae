//! The article that a session repeats, as its record says.

use tare_data::session::Session;

/// Option of `tare run` that names the article.
const OPTION: &str = "--like";

/// Finds the article that a session repeats, as it was named on the command line.
pub fn find_repeated_article(session: &Session) -> Option<&str> {
    let words = &session.header.command;
    // Words after -- are a user command.
    let own = words.split(|word| word == "--").next()?;
    own.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(OPTION)? {
        "" => own.get(at + 1).map(String::as_str),
        rest => rest.strip_prefix('='),
    })
}
