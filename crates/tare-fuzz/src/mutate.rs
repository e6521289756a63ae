//! Mutations: one to eight small changes to an input that is known.

use tare_data::generator::Generator;

/// Bytes that formats hang on.
const TELLING: &[u8] = b"\n\r\t \0\"',.:;={}[]()<>-+/%eE0129\x1b\x7f\xff\xc3";
/// Numbers that overflow, vanish or are none.
const NUMBERS: &[&str] = &[
    "0",
    "-1",
    "-0",
    "1e308",
    "1e309",
    "-1e309",
    "1e-400",
    "nan",
    "inf",
    "18446744073709551616",
    "0x10",
    "1,5",
    "1.5.5",
    "99999999999999999999999999999999999999",
];

/// Changes one of these inputs in a few places.
pub fn mutate_input(generator: &mut Generator, corpus: &[Vec<u8>], words: &[&str]) -> Vec<u8> {
    let mut input = corpus[below(generator, corpus.len())].clone();
    for _ in 0..=below(generator, 8) {
        change(generator, &mut input, corpus, words);
    }
    input
}

/// Draws a whole number below `end`, which is not 0.
fn below(generator: &mut Generator, end: usize) -> usize {
    (generator.next_u64() % end.max(1) as u64) as usize
}

/// Draws a range of bytes, usually a short one.
fn piece(generator: &mut Generator, length: usize) -> std::ops::Range<usize> {
    let start = below(generator, length + 1);
    let most = if below(generator, 4) == 0 { length } else { 24 };
    start..(start + below(generator, most + 1)).min(length)
}

fn change(generator: &mut Generator, input: &mut Vec<u8>, corpus: &[Vec<u8>], words: &[&str]) {
    let at = below(generator, input.len() + 1);
    match below(generator, 10) {
        0 => flip(generator, input),
        1 => input.truncate(at),
        2 => {
            let range = piece(generator, input.len());
            input.drain(range);
        }
        3 => {
            let copied = input[piece(generator, input.len())].to_vec();
            input.splice(at..at, copied);
        }
        4 => {
            let other = &corpus[below(generator, corpus.len())];
            let taken = other[piece(generator, other.len())].to_vec();
            let replaced = at..(at + below(generator, taken.len() + 1)).min(input.len());
            input.splice(replaced, taken);
        }
        5 => input.insert(at, TELLING[below(generator, TELLING.len())]),
        6 if !words.is_empty() => {
            let word = words[below(generator, words.len())].bytes();
            input.splice(at..at, word);
        }
        7 => lines(generator, input),
        8 => number(generator, input),
        _ => {
            if let Some(byte) = input.get_mut(at) {
                *byte = TELLING[below(generator, TELLING.len())];
            }
        }
    }
}

fn flip(generator: &mut Generator, input: &mut [u8]) {
    if !input.is_empty() {
        let at = below(generator, input.len());
        input[at] ^= 1 << below(generator, 8);
    }
}

/// Takes a line away, or says it twice.
fn lines(generator: &mut Generator, input: &mut Vec<u8>) {
    let mut all: Vec<Vec<u8>> = input.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    if all.is_empty() {
        return;
    }
    let at = below(generator, all.len());
    let line = all.remove(at);
    if below(generator, 2) == 0 {
        let to = below(generator, all.len() + 1);
        all.insert(to, line.clone());
        all.insert(at.min(all.len()), line);
    }
    *input = all.concat();
}

/// Puts another number where one is.
fn number(generator: &mut Generator, input: &mut Vec<u8>) {
    let from = below(generator, input.len() + 1);
    let Some(start) = input[from..].iter().position(u8::is_ascii_digit).map(|at| from + at) else { return };
    let end = input[start..].iter().position(|b| !b.is_ascii_digit()).map_or(input.len(), |at| start + at);
    let other = NUMBERS[below(generator, NUMBERS.len())];
    input.splice(start..end, other.bytes());
}
