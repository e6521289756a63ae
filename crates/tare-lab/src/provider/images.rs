//! Images of engines, as far as engines are alike: their names, and one of nothing.

use crate::error::LabError;

/// An archive with nothing in it, from which an engine makes an image: two blocks of zeros.
pub const EMPTY_ARCHIVE: [u8; 1024] = [0; 1024];

/// Refuses the name of an image that looks like an option; `provider` is the word before it in a specification.
pub fn check_image_name(image: String, provider: &str) -> Result<String, LabError> {
    match image.is_empty() || image.starts_with('-') {
        false => Ok(image),
        true => Err(LabError::usage_error(format!("'{image}' is not the name of an image"))
            .with_hint(format!("give one as {provider}:NAME"))),
    }
}
