//! Values of a study's file, parsed once, when it is read.

use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use tare_analysis::findings::sameness::DEFAULT_MARGIN;
use tare_probes::probe::Size;

use crate::duration;

pub(super) fn default_margin() -> f64 {
    DEFAULT_MARGIN
}

pub(super) fn default_size() -> Size {
    Size::Short
}

pub(super) fn read_size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Size, D::Error> {
    let text = String::deserialize(deserializer)?;
    match text.as_str() {
        "short" => Ok(Size::Short),
        "reference" => Ok(Size::Reference),
        other => Err(D::Error::custom(format!("size '{other}' is unknown: it is 'short' or 'reference'"))),
    }
}

pub(super) fn read_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    duration::parse_positive_duration(&text)
        .ok_or_else(|| D::Error::custom(format!("'{text}' is not a time: write 150s, 8m or 1h")))
}

pub(super) fn read_optional_time<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    read_time(deserializer).map(Some)
}
