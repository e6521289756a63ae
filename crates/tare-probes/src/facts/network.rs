//! Facts of the network: its devices with addresses, MTU, queueing discipline and offloads.

#![allow(unsafe_code, reason = "an ioctl takes a pointer")]

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd};

use rustix::net::{AddressFamily, SocketType, socket};
use tare_data::facts::Facts;
use tare_data::facts::keys::{NETWORK_CHAINS, NETWORK_RULES};

use crate::harness::kernel_files::read_text;
use crate::netlink::{Message, Netlink, iter_attributes};

/// Limit on the devices that are described: a host of containers has one for each, all alike.
const MOST_DEVICES: usize = 8;
/// Length of `struct ifinfomsg` and of `struct ifaddrmsg` (rtnetlink(7)).
const LINK_BYTES: usize = 16;
const ADDRESS_BYTES: usize = 8;

/// Questions about what a device does for the kernel (`ETHTOOL_G*` in linux/ethtool.h), with the names that
/// `ethtool -k` has for them.
const OFFLOADS: [(u32, &str); 5] =
    [(0x14, "rx-checksum"), (0x16, "tx-checksum"), (0x1e, "tso"), (0x23, "gso"), (0x2b, "gro")];

#[derive(Default)]
struct Device {
    name: String,
    up: bool,
    mtu: Option<u32>,
    discipline: String,
    kind: String,
    addresses: Vec<String>,
}

/// Notes `network.devices`, and of each `network.NAME.mtu` and so on, of the namespace that this thread is in.
pub(crate) fn note_all(facts: &mut Facts) {
    let devices = devices().unwrap_or_default();
    let up: Vec<&Device> = devices.values().filter(|device| device.up).take(MOST_DEVICES).collect();
    let names: Vec<&str> = up.iter().map(|device| device.name.as_str()).collect();
    facts.add_fact("network.devices", names.join(" "));
    for device in up {
        device.note_facts(facts, &format!("network.{}", device.name));
    }
    note_settings(facts, "network");
    note_filters(facts);
}

/// Notes the chains of packet filters that every packet passes (nftables), and the rules in all, in the namespace that this thread is
/// in. Absent where this process may not read them.
pub fn note_filters(facts: &mut Facts) {
    // Length of `struct nfgenmsg`, whose zeros are all families; and the attribute of a chain that is attached to the kernel.
    const FILTER_BYTES: usize = 4;
    const CHAIN_HOOK: u16 = 4;
    let list = |kind: i32| {
        let kind = (libc::NFNL_SUBSYS_NFTABLES << 8 | kind) as u16;
        Netlink::open_filters()?.request_list(Message::new(kind, &[0; FILTER_BYTES]))
    };
    let is_attached = |body: &[u8]| iter_attributes(body, FILTER_BYTES).any(|(kind, _)| kind == CHAIN_HOOK);
    if let (Ok(chains), Ok(rules)) = (list(libc::NFT_MSG_GETCHAIN), list(libc::NFT_MSG_GETRULE)) {
        let attached = chains.iter().filter(|(_, body)| is_attached(body)).count();
        facts.add_fact(NETWORK_CHAINS, attached.to_string());
        facts.add_fact(NETWORK_RULES, rules.len().to_string());
    }
}

/// Notes one device, under keys that begin with `key`.
pub fn note_device(facts: &mut Facts, key: &str, name: &str) {
    if let Some(device) = devices().unwrap_or_default().values().find(|device| device.name == name) {
        device.note_facts(facts, key);
    }
}

/// Notes what holds for all devices of a namespace, under keys that begin with `key`.
pub fn note_settings(facts: &mut Facts, key: &str) {
    for (setting, file) in [
        ("congestion", "/proc/sys/net/ipv4/tcp_congestion_control"),
        ("busy_poll_us", "/proc/sys/net/core/busy_poll"),
    ] {
        facts.add_fact(format!("{key}.{setting}"), read_text(file).unwrap_or_default().trim());
    }
}

impl Device {
    fn note_facts(&self, facts: &mut Facts, key: &str) {
        let mut note = |what: &str, value: &str| facts.add_fact(format!("{key}.{what}"), value);
        note("addresses", &self.addresses.join(" "));
        note("kind", &self.kind);
        note("mtu", &self.mtu.map(|mtu| mtu.to_string()).unwrap_or_default());
        note("qdisc", &self.discipline);
        note("offloads", &offloads(&self.name).unwrap_or_default());
    }
}

