//! Studies: read, multiplied, chosen from, and refused where they are wrong.

use super::*;

#[test]
fn every_shipped_study_can_be_planned_in_both_sizes() {
    for (name, _) in SHIPPED {
        let study = Study::from_name(name).unwrap();
        assert_eq!(study.name, *name);
        for size in [Size::Short, Size::Reference] {
            assert!(!study.expand_cases(None, Some(size)).unwrap().is_empty());
        }
    }
}

#[test]
fn a_wrong_key_names_the_nearest() {
    let error = Study::parse("name='x'\ntitle='x'\nabout=''\nbudgett='1m'\ncase=[]", "x.toml").unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("did you mean 'budget'?"));
    assert!(error.to_string().contains("budgett"), "{error}");
}

#[test]
fn lists_multiply() {
    let text =
        "name='x'\ntitle='x'\nabout=''\nbudget='1m'\n[[case]]\nprobe='sys.getppid'\nparameters={bs=['4K']}";
    let error = Study::parse(text, "x").unwrap().expand_cases(None, None).err().unwrap();
    assert!(error.to_string().contains("no parameter 'bs'"));
}

#[test]
fn the_rows_of_a_place_stand_together() {
    let text = "name='x'\ntitle='x'\nabout=''\nbudget='1m'\n\
                [[case]]\nprobe='file.seq'\nparameters={bs=['1K','4K']}\n\
                [[case]]\nprobe='file.seq'\nparameters={op='read'}\n[[case]]\nprobe='file.sync'";
    let places = ["xfs", "own"].map(str::to_owned);
    let selected = Study::parse(text, "x").unwrap().expand_cases(Some(&places), None).unwrap();
    let rows: Vec<(&str, &str, &str)> = selected
        .iter()
        .map(|SelectedCase { probe, case, .. }| {
            let text = |key| case.parameters.get_text(key).unwrap_or_default();
            (case.place.as_deref().unwrap(), text("op"), if text("bs") == "1K" { "1K" } else { probe.name })
        })
        .collect();
    let seq = |place| [(place, "write", "1K"), (place, "write", "file.seq"), (place, "read", "file.seq")];
    let sync = [("xfs", "", "file.sync"), ("own", "", "file.sync")];
    assert_eq!(rows, [&seq("xfs")[..], &seq("own"), &sync].concat());
}

#[test]
fn stars_stand_for_anything() {
    for (pattern, text, expected) in [
        ("sys.*", "sys.getppid", true),
        ("*seq*write*", "file.seq?op=write", true),
        ("sys", "sys.getppid", false),
        ("*.mix", "sys.getppid", false),
    ] {
        assert_eq!(matches_pattern(pattern, text), expected, "{pattern} {text}");
    }
    let selected = Study::from_name("full").unwrap().expand_cases(None, None).unwrap();
    assert!(select_cases(selected.clone(), &["nul".into()]).err().unwrap().hint.unwrap().contains("null"));
    assert_eq!(select_cases(selected, &["null".into()]).unwrap().len(), 1);
}

fn study(rest: &str) -> Result<Study, LabError> {
    Study::parse(&format!("name='x'\ntitle='x'\nabout=''\nbudget='1m'\n{rest}"), "x")
}

#[test]
fn a_case_may_say_what_only_one_size_has() {
    let case = "[[case]]\nprobe='file.seq'\nparameters={bs='4K'}\nshort={size='1MiB'}\nreference={size='2GiB',bs='64K'}\nseconds=30";
    let selected = |size| study(case).unwrap().expand_cases(None, Some(size)).unwrap().remove(0);
    let text = |selected: &SelectedCase, key| selected.case.parameters.get_text(key).unwrap().to_owned();
    let (short, reference) = (selected(Size::Short), selected(Size::Reference));
    assert_eq!((text(&short, "size").as_str(), text(&short, "bs").as_str()), ("1MiB", "4K"));
    assert_eq!((text(&reference, "size").as_str(), text(&reference, "bs").as_str()), ("2GiB", "64K"));
    assert_eq!((short.seconds, reference.seconds), (None, Some(30.0)));
    let wrong = study(&case.replace("short={size", "short={sise")).unwrap();
    for size in [Size::Short, Size::Reference] {
        let error = wrong.expand_cases(None, Some(size)).err().unwrap();
        assert_eq!(error.hint.as_deref(), Some("did you mean 'size'?"), "a slip shows in either size");
    }
    assert!(study(&case.replace("30", "3000")).unwrap().expand_cases(None, Some(Size::Reference)).is_err());
}

#[test]
fn a_case_may_say_which_metrics_decide() {
    let case = "[[case]]\nprobe='net.rr'\ndecide=['min','p99.9']";
    assert_eq!(study(case).unwrap().expand_cases(None, None).unwrap()[0].decide, ["min", "p99.9"]);
    let error = study(&case.replace("p99.9", "p99.99")).unwrap().expand_cases(None, None).err().unwrap();
    assert_eq!(error.to_string(), "the probe net.rr has no metric 'p99.99'");
    assert_eq!(error.hint.as_deref(), Some("did you mean 'p99.9'?"));
}

