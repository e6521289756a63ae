//! Studies: a file of a user's is read and its cases are listed, or it is refused; their number is bounded.

use tare_lab::study::{SHIPPED, Study};
use tare_probes::probe::Size;

use crate::target::{Target, without_numbers};

/// More cases than a study may have.
const TOO_MANY: usize = 1001;

pub static TARGET: Target = Target {
    name: "studies",
    corpus,
    words: &[
        "[[case]]\n",
        "probe = \"file.seq\"\n",
        "parameters = { bs = [\"4KiB\", \"1MiB\"] }\n",
        "short = { ",
        "reference = { ",
        "places = [\"own\", \"share\", \"ext4\"]\n",
        "peers = [\"host\"]\n",
        "decide = [\"p50\"]\n",
        "seconds = 1e308\n",
        "margin = nan\n",
        "budget = \"1h30m\"\n",
        "[probe.build]\n",
        "run = [\"true\"]\n",
    ],
    run,
};

fn corpus() -> Vec<Vec<u8>> {
    SHIPPED.iter().map(|(_, text)| text.as_bytes().to_vec()).collect()
}

fn run(input: &[u8]) -> Result<String, String> {
    let Ok(text) = std::str::from_utf8(input) else { return Ok("not text".into()) };
    let study = match Study::parse(text, "input") {
        Ok(study) => study,
        Err(refused) => return Ok(without_numbers(&refused.to_string())),
    };
    // Files that it carries along are read where it names them: not from an input that anybody may have written.
    if !study.commands.is_empty() {
        return Ok("commands".into());
    }
    for size in [Size::Short, Size::Reference] {
        match study.expand_cases(None, Some(size)) {
            Ok(selected) if selected.len() >= TOO_MANY => return Err(format!("{} cases", selected.len())),
            Ok(selected) if selected.iter().any(|selected| !selected.margin.is_finite()) => {
                return Err("a margin is not a number".into());
            }
            Ok(_) => {}
            Err(refused) => return Ok(without_numbers(&refused.to_string())),
        }
    }
    Ok("studied".into())
}
