//! Launchers with a template: each is a provider, made of its file.

use std::sync::{Arc, LazyLock};

use tare_data::facts::keys::{LAUNCHER_TESTED, LAUNCHER_WORDS};

use crate::launching::entering::Launcher;
use crate::launching::shipped::SHIPPED;
use crate::launching::template::{Kernel, Template};
use crate::provider::prelude::*;

/// End of the name of a file with a template.
const FILE: &str = ".toml";

const PROFILE: &str = "profile";

/// The launchers that come along, in the order of their list, and whether tare's tests enter each.
pub(super) static LAUNCHERS: LazyLock<Vec<(Arc<Provider>, bool)>> = LazyLock::new(|| {
    let make = |(name, text): &(&str, &str)| {
        let template =
            Template::parse_template(text, name).expect("a test parses every template that comes along");
        let is_tested = template.tested;
        (Arc::new(make_provider(template)), is_tested)
    };
    SHIPPED.iter().map(make).collect()
});

/// Tells whether a specification names a file with a template.
pub(super) fn is_file(specification: &Specification) -> bool {
    specification.provider.ends_with(FILE)
}

/// Reads the provider of the file that a specification names, and writes its whole path into the specification.
pub(super) fn read_provider(specification: &mut Specification) -> Result<Provider, LabError> {
    let named = Path::new(&specification.provider);
    let path = named.canonicalize().map_err(LabError::storage_error("read the launcher", named))?;
    let text = path.to_str().ok_or_else(|| LabError::usage_error("the path of a launcher is not UTF-8"))?;
    text.clone_into(&mut specification.provider);
    Ok(make_provider(Template::read_template(&path)?))
}

fn make_provider(template: Template) -> Provider {
    let template = Arc::new(template);
    let option = template.usual_profile.as_deref().map(|usual| {
        let others = template.profile.keys().map(String::as_str).filter(|name| *name != usual);
        let about = |name: &str| format!("{name}: {}", template.profile[name].about);
        let about: Vec<String> = std::iter::once(usual).chain(others).map(about).collect();
        OptionDescription {
            key: PROFILE,
            default: usual.to_owned().into(),
            values: &[],
            about: about.join("; ").into(),
        }
    });
    Provider {
        name: template.name.clone(),
        summary: template.summary.clone(),
        short_description: template.title.clone(),
        stands_for: template.stands_for.clone(),
        instance: template.instance.clone(),
        options: option.into_iter().collect(),
        descends: template.descends,
        kernel: template.kernel.facts(),
        roots: match (template.root, template.descends) {
            (true, _) => Roots::Own("its launcher enters a root folder that holds the agent alone"),
            (_, false) => Roots::Own(
                "a daemon starts its commands, and sees no mounts that a session makes; the study calls measures a call of it",
            ),
            _ => Roots::Any,
        },
        by_default: ByDefault::NEVER,
        footprint: Footprint {
            programs: [template.program()]
                .into_iter()
                .map(str::to_owned)
                .chain(template.needs.clone())
                .collect(),
            writes: Some(
                "where the launcher leads: a copy of tare if it cannot see this one, and a folder for each start",
            ),
            ..Footprint::from_starts(
                "the launcher with the agent after its words, which is asked for its version before",
            )
        },
        parse: Box::new(move |specification| parse_launcher(&template, specification)),
    }
}

fn parse_launcher(
    template: &Arc<Template>,
    specification: &Specification,
) -> Result<Box<dyn Environment>, LabError> {
    let profile = match &template.usual_profile {
        None => None,
        Some(usual) => {
            let named = specification.get_option(PROFILE).unwrap_or(usual);
            let known = template.profile.get(named).ok_or_else(|| {
                let all: Vec<&str> = template.profile.keys().map(String::as_str).collect();
                let what = format!("{}: '{PROFILE}' cannot be '{named}'", template.name);
                crate::nearest::add_known_words_hint(LabError::usage_error(what), named, &all)
            })?;
            Some((named.to_owned(), known.words.clone()))
        }
    };
    let instance = specification.instance.clone();
    if instance.as_deref().is_some_and(|name| name.starts_with('-')) {
        return Err(LabError::usage_error(format!("'{specification}' names an option")));
    }
    let template = Arc::clone(template);
    Ok(Box::new(Launched { name: specification.to_string(), template, profile, instance }))
}

struct Launched {
    /// The specification, as errors name it.
    name: String,
    template: Arc<Template>,
    profile: Option<(String, Vec<String>)>,
    instance: Option<String>,
}

