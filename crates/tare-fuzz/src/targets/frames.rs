//! Frames of an environment, whole and in pieces; every frame is written again as it was read.

use tare_data::batch::{Batch, Histogram, Phase, Sample};
use tare_data::build::Build;
use tare_data::facts::Facts;
use tare_data::failure::{Failure, FailureKind};
use tare_data::frame::{Frame, LONGEST_NOTE, PROTOCOL, Received, Splitter, decode_frame, encode_frame};
use tare_data::request::Request;

use crate::target::Target;

pub static TARGET: Target = Target {
    name: "frames",
    corpus,
    words: &[
        "@tare1 ",
        "\"hello\"",
        "\"begun\"",
        "\"batch\"",
        "\"done\"",
        "\"failed\"",
        "\"latency\"",
        "\"histogram\"",
        "18446744073709551615",
        "1e308",
        "null",
    ],
    run,
};

/// Encodes frames of every kind without marker and sum, which the target adds.
fn corpus() -> Vec<Vec<u8>> {
    let mut histogram = Histogram::new();
    [5, 70, 900, 1_000_000_000].into_iter().for_each(|ns| histogram.record(ns));
    let latency = Sample::Latency { operations: 4, bytes: 0, elapsed_ns: 7, histogram: histogram.encode() };
    let samples = [
        latency,
        Sample::Throughput { operations: 9, bytes: 1, elapsed_ns: 3 },
        Sample::Stretches {
            operations: 2,
            bytes: 0,
            elapsed_ns: vec![3, 4],
            histogram: Some(histogram.encode()),
        },
        Sample::Gauge { value: 0.5 },
    ];
    let batch = |sample| Batch { series: "call".into(), phase: Phase::Warm, started_ns: 1, sample };
    let mut facts = Facts::default();
    facts.add_fact("kernel.release", "6.1");
    let failure = Failure::new(FailureKind::NotSupported, "no io_uring");
    let frames = [
        Frame::Hello {
            protocol: PROTOCOL,
            version: "0.1.0".into(),
            agent: Build::default(),
            clock_ns: 1,
            signs: Default::default(),
        },
        Frame::Description { facts: facts.clone(), places: [("own".to_owned(), facts)].into() },
        Frame::Begun { trial: 1, nonce: u64::MAX, clock_ns: 2 },
        Frame::Failed { trial: 1, failure, clock_ns: 3 },
        Frame::Bye,
    ];
    let batches = samples.map(|sample| Frame::Batch { trial: 1, batch: batch(sample) });
    let lines = frames.iter().chain(&batches).map(encode_frame);
    lines.map(|line| line.splitn(3, ' ').nth(2).unwrap_or_default().as_bytes().to_vec()).collect()
}

fn run(input: &[u8]) -> Result<String, String> {
    let mut answer = String::new();
    for line in input.split(|byte| *byte == b'\n') {
        let framed = [format!("@tare1 {:08x} ", crc32fast::hash(line)).as_bytes(), line].concat();
        if let Some(frame) = decode_frame::<Frame>(&framed) {
            answer.push_str(&read(&frame)?);
        }
        if let Some(request) = decode_frame::<Request>(&framed)
            && decode_frame(encode_frame(&request).as_bytes()) != Some(request)
        {
            return Err("a request is not read as it was written".into());
        }
    }
    let mut splitter = Splitter::default();
    for piece in input.chunks(7) {
        for received in splitter.push::<Frame>(piece) {
            match received {
                Received::Note(note) if note.len() > LONGEST_NOTE => return Err("a note is too long".into()),
                Received::Note(_) => {}
                Received::Frame(frame) => answer.push_str(&read(&frame)?),
            }
        }
    }
    Ok(answer.chars().take(60).collect())
}

fn read(frame: &Frame) -> Result<String, String> {
    // Numbers that JSON cannot hold come from no line.
    if decode_frame::<Frame>(encode_frame(frame).as_bytes()).as_ref() != Some(frame) {
        return Err("a frame is not read as it was written".into());
    }
    if let Frame::Batch { batch, .. } = frame
        && let Some(histogram) = batch.sample.histogram()
    {
        return Ok(match histogram.decode() {
            Ok(_) => "histogram ".into(),
            Err(why) => crate::target::without_numbers(&why),
        });
    }
    Ok(encode_frame(frame).chars().skip(16).take_while(|c| *c != ':').collect())
}
