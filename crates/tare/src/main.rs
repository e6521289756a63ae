//! tare: weighs the layers between a program and the hardware.

use tare_probes::agent;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.get(1).is_some_and(|a| a == agent::AGENT) {
        agent::serve(&arguments[0]).unwrap();
    } else if let [_, verb, request] = &arguments[..]
        && verb == agent::TRIAL
    {
        agent::run_trial(request).unwrap();
    }
}
