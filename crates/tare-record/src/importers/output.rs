//! The interface of importers, and the figures that they collect from a text, with the units that tools
//! write.

use std::collections::BTreeMap;

use tare_data::imported::{Counterpart, ImportedFigure, Stated, Statistic};
use tare_data::names::Parameters;
use tare_data::peer::PeerKind;
use tare_data::unit::Unit;

use super::text::{Refusal, Text, fit_into_record};

/// Limit on the figures that are taken from one file: nobody would read more.
pub const MOST_FIGURES: usize = 1000;

/// Another tool's output: the way to recognise and to read it.
pub struct Importer {
    pub name: &'static str,
    pub about: &'static str,
    /// Mark by which a whole output differs from one that was cut at the end of a line; None where the format
    /// has no such mark.
    pub end_mark: Option<&'static str>,
    /// Recogniser of this tool's texts. Cheap; may be wrong about texts that no tool wrote.
    pub recognises: fn(&Text) -> bool,
    pub read: fn(&Text) -> Result<ToolOutput, Refusal>,
}

#[derive(Debug, PartialEq)]
pub struct ToolOutput {
    pub tool: &'static str,
    pub version: Option<String>,
    pub parameters: BTreeMap<String, String>,
    pub figures: Vec<ImportedFigure>,
}

impl ToolOutput {
    pub fn new(tool: &'static str) -> ToolOutput {
        ToolOutput { tool, version: None, parameters: BTreeMap::new(), figures: Vec::new() }
    }

    /// Adds a figure, unless there are too many of them already.
    pub fn push(&mut self, text: &Text, figure: FigureBuilder) -> Result<(), Refusal> {
        if self.figures.len() >= MOST_FIGURES {
            return Err(text.refuse_end(format!("there are more than {MOST_FIGURES} figures")));
        }
        self.figures.push(figure.figure);
        Ok(())
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

    /// Adds a number of a text.
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

    /// Adds a number that JSON holds; where there is none, nothing.
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
}
