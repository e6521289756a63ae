//! A duel: one row of the agreement, in which tare and a tool measure the same in turn.

use tare_analysis::order::Orders;

use crate::agent::{Agent, Workspace};
use crate::progress::Progress;
use crate::ratio::{Ratio, Requirement};
use crate::setting::Setting;
use crate::veth::Veth;
use crate::{interrupt, machine};

/// A figure that both sides report.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    pub name: &'static str,
    pub unit: &'static str,
    pub required: Requirement,
}

/// Placement of both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// As the scheduler likes.
    Free,
    /// On one processor.
    Pinned,
    /// The two ends on a processor each.
    Apart,
}

/// Path between the two ends of a network row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Loopback,
    /// A pair of virtual cards between two network namespaces.
    Veth,
}

impl Way {
    pub fn to_text(self) -> &'static str {
        match self {
            Way::Loopback => "loopback",
            Way::Veth => "a pair of virtual cards",
        }
    }
}

/// Resources of a duel.
pub struct Site<'a> {
    pub agent: &'a mut Agent,
    pub setting: &'a Setting,
}

/// A row: a probe and the tool that measures the same. Figures of both sides come in the order of [`Duel::figures`].
pub trait Duel {
    /// Returns the name of the row; the family precedes the first dot.
    fn name(&self) -> String;
    /// Describes the tool and its arguments.
    fn describe_tool(&self) -> String;
    fn placement(&self) -> Placement {
        Placement::Free
    }
    fn way(&self) -> Way {
        Way::Loopback
    }
    fn figures(&self) -> Vec<Figure>;
    /// Gets everything ready, untimed; the error is why the row cannot run here.
    fn prepare(&mut self, site: &mut Site<'_>) -> Result<(), String>;
    fn run_tare(&mut self, site: &mut Site<'_>) -> Result<Vec<f64>, String>;
    fn run_tool(&mut self, site: &mut Site<'_>) -> Result<Vec<f64>, String>;
    /// Ends the programs started for the row, whether it ran through or not.
    fn stop_programs(&mut self) {}
}

/// Ratio per figure, or the reason why there is none.
pub type Found = Result<Vec<(Figure, Ratio)>, String>;

/// Lets both sides run in turn, in random order within each round.
pub fn run_duel(duel: &mut dyn Duel, workspace: &Workspace, setting: &Setting, progress: &Progress) -> Found {
    let _pinned = match (duel.placement(), duel.way()) {
        (Placement::Pinned, _) => Some(machine::Pinned::last_of_all()?),
        // Over loopback, probe and tool put their two ends on two processors by themselves.
        (Placement::Apart, Way::Veth) => Some(machine::Pinned::first_of_all()?),
        (Placement::Free, _) | (Placement::Apart, Way::Loopback) => None,
    };
    let _veth = match duel.way() {
        Way::Loopback => None,
        Way::Veth => Some(Veth::make_and_enter()?),
    };
    let found = rounds(duel, workspace, setting, progress);
    duel.stop_programs();
    found
}

fn rounds(duel: &mut dyn Duel, workspace: &Workspace, setting: &Setting, progress: &Progress) -> Found {
    let mut agent = workspace.start_agent(setting.seed)?;
    let mut site = Site { agent: &mut agent, setting };
    duel.prepare(&mut site)?;
    let figures = duel.figures();
    let mut rounds: Vec<Vec<(f64, f64)>> = vec![Vec::new(); figures.len()];
    let mut orders = Orders::new(setting.seed, &duel.name());
    for round in 0..setting.rounds() {
        interrupt::check_interrupted()?;
        progress.draw_round(&duel.name(), round);
        let mut sides = [Vec::new(), Vec::new()];
        for side in orders.draw_next(&[0, 1]) {
            sides[side] = match side {
                0 => duel.run_tare(&mut site)?,
                _ => duel.run_tool(&mut site)?,
            };
        }
        let [tare, tool] = sides;
        for (at, pairs) in rounds.iter_mut().enumerate() {
            let missing =
                || format!("a side gave {} figures of {}", tare.len().min(tool.len()), figures.len());
            let (Some(tare), Some(tool)) = (tare.get(at), tool.get(at)) else { return Err(missing()) };
            pairs.push((*tare, *tool));
        }
    }
    let ratio = |(figure, rounds): (Figure, &Vec<(f64, f64)>)| {
        let ratio = Ratio::from_rounds(rounds).ok_or_else(|| format!("{}: a figure of zero", figure.name))?;
        Ok((figure, ratio))
    };
    figures.into_iter().zip(&rounds).map(ratio).collect()
}