#[test]
fn each_size_has_its_budget() {
    let both = study("reference_budget='2h'\n[[case]]\nprobe='null'").unwrap();
    assert_eq!(
        (both.budget_in(Size::Short).as_secs_f64(), both.budget_in(Size::Reference).as_secs_f64()),
        (60.0, 7200.0)
    );
    assert_eq!(study("[[case]]\nprobe='null'").unwrap().budget_in(Size::Reference).as_secs_f64(), 60.0);
    assert!(study("reference_budget='long'").is_err());
}

#[test]
fn a_command_is_a_case_of_its_own_name() {
    let text =
        "[probe.build]\ncommand=['make']\nplaces=['own','share']\nmargin=0.1\n[probe.other]\ncommand=['x']";
    let selected = study(text).unwrap().expand_cases(None, None).unwrap();
    let names: Vec<(&str, Option<&str>)> =
        selected.iter().map(|a| (a.case.probe.as_str(), a.case.place.as_deref())).collect();
    let expected = [("user.build", Some("own")), ("user.build", Some("share")), ("user.other", Some("own"))];
    assert_eq!(names, expected);
    assert!(tare_probes::find_probe("user.build").is_some_and(|probe| probe.name == USER_COMMAND));
    assert_eq!(select_cases(selected, &["user.o*".into()]).unwrap().len(), 1);
    let error = study("[probe.build]\ncomand=['make']").unwrap_err();
    assert_eq!(error.hint.as_deref(), Some("did you mean 'command'?"));
    let error = study("[[case]]\nprobe='user.build'").unwrap().expand_cases(None, None).err().unwrap();
    assert!(error.hint.unwrap().contains("[probe.NAME]"));
}

#[test]
fn starts_stand_alone_in_a_study() {
    assert!(study("[[case]]\nprobe='env.start'").unwrap().expand_cases(None, None).is_ok());
    let mixed = study("[[case]]\nprobe='env.start'\n[[case]]\nprobe='null'").unwrap();
    assert!(mixed.expand_cases(None, None).err().unwrap().to_string().contains("with other cases"));
}

#[test]
fn shipped_studies_name_articles_that_there_are() {
    for (name, _) in SHIPPED {
        for article in Study::from_name(name).unwrap().published {
            crate::study::published::read_article(&article).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
    }
}

#[test]
fn an_error_that_is_not_about_a_key_lists_the_keys_that_there_are() {
    let error = Study::parse("name = 'mine'", "mine.toml").unwrap_err();
    let hint = error.hint.unwrap();
    for key in ["reference_budget", "decide", "expect_exit"] {
        assert!(hint.contains(key), "{hint}");
    }
}

#[test]
fn what_no_environment_could_measure_is_refused_when_it_is_read() {
    let refused = |rest| {
        study(rest).and_then(|study| study.expand_cases(None, None)).map(drop).unwrap_err().to_string()
    };
    assert!(refused("").contains("has no case"));
    let wrong = refused("[[case]]\nprobe='file.seq'\nparameters={bs='4KB'}");
    assert!(wrong.contains("parameter bs=4KB of file.seq is not a number"), "{wrong}");
}

#[test]
fn studies_with_commas_between_them_are_one() {
    let both = Study::from_name("process-creation,page-cache").unwrap();
    let each = ["process-creation", "page-cache"].map(|name| Study::from_name(name).unwrap());
    let cases = |study: &Study| study.expand_cases(None, None).unwrap();
    assert_eq!(cases(&both).len(), each.iter().map(|study| cases(study).len()).sum::<usize>());
    let margins: Vec<f64> = each.iter().flat_map(cases).map(|selected| selected.margin).collect();
    assert_eq!(cases(&both).iter().map(|selected| selected.margin).collect::<Vec<_>>(), margins);
    let seconds = each.iter().map(|study| study.budget_in(Size::Short)).sum::<Duration>();
    assert_eq!(both.budget_in(Size::Short), seconds);
    assert_eq!(Study::find_shipped(&both.name).unwrap().unwrap().published, ["qiita-wsl-guest-native"]);
}

#[test]
fn every_article_that_says_how_it_is_measured_again_can_be() {
    for (name, _) in published::SHIPPED {
        let redo = published::read_article(name).unwrap().redo.unwrap();
        let study = Study::from_name(&redo.study).unwrap();
        assert!(study.published.iter().any(|article| article == name), "{name}");
        for environment in redo.environments {
            crate::environments::parse_environment(&environment).unwrap();
        }
    }
}

/// Checks that the thesis is redone on four threads, on which its figures were measured.
#[test]
fn the_thesis_on_sysbench_is_redone_with_its_threads() {
    let study = Study::from_name("sysbench").unwrap();
    let article = published::read_article("tuni-wsl2-linux").unwrap();
    for size in [Size::Short, Size::Reference] {
        let selected = study.expand_cases(None, Some(size)).unwrap();
        for figure in article.figures.iter().filter(|figure| figure.probe == "file.random") {
            assert_eq!(figure.parameters["threads"], "4", "{}", figure.name);
            let is_it = |case: &Case| {
                case.probe == "file.random"
                    && figure.parameters.iter().all(|(key, value)| case.parameters.0.get(key) == Some(value))
            };
            assert!(selected.iter().any(|selected| is_it(&selected.case)), "{}", figure.name);
        }
    }
    assert_eq!(Study::from_name("rtt").unwrap().least_rounds, Some(50), "a graph of 50 runs");
}
