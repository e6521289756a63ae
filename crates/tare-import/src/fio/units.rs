//! Units of fio: numbers counted in thousands, and bytes by 2^10 or 10^3.

use crate::prelude::*;

/// Splits off the suffix of a number that is counted in thousands: `14183k`, `15702M`.
pub fn split_suffix(number: &str, scale: Scale) -> (&str, Scale) {
    let thousands = |written, factor| Scale { written, unit: scale.unit, factor: scale.factor * factor };
    let written = |plain: &'static str, thousand: &'static str, million: &'static str| {
        if scale.written == plain { Some((thousand, million)) } else { None }
    };
    let (thousand, million) = written("ns", "k ns", "M ns")
        .or_else(|| written("us", "k us", "M us"))
        .or_else(|| written("ms", "k ms", "M ms"))
        .or_else(|| written("/s", "k/s", "M/s"))
        .unwrap_or(("k", "M"));
    match number.as_bytes().last() {
        // Version 1 writes a capital letter.
        Some(b'k' | b'K') => (&number[..number.len() - 1], thousands(thousand, 1e3)),
        Some(b'M') => (&number[..number.len() - 1], thousands(million, 1e6)),
        _ => (number, scale),
    }
}

/// Splits a number of bytes: version 3 tells KiB from kB, in version 2 KB are 2^10 bytes.
pub fn find_bytes(written: &str, is_binary: bool) -> Option<(&str, Scale)> {
    const UNITS: &[(&str, &str, i32)] = &[
        ("KiB", "KiB/s", 1),
        ("MiB", "MiB/s", 2),
        ("GiB", "GiB/s", 3),
        ("TiB", "TiB/s", 4),
        ("kB", "kB/s", 1),
        ("KB", "KB/s", 1),
        ("MB", "MB/s", 2),
        ("GB", "GB/s", 3),
        ("TB", "TB/s", 4),
        ("B", "B/s", 0),
    ];
    let (unit, rate, power) = UNITS.iter().find(|(unit, ..)| written.ends_with(unit))?;
    let digits = written[..written.len() - unit.len()].trim();
    let step: f64 = if is_binary || unit.ends_with("iB") { 1024.0 } else { 1000.0 };
    Some((digits, Scale { written: rate, unit: Some(Unit::BytesPerSecond), factor: step.powi(*power) }))
}
