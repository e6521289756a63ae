//! The sides of a session, and the comparisons between them.

use std::ops::Deref;
use std::path::Path;

use serde::{Deserialize, Deserializer, Serialize};

use super::specification::Specification;
use crate::names::{Case, Parameters, USER};

/// The option of a specification that makes trials work longer, by a percentage.
pub const SLOWER: &str = "slower";

/// Parameters with a command's names, which depend on the other commands of its session.
const CALLED: [&str; 2] = ["name", TITLE];
const TITLE: &str = "title";

/// A side of a session: an environment with a start of its own, and in a session that compares commands one of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// Unique in the session; heads the environment's columns.
    pub name: String,
    /// The way in: `gvisor?platform=ptrace`.
    pub specification: Specification,
    /// Name of the side that this one measures once more, as its control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<String>,
    /// About five words on it: `virtual machine by QEMU`.
    pub short_description: String,
    /// Absent where it is [`Serving::AT_ONCE`].
    #[serde(default = "Serving::at_once", skip_serializing_if = "Serving::is_at_once")]
    pub serving: Serving,
    /// Parameters of the command that it runs, as far as they differ between sides; none where all run what the case names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Parameters>,
}

/// The way in which an environment serves the calls of a command.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Serving {
    /// True where one process serves all calls, so that a wait of one of a command's processes delays the others: a tracer, and a
    /// kernel with one processor.
    pub one_at_a_time: bool,
    /// A typical program's difference over that of the lines of its bill, from sessions with programs of known kinds.
    pub beside: f64,
    /// That multiple in sessions on one processor.
    pub beside_pinned: f64,
}

impl Serving {
    /// A kernel that serves calls of several processes at once.
    pub const AT_ONCE: Serving = Serving { one_at_a_time: false, beside: 1.15, beside_pinned: 1.15 };

    fn at_once() -> Serving {
        Serving::AT_ONCE
    }

    fn is_at_once(&self) -> bool {
        *self == Serving::AT_ONCE
    }
}

impl Side {
    /// Makes a target without a description, which serves calls at once.
    pub fn new(name: impl Into<String>, specification: Specification) -> Side {
        let (short_description, serving) = (String::new(), Serving::AT_ONCE);
        Side { name: name.into(), specification, repeats: None, short_description, serving, command: None }
    }

    /// Puts its command into a case of commands; any other case is alike on every side.
    pub fn fill_case(&self, case: &Case) -> Case {
        let mut filled = case.clone();
        if let Some(Parameters(own)) = self.command.as_ref().filter(|_| case.probe.starts_with(USER)) {
            filled.parameters.0.extend(own.clone());
        }
        filled
    }

    /// Finds the folder that its command works in, where each side has its own.
    pub fn find_work_folder(&self) -> Option<&Path> {
        let folder = self.command.as_ref()?.get_text("folder").ok()?;
        Some(Path::new(folder)).filter(|folder| folder.is_absolute())
    }

    /// Tells whether it measures what a side of another session does: the same environment, and the same command.
    pub fn is_like(&self, other: &Side) -> bool {
        self.specification == other.specification && self.list_run() == other.list_run()
    }

    /// Reads the title of its command, as it was given; the side's name may be shorter, or have a number.
    pub fn title(&self) -> Option<&str> {
        self.command.as_ref()?.get_text(TITLE).ok()
    }

    /// Lists the parameters of its command that say what is run, not what it is called in its session.
    pub fn list_run(&self) -> Option<Parameters> {
        let mut run = self.command.clone()?;
        run.0.retain(|key, _| !CALLED.contains(&key.as_str()));
        Some(run)
    }

    /// Reads the kind of environment.
    pub fn provider(&self) -> &str {
        &self.specification.provider
    }

    /// Reads the share by which trials work longer, on purpose; none in an ordinary environment.
    pub fn slower_share(&self) -> Option<f64> {
        let percent = self.specification.get_option(SLOWER)?.strip_suffix('%')?;
        percent.parse().ok().map(|percent: f64| percent / 100.0)
    }
}

/// The part that a side plays in a session's comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The side that others are compared with.
    Baseline,
    /// Another side entered once more: shows what this session calls a difference where there is none.
    Control,
    /// The second side of a comparison.
    Subject,
    /// The baseline once more, slower on purpose by a known share, in one case: shows whether the session finds that.
    Planted,
}

/// A comparison of two sides, by their names: the second against the first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Compared {
    first: String,
    second: String,
}

