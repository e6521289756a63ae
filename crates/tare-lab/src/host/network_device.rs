//! Network devices: making, addressing and removing them, in the namespace of the calling thread.

#![allow(unsafe_code, reason = "an ioctl takes a pointer")]

use std::fs::{File, OpenOptions};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::net::{AddressFamily, SocketType, netdevice, socket};
use tare_probes::facts::network::interface_request;
use tare_probes::netlink::{Message, Netlink};

/// Attributes that libc does not name: linux/veth.h, linux/if_link.h.
const VETH_PEER: u16 = 1;
/// A route to everything, by a gateway (linux/rtnetlink.h).
const TABLE_MAIN: u8 = 254;
const BY_ADMINISTRATOR: u8 = 4;
const UNICAST: u8 = 1;
/// The character device of taps.
const TUN: &str = "/dev/net/tun";

/// An address with the length of its network's prefix.
pub type Network = (Ipv4Addr, u8);

/// Encodes `struct ifinfomsg`: family, padding, type, index, flags, and the mask of flags.
fn link(index: u32, flags: u32) -> [u8; 16] {
    let mut fixed = [0; 16];
    fixed[4..8].copy_from_slice(&index.to_ne_bytes());
    fixed[8..12].copy_from_slice(&flags.to_ne_bytes());
    fixed[12..16].copy_from_slice(&flags.to_ne_bytes());
    fixed
}

/// Finds the number of a device by its name.
pub fn find_device_index(name: &str) -> io::Result<u32> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    Ok(netdevice::name_to_index(socket, name)?)
}

/// Makes a pair of virtual Ethernet devices: one here, its peer in another namespace.
pub fn make_veth(name: &str, peer: &str, peer_namespace: &File) -> io::Result<()> {
    let namespace = (peer_namespace.as_raw_fd() as u32).to_ne_bytes();
    let message =
        Message::new(libc::RTM_NEWLINK, &link(0, 0)).with_create().with_text(libc::IFLA_IFNAME, name);
    let message = message.with_nested(libc::IFLA_LINKINFO, &[], |info| {
        info.with_text(libc::IFLA_INFO_KIND, "veth").with_nested(libc::IFLA_INFO_DATA, &[], |data| {
            data.with_nested(VETH_PEER, &link(0, 0), |other| {
                other.with_text(libc::IFLA_IFNAME, peer).with_attribute(libc::IFLA_NET_NS_FD, &namespace)
            })
        })
    });
    Netlink::open()?.request_change(message)
}

pub fn make_bridge(name: &str) -> io::Result<()> {
    let message =
        Message::new(libc::RTM_NEWLINK, &link(0, 0)).with_create().with_text(libc::IFLA_IFNAME, name);
    let message =
        message.with_nested(libc::IFLA_LINKINFO, &[], |info| info.with_text(libc::IFLA_INFO_KIND, "bridge"));
    Netlink::open()?.request_change(message)
}

/// Makes a device whose other end is a file: what a virtual machine sends and receives. It stays when the
/// file is closed.
pub fn make_tap(name: &str) -> io::Result<()> {
    let file = OpenOptions::new().read(true).write(true).open(TUN)?;
    let mut request = interface_request(name).ok_or(io::ErrorKind::InvalidInput)?;
    // The machine's own headers in front of packets let it leave checksums and cutting to the host.
    let flags = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    // SAFETY: the request is whole and lives through the call.
    check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &request) })?;
    let stays: libc::c_ulong = 1;
    // SAFETY: the argument is a number.
    check(unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETPERSIST as _, stays) })
}

/// Puts a device under a bridge.
pub fn attach_to_bridge(device: &str, bridge: &str) -> io::Result<()> {
    let bridge = find_device_index(bridge)?.to_ne_bytes();
    let message = Message::new(libc::RTM_NEWLINK, &link(find_device_index(device)?, 0));
    Netlink::open()?.request_change(message.with_attribute(libc::IFLA_MASTER, &bridge))
}

/// Sets a device up.
pub fn bring_up_device(device: &str) -> io::Result<()> {
    Netlink::open()?.request_change(Message::new(
        libc::RTM_NEWLINK,
        &link(find_device_index(device)?, libc::IFF_UP as u32),
    ))
}

/// Gives a device an address.
pub fn set_address(device: &str, (address, prefix): Network) -> io::Result<()> {
    // `struct ifaddrmsg`: family, prefix, flags, scope, index.
    let mut fixed = [libc::AF_INET as u8, prefix, 0, 0, 0, 0, 0, 0];
    fixed[4..8].copy_from_slice(&find_device_index(device)?.to_ne_bytes());
    let message = Message::new(libc::RTM_NEWADDR, &fixed).with_create();
    let message = message.with_attribute(libc::IFA_LOCAL, &address.octets());
    Netlink::open()?.request_change(message.with_attribute(libc::IFA_ADDRESS, &address.octets()))
}

/// Sends everything that has no other way by a gateway.
pub fn route_by(gateway: Ipv4Addr) -> io::Result<()> {
    // `struct rtmsg`: family, lengths of target and source, service, table, origin, scope, type, flags.
    let fixed = [libc::AF_INET as u8, 0, 0, 0, TABLE_MAIN, BY_ADMINISTRATOR, 0, UNICAST, 0, 0, 0, 0];
    let message = Message::new(libc::RTM_NEWROUTE, &fixed).with_create();
    Netlink::open()?.request_change(message.with_attribute(libc::RTA_GATEWAY, &gateway.octets()))
}

/// Takes a device away; false when there was none.
pub fn remove_device(device: &str) -> io::Result<bool> {
    match find_device_index(device) {
        Err(e) if e.raw_os_error() == Some(libc::ENODEV) => Ok(false),
        found => {
            Netlink::open()?.request_change(Message::new(libc::RTM_DELLINK, &link(found?, 0)))?;
            Ok(true)
        }
    }
}

/// Lets this namespace pass packets on. /proc/sys/net shows the namespace of whoever looks.
pub fn enable_forwarding() -> io::Result<()> {
    std::fs::write("/proc/sys/net/ipv4/ip_forward", "1")
}

pub fn taps_are_there() -> bool {
    Path::new(TUN).exists()
}

fn check(done: libc::c_int) -> io::Result<()> {
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
