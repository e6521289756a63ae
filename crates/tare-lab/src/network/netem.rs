//! Netem: a known delay, loss, duplication or disorder of what a guest sends, by the kernel's discipline of
//! that name (tc-netem(8)). It is a known effect to measure against, and a way to try a bad line.

use std::io;

use serde::{Deserialize, Serialize};
use tare_data::facts::Facts;
use tare_data::session::specification::Specification;
use tare_probes::netlink::{Message, Netlink};

use crate::duration;
use crate::error::LabError;
use crate::host::network_device;
use crate::provider::options::OptionDescription;

pub const MODULE: &str = "sch_netem";

pub const DELAY: OptionDescription = OptionDescription::new_text(
    "delay",
    "",
    "known delay of every packet that the guest sends, e.g. 1ms or 250us",
);
pub const LOSS: OptionDescription = OptionDescription::new_text(
    "loss",
    "",
    "share of packets that the guest sends and that are lost, e.g. 1%",
);
pub const DUPLICATE: OptionDescription =
    OptionDescription::new_text("duplicate", "", "share of them that arrive twice");
pub const REORDER: OptionDescription = OptionDescription::new_text(
    "reorder",
    "",
    "share of them that overtake those before, which are delayed: needs delay",
);

/// linux/rtnetlink.h, linux/pkt_sched.h.
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_NETEM_REORDER: u16 = 3;
const TCA_NETEM_LATENCY64: u16 = 10;
const ROOT: u32 = 0xffff_ffff;
/// Packets that wait for their time at most: a line of 10 Gbit/s with 100 ms holds some 80,000.
const LIMIT: u32 = 100_000;
/// Longest delay: above this a probe's trial would end before its first answer.
const LONGEST_DELAY_NS: u64 = 1_000_000_000;

/// Impairment of packets. Shares are of 2^32 - 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Netem {
    pub delay_ns: u64,
    pub loss: u32,
    pub duplicate: u32,
    pub reorder: u32,
}

/// Impairment that a specification asks for, and how it was written.
#[derive(Clone, Debug)]
pub struct Impairment {
    pub netem: Option<Netem>,
    written: [(&'static str, String); 4],
}

impl Impairment {
    pub fn from_specification(specification: &Specification) -> Result<Self, LabError> {
        let refused = |option: &OptionDescription, expected: &str| {
            option.invalid_value_error(specification).with_hint(format!("give {expected}"))
        };
        let portion = |option: &OptionDescription| match option.read_text(specification) {
            "" => Ok(0),
            text => share(text).ok_or_else(|| refused(option, "a percentage from 0% to 100%, e.g. 1%")),
        };
        let delay_ns = match DELAY.read_text(specification) {
            "" => 0,
            // A number alone would be seconds, which nobody means here.
            text => Some(text)
                .filter(|text| text.ends_with('s'))
                .and_then(duration::parse_positive_duration)
                .map(|delay| delay.as_nanos() as u64)
                .filter(|ns| *ns <= LONGEST_DELAY_NS)
                .ok_or_else(|| refused(&DELAY, "a time of up to 1 s, e.g. 1ms or 250us"))?,
        };
        let netem = Netem {
            delay_ns,
            loss: portion(&LOSS)?,
            duplicate: portion(&DUPLICATE)?,
            reorder: portion(&REORDER)?,
        };
        if netem.reorder > 0 && delay_ns == 0 {
            return Err(refused(&REORDER, "a delay as well: packets can only overtake delayed ones"));
        }
        let written = [DELAY, LOSS, DUPLICATE, REORDER]
            .map(|option| (option.key, option.read_text(specification).to_owned()));
        Ok(Impairment { netem: (netem != Netem::default()).then_some(netem), written })
    }

    /// Notes the options as they were written.
    pub fn note_options(&self, facts: &mut Facts, family: &str) {
        self.written.iter().for_each(|(key, text)| facts.add_fact(format!("{family}.{key}"), text));
    }
}

impl Netem {
    /// Applies the emulation to everything that a device sends from now on.
    pub fn apply_to_device(&self, device: &str) -> io::Result<()> {
        // `struct tcmsg`: family, padding, index, handle, parent, info.
        let mut fixed = [0; 20];
        fixed[4..8].copy_from_slice(&network_device::find_device_index(device)?.to_ne_bytes());
        fixed[12..16].copy_from_slice(&ROOT.to_ne_bytes());
        // `struct tc_netem_qopt`: delay (in steps of the kernel's; in ns below), limit, loss, gap, duplicate,
        // jitter. With a gap of one every packet may overtake.
        let gap = u32::from(self.reorder > 0);
        let options = [0, LIMIT, self.loss, gap, self.duplicate, 0].map(u32::to_ne_bytes).concat();
        let message = Message::new(libc::RTM_NEWQDISC, &fixed).with_replace().with_text(TCA_KIND, "netem");
        let message = message.with_nested(TCA_OPTIONS, &options, |inner| {
            let inner = inner.with_attribute(TCA_NETEM_LATENCY64, &self.delay_ns.to_ne_bytes());
            // `struct tc_netem_reorder`: probability, correlation.
            let reorder = [self.reorder, 0].map(u32::to_ne_bytes).concat();
            if self.reorder > 0 { inner.with_attribute(TCA_NETEM_REORDER, &reorder) } else { inner }
        });
        Netlink::open()?.request_change(message)
    }
}

/// Converts a percentage to a share of 2^32 - 1.
fn share(text: &str) -> Option<u32> {
    let percent: f64 = text.strip_suffix('%')?.parse().ok()?;
    (0.0..=100.0).contains(&percent).then(|| (percent / 100.0 * f64::from(u32::MAX)).round() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Option<Netem>, LabError> {
        Impairment::from_specification(&text.parse::<Specification>().unwrap())
            .map(|impairment| impairment.netem)
    }

    #[test]
    fn options_are_parsed() {
        assert_eq!(of("uml?net=tap").unwrap(), None);
        let netem = of("uml?delay=1ms&loss=1%").unwrap().unwrap();
        assert_eq!((netem.delay_ns, netem.loss, netem.duplicate), (1_000_000, 42_949_673, 0));
        assert_eq!(of("uml?delay=0.25ms&reorder=100%").unwrap().unwrap().reorder, u32::MAX);
        assert_eq!(of("uml?delay=250us").unwrap().unwrap().delay_ns, 250_000);
    }

    #[test]
    fn what_cannot_be_is_refused_by_its_name() {
        for text in ["delay=1", "delay=-1ms", "delay=2s", "delay=NaNms", "loss=1", "loss=101%", "reorder=1%"]
        {
            let refused = of(&format!("uml?{text}")).unwrap_err();
            let key = text.split('=').next().unwrap();
            assert!(refused.what.contains(&format!("'{key}'")), "{text}: {refused}");
            assert!(refused.hint.is_some());
        }
    }
}
