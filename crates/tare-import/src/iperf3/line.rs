//! A line of iperf3's text with an interval, an amount and a rate: of an interval or of the summary.

use crate::prelude::*;

/// `[  5][TX-C]   0.00-1.00   sec   694 MBytes  5.80 Gbits/sec    8             sender`
#[derive(Clone)]
pub struct RateLine<'a> {
    /// `5`, `SUM`.
    pub stream: &'a str,
    pub is_reverse: bool,
    /// `0.00-1.00`.
    interval: &'a str,
    /// Amount and rate, with their units.
    amount: (&'a str, &'a str),
    rate: (&'a str, &'a str),
    rest: Vec<&'a str>,
    pub by_server: bool,
}

/// Stream, direction and side that a line tells of.
pub type StreamKey<'a> = (&'a str, bool, bool);

/// The end of a line of the summary that tells whose it is. UDP has none before version 3.2.
#[derive(Clone, Copy, PartialEq)]
pub enum Side {
    Sender,
    Receiver,
}

impl<'a> RateLine<'a> {
    pub fn parse(line: &'a str, by_server: bool) -> Option<RateLine<'a>> {
        let (stream, rest) = line.strip_prefix('[')?.split_once(']')?;
        let (role, rest) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((role, rest)) => (role, rest),
            None => ("", rest),
        };
        let words: Vec<&str> = rest.split_whitespace().take(16).collect();
        let (interval, words) = match &words[..] {
            [interval, "sec" | "secs", words @ ..] => (*interval, words),
            [interval, words @ ..] => (interval.strip_suffix("sec")?, words),
            [] => return None,
        };
        let [amount, amount_unit, rate, rate_unit, rest @ ..] = words else { return None };
        // `[SUM]  0.0-60.0 sec  39595 datagrams received out-of-order`
        if *amount_unit == "datagrams" {
            return None;
        }
        Some(RateLine {
            stream: stream.trim(),
            is_reverse: role.starts_with("RX"),
            interval,
            amount: (amount, amount_unit),
            rate: (rate, rate_unit),
            rest: rest.to_vec(),
            by_server,
        })
    }

