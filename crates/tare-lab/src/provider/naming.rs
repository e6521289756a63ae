//! Naming: turns a specification into an environment that can be asked whether it is ready.

use std::sync::Arc;

use tare_data::session::specification::Specification;

use crate::error::LabError;
use crate::host::programs::Programs;
use crate::nearest::{add_known_words_hint, add_nearest_hint};
use crate::provider::options::{Choice, SLOWER, Turns};
use crate::provider::root::{self, ROOT, RootFolder};
use crate::provider::{Environment, NotReady, Preparation, Provider, Ready};

/// Maximum slowdown on purpose, in percent.
const MOST_SLOWER: f64 = 100.0;

/// Everything that a specification can name.
pub(crate) struct Known<'k> {
    pub(crate) providers: &'k [Arc<Provider>],
    pub(crate) presets: fn() -> Vec<&'static str>,
    /// Check whether this machine can show a root.
    pub(crate) root_ready: fn(&RootFolder) -> Result<(), NotReady>,
}

/// A named environment: its specification, and the options that its provider parsed.
pub struct Named {
    pub specification: Specification,
    pub provider: Arc<Provider>,
    environment: Box<dyn Environment>,
    pub(crate) slower: f64,
    turns: Turns,
    /// The root in the specification, if any.
    root: Option<RootFolder>,
    root_ready: fn(&RootFolder) -> Result<(), NotReady>,
}

impl Named {
    /// Sets the root, unless the specification already names one.
    pub fn with_root(mut self, root: &RootFolder) -> Named {
        self.root.get_or_insert_with(|| root.clone());
        self
    }

    /// Returns the slow setup that has to be done once, if there is any.
    pub fn preparation(&self) -> Option<Preparation> {
        self.environment.preparation()
    }

    /// Tells whether it is this machine itself, which commands can work in where no layers over its files can be made.
    pub(crate) fn is_machine(&self) -> bool {
        self.environment.is_machine()
    }

    /// Checks whether the environment can be entered now, and collects everything for that.
    pub fn check_ready(&self, programs: &Programs) -> Result<Ready, NotReady> {
        let root = self.root.clone().unwrap_or_default();
        let roots = self.environment.restricted_roots().unwrap_or(self.provider.roots);
        if let Some(reason) = roots.refusal_reason(&root) {
            return Err(NotReady::from_reason(reason));
        }
        let keeps_changes = match (self.root_ready)(&root) {
            // The machine needs no view of itself.
            Err(not_ready) if root == RootFolder::Host && self.is_machine() => Some(not_ready.reason),
            shown => shown.map(|()| None)?,
        };
        let root = if keeps_changes.is_some() { RootFolder::Empty } else { root };
        let mut ready = self.environment.check_ready(programs)?;
        if root != RootFolder::Empty {
            self.environment.check_view(programs)?;
        }
        (ready.slower, ready.root, ready.kernel) = (self.slower, root, self.provider.kernel);
        if keeps_changes.is_some() {
            ready.facts.add_fact("root.changes", "kept");
        }
        ready.keeps_changes = keeps_changes;
        (ready.turns, ready.proof) = (self.turns, self.environment.proof());
        Ok(ready)
    }
}

/// Finds the environment that a specification names.
pub(crate) fn find_environment(specification: Specification, known: &Known<'_>) -> Result<Named, LabError> {
    let name = &specification.provider;
    // A file with a template is known alone, by its path.
    let is_named = |provider: &&Arc<Provider>| provider.name == *name || name.ends_with(".toml");
    let Some(provider) = known.providers.iter().find(is_named) else {
        let providers = known.providers.iter().map(|provider| provider.name.as_str());
        let names: Vec<&str> = providers.chain((known.presets)()).collect();
        let error = LabError::usage_error(format!("there is no environment '{name}'"));
        let lists = "tare list environments names them all, and tare check shows which are ready";
        return Err(add_nearest_hint(error, name, names, lists));
    };
    let mut own = specification.clone();
    let slower = share(&specification)?;
    let mut root = root::parse_root(&specification)?;
    let turns = Turns::from_specification(&specification)?;
    for option in [SLOWER, Turns::OPTION, ROOT] {
        own.options.remove(option.key);
    }
    check(provider, &own)?;
    let environment = (provider.parse)(&own)?;
    if environment.has_image() {
        if root.is_some() {
            return Err(LabError::usage_error(format!("{specification}: the image is the root"))
                .with_hint("leave out the image or root="));
        }
        root = Some(RootFolder::Empty);
    }
    let provider = Arc::clone(provider);
    Ok(Named { specification, provider, environment, slower, turns, root, root_ready: known.root_ready })
}

/// Parses the fraction by which trials are slowed down: `slower=0.5%`.
fn share(specification: &Specification) -> Result<f64, LabError> {
    let percent =
        SLOWER.read_text(specification).strip_suffix('%').and_then(|number| number.parse::<f64>().ok());
    percent.filter(|percent| (0.0..=MOST_SLOWER).contains(percent)).map(|percent| percent / 100.0).ok_or_else(
        || {
            SLOWER
                .invalid_value_error(specification)
                .with_hint(format!("give a share of at most {MOST_SLOWER}%, e.g. slower=5%"))
        },
    )
}

/// Refuses an instance of a provider that has none, and options that it does not have.
fn check(provider: &Provider, specification: &Specification) -> Result<(), LabError> {
    if let (Some(instance), None) = (&specification.instance, &provider.instance) {
        let what = format!("nothing may follow '{}:', and '{instance}' was given", provider.name);
        return Err(LabError::usage_error(what).with_hint("give options as NAME?key=value"));
    }
    let keys: Vec<&str> = provider.options.iter().map(|option| option.key).collect();
    match specification.options.keys().find(|key| !keys.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => {
            let what = format!("{} has no option '{key}'", provider.name);
            Err(add_known_words_hint(LabError::usage_error(what), key, &keys))
        }
    }
}
