//! The interface of importers, and the figures that they collect from a text, with the units that tools
//! write.

use std::collections::BTreeMap;

use tare_data::imported::{Counterpart, ImportedFigure, REMARK, Stated, Statistic};
use tare_data::names::Parameters;
use tare_data::peer::PeerKind;
use tare_data::unit::Unit;

use super::text::{Refusal, Text, fit_into_record};

/// Limit on the figures that are taken from one file: nobody would read more.
pub const MOST_FIGURES: usize = 10_000;

/// Another tool's output: the way to recognise and to read it.
pub struct Importer {
    pub name: &'static str,
    pub about: &'static str,
    /// Mark by which a whole output differs from one that was cut at the end of a line; None where the format
    /// has no such mark.
    pub end_mark: Option<&'static str>,
    /// Recogniser of a line that this tool alone writes, with the line after it. Cheap, and without decoration.
    pub begins: fn(&str, &str) -> bool,
    /// Reader of one output for people, or of several of this tool's one after another.
    pub read: fn(&Text) -> Result<ToolOutput, Refusal>,
    pub json: Option<Json>,
}

/// A tool's documents of JSON.
pub struct Json {
    /// Words that such a document contains, and no other tool's.
    pub words: &'static [&'static str],
    pub read: fn(&Text) -> Result<ToolOutput, Refusal>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    pub tool: &'static str,
    pub version: Option<String>,
    pub parameters: BTreeMap<String, String>,
    pub figures: Vec<ImportedFigure>,
    /// Index of the first figure of the output that was appended last.
    pub(super) last: usize,
    /// Beginning and end of the run by the machine's clock, in milliseconds, where the output tells.
    pub(super) period: Option<(f64, f64)>,
}

/// Milliseconds by which a run must have begun before a state of it was written; clocks and rounding differ by less.
const CLOCK_STEP: f64 = 100.0;

/// Share by which two forms of one run may differ: the one for people has three digits.
const ROUNDING: f64 = 0.01;

impl ToolOutput {
    pub fn new(tool: &'static str) -> ToolOutput {
        ToolOutput {
            tool,
            version: None,
            parameters: BTreeMap::new(),
            figures: Vec::new(),
            last: 0,
            period: None,
        }
    }

    /// Adds a figure, unless there are too many of them already.
    pub(crate) fn push(&mut self, text: &Text, figure: FigureBuilder) -> Result<(), Refusal> {
        if self.figures.len() >= MOST_FIGURES {
            return Err(text.refuse_end(format!("there are more than {MOST_FIGURES} figures")));
        }
        let mut figure = figure.figure;
        for value in &mut figure.values {
            // A tool that writes 0.00 ms tells that it could not resolve the time, not that it was none.
            if value.value == 0.0 && value.unit == Some(Unit::Nanoseconds) {
                value.metric = None;
            }
        }
        self.figures.push(figure);
        Ok(())
    }

    /// Adds another output of the tool. Settings that differ become those of the figures.
    pub(crate) fn append(&mut self, text: &Text, mut other: ToolOutput) -> Result<(), Refusal> {
        if self.figures.is_empty() {
            *self = ToolOutput { last: 0, ..other };
            return Ok(());
        }
        if self.figures.len() + other.figures.len() > MOST_FIGURES {
            return Err(text.refuse_end(format!("there are more than {MOST_FIGURES} figures")));
        }
        if !other.figures.is_empty()
            && (&self.version, &self.parameters) != (&other.version, &other.parameters)
        {
            self.hand_down_settings();
            other.hand_down_settings();
        }
        self.last = self.figures.len();
        self.figures.append(&mut other.figures);
        Ok(())
    }

    /// Puts another form of the same output in the place of the one that was appended last.
    pub(crate) fn replace_last(&mut self, other: ToolOutput) {
        self.figures.truncate(self.last);
        self.figures.extend(other.figures);
    }

    /// Makes the settings of the run as a whole those of each figure.
    fn hand_down_settings(&mut self) {
        let version = self.version.take().map(|version| ("version".to_owned(), version));
        let settings: Vec<(String, String)> =
            std::mem::take(&mut self.parameters).into_iter().chain(version).collect();
        for figure in &mut self.figures {
            for (key, value) in &settings {
                figure.parameters.entry(key.clone()).or_insert_with(|| value.clone());
            }
        }
    }

    /// Tells that an earlier output is an interim state of this run: it was written when this one had begun, and has less
    /// of the same.
    pub(crate) fn continues(&self, earlier: &ToolOutput) -> bool {
        let (Some((begin, _)), Some((_, written))) = (self.period, earlier.period) else { return false };
        let count = |figure: &ImportedFigure| {
            figure.values.iter().find(|value| value.statistic == Statistic::Count).map(|value| value.value)
        };
        let has_less = earlier.figures.iter().all(|before| {
            let now = self.figures.iter().find(|figure| figure.name == before.name);
            now.is_some_and(|now| count(before) <= count(now))
        });
        begin + CLOCK_STEP < written && has_less && !earlier.figures.is_empty()
    }

