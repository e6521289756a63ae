//! tare: weighs the layers between a program and the hardware.

fn main() {
    let arguments: Vec<_> = std::env::args_os().collect();
    if let Some(code) = tare_probes::agent::answer(&arguments) {
        std::process::exit(code);
    }
}
