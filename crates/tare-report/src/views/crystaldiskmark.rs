//! The CrystalDiskMark view: its lines for reading and for writing, the best pass as that program keeps it, and all passes.

use tare_analysis::findings::Findings;
use tare_analysis::pooled::{Runs, middle, runs};
use tare_data::metric::{Metric, Reading};
use tare_data::session::Session;

use super::view_text::{ViewText, fixed, push_own};
use crate::number::counted;
use crate::text::clean;

pub fn render(session: &Session, findings: &Findings) -> String {
    let mut out = ViewText::default();
    out.prose(
        "",
        "CrystalDiskMark view: its lines, measured by tare and not by CrystalDiskMark. MB are powers of ten. The line of \
         a test has the best pass, with the least mean latency of any, as that program keeps them; below it the pass \
         in the middle and the range of all.",
    );
    let all = runs(session, &["file.queue"]);
    if all.is_empty() {
        out.blank();
        out.prose("", "This session did not measure file.queue: tare run cdm8-default does.");
    }
    for target in &session.plan.targets {
        for (op, head) in [("read", "[Read]"), ("write", "[Write]")] {
            let is = |run: &&Runs<'_>| {
                run.target == target.name && run.case.case.parameters.text("op").is_ok_and(|text| text == op)
            };
            let mut runs = all.iter().filter(is).peekable();
            if runs.peek().is_none() {
                continue;
            }
            out.blank();
            out.line(&format!("{head} {}", clean(&target.name)));
            runs.for_each(|run| test(&mut out, session, findings, run));
        }
    }
    out.text()
}

/// `SEQ    1MiB (Q=  8, T= 1):  3528.601 MB/s [   3365.1 IOPS] <  2374.43 us>`.
fn test(out: &mut ViewText, session: &Session, findings: &Findings, run: &Runs<'_>) {
    let text = |key: &str| run.case.case.parameters.text(key).unwrap_or("?");
    let kind = if text("pattern") == "random" { "RND" } else { "SEQ" };
    let place = run.case.case.place.as_deref().filter(|place| *place != "own");
    let place = place.map(|place| format!(" @{}", clean(place))).unwrap_or_default();
    let name = format!(
        "  {kind} {:>7} (Q={:>3}, T={:>2}){place}",
        clean(text("bs")),
        clean(text("depth")),
        clean(text("threads"))
    );
    let of = |reading: Reading| run.case.metrics.iter().find(|metric| metric.reading == reading);
    let found = |metric: Option<&Metric>| metric.and_then(|metric| middle(&run.trials, metric));
    let bytes = of(Reading::BytesPerSecond);
    let (rate, iops, mean) =
        (found(bytes), found(of(Reading::OperationsPerSecond)), found(of(Reading::Mean)));
    let (Some(bytes), Some(rate), Some(iops), Some(mean)) = (bytes, rate, iops, mean) else {
        out.prose(&format!("{name}: "), &clean(&run.absence()));
        return;
    };
    out.line(&format!(
        "{name}: {:>9} MB/s [{:>9} IOPS] <{:>9} us>",
        fixed(rate.most / 1e6, 3),
        fixed(iops.most, 1),
        fixed(mean.least / 1e3, 2)
    ));
    out.line(&format!(
        "    all {}: {} MB/s, {} to {}; {} us, {} to {}",
        counted(rate.trials, "pass", "passes"),
        fixed(rate.value / 1e6, 3),
        fixed(rate.least / 1e6, 3),
        fixed(rate.most / 1e6, 3),
        fixed(mean.value / 1e3, 2),
        fixed(mean.least / 1e3, 2),
        fixed(mean.most / 1e3, 2),
    ));
    push_own(out, session, findings, (&run.case.id, &bytes.name, run.target));
}
