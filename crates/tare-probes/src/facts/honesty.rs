//! Honesty checks of an environment: do meminfo and counters do what they promise? As those of a place are.

use std::time::Duration;

use tare_data::facts::Facts;
use tare_data::session::declared::Promise;

use super::promises::{OK, TRIAL_BYTES, note_outcome};
use crate::harness::buffer::Buffer;
use crate::harness::interference::read_rusage;
use crate::harness::kernel_files::{meminfo_bytes, read_text};

/// Memory that is touched to see meminfo move: far above what its counters lag behind (about 125 pages for
/// each processor).
const TOUCHED_BYTES: usize = 16 << 20;
/// Page tables that are made to see meminfo move, for the same reason as many.
const TABLES: u64 = 1_024;
/// Memory that a page table of 512 entries maps.
const TABLE_MAPS: usize = 2 << 20;
/// Tries, since other programs allocate and free at the same time.
const MEMORY_TRIES: usize = 3;
/// Sleeps that the counter of context switches must notice.
const SLEEPS: u64 = 3;

/// Notes `honesty.memory` and `honesty.counters`.
pub fn note_environment(facts: &mut Facts) {
    note_outcome(facts, Promise::MemoryCounters.fact_key(), memory());
    note_outcome(facts, "honesty.counters", counters());
}

/// Does meminfo follow memory that is touched, and the page tables that map it? None where there is none.
fn memory() -> Option<String> {
    let follows = |counter: &dyn Fn() -> Option<u64>, touch: &dyn Fn() -> Option<Buffer>, bytes: u64| {
        (0..MEMORY_TRIES).any(|_| {
            let Some(before) = counter() else { return false };
            let touched = touch();
            let after = counter();
            touched.is_some() && after.is_some_and(|after| after >= before.saturating_add(bytes / 2))
        })
    };
    let text = read_text("/proc/meminfo")?;
    // Pages of programs where the kernel counts them, since free pages wait on lists of each processor.
    let used = || match meminfo_bytes(&read_text("/proc/meminfo")?, "AnonPages:") {
        Some(anonymous) => Some(anonymous),
        None => Some(u64::MAX - meminfo_bytes(&read_text("/proc/meminfo")?, "MemFree:")?),
    };
    let page = rustix::param::page_size();
    if !follows(&used, &|| touched_every(page, TOUCHED_BYTES), TOUCHED_BYTES as u64) {
        return Some("its meminfo does not move when memory is touched".into());
    }
    if meminfo_bytes(&text, "PageTables:").is_none() {
        return Some("its meminfo leaves out what its kernel holds".into());
    }
    let tables = || meminfo_bytes(&read_text("/proc/meminfo")?, "PageTables:");
    // A page for each page table that maps it.
    let one_each = || touched_every(TABLE_MAPS, TABLES as usize * TABLE_MAPS);
    if !follows(&tables, &one_each, TABLES * 4096) {
        return Some("its meminfo does not count page tables".into());
    }
    Some(OK.into())
}

/// Maps memory of small pages in which every `step`th byte is written.
fn touched_every(step: usize, bytes: usize) -> Option<Buffer> {
    let mut memory = Buffer::new_untouched(bytes).ok()?;
    memory.small_pages();
    memory.iter_mut().step_by(step).for_each(|byte| *byte = 1);
    Some(memory)
}

/// Checks that context switches and page faults are counted.
fn counters() -> Option<String> {
    let before = read_rusage(libc::RUSAGE_SELF)?;
    for _ in 0..SLEEPS {
        std::thread::sleep(Duration::from_micros(50));
    }
    drop(Buffer::new_random(TRIAL_BYTES, 6).ok()?);
    let after = read_rusage(libc::RUSAGE_SELF)?;
    let silent: Vec<&str> = [
        ("context switches", after.ru_nvcsw > before.ru_nvcsw),
        ("page faults", after.ru_minflt > before.ru_minflt),
    ]
    .iter()
    .filter(|(_, counts)| !counts)
    .map(|(name, _)| *name)
    .collect();
    if silent.is_empty() {
        return Some(OK.into());
    }
    Some(format!("its counters of {} stay still", silent.join(" and ")))
}
