//! JSON of another tool: read into a type, with the position of any mismatch.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::text::{Refusal, Text};

/// Limit on the elements of a list or an object that are kept; ignored ones are not counted.
const MOST_ELEMENTS: usize = 10_000;

/// A list that is not longer than [`MOST_ELEMENTS`].
pub struct List<T>(pub Vec<T>);

/// An object's names and values in their order, not more than [`MOST_ELEMENTS`].
pub struct Object<T>(pub Vec<(String, T)>);

impl<T> Default for List<T> {
    fn default() -> Self {
        List(Vec::new())
    }
}

impl<T> Default for Object<T> {
    fn default() -> Self {
        Object(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Elements<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Elements<T> {
            type Value = List<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a list of at most {MOST_ELEMENTS}")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<List<T>, A::Error> {
                let mut elements = Vec::new();
                while let Some(element) = access.next_element()? {
                    if elements.len() >= MOST_ELEMENTS {
                        return Err(A::Error::invalid_length(MOST_ELEMENTS + 1, &self));
                    }
                    elements.push(element);
                }
                Ok(List(elements))
            }
        }
        deserializer.deserialize_seq(Elements(PhantomData))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Entries<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "an object of at most {MOST_ELEMENTS}")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Object<T>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = access.next_entry()? {
                    if entries.len() >= MOST_ELEMENTS {
                        return Err(A::Error::invalid_length(MOST_ELEMENTS + 1, &self));
                    }
                    entries.push(entry);
                }
                Ok(Object(entries))
            }
        }
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

/// Numbers of a list of any length: the first are kept, and all are counted.
pub struct Numbers<const KEPT: usize> {
    pub first: Vec<f64>,
    pub count: usize,
    pub zeros: usize,
}

impl<const KEPT: usize> Default for Numbers<KEPT> {
    fn default() -> Self {
        Numbers { first: Vec::new(), count: 0, zeros: 0 }
    }
}

impl<'de, const KEPT: usize> Deserialize<'de> for Numbers<KEPT> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Elements<const KEPT: usize>;
        impl<'de, const KEPT: usize> Visitor<'de> for Elements<KEPT> {
            type Value = Numbers<KEPT>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of numbers")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Numbers<KEPT>, A::Error> {
                let mut numbers = Numbers::default();
                while let Some(element) = access.next_element::<Option<f64>>()? {
                    numbers.count += 1;
                    numbers.zeros += usize::from(element == Some(0.0));
                    if numbers.first.len() < KEPT {
                        numbers.first.extend(element);
                    }
                }
                Ok(numbers)
            }
        }
        deserializer.deserialize_seq(Elements)
    }
}

/// Finds the beginning of the JSON: the first line that is an opening brace. fio writes warnings before it.
pub(super) fn find_json_start(text: &Text) -> Option<usize> {
    let mut at = 0;
    for line in text.as_str().split_inclusive('\n') {
        if line.trim_start().starts_with('{') {
            return Some(at);
        }
        at += line.len();
    }
    None
}

/// Recognises a line of a stream of events, of which a document is a run of lines.
pub(super) fn is_event(line: &str) -> bool {
    line.trim_start().starts_with("{\"event\":")
}

/// Measures the document with which a text begins, up to its closing brace, or the events of one run.
pub(super) fn measure_document(text: &str) -> Option<usize> {
    if !is_event(text) {
        return measure_object(text);
    }
    let mut length = 0;
    for line in text.split_inclusive('\n').take_while(|line| is_event(line)) {
        if length > 0 && line.trim_start().starts_with("{\"event\":\"start\"") {
            break;
        }
        length += line.len();
    }
    Some(length)
}

fn measure_object(text: &str) -> Option<usize> {
    let (mut depth, mut is_quoted, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b'{' if !is_quoted => depth += 1,
            b'}' if !is_quoted => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Reads the JSON. Its depth is bounded by the reader, its size by that of the text.
pub fn parse_json<T: DeserializeOwned>(text: &Text) -> Result<T, Refusal> {
    let at = find_json_start(text).unwrap_or(0);
    let mut reader = serde_json::Deserializer::from_str(&text.as_str()[at..]);
    T::deserialize(&mut reader).map_err(|error| {
        // serde_json counts lines from 1, and columns in bytes from 1; an end of file has column 0.
        let line_start = text.as_str()[at..].split_inclusive('\n').take(error.line().saturating_sub(1));
        let offset = at + line_start.map(str::len).sum::<usize>() + error.column().saturating_sub(1);
        let cause = error.to_string();
        let cause = cause.rsplit_once(" at line ").map_or(cause.as_str(), |(cause, _)| cause);
        Refusal { position: text.position_at(offset), cause: cause.to_owned() }
    })
}

/// Checks that the text contains whole JSON, of any tool.
pub fn check_json(text: &Text) -> Option<Result<(), Refusal>> {
    find_json_start(text)?;
    Some(parse_json::<serde::de::IgnoredAny>(text).map(|_| ()))
}