/// Lists all devices by number; None where the kernel has no answer.
fn devices() -> Option<BTreeMap<u32, Device>> {
    let mut netlink = Netlink::open().ok()?;
    let mut devices = BTreeMap::new();
    for (_, body) in netlink.request_list(Message::new(libc::RTM_GETLINK, &[0; LINK_BYTES])).ok()? {
        let (Some(index), Some(flags)) = (number(&body, 4), number(&body, 8)) else { continue };
        let mut device = Device { up: flags & libc::IFF_UP as u32 != 0, ..Device::default() };
        for (kind, value) in iter_attributes(&body, LINK_BYTES) {
            match kind {
                libc::IFLA_IFNAME => device.name = text_until_zero(value),
                libc::IFLA_MTU => device.mtu = number(value, 0),
                libc::IFLA_QDISC => device.discipline = text_until_zero(value),
                libc::IFLA_LINKINFO => {
                    let kind = iter_attributes(value, 0).find(|(kind, _)| *kind == libc::IFLA_INFO_KIND);
                    device.kind = kind.map(|(_, value)| text_until_zero(value)).unwrap_or_default();
                }
                _ => {}
            }
        }
        devices.insert(index, device);
    }
    // A kernel that lists devices and not their addresses still answers something useful.
    let addresses =
        netlink.request_list(Message::new(libc::RTM_GETADDR, &[0; ADDRESS_BYTES])).unwrap_or_default();
    for (_, body) in addresses {
        let device = number(&body, 4).and_then(|index| devices.get_mut(&index));
        if let (Some(device), Some(address)) = (device, address(&body)) {
            device.addresses.push(address);
        }
    }
    Some(devices)
}

/// Formats the address in a message, with its prefix length. Addresses that a device gave itself belong to no
/// route and hold the device's number, so they stay out of records.
fn address(body: &[u8]) -> Option<String> {
    let of = |wanted: u16| iter_attributes(body, ADDRESS_BYTES).find(|(kind, _)| *kind == wanted);
    let (_, value) = of(libc::IFA_LOCAL).or_else(|| of(libc::IFA_ADDRESS))?;
    let address = match value.len() {
        4 => IpAddr::V4(Ipv4Addr::from(*value.first_chunk::<4>()?)),
        _ => IpAddr::V6(Ipv6Addr::from(*value.first_chunk::<16>()?)),
    };
    if matches!(address, IpAddr::V6(address) if address.is_unicast_link_local()) {
        return None;
    }
    Some(format!("{address}/{}", body.get(1)?))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn text_until_zero(value: &[u8]) -> String {
    let value = value.split(|&b| b == 0).next().unwrap_or_default();
    String::from_utf8_lossy(value).into_owned()
}

/// Lists the work that a device does for the kernel, e.g. `tso gso gro`; `none`; None where the driver does
/// not answer.
fn offloads(device: &str) -> Option<String> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None).ok()?;
    let answers = OFFLOADS.map(|(question, name)| Some((name, ask(&socket, device, question)?)));
    let known: Vec<(&str, bool)> = answers.into_iter().flatten().collect();
    let on: Vec<&str> = known.iter().filter(|(_, on)| *on).map(|(name, _)| *name).collect();
    match (known.is_empty(), on.is_empty()) {
        (true, _) => None,
        (false, true) => Some("none".to_owned()),
        (false, false) => Some(on.join(" ")),
    }
}

/// Builds a request about a device (netdevice(7)); None where no device can have this name.
pub fn interface_request(device: &str) -> Option<libc::ifreq> {
    // SAFETY: an interface request is plain data, for which zeros are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
        *to = from as libc::c_char;
    }
    (device.len() < request.ifr_name.len()).then_some(request)
}

/// Asks ethtool whether a feature is on.
fn ask(socket: impl AsFd, device: &str, question: u32) -> Option<bool> {
    // `struct ethtool_value`: the question, and the answer.
    let mut value = [question, 0];
    let mut request = interface_request(device)?;
    request.ifr_ifru.ifru_data = value.as_mut_ptr().cast();
    // SAFETY: the request and what it points to are whole and live through the call, which writes 8 bytes.
    let done = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::SIOCETHTOOL as _, &mut request) };
    (done == 0).then_some(value[1] != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_have_names_and_addresses() {
        let mut facts = Facts::default();
        note_all(&mut facts);
        let Some(devices) = facts.get("network.devices") else { return };
        if devices.split(' ').any(|name| name == "lo") {
            assert!(facts.get("network.lo.addresses").unwrap().contains("127.0.0.1/8"), "{facts:?}");
            assert!(facts.get_integer("network.lo.mtu").unwrap() >= 1280);
        }
    }

    #[test]
    fn what_a_message_lacks_is_left_out() {
        assert_eq!(address(&[0; ADDRESS_BYTES]), None);
        let body = [&[2, 24, 0, 0, 1, 0, 0, 0][..], &[8, 0, 2, 0, 198, 18, 0, 1]].concat();
        assert_eq!(address(&body).as_deref(), Some("198.18.0.1/24"));
        let own = [&[10, 64, 0, 0, 1, 0, 0, 0][..], &[20, 0, 1, 0, 0xfe, 0x80], &[0; 14]].concat();
        assert_eq!(address(&own), None);
        assert_eq!(text_until_zero(b"eth0\0\0"), "eth0");
        assert_eq!(offloads("a name that no device can have"), None);
    }
}
