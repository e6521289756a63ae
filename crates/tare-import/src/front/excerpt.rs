//! A text that was made from another one by leaving parts out, with the origin of every part that is left.

#[derive(Default)]
pub struct Excerpt {
    text: String,
    /// Offsets here and in the original, of each part that does not follow the one before it there.
    places: Vec<(usize, usize)>,
}

impl Excerpt {
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Adds a part of the original, which begins there at this byte.
    pub fn keep(&mut self, part: &str, origin: usize) {
        if !part.is_empty() && (self.text.is_empty() || self.find_origin(self.text.len()) != origin) {
            self.places.push((self.text.len(), origin));
        }
        self.text.push_str(part);
    }

    /// Adds a text that takes the place of something in the original; the next part begins behind that.
    pub fn put(&mut self, text: &str, origin: usize) {
        if !text.is_empty() {
            self.places.push((self.text.len(), origin));
            self.text.push_str(text);
        }
    }

    pub fn find_origin(&self, offset: usize) -> usize {
        let after = self.places.partition_point(|(here, _)| *here <= offset);
        self.places[..after].last().map_or(offset, |(here, origin)| origin + (offset - here))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_found_where_it_came_from() {
        let mut excerpt = Excerpt::default();
        excerpt.keep("ab", 1);
        excerpt.keep("cd", 3);
        excerpt.put(" ", 7);
        excerpt.keep("ef", 10);
        assert_eq!(excerpt.as_str(), "abcd ef");
        let origins: Vec<usize> = (0..=7).map(|offset| excerpt.find_origin(offset)).collect();
        assert_eq!(origins, [1, 2, 3, 4, 7, 10, 11, 12]);
        assert_eq!(excerpt.places.len(), 3);
    }
}
