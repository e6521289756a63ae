//! Outcomes of made-up commands: how their runs end in each start, and what they print and write.

use tare_data::batch::RunEnd;
use tare_data::generator::Generator;
use tare_data::metric::Reading;
use tare_data::session::outcome::{Lines, OutcomeRun, Part, hash_bytes};
use tare_data::session::{Role, Session};

use crate::plan::{make_case, make_metric, make_plan, make_session, make_sides};

/// A run is ended after too long a time this often on a side, and no more.
const MOST_OVERDUE: u32 = 4;

/// A made-up command. The first environment beside the baseline is the one that may differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Command {
    /// It fails in the environment, and nowhere else.
    FailsOnly,
    /// It fails with these chances: in the environment, and everywhere else.
    Fails(f64, f64),
    /// It fails at its first run in a start, and at no other.
    PassesLater,
    /// A time and its process number are in its output.
    PrintsTime,
    /// Its lines come in any order, and some not always.
    PrintsInAnyOrder,
    /// It takes longer, and does nothing else otherwise.
    IsSlower,
    WritesAnotherFile,
    Hangs,
    /// It does the same everywhere, but not always: ends, lines and files vary by chances that are drawn.
    VariesAlike,
}

/// Makes a session of a command in some environments beside the baseline, with the same number of starts of each.
pub fn make_outcomes(command: Command, environments: u32, starts: u32, seed: u64) -> Session {
    let names: Vec<String> = (1..=environments).map(|at| format!("layer{at}")).collect();
    let subjects = names.iter().map(|name| (name.as_str(), Role::Subject));
    let targets = make_sides([("native", Role::Baseline)].into_iter().chain(subjects));
    let metrics = vec![make_metric("time", Reading::TimePerOperation)];
    let parameters = [("expect_exit", "0"), ("folder", "/made-up")];
    let case = make_case("user.x", &parameters, None, metrics);
    let mut session = make_session(make_plan(targets, vec![case], vec![starts]));
    let mut generator = Generator::for_part(seed, "outcomes");
    let varies = Varies::draw(&mut generator);
    let sides: Vec<String> = session.plan.targets.iter().map(|side| side.name.clone()).collect();
    for side in &sides {
        let is_layer = *side == names[0];
        for start in 0..starts {
            if command == Command::Hangs && is_layer && start >= MOST_OVERDUE {
                break;
            }
            let (end, parts) = command.run(is_layer, &varies, &mut generator);
            let [output, files] = parts.map(|lines| Lines { hashes: lines, ..Lines::default() });
            let parts = [(Part::Output, output), (Part::Errors, Lines::default()), (Part::Files, files)];
            let case = session.plan.cases[0].id.clone();
            session.outcomes.push(OutcomeRun { case, target: side.clone(), start, end, parts: parts.into() });
        }
    }
    session
}

/// Chances of a command that varies: to fail, and of lines and files to be there.
struct Varies {
    fails: f64,
    lines: Vec<f64>,
}

impl Varies {
    fn draw(generator: &mut Generator) -> Varies {
        let chances = [0.0, 0.05, 0.3, 0.5, 0.9, 1.0];
        let mut draw = || chances[generator.draw_below(chances.len() as u64) as usize];
        Varies { fails: draw(), lines: (0..8).map(|_| draw()).collect() }
    }
}

/// Makes a line that has no times or the like in it.
fn plain(text: &str) -> [u64; 2] {
    [hash_bytes(text.as_bytes()); 2]
}

impl Command {
    /// Runs it once in a fresh start: its end, its lines and its files.
    fn run(self, is_layer: bool, varies: &Varies, generator: &mut Generator) -> (RunEnd, [Vec<[u64; 2]>; 2]) {
        let happens = |chance: f64, generator: &mut Generator| generator.draw_unit() < chance;
        let (good, bad) = (RunEnd::ExitCode(0), RunEnd::ExitCode(1));
        let (mut lines, mut files) = (vec![plain("hello")], vec![plain("out"), plain("out//3 1")]);
        let fails = match self {
            Command::FailsOnly => is_layer,
            Command::Fails(here, elsewhere) => happens(if is_layer { here } else { elsewhere }, generator),
            Command::PassesLater => true,
            Command::VariesAlike => happens(varies.fails, generator),
            _ => false,
        };
        match self {
            Command::PrintsTime => {
                let drawn = generator.next_u64();
                lines.push([drawn >> 12, hash_bytes(b"took # ms, process #")]);
            }
            Command::PrintsInAnyOrder => {
                lines.extend(["a", "b", "c"].map(plain));
                generator.shuffle(&mut lines);
                if happens(0.5, generator) {
                    lines.push(plain("now and then"));
                }
            }
            Command::WritesAnotherFile if is_layer => files[0] = plain("other"),
            Command::VariesAlike => {
                for (at, chance) in varies.lines.iter().enumerate() {
                    if happens(*chance, generator) {
                        lines.push(plain(&format!("line {at}")));
                    }
                    if happens(*chance, generator) {
                        files.push(plain(&format!("file {at}")));
                    }
                }
            }
            _ => {}
        }
        let end = if self == Command::Hangs && is_layer {
            RunEnd::TimedOut
        } else if fails {
            bad
        } else {
            good
        };
        (end, [lines, files])
    }
}
