//! The keys of a study as a JSON Schema: what an editor completes and marks. Generated from the probes.

use serde_json::{Map, Value, json};
use tare_probes::Probe;
use tare_probes::descriptions::USER_COMMAND;

use crate::storage::places;
use crate::study::probes::list_probes;
use crate::study::published;

/// Builds the schema that docs/reference/study.schema.json holds.
pub fn make_study_schema() -> Value {
    let probes = || list_probes().filter(|probe| probe.name != USER_COMMAND);
    let names: Vec<&str> = probes().map(|probe| probe.name).collect();
    let of_probe: Vec<Value> = probes()
        .map(|probe| {
            let tables = ["parameters", "short", "reference"].map(|key| (key.to_owned(), parameters(probe)));
            json!({
                "if": { "properties": { "probe": { "const": probe.name } }, "required": ["probe"] },
                "then": { "properties": Map::from_iter(tables) },
            })
        })
        .collect();
    let articles: Vec<&str> = published::SHIPPED.iter().map(|(name, _)| *name).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A study of tare",
        "type": "object",
        "required": ["name", "title", "about", "budget"],
        "anyOf": [{ "required": ["case"] }, { "required": ["probe"] }],
        "additionalProperties": false,
        "properties": {
            "name": text("shown in the record and above the table"),
            "title": text("one line"),
            "about": text("prose: purpose, limits and distortions"),
            "budget": time("time for a session"),
            "reference_budget": time("time for a session in the reference size"),
            "margin": margin(),
            "least_rounds": { "type": "integer", "minimum": 1, "description": "rounds before which nothing is decided" },
            "size": { "enum": ["short", "reference"] },
            "published": list(json!({ "anyOf": [{ "enum": articles }, { "pattern": "\\.toml$", "type": "string" }] })),
            "environments": list(json!({ "type": "string" })),
            "case": list(json!({
                "type": "object",
                "required": ["probe"],
                "additionalProperties": false,
                "properties": {
                    "probe": { "enum": names },
                    "parameters": { "type": "object" },
                    "short": { "type": "object" },
                    "reference": { "type": "object" },
                    "places": list(place()),
                    "peers": list(json!({ "type": "string" })),
                    "margin": margin(),
                    "decide": list(json!({ "type": "string" })),
                    "seconds": { "type": "number", "exclusiveMinimum": 0, "maximum": 300 },
                },
                "allOf": of_probe,
            })),
            "probe": {
                "type": "object",
                "propertyNames": { "pattern": "^[a-z0-9_-]{1,22}$" },
                "additionalProperties": command(),
            },
        },
    })
}

/// Lists every key of a study, on one line.
pub(crate) fn list_keys() -> String {
    let schema = make_study_schema();
    let of = |table: &str| {
        let keys = schema.pointer(table).and_then(Value::as_object).into_iter().flat_map(|keys| keys.keys());
        keys.cloned().collect::<Vec<_>>().join(", ")
    };
    let study = of("/properties");
    let case = of("/properties/case/items/properties");
    let command = of("/properties/probe/additionalProperties/properties");
    format!("a study has the keys {study}; a [[case]] {case}; a [probe.NAME] {command}")
}

fn command() -> Value {
    let words = || list(json!({ "type": "string" }));
    json!({
        "type": "object",
        "required": ["command"],
        "additionalProperties": false,
        "properties": {
            "command": { "type": "array", "minItems": 1, "items": { "type": "string" } },
            "title": text("name in reports"),
            "folder": { "type": "string", "pattern": "^/", "description": "an existing folder in which it runs" },
            "setup": words(),
            "warmup": { "type": "integer", "minimum": 0, "maximum": 1000 },
            "discard_output": { "type": "boolean" },
            "ignore_failure": { "type": "boolean" },
            "prepare": words(),
            "clean": words(),
            "carry": words(),
            "environment": { "type": "object", "additionalProperties": { "type": "string" } },
            "timeout": time("how long a run may take"),
            "expect_exit": { "type": "integer" },
            "places": list(place()),
            "margin": margin(),
        },
    })
}

/// Describes the parameters of a probe: each a value or a list of values.
fn parameters(probe: &Probe) -> Value {
    let value = || json!({ "type": ["string", "number"] });
    let each = probe.parameters.iter().map(|parameter| {
        let about =
            format!("{} (short {}, reference {})", parameter.about, parameter.short, parameter.reference);
        let schema = json!({ "description": about, "anyOf": [value(), list(value())] });
        (parameter.name.to_owned(), schema)
    });
    json!({ "type": "object", "additionalProperties": false, "properties": Map::from_iter(each) })
}

fn text(about: &str) -> Value {
    json!({ "type": "string", "description": about })
}

fn time(about: &str) -> Value {
    json!({ "type": "string", "pattern": "^[0-9.]+[smh]?$", "description": about })
}

fn margin() -> Value {
    json!({ "type": "number", "exclusiveMinimum": 0, "description": "largest relative difference that counts as the same" })
}

fn place() -> Value {
    let names: Vec<&str> = places::list_place_names().collect();
    json!({ "anyOf": [{ "enum": names }, { "type": "string", "pattern": "/" }] })
}

fn list(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}
