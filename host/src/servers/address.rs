//! Which addresses are public, and which are a cloud's metadata.
//!
//! Public is what a list below allows, not what one forbids: an address that nobody thought of is
//! not. An IPv4 address that travels inside an IPv6 one is judged as itself.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// IPv4 networks that are nobody's server on the public network, with the bits that count.
const NOT_PUBLIC_V4: [(Ipv4Addr, u32); 15] = [
    // This network, and the unspecified address.
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    // Private.
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    // Shared by a carrier's customers.
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    // Link-local.
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    // Protocols, documentation, the old relays of 6to4, measurements.
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // Multicast, and what is reserved, with the broadcast.
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// What is not public of `2000::/3`, outside of which nothing is.
const NOT_PUBLIC_V6: [(Ipv6Addr, u32); 3] = [
    // Protocols: Teredo, ORCHID, measurements.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    // Documentation.
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

const GLOBAL_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
const MAPPED: (Ipv6Addr, u32) = (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96);
const NAT64: (Ipv6Addr, u32) = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);
const SIX_TO_FOUR: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16);

/// Where clouds tell a machine its own credentials: most of them, Amazon's containers, Alibaba.
const METADATA_V4: [Ipv4Addr; 3] = [
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(100, 100, 100, 200),
];

/// The same: Amazon, Google.
const METADATA_V6: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
];

/// Whether a server of the public network may have that address.
pub fn is_public(address: IpAddr) -> bool {
    match unwrapped(address) {
        IpAddr::V4(address) => !NOT_PUBLIC_V4.iter().any(|network| lies_in_v4(address, *network)),
        IpAddr::V6(address) => {
            lies_in_v6(address, GLOBAL_V6)
                && !NOT_PUBLIC_V6.iter().any(|network| lies_in_v6(address, *network))
        }
    }
}

/// Whether a cloud tells its secrets there.
pub fn is_metadata(address: IpAddr) -> bool {
    match unwrapped(address) {
        IpAddr::V4(address) => METADATA_V4.contains(&address),
        IpAddr::V6(address) => METADATA_V6.contains(&address),
    }
}

/// The IPv4 address that an IPv6 one leads to, where it is made of one.
fn unwrapped(address: IpAddr) -> IpAddr {
    let IpAddr::V6(outer) = address else { return address };
    let octets = outer.octets();
    let inner = |at: usize| {
        let [a, b, c, d] = [octets[at], octets[at + 1], octets[at + 2], octets[at + 3]];
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    };
    if lies_in_v6(outer, MAPPED) || lies_in_v6(outer, NAT64) {
        inner(12)
    } else if lies_in_v6(outer, SIX_TO_FOUR) {
        inner(2)
    } else {
        address
    }
}

fn lies_in_v4(address: Ipv4Addr, (network, bits): (Ipv4Addr, u32)) -> bool {
    (address.to_bits() ^ network.to_bits()) >> (32 - bits) == 0
}

fn lies_in_v6(address: Ipv6Addr, (network, bits): (Ipv6Addr, u32)) -> bool {
    (address.to_bits() ^ network.to_bits()) >> (128 - bits) == 0
}
