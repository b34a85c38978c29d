//! Addresses and networks, as they are written in a setting.

use core::net::IpAddr;
use std::str::FromStr;

use serde::Deserialize;

/// The most of them in one setting.
const NETWORKS_MAX: usize = 256;

/// Addresses and networks, separated by commas: `127.0.0.1, 10.0.0.0/8, fd00::/8`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Networks(Vec<Network>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    // Both as 128 bits: an IPv4 address is the mapped one.
    address: u128,
    mask: u128,
}

impl Networks {
    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an address is in one of them.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = bits(address);
        self.0.iter().any(|network| address & network.mask == network.address)
    }
}

const fn bits(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let address: IpAddr = address.parse().map_err(|_| format!("`{text}` is neither an address nor a network such as 10.0.0.0/8"))?;
        let width = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map_or(Some(width), |prefix| prefix.parse().ok().filter(|prefix| *prefix <= width));
        let prefix: u32 = prefix.ok_or_else(|| format!("`{text}` has no prefix length from 0 to {width}"))?;
        let mask = u128::MAX.checked_shl(width - prefix).unwrap_or(0);
        let address = bits(address);
        if address & mask != address {
            return Err(format!("`{text}` has bits beyond its prefix: write the network's first address"));
        }
        Ok(Self { address, mask })
    }
}

impl FromStr for Networks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let networks: Vec<Network> = parts.map(str::parse).collect::<Result<_, _>>()?;
        if networks.len() > NETWORKS_MAX {
            return Err(format!("{} networks are more than {NETWORKS_MAX}", networks.len()));
        }
        Ok(Self(networks))
    }
}

impl TryFrom<String> for Networks {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_read_and_compared() {
        let networks: Networks = "127.0.0.1, 10.0.0.0/8,fd00::/8 ,0.0.0.0/32".parse().expect("networks");
        for (address, expected) in
            [("127.0.0.1", true), ("127.0.0.2", false), ("10.255.0.1", true), ("11.0.0.1", false), ("fd12::1", true), ("fe80::1", false)]
        {
            assert_eq!(networks.contains(address.parse().expect("an address")), expected, "{address}");
        }
        let all: Networks = "0.0.0.0/0".parse().expect("a network");
        assert!(all.contains("8.8.8.8".parse().expect("an address")) && !all.contains("2001::1".parse().expect("an address")));
        let all: Networks = "::/0".parse().expect("a network");
        assert!(all.contains("2001::1".parse().expect("an address")));
        assert!("".parse::<Networks>().expect("none").is_empty());
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["localhost", "10.0.0.1/8", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/-1", "1.2.3", &"::1,".repeat(257)] {
            assert!(text.parse::<Networks>().is_err(), "{text}");
        }
    }
}