/// The sides of a session, in the order in which they are entered, and the comparisons between them.
///
/// A side has no role of its own: the comparisons say what it is measured for, so that a side can be the second of one and the first
/// of another.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sides {
    #[serde(rename = "environments", deserialize_with = "read_sides")]
    sides: Vec<Side>,
    comparisons: Vec<Compared>,
    /// Name of the side that is slower on purpose.
    #[serde(rename = "planted_environment", default, skip_serializing_if = "Option::is_none")]
    planted: Option<String>,
}

impl Sides {
    /// Begins with a side that nothing is compared with so far.
    pub fn new(first: Side) -> Sides {
        Sides { sides: vec![first], ..Sides::default() }
    }

    /// Adds a side that is compared with the first one.
    pub fn add_subject(&mut self, second: Side) {
        if let Some(first) = self.sides.first() {
            self.comparisons.push(Compared { first: first.name.clone(), second: second.name.clone() });
        }
        self.sides.push(second);
    }

    /// Adds the control of a side: its environment, entered once more under another name.
    pub fn add_control(&mut self, of: usize, name: String) {
        let of = &self.sides[of];
        self.sides.push(Side { name, repeats: Some(of.name.clone()), ..of.clone() });
    }

    /// Adds a side that is slower on purpose than the first one.
    pub fn add_planted(&mut self, planted: Side) {
        self.planted = Some(planted.name.clone());
        self.sides.push(planted);
    }

    /// Takes out the side that is slower on purpose, where there is one.
    pub fn take_planted(&mut self) -> Option<Side> {
        let name = self.planted.take()?;
        let at = self.sides.iter().position(|side| side.name == name)?;
        Some(self.sides.remove(at))
    }

    /// Leaves out sides, with their controls and comparisons.
    pub fn retain(&mut self, mut keeps: impl FnMut(&Side) -> bool) {
        let gone: Vec<String> =
            self.sides.extract_if(.., |side| !keeps(side)).map(|side| side.name).collect();
        let is_gone = |name: &String| gone.contains(name);
        self.sides.retain(|side| !side.repeats.as_ref().is_some_and(is_gone));
        self.comparisons.retain(|compared| !is_gone(&compared.first) && !is_gone(&compared.second));
    }

    /// Finds the part that a side plays.
    pub fn role(&self, at: usize) -> Role {
        let side = &self.sides[at];
        match &side.repeats {
            Some(_) => Role::Control,
            None if self.planted.as_ref() == Some(&side.name) => Role::Planted,
            None if self.comparisons.iter().any(|compared| compared.second == side.name) => Role::Subject,
            None => Role::Baseline,
        }
    }

    /// Lists the places of the sides with a role.
    pub fn list_role(&self, role: Role) -> impl Iterator<Item = usize> + Clone {
        (0..self.sides.len()).filter(move |at| self.role(*at) == role)
    }

    /// Lists the sides with a role.
    pub fn of_role(&self, role: Role) -> impl Iterator<Item = &Side> + Clone {
        self.list_role(role).map(|at| &self.sides[at])
    }

    /// Tells whether commands are compared with each other, each of them on a side.
    pub fn compare_commands(&self) -> bool {
        self.sides.iter().any(|side| side.command.is_some())
    }

    /// Finds the place of the side that others are compared with.
    pub fn baseline_at(&self) -> Option<usize> {
        self.list_role(Role::Baseline).next()
    }

    /// Finds the place of a side.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.sides.iter().position(|side| side.name == name)
    }

    /// Finds the side that another is measured against: the one that a control repeats, or the first of a comparison; none for a side
    /// that is the second of none.
    pub fn partner_of(&self, at: usize) -> Option<usize> {
        let side = self.sides.get(at)?;
        match &side.repeats {
            Some(repeated) => self.find(repeated),
            None if self.planted.as_ref() == Some(&side.name) => self.baseline_at(),
            None => {
                let compared = self.comparisons.iter().find(|compared| compared.second == side.name)?;
                self.find(&compared.first)
            }
        }
    }

    /// Lists the sides that are measured against another, each before that one.
    pub fn list_pairs(&self) -> impl Iterator<Item = [usize; 2]> {
        (0..self.sides.len()).filter_map(|at| Some([at, self.partner_of(at)?]))
    }

    /// Finds the control of a side.
    pub fn find_control(&self, of: usize) -> Option<usize> {
        let of = &self.sides.get(of)?.name;
        self.sides.iter().position(|side| side.repeats.as_ref() == Some(of))
    }
}

