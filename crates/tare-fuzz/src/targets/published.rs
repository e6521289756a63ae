//! Published figures: a file of a user's is read and shown, or it is refused.

use std::path::Path;

use tare_lab::study::published::parse_article;
use tare_report::language::Language;
use tare_report::published::render_article;

use crate::target::{Target, without_numbers};

pub static TARGET: Target = Target {
    name: "published",
    corpus,
    words: &[
        "[[figure]]\n",
        "[[ratio]]\n",
        "[[claim]]\n",
        "[[environment]]\n",
        "values = { wsl1 = [0], wsl2 = [-1e308] }\n",
        "unit = \"us\"\n",
        "better = \"higher\"\n",
        "kind = \"wsl1\"\n",
        "states = \"over 9 ms\"\n",
        "nan",
        "1e-320",
    ],
    run,
};

fn corpus() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../published");
    let entries = std::fs::read_dir(folder).expect("the articles are there");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a folder can be read").path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("an article can be read")).collect()
}

fn run(input: &[u8]) -> Result<String, String> {
    let Ok(text) = std::str::from_utf8(input) else { return Ok("not text".into()) };
    let published = match parse_article(text, "input") {
        Ok(published) => published,
        Err(refused) => return Ok(without_numbers(&refused.to_string())),
    };
    let shown = render_article(&published, &[], 80, Language::English);
    if shown.chars().any(|c| c.is_control() && c != '\n') {
        return Err("a control character reaches the terminal".into());
    }
    Ok(format!("{} figures, {} claims", published.figures.len(), published.claims.len()))
}
