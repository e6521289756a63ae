//! Books of prices, which users pass on: read, written again, joined, and used for facts of a process.

use tare_analysis::here::book::{Book, join_books, parse_book};
use tare_analysis::here::costs::{Pricing, compute_costs};
use tare_analysis::here::recognise_layers;
use tare_data::facts::Facts;

use crate::target::{Target, without_numbers};

pub static TARGET: Target = Target {
    name: "books",
    corpus,
    words: &[
        "[[entry]]",
        "[entry.cycles]",
        "family",
        "\"2026-11\"",
        "machines",
        "1e308",
        "-0.0",
        "nan",
        "inf",
    ],
    run,
};

fn corpus() -> Vec<Vec<u8>> {
    let entry = "[[entry]]\nfamily = \"amd-25-1\"\nunder = \"kvm\"\nkernel = \"6.12\"\nmitigations = [\"pti\"]\nmade = \"2026-11\"\n\
                 machines = [\"0a1b2c3d\"]\nsessions = 2\n[entry.cycles]\ngetppid = [200.0, 250.5]\nnew-page = [1e3, 2e3]\n\
                 [entry.ns]\nclock-read = [18.0, 27.0]\n";
    vec![format!("format = 1\n{entry}").into_bytes(), format!("format = 1\n{entry}{entry}").into_bytes()]
}

fn run(input: &[u8]) -> Result<String, String> {
    let text = String::from_utf8_lossy(input);
    let book = match parse_book(&text) {
        Ok(book) => book,
        Err(mistake) => return Ok(without_numbers(&mistake)),
    };
    if parse_book(&book.to_text()).as_ref() != Ok(&book) {
        return Err("a book is not read as it was written".into());
    }
    let Some(first) = book.entries.first() else { return Ok("empty".into()) };
    let now = first.made;
    let joined = join_books(vec![book.clone(), Book::from_entries(vec![first.clone()])]);
    if joined.entries.len() > book.entries.len() {
        return Err("joining made another entry".into());
    }
    let facts = priced_facts();
    let costs = compute_costs(
        &facts,
        &Pricing { book: &book, now, found: &recognise_layers(&facts), hashes: &first.machines },
    );
    let factors: Vec<_> = costs.iter().filter_map(|cost| cost.factor).collect();
    if factors.iter().any(|factor| factor.low > factor.high || factor.low.is_nan() || factor.high.is_nan()) {
        return Err(format!("an interval without an order: {factors:?}"));
    }
    Ok(format!("{} {}", book.entries.len().min(3), factors.len()))
}

fn priced_facts() -> Facts {
    let mut facts = Facts::default();
    for (key, value) in [
        ("cpuid.vendor", "AuthenticAMD"),
        ("processor.family", "25-1-1"),
        ("kernel.release", "6.12.3"),
        ("mitigations", "pti"),
        ("cycle.addition", "0.5 0.5 0.5 0.5 0.5 0.5"),
        ("cycle.multiplication", "1.5 1.5 1.5 1.5 1.5 1.5"),
        ("price.getppid", "112 112 112 112 112 112"),
        ("price.new-page", "900 900 900 900 900 900"),
        ("price.clock-read", "22 22 22 22 22 22"),
    ] {
        facts.add_fact(key, value);
    }
    facts
}