    pub fn key(&self) -> StreamKey<'a> {
        (self.stream, self.is_reverse, self.by_server)
    }

    pub fn side(&self) -> Option<Side> {
        match self.rest.last() {
            Some(&"sender") => Some(Side::Sender),
            Some(&"receiver") => Some(Side::Receiver),
            _ => None,
        }
    }

    /// Recognises an interval that `-O` leaves out of the summary.
    pub fn is_omitted(&self) -> bool {
        self.rest.last() == Some(&"(omitted)")
    }

    /// Recognises the jitter and the loss that only a receiver knows.
    pub fn has_datagrams(&self) -> bool {
        self.datagrams().is_some()
    }

    /// Recognises `0.00 Bytes  0.00 bits/sec`: an amount that this side does not know, or that was none.
    pub fn is_zero(&self) -> bool {
        let is_zero = |(number, _): (&str, &str)| number.parse::<f64>() == Ok(0.0);
        is_zero(self.amount) && is_zero(self.rate)
    }

    /// Tells that datagrams arrived though the line has no bytes: a server before 3.2 does not count them.
    pub fn has_uncounted_arrivals(&self) -> bool {
        let arrived = |(_, lost, total, _): (&str, &str, &str, &str)| lost != total && total != "0";
        self.is_zero() && self.datagrams().is_some_and(arrived)
    }

    /// Tells that the line is of a whole run: from its beginning on, and of this many datagrams.
    pub fn is_whole(&self, count: &str) -> bool {
        self.interval.starts_with("0.0") && self.datagrams().is_some_and(|(_, _, total, _)| total == count)
    }

    /// Finds jitter, lost and total datagrams, and the share in percent: `0.034 ms  0/77 (0%)`.
    fn datagrams(&self) -> Option<(&'a str, &'a str, &'a str, &'a str)> {
        let [jitter, "ms", datagrams, percent, ..] = self.rest[..] else { return None };
        let (lost, total) = datagrams.split_once('/')?;
        Some((jitter, lost, total, percent.strip_prefix('(')?.strip_suffix("%)")?))
    }

    /// Splits the interval: its beginning and its end in seconds.
    pub fn seconds(&self, text: &Text) -> Result<(f64, f64), Refusal> {
        let refuse = || text.refuse_part(self.interval, "this is not an interval of seconds");
        let (from, to) = self.interval.split_once('-').ok_or_else(refuse)?;
        Ok((text.parse_number(from)?, text.parse_number(to)?))
    }

    /// Returns the amount in bytes, as far as its digits tell.
    pub fn bytes(&self, text: &Text) -> Result<Span, Refusal> {
        let scale = find_scale(text, self.amount.1)?;
        text.parse_number(self.amount.0)?;
        Ok(Span::written(self.amount.0).unwrap_or(Span::exact(0.0)).scaled(scale.factor))
    }

    /// Refuses an amount, a time and a rate that do not agree.
    fn check_rate(&self, text: &Text, elapsed: &str) -> Result<(), Refusal> {
        let scale = find_scale(text, self.rate.1)?;
        text.parse_number(self.rate.0)?;
        let (Some(rate), Some(seconds)) = (Span::written(self.rate.0), Span::written(elapsed)) else {
            return Ok(());
        };
        let bits = if scale.unit == Some(Unit::BitsPerSecond) { 8.0 } else { 1.0 };
        let computed = self.bytes(text)?.scaled(bits).over(seconds).widened(0.002);
        check_agreement(text, self.rate.0, rate.scaled(scale.factor), computed, "amount, time and rate")
    }

    pub fn read_figure(&self, text: &Text, name: &str) -> Result<FigureBuilder, Refusal> {
        let mut figure = FigureBuilder::new(name);
        figure.add_text_value(text, Statistic::Throughput, self.rate.0, find_scale(text, self.rate.1)?)?;
        figure.add_text_value(text, Statistic::Count, self.amount.0, find_scale(text, self.amount.1)?)?;
        let elapsed = self.interval.split_once('-').filter(|(from, _)| text.parse_number(from) == Ok(0.0));
        if let Some((_, elapsed)) = elapsed {
            figure.add_text_value(text, Statistic::Elapsed, elapsed, SECONDS)?;
            self.check_rate(text, elapsed)?;
        }
        if let [retransmits, "sender"] = self.rest[..]
            && retransmits.bytes().all(|byte| byte.is_ascii_digit())
        {
            figure.add_parameter("retransmits", retransmits);
        }
        Ok(figure)
    }

    /// Reads jitter and loss; None where no datagram was sent, or the line has none.
    pub fn read_loss(&self, text: &Text, name: &str) -> Result<Option<FigureBuilder>, Refusal> {
        let Some((jitter, lost, total, percent)) = self.datagrams() else {
            let cause = "no jitter, lost and total datagrams stand in this line";
            return Err(text.refuse_part(self.interval, cause));
        };
        if text.parse_number(total)? == 0.0 {
            return Ok(None);
        }
        let mut figure = FigureBuilder::new(&format!("{name}: jitter and loss"));
        figure.add_text_value(text, Statistic::Mean, jitter, MILLISECONDS)?;
        figure.add_text_value(text, Statistic::Value, percent, PERCENT)?;
        figure.add_text_value(text, Statistic::Count, total, COUNT)?;
        figure.add_parameter("lost packets", lost);
        let share =
            Span::exact(100.0 * text.parse_number(lost)?).over(Span::exact(text.parse_number(total)?));
        if let Some(stated) = Span::written(percent) {
            check_agreement(text, percent, stated, share, "lost datagrams, all of them and their share")?;
        }
        Ok(Some(figure))
    }
}

fn find_scale(text: &Text, unit: &str) -> Result<Scale, Refusal> {
    scale(unit)
        .ok_or_else(|| text.refuse_part(unit, format!("'{}' is not a unit of iperf3", shorten_text(unit))))
}

/// Reads a unit: iperf3 counts bytes by 1024 and bits by 1000.
fn scale(unit: &str) -> Option<Scale> {
    const UNITS: &[(&str, Unit, f64)] = &[
        ("Bytes", Unit::Bytes, 1024.0),
        ("Bytes/sec", Unit::BytesPerSecond, 1024.0),
        ("bits/sec", Unit::BitsPerSecond, 1000.0),
    ];
    const WRITTEN: &[&str] = &[
        "Bytes",
        "KBytes",
        "MBytes",
        "GBytes",
        "TBytes",
        "Bytes/sec",
        "KBytes/sec",
        "MBytes/sec",
        "GBytes/sec",
        "TBytes/sec",
        "bits/sec",
        "Kbits/sec",
        "Mbits/sec",
        "Gbits/sec",
        "Tbits/sec",
    ];
    let written = *WRITTEN.iter().find(|written| **written == unit)?;
    let (base, known, step) =
        UNITS.iter().find(|(base, ..)| written.trim_start_matches(['K', 'M', 'G', 'T']) == *base)?;
    let power = "KMGT".find(&written[..written.len() - base.len()]).map_or(0, |at| at as i32 + 1);
    let power = if written.len() == base.len() { 0 } else { power };
    Some(Scale { written, unit: Some(*known), factor: step.powi(power) })
}
