//! The keys of a template as a JSON Schema, which an editor completes and marks.

use serde_json::{Value, json};

/// Builds the schema that docs/reference/launcher.schema.json holds.
pub fn make_launcher_schema() -> Value {
    let text = |about: &str| json!({ "type": "string", "minLength": 1, "description": about });
    let words = |about: &str| {
        json!({
            "type": "array", "maxItems": 64, "description": about,
            "items": { "type": "string", "maxLength": 2000 },
        })
    };
    let flag = |about: &str| json!({ "type": "boolean", "description": about });
    let texts = |about: &str| json!({ "type": "object", "additionalProperties": { "type": "string" }, "description": about });
    let signs =
        ["mnt", "pid", "net", "ipc", "uts", "user", "cgroup", "root", "seccomp", "privileges", "kernel"];
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A launcher of tare",
        "type": "object",
        "additionalProperties": false,
        "required": ["name", "title", "summary", "stands_for", "install", "enter"],
        "properties": {
            "name": { "type": "string", "pattern": "^[a-z0-9-]{1,22}$", "description": "name on the command line" },
            "title": text("heading in a report, in about five words"),
            "summary": text("one sentence"),
            "stands_for": text("the system that people know, and differences from that"),
            "tested": flag("true where tare's own tests enter it"),
            "install": text("command that installs it"),
            "enter": words("words that come before a command; {profile} stands for those of the profile"),
            "program": text("program that is asked for its version; the first word of enter unless given"),
            "version": words("words that ask for the version; --version unless given"),
            "needs": words("further programs that must be there"),
            "present": texts("files and folders of this machine that must be there, each with the meaning of its absence"),
            "far": { "enum": ["path", "stdin", "copy"], "description": "how the agent gets there; found out unless given" },
            "copy": words("command that copies {agent} to {far}, for far = copy"),
            "terminal": flag("true where it wants a terminal"),
            "root": flag("true where it enters a root folder that tare makes, {root}"),
            "kernel": { "enum": ["machine", "supervised", "own"], "description": "kernel that a command runs on" },
            "descends": flag("false where a daemon starts the command"),
            "shares": { "enum": ["folders", "nothing"], "description": "folders of this machine that are seen inside" },
            "inside": {
                "type": "array", "items": { "enum": signs },
                "description": "differences to this machine, each of which must be there",
            },
            "instance": text("meaning of a name after a colon"),
            "usual_profile": text("the profile that is used unless one is named"),
            "profile": {
                "type": "object",
                "additionalProperties": {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["about", "words"],
                    "properties": { "about": text("one phrase"), "words": words("stand for {profile}") },
                },
            },
            "variable": texts("variables of the launcher"),
            "leaves": words("programs that it leaves running for later calls, by name or path"),
            "folders": words("folders in {folder}"),
            "file": texts("files in {folder}"),
        },
    })
}