impl Environment for Launched {
    fn proof(&self) -> Proof {
        match (self.template.list_namespaces(), self.template.kernel) {
            (_, Kernel::Own) => Proof::OtherBoot,
            ([], _) => Proof::None,
            // Others depend on its settings.
            (kinds, _) => Proof::Namespaces(Namespaces { own: Kinds::from_names(kinds), either: Kinds::ALL }),
        }
    }

    fn check_ready(&self, programs: &Programs) -> Result<Ready, NotReady> {
        let Launched { template, profile, .. } = self;
        let install = template.install.as_str();
        if let (Some(meaning), None) = (&template.instance, &self.instance) {
            return Err(NotReady::from_reason(format!(
                "no {meaning} is named: write {}:NAME",
                template.name
            )));
        }
        let program = require_program(programs, template.program(), install)?;
        let others =
            template.needs.iter().try_for_each(|needed| require_program(programs, needed, install).map(drop));
        others?;
        if let Some((_, meaning)) = template.present.iter().find(|(path, _)| !Path::new(path).exists()) {
            return Err(NotReady::from_reason(meaning.clone()));
        }
        let version: Vec<&str> = template.version.iter().map(String::as_str).collect();
        let version = programs::read_program_version(&program, &version)
            .map_err(NotReady::from_program_error(&program))?;
        let words = self.words(programs)?;
        let mut copy = template.copy.clone();
        self.find_first(&mut copy, programs)?;
        let mut facts = note_runtime(&program, &version);
        facts.add_fact(LAUNCHER_WORDS, tare_data::shell::join_words(&words));
        facts.add_fact(LAUNCHER_TESTED, if template.tested { "yes" } else { "no" });
        if let Some((name, _)) = profile {
            facts.add_fact("launcher.profile", name);
        }
        let launcher = Launcher {
            name: self.name.clone(),
            words,
            far: template.far,
            copy,
            terminal: template.terminal,
            root: template.root,
            shares: template.shares,
            inside: template.inside.clone(),
            instance: self.instance.clone().unwrap_or_default(),
            variables: template.variable.clone(),
            leaves: template
                .leaves
                .iter()
                .filter_map(|name| Some(programs.find(name)?.to_path_buf()))
                .collect(),
            folders: template.folders.clone(),
            files: template.file.clone(),
        };
        Ok(Ready::new(facts, move |workspace| launcher.prepare_entrance(workspace)))
    }
}

impl Launched {
    /// Fills in the profile, and the path of the program that comes first.
    fn words(&self, programs: &Programs) -> Result<Vec<String>, NotReady> {
        let profile = self.profile.as_ref().map_or(&[][..], |(_, words)| words);
        let mut words: Vec<String> = Vec::new();
        for word in &self.template.enter {
            match word.as_str() {
                "{profile}" => words.extend_from_slice(profile),
                word => words.push(word.to_owned()),
            }
        }
        self.find_first(&mut words, programs)?;
        Ok(words)
    }

    /// Replaces the first of these words, a program, by its whole path.
    fn find_first(&self, words: &mut [String], programs: &Programs) -> Result<(), NotReady> {
        if let Some(first) = words.first_mut() {
            let found = require_program(programs, first, &self.template.install)?;
            *first = found.to_string_lossy().into_owned();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environments::{PROVIDERS, parse_environment, presets::PRESETS};

    #[test]
    fn every_template_that_comes_along_is_a_provider_of_its_files_name() {
        for ((name, _), (provider, _)) in SHIPPED.iter().zip(LAUNCHERS.iter()) {
            assert_eq!(provider.name, *name);
            let words = provider.short_description.split_whitespace().count();
            assert!((2..=7).contains(&words), "{name}: {words} words");
            assert!(PROVIDERS.iter().all(|provider| provider.name != *name), "{name}");
            assert!(PRESETS.iter().all(|preset| preset.name != *name), "{name}");
            assert_eq!(parse_environment(name).unwrap().provider.name, *name);
        }
    }

    #[test]
    fn a_file_is_a_provider_by_its_path_and_takes_its_profiles() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("box.toml");
        std::fs::write(
            &path,
            "name = 'box'\ntitle = 'a box of mine'\nsummary = 's'\nstands_for = 'x'\ninstall = 'make box'\n\
             enter = ['sh', '{profile}', '-c']\nusual_profile = 'wide'\n\
             [profile.wide]\nabout = 'all'\nwords = []\n[profile.narrow]\nabout = 'none'\nwords = ['-e', '-u']\n",
        )
        .unwrap();
        let named = parse_environment(&format!("{}?profile=narrow", path.display())).unwrap();
        assert_eq!(named.provider.name, "box");
        let refused = parse_environment(&format!("{}?profile=wild", path.display())).err().unwrap();
        assert!(refused.what.contains("'profile' cannot be 'wild'"), "{refused}");
        assert!(parse_environment("/no/such.toml").is_err());
    }
}