/// Reads sides: a control runs the command of the side that it repeats, whatever a record says.
fn read_sides<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Side>, D::Error> {
    let mut sides = Vec::<Side>::deserialize(deserializer)?;
    for at in 0..sides.len() {
        let Some(repeated) = &sides[at].repeats else { continue };
        let command = sides.iter().find(|side| side.name == *repeated).map(|side| side.command.clone());
        sides[at].command = command.flatten();
    }
    Ok(sides)
}

impl Deref for Sides {
    type Target = [Side];

    fn deref(&self) -> &[Side] {
        &self.sides
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(name: &str) -> Side {
        Side::new(name, Specification::from_provider(name))
    }

    fn three() -> Sides {
        let mut sides = Sides::new(side("native"));
        sides.add_control(0, "native again".into());
        sides.add_subject(side("container"));
        sides.add_subject(side("gvisor"));
        sides.add_control(2, "container again".into());
        sides.add_planted(side("slower"));
        sides
    }

    #[test]
    fn comparisons_say_what_a_side_is_for() {
        let sides = three();
        let roles: Vec<Role> = (0..sides.len()).map(|at| sides.role(at)).collect();
        let (subject, control) = (Role::Subject, Role::Control);
        assert_eq!(roles, [Role::Baseline, control, subject, subject, control, Role::Planted]);
        let partners: Vec<Option<usize>> = (0..sides.len()).map(|at| sides.partner_of(at)).collect();
        assert_eq!(partners, [None, Some(0), Some(0), Some(0), Some(2), Some(0)]);
        assert_eq!(
            [sides.find_control(0), sides.find_control(2), sides.find_control(3)],
            [Some(1), Some(4), None]
        );
    }

    #[test]
    fn a_command_goes_into_cases_of_commands_alone_and_is_part_of_what_a_side_is() {
        let parameters =
            |text: &str| Parameters([("command".to_owned(), text.to_owned())].into_iter().collect());
        let [old, new] = ["[\"old\"]", "[\"new\"]"]
            .map(|words| Side { command: Some(parameters(words)), ..side("native") });
        let case =
            |probe: &str| Case { probe: probe.into(), parameters: parameters("[]"), place: None, peer: None };
        assert_eq!(new.fill_case(&case("user.command")).parameters, parameters("[\"new\"]"));
        assert_eq!(new.fill_case(&case("env.call")), case("env.call"));
        assert_eq!(side("native").fill_case(&case("user.command")), case("user.command"));
        assert!(new.is_like(&new) && !new.is_like(&old) && !new.is_like(&side("native")));
        let read: Side = serde_json::from_value(serde_json::to_value(&new).unwrap()).unwrap();
        assert_eq!(read, new);
    }

    #[test]
    fn a_command_is_the_same_under_other_names_and_a_control_reads_as_what_it_repeats() {
        let command = |name: &str, words: &str| {
            let pairs = [("name", name), ("title", name), ("command", words)];
            let pairs = pairs.map(|(key, value)| (key.to_owned(), value.to_owned()));
            Side { command: Some(Parameters(pairs.into_iter().collect())), ..side(name) }
        };
        let [second, third] = ["2-new", "3-new"].map(|name| command(name, "[\"./new\"]"));
        let third = Side { specification: second.specification.clone(), ..third };
        assert!(second.is_like(&third));
        let mut sides = Sides::new(command("old", "[\"./old\"]"));
        sides.add_control(0, "old again".into());
        let mut json = serde_json::to_value(&sides).unwrap();
        json["environments"][1]["command"]["command"] = "[\"./hidden\"]".into();
        assert_eq!(serde_json::from_value::<Sides>(json).unwrap(), sides);
    }

    #[test]
    fn a_side_that_goes_takes_its_control_and_its_comparisons_along() {
        let mut sides = three();
        sides.retain(|side| side.name != "container");
        let names: Vec<&str> = sides.iter().map(|side| side.name.as_str()).collect();
        assert_eq!(names, ["native", "native again", "gvisor", "slower"]);
        assert_eq!(sides.of_role(Role::Subject).count(), 1);
        assert_eq!(sides.take_planted().map(|side| side.name).as_deref(), Some("slower"));
        assert_eq!(sides.of_role(Role::Planted).count(), 0);
    }
}