    /// Tells that another output has figures of the same names, and rates that differ by no more than rounding.
    pub(crate) fn restates(&self, other: &ToolOutput) -> bool {
        let rate = |output: &ToolOutput, name: &str| {
            let figure = output.figures.iter().find(|figure| figure.name == name)?;
            let is_rate =
                |stated: &&Stated| matches!(stated.statistic, Statistic::Throughput | Statistic::Rate);
            figure.values.iter().find(is_rate).map(|stated| stated.value)
        };
        let mut rates = self.figures.iter().filter_map(|figure| {
            let own = rate(self, &figure.name)?;
            Some((own, rate(other, &figure.name)))
        });
        let is_same = |(own, other): (f64, Option<f64>)| {
            other.is_some_and(|other| (own - other).abs() <= ROUNDING * own.abs().max(other.abs()))
        };
        let mut some = rates.by_ref().peekable();
        some.peek().is_some() && some.all(is_same)
    }

    /// Adds a parameter of the run as a whole, unless it is empty.
    pub(crate) fn add_parameter(&mut self, key: &str, value: &str) {
        note(&mut self.parameters, key, value);
    }
}

fn note(parameters: &mut BTreeMap<String, String>, key: &str, value: &str) {
    if !value.trim().is_empty() {
        parameters.insert(fit_into_record(key), fit_into_record(value));
    }
}

/// A unit that a tool writes, and its equivalent in tare.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// As it is shown behind the figure as written.
    pub written: &'static str,
    pub unit: Option<Unit>,
    pub factor: f64,
}

const fn scale(written: &'static str, unit: Unit, factor: f64) -> Scale {
    Scale { written, unit: Some(unit), factor }
}

pub const SECONDS: Scale = scale("s", Unit::Nanoseconds, 1e9);
pub const MILLISECONDS: Scale = scale("ms", Unit::Nanoseconds, 1e6);
pub const MICROSECONDS: Scale = scale("us", Unit::Nanoseconds, 1e3);
pub const NANOSECONDS: Scale = scale("ns", Unit::Nanoseconds, 1.0);
pub const PER_SECOND: Scale = scale("/s", Unit::PerSecond, 1.0);
pub const BITS_PER_SECOND: Scale = scale("bits/s", Unit::BitsPerSecond, 1.0);
pub const BYTES_PER_SECOND: Scale = scale("bytes/s", Unit::BytesPerSecond, 1.0);
pub const KIBIBYTES_PER_SECOND: Scale = scale("KiB/s", Unit::BytesPerSecond, 1024.0);
pub const MEBIBYTES_PER_SECOND: Scale = scale("MiB/s", Unit::BytesPerSecond, 1_048_576.0);
pub const MEGABYTES_PER_SECOND: Scale = scale("MB/s", Unit::BytesPerSecond, 1e6);
pub const BYTES: Scale = scale("bytes", Unit::Bytes, 1.0);
pub const PERCENT: Scale = scale("%", Unit::Percent, 1.0);
pub const COUNT: Scale = scale("", Unit::Count, 1.0);
/// The output names no unit.
pub const UNNAMED: Scale = Scale { written: "", unit: None, factor: 1.0 };

/// Scales a value. Powers of ten move the point, so that 0.1 ms are exactly 100000 ns.
fn scaled(value: f64, factor: f64) -> f64 {
    let power = libm::log10(factor);
    if power.fract() == 0.0 && value.is_finite() {
        return format!("{value:e}").split_once('e').map_or(value * factor, |(digits, exponent)| {
            let exponent: i32 = exponent.parse().unwrap_or(0);
            format!("{digits}e{}", exponent + power as i32).parse().unwrap_or(value * factor)
        });
    }
    value * factor
}

/// A figure while its values are found.
pub struct FigureBuilder {
    figure: ImportedFigure,
    /// True when the last offered value was taken.
    took: bool,
}

impl FigureBuilder {
    pub fn new(name: &str) -> FigureBuilder {
        let (parameters, values) = (BTreeMap::new(), Vec::new());
        let figure = ImportedFigure { name: fit_into_record(name), parameters, counterpart: None, values };
        FigureBuilder { figure, took: false }
    }

    pub(crate) fn add_parameter(&mut self, key: &str, value: &str) {
        note(&mut self.figure.parameters, key, value);
    }

    /// Sets the probe of tare that measures the same, with the parameters that the output fixes.
    pub fn set_counterpart(&mut self, probe: &str, parameters: &[(&str, &str)]) {
        let parameters =
            parameters.iter().map(|(key, value)| (fit_into_record(key), fit_into_record(value))).collect();
        self.figure.counterpart =
            Some(Counterpart { probe: probe.into(), parameters: Parameters(parameters), peer: None });
    }

