//! The front through which every text passes before an importer sees it: decoration is taken off, and every place
//! in the rest is known in the original.

mod characters;
mod excerpt;
mod prefixes;
mod prompts;
mod stamps;
mod transfer;

pub use excerpt::Excerpt;

/// A text without its decoration: first a mail's encoding, then the characters that a terminal or a page adds, then the
/// beginnings of lines.
pub struct Undecorated {
    transfer: Excerpt,
    characters: Excerpt,
    lines: Excerpt,
}

impl Undecorated {
    pub fn new(original: &str) -> Undecorated {
        let transfer = transfer::decode_transfer(original);
        let characters = characters::strip_characters(transfer.as_str());
        let lines = prefixes::strip_prefixes(characters.as_str());
        Undecorated { transfer, characters, lines }
    }

    pub fn as_str(&self) -> &str {
        self.lines.as_str()
    }

    /// Finds the byte of the original from which a byte of this text comes.
    pub fn find_origin(&self, offset: usize) -> usize {
        self.transfer.find_origin(self.characters.find_origin(self.lines.find_origin(offset)))
    }
}
