//! A JSON value in fewer bytes: field names are stored once for all objects of a shape, and every text once.
//!
//! A page of a full session has thousands of objects of few shapes; unpacked, they would be most of it.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Value, json};

/// Marker before the items of an array, in the place of an object's shape.
const ARRAY: i64 = -1;

/// Packs a value as `{shapes, texts, root}`: an object is an array of its shape's number and its values, an
/// array begins with -1, and a text is its number in base 36. Other values stay; a number that is not finite
/// becomes null.
pub fn pack_value(value: &impl Serialize) -> Value {
    let value = serde_json::to_value(value).expect("the page's keys are strings");
    let mut packer = Packer::default();
    let root = packer.pack(value);
    json!({ "shapes": packer.shapes, "texts": packer.texts, "root": root })
}

#[derive(Default)]
struct Packer {
    shapes: Vec<Vec<String>>,
    known_shapes: HashMap<Vec<String>, usize>,
    texts: Vec<String>,
    known_texts: HashMap<String, usize>,
}

impl Packer {
    fn pack(&mut self, value: Value) -> Value {
        match value {
            Value::Object(map) => {
                let (keys, values): (Vec<String>, Vec<Value>) = map.into_iter().unzip();
                let next = self.shapes.len();
                let shape = *self.known_shapes.entry(keys.clone()).or_insert(next);
                if shape == next {
                    self.shapes.push(keys);
                }
                self.row(shape as i64, values)
            }
            Value::Array(items) => self.row(ARRAY, items),
            Value::String(text) => {
                let next = self.texts.len();
                let number = *self.known_texts.entry(text.clone()).or_insert(next);
                if number == next {
                    self.texts.push(text);
                }
                Value::String(base_36(number))
            }
            other => other,
        }
    }

    fn row(&mut self, first: i64, values: Vec<Value>) -> Value {
        let rest = values.into_iter().map(|value| self.pack(value));
        Value::Array(std::iter::once(Value::from(first)).chain(rest).collect())
    }
}

fn base_36(mut number: usize) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit((number % 36) as u32, 36).expect("a digit of base 36"));
        number /= 36;
        if number == 0 {
            return digits.iter().rev().collect();
        }
    }
}

/// Unpacks a value, for tests.
#[cfg(test)]
pub fn unpack_value(packed: &Value) -> Value {
    fn open(packed: &Value, value: &Value) -> Value {
        match value {
            Value::String(number) => {
                packed["texts"][usize::from_str_radix(number, 36).expect("a number")].clone()
            }
            Value::Array(items) => {
                let values = items[1..].iter().map(|item| open(packed, item));
                match items[0].as_i64() {
                    Some(ARRAY) => values.collect(),
                    shape => {
                        let keys = packed["shapes"][shape.expect("a shape") as usize].as_array();
                        let keys =
                            keys.expect("keys").iter().map(|key| key.as_str().expect("a key").to_owned());
                        Value::Object(keys.zip(values).collect())
                    }
                }
            }
            other => other.clone(),
        }
    }
    open(packed, &packed["root"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shapes_and_texts_stand_once() {
        let value = json!([{ "a": 1, "b": "x" }, { "a": null, "b": "x" }, [], "y", true]);
        let packed = pack_value(&value);
        assert_eq!(packed["shapes"], json!([["a", "b"]]));
        assert_eq!(packed["texts"], json!(["x", "y"]));
        assert_eq!(packed["root"], json!([-1, [0, 1, "0"], [0, null, "0"], [-1], "1", true]));
        assert_eq!(unpack_value(&packed), value);
    }

    #[test]
    fn numbers_of_texts_count_on_in_base_36() {
        assert_eq!([0, 9, 10, 35, 36, 36 * 36].map(base_36), ["0", "9", "a", "z", "10", "100"]);
    }

    proptest! {
        #[test]
        fn what_is_packed_is_found_again(texts in prop::collection::vec(any::<String>(), 0..80)) {
            let objects: Vec<Value> = texts.iter().map(|text| json!({ text: [text, 1.5, {}] })).collect();
            let value = Value::Array(objects);
            prop_assert_eq!(unpack_value(&pack_value(&value)), value);
        }
    }
}