    /// Says where the counterpart's other end is, by the address that the output prints.
    pub fn set_peer(&mut self, address: Option<&str>) {
        if let (Some(counterpart), Some(address)) = (&mut self.figure.counterpart, address) {
            counterpart.peer = Some(PeerKind::from_address(address));
        }
    }

    /// Adds a value, unless it is not a finite number in tare's unit.
    fn push(&mut self, statistic: Statistic, value: f64, scale: Scale, written: String) {
        let value = scaled(value, scale.factor);
        self.took = value.is_finite();
        if self.took {
            self.figure.values.push(Stated { statistic, value, unit: scale.unit, written, metric: None });
        }
    }

    /// Adds a number that a part of a text states; fails where it is not one.
    pub fn add_text_value(
        &mut self,
        text: &Text,
        statistic: Statistic,
        part: &str,
        scale: Scale,
    ) -> Result<(), Refusal> {
        let value = text.parse_number(part)?;
        if !scaled(value, scale.factor).is_finite() {
            return Err(text.refuse_part(part, "the number is out of all bounds"));
        }
        self.push(
            statistic,
            value,
            scale,
            format!("{} {}", fit_into_record(part), scale.written).trim_end().to_owned(),
        );
        Ok(())
    }

    /// Adds a number from JSON, or nothing where there is none.
    pub fn add_json_value(&mut self, statistic: Statistic, value: Option<f64>, scale: Scale) {
        self.took = false;
        if let Some(value) = value {
            self.push(statistic, value, scale, format!("{value} {}", scale.written).trim_end().to_owned());
        }
    }

    /// Adds a number that was read from a text by another rule; `digits` is its form there.
    pub fn hold_as(&mut self, statistic: Statistic, value: f64, scale: Scale, digits: &str) {
        self.push(
            statistic,
            value,
            scale,
            format!("{} {}", fit_into_record(digits), scale.written).trim_end().to_owned(),
        );
    }

    /// Declares that the value offered last, if it was taken, is defined as this metric of the counterpart.
    pub fn set_metric(&mut self, metric: &str) {
        if self.took
            && self.figure.counterpart.is_some()
            && let Some(last) = self.figure.values.last_mut()
        {
            last.metric = Some(metric.to_owned());
        }
    }

    /// Declares that a statistic, where it is present, is defined as this metric of the counterpart.
    pub fn metric_of(&mut self, statistic: Statistic, metric: &str) {
        let found = self.figure.values.iter_mut().find(|value| value.statistic == statistic);
        if let (Some(value), true) = (found, self.figure.counterpart.is_some()) {
            value.metric = Some(metric.to_owned());
        }
    }

    pub fn name(&self) -> &str {
        &self.figure.name
    }

    pub fn with_name(mut self, name: &str) -> FigureBuilder {
        self.figure.name = fit_into_record(name);
        self
    }

    /// Takes the correspondence away again: some parameter makes it another measurement.
    pub fn no_counterpart(&mut self) {
        self.figure.counterpart = None;
        self.figure.values.iter_mut().for_each(|value| value.metric = None);
    }

    pub fn is_empty(&self) -> bool {
        self.figure.values.is_empty()
    }

    /// Tells that least, mean and greatest are in their order; a mean of two times may be rounded to one of them.
    pub fn has_ordered_times(&self) -> bool {
        let find = |statistic| {
            self.figure.values.iter().find(|value| value.statistic == statistic).map(|value| value.value)
        };
        let order = [Statistic::Minimum, Statistic::Mean, Statistic::Maximum].map(find);
        let known: Vec<f64> = order.into_iter().flatten().collect();
        known.windows(2).all(|pair| pair[0] <= pair[1] * (1.0 + ROUNDING))
    }

    /// Notes a percentile that the tool printed below its own minimum; both are kept as they were printed.
    pub fn note_percentile_below_minimum(&mut self) {
        let minimum = self.figure.values.iter().find(|value| value.statistic == Statistic::Minimum);
        let Some(minimum) = minimum.map(|minimum| (minimum.value, minimum.written.clone())) else { return };
        let is_below =
            |value: &&Stated| matches!(value.statistic, Statistic::Percentile(_)) && value.value < minimum.0;
        if let Some(value) = self.figure.values.iter().find(is_below) {
            let remark = format!(
                "{} {} is below the tool's own minimum, {}",
                value.statistic, value.written, minimum.1
            );
            self.add_parameter(REMARK, &remark);
        }
    }

    pub fn has(&self, statistic: Statistic) -> bool {
        self.figure.values.iter().any(|value| value.statistic == statistic)
    }
}
