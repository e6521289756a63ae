//! Importers: every fixture is read as it was meant, and no cut of one passes for a whole.

use std::fs;
use std::path::{Path, PathBuf};

use tare_data::imported::{Imported, ImportedFigure, Stated};
use tare_data::unit::Unit;
use tare_record::importers::{IMPORTERS, LONGEST_SOURCE, MOST_FIGURES, Refusal, Text, find, import};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/imported")
}

fn bytes(name: &str) -> Vec<u8> {
    fs::read(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn imported(name: &str) -> Imported {
    import(&bytes(name), name, None).unwrap_or_else(|refusal| panic!("{name}: {refusal}"))
}

fn fixtures() -> Vec<String> {
    let names = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name != "README.md").collect();
    names.sort();
    assert!(names.len() > 40, "fixtures are missing: {names:?}");
    names
}

fn figure<'a>(imported: &'a Imported, name: &str) -> &'a ImportedFigure {
    let found = imported.figures.iter().find(|figure| figure.name == name);
    found.unwrap_or_else(|| {
        let names: Vec<&str> = imported.figures.iter().map(|figure| figure.name.as_str()).collect();
        panic!("there is no '{name}' in {names:?}")
    })
}

fn stated<'a>(figure: &'a ImportedFigure, statistic: &str) -> &'a Stated {
    let found = figure.values.iter().find(|value| value.statistic.to_string() == statistic);
    found.unwrap_or_else(|| panic!("'{}' has no {statistic}: {:?}", figure.name, figure.values))
}

fn value(figure: &ImportedFigure, statistic: &str) -> f64 {
    stated(figure, statistic).value
}

#[test]
fn show_all() {
    for name in fixtures() {
        match import(&bytes(&name), &name, None) {
            Ok(imported) => {
                println!("== {name}: {} {:?} {:?}", imported.tool, imported.version, imported.parameters);
                for figure in imported.figures {
                    println!("  {} {:?} -> {}", figure.name, figure.parameters, figure.counterpart.map(|c| c.to_string()).unwrap_or_default());
                    for v in figure.values {
                        println!("      {} {} {:?} '{}' {:?}", v.statistic, v.value, v.unit, v.written, v.metric);
                    }
                }
            }
            Err(refusal) => println!("== {name} REFUSED {refusal}"),
        }
    }
}
