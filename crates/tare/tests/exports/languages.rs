//! The language of a locale: text for people follows it, output for programs never does.

use tare_lab::environments::PROVIDERS;
use tare_lab::environments::presets::PRESETS;
use tare_lab::study::{SHIPPED, Study, list_probes};
use tare_report::language::Language;

use crate::program::{Program, Said};
use crate::records::{Made, USUAL, with_record, write_record};

const JAPANESE: &[(&str, &str)] = &[("LANG", "ja_JP.UTF-8")];
const ENGLISH: &[(&str, &str)] = &[("LANG", "C")];

fn run(program: &Program, arguments: &[&str], locale: &[(&str, &str)]) -> Said {
    let mut command = program.tare_command(arguments);
    ["LC_ALL", "LC_MESSAGES", "LANG"].iter().for_each(|name| {
        command.env_remove(name);
    });
    Said::from_output(command.envs(locale.iter().copied()).output().unwrap())
}

#[test]
fn the_table_follows_the_locale_and_documents_do_not() {
    let program = with_record(USUAL);
    let said = run(&program, &["report", "s.tare"], JAPANESE);
    for words in ["測定項目", "システムコール", "s.tare", "nativeの何倍の時間", "3倍", "再測定"]
    {
        assert!(said.out.contains(words), "no '{words}' in {}", said.out);
    }
    for word in ["probe", "slower", "system call", "Times the time"] {
        assert!(!said.out.contains(word), "'{word}' in {}", said.out);
    }
    // A word of the command that measures again, as the path of a place, is never broken.
    let fits = |line: &str| {
        tare_report::text::count_columns(line) <= 80 || !line.trim().trim_end_matches(" \\").contains(' ')
    };
    assert!(said.out.lines().all(fits), "{}", said.out);
    for form in
        ["--json", "--csv", "--markdown", "--export=junit", "--export=openmetrics", "--export=hyperfine"]
    {
        let of = |locale| run(&program, &["report", "s.tare", form], locale);
        let (japanese, english) = (of(JAPANESE), of(ENGLISH));
        assert_eq!(japanese.code, Some(0), "{japanese:?}");
        assert_eq!(japanese.out, english.out, "{form}");
    }
}

#[test]
fn a_locale_without_utf_8_gets_ascii_from_every_command() {
    let program = with_record(USUAL);
    for (file, started) in [("n.tare", "2026-01-02T10:00:00Z"), ("o.tare", "2026-01-03T10:00:00Z")] {
        write_record(&program.path(file), Made { cost: 4.0, started: Some(started), ..USUAL });
    }
    let gate = ["report", "s.tare", "--fail-if", "slower>1"];
    for arguments in [
        &gate[..],
        &["report", "s.tare", "--wide"],
        &["report", "s.tare", "--published", "qiita-wsl-rtt"],
        &["advise", "s.tare"],
        &["explain", "--prices", "s.tare"],
        &["compare", "s.tare", "--to", "n.tare"],
        &["compare", "--together", "s.tare", "n.tare", "o.tare"],
        &["run", "quick", "--dry-run"],
        &["ladder", "container", "--dry-run"],
        &["list", "environments"],
        &["list", "articles"],
        &["show", "wsl2-like"],
    ] {
        for locale in [&[("LC_ALL", "C")], &[("LANG", "ja_JP.eucJP")]] {
            let said = run(&program, arguments, locale);
            assert!(!said.out.is_empty(), "{arguments:?}: {said:?}");
            let odd = |text: &str| text.chars().find(|c| !c.is_ascii());
            assert_eq!((odd(&said.out), odd(&said.err)), (None, None), "{arguments:?}: {said:?}");
        }
    }
}

#[test]
fn the_page_and_the_conditions_follow_the_locale() {
    let program = with_record(USUAL);
    let arguments = ["report", "s.tare", "--html", "p.html", "--fail-if", "slower>1000"];
    let said = run(&program, &arguments, JAPANESE);
    assert!(said.err.contains("条件"), "{said:?}");
    let page = std::fs::read_to_string(program.path("p.html")).unwrap();
    assert!(page.contains("<html lang=\"ja\">") && page.contains("<title>containerをnativeと比較"));
    run(&program, &arguments, ENGLISH);
    let page = std::fs::read_to_string(program.path("p.html")).unwrap();
    assert!(page.contains("<html lang=\"en\">") && !page.contains("比較"));
}

#[test]
fn what_is_shown_of_a_name_has_its_headings_and_its_made_sentences_in_japanese() {
    let program = Program::new();
    let probes = list_probes().map(|probe| probe.name);
    let environments = PROVIDERS.iter().map(|provider| provider.name.as_str());
    let presets = PRESETS.iter().map(|preset| preset.name);
    let studies = SHIPPED.iter().map(|(name, _)| *name);
    for name in probes.chain(environments).chain(presets).chain(studies) {
        let said = run(&program, &["show", name], JAPANESE);
        assert_eq!(said.code, Some(0), "{said:?}");
        for words in
            ["is better", "headline", "(nanoseconds", "(short ", "can be added, as", " min\n", " s\n"]
        {
            assert!(!said.out.contains(words), "{name}: {words} in {}", said.out);
        }
        // A heading is at the beginning of its line, with two columns or more behind it.
        let headings = said.out.lines().skip(1).filter_map(|line| Some(line.split_once("  ")?.0));
        let english = headings.filter(|heading| !heading.contains('=')).find(|heading| {
            !heading.is_empty() && heading.chars().all(|c| c.is_ascii_lowercase() || c == ' ')
        });
        assert_eq!(english, None, "{name}: {}", said.out);
    }
}

#[test]
fn an_error_has_its_frame_its_cause_and_its_next_step_in_the_language() {
    let program = Program::new();
    let said = run(&program, &["run", "quikc"], JAPANESE);
    assert_eq!(said.err, "エラー: スタディ'quikc'はありません\nヒント: 'quick'のことですか?\n");
    let said = run(&program, &["report", "none.tare"], JAPANESE);
    assert!(said.err.starts_with("エラー: none.tareを読めません\n原因: "), "{said:?}");
    for locale in [
        &[("LC_ALL", "C"), ("LANG", "ja_JP.UTF-8")][..],
        &[("LANG", "ja_JP.eucJP")],
        &[("LC_ALL", ""), ("LC_MESSAGES", "de_DE.UTF-8"), ("LANG", "ja_JP.UTF-8")],
        &[],
    ] {
        let said = run(&program, &["run", "quikc"], locale);
        assert_eq!(said.err, "error: there is no study 'quikc'\nhint: did you mean 'quick'?\n", "{locale:?}");
    }
}

#[test]
fn every_row_of_the_quick_study_has_a_title() {
    let selected = Study::from_name("quick").unwrap().expand_cases(None, None).unwrap();
    for case in selected {
        let label = (case.probe.label)(&case.case.parameters);
        let title = Language::Japanese.translate_title(&label);
        // These two are the names of system calls.
        assert!(title != label || ["exec", "fork + wait"].contains(&label.as_str()), "{label}");
    }
}

#[test]
fn every_environment_has_a_short_description() {
    let presets = PRESETS.iter().map(|preset| preset.short_description);
    for english in PROVIDERS.iter().map(|provider| provider.short_description.as_str()).chain(presets) {
        assert_ne!(Language::Japanese.translate_text(english), english);
    }
}
