//! The front through which every text passes before an importer sees it: decoration is taken off, and every place
//! in the rest is known in the original.

mod characters;
mod excerpt;
mod prefixes;
mod prompts;
mod stamps;

pub use excerpt::Excerpt;

/// A text without its decoration: first the characters that a terminal or a page adds, then the beginnings of lines.
pub struct Undecorated {
    characters: Excerpt,
    lines: Excerpt,
}

impl Undecorated {
    pub fn new(original: &str) -> Undecorated {
        let characters = characters::strip_characters(original);
        let lines = prefixes::strip_prefixes(characters.as_str());
        Undecorated { characters, lines }
    }

    pub fn as_str(&self) -> &str {
        self.lines.as_str()
    }

    /// Finds the byte of the original from which a byte of this text comes.
    pub fn find_origin(&self, offset: usize) -> usize {
        self.characters.find_origin(self.lines.find_origin(offset))
    }
}
