//! Journals: whatever a state folder holds is read without doing anything, and no line makes more than one thing.

use tare_lab::ownership::clean::named_in;

use crate::target::Target;

pub static TARGET: Target = Target {
    name: "journal",
    corpus,
    words: &[
        "{\"owned\":{\"number\":0,\"thing\":",
        "{\"folder\":\"/\"}",
        "{\"mount\":\"/proc\"}",
        "{\"process\":{\"pid\":1,\"started_ticks\":0}}",
        "{\"distribution\":\"\"}",
        "{\"control_group\":\"..\"}",
        "{\"released\":{\"numbers\":[0]}}\n",
        "{\"joined\":{}}\n",
        "18446744073709551615",
    ],
    run,
};

fn corpus() -> Vec<Vec<u8>> {
    let lines = [
        r#"{"session":{"scratch":"/var/tmp/tare-1","pid":1,"started_ticks":2,"running":{"machine":"a","boot":"b"}}}"#,
        r#"{"owned":{"number":0,"thing":{"folder":"/var/tmp/tare-1/native-1"}}}"#,
        r#"{"owned":{"number":1,"thing":{"container":{"runtime":"runsc","state":"/var/tmp/tare-1/state","id":"tare-1"}}}}"#,
        r#"{"owned":{"number":2,"thing":{"network_device":{"namespace":"tare-1","device":"tare0"}}}}"#,
        r#"{"released":{"numbers":[0,1]}}"#,
        r#"{"joined":{}}"#,
    ];
    vec![(lines.join("\n") + "\n").into_bytes(), Vec::new()]
}

fn run(input: &[u8]) -> Result<String, String> {
    let lines = input.split(|byte| *byte == b'\n').count();
    let (things, unread) = named_in(input);
    if things + unread > lines {
        return Err(format!("{things} things and {unread} unread lines come from {lines} lines"));
    }
    Ok(format!("{things} things, {unread} unread"))
}
