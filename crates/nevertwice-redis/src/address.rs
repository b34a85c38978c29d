//! Where a Redis server is, as operators write it. Its password is never shown.

use std::fmt;
use std::str::FromStr;

use redis::{ConnectionAddr, IntoConnectionInfo as _};

/// Schemes of addresses, with what they say.
const SCHEMES: &[(&str, &str, bool)] = &[
    ("redis://", "redis://", false),
    ("rediss://", "rediss://", false),
    ("redis+cluster://", "redis://", true),
    ("rediss+cluster://", "rediss://", true),
];

/// Where a server, or a cluster, is.
#[derive(Clone)]
pub struct Address {
    /// As the client library takes it; the first of a cluster's nodes leads to the others.
    nodes: Vec<redis::ConnectionInfo>,
    is_cluster: bool,
    shown: String,
}

impl Address {
    /// Whether it is a cluster's.
    #[must_use]
    pub const fn is_cluster(&self) -> bool {
        self.is_cluster
    }

    /// The nodes to begin with: one, or of a cluster any number.
    #[must_use]
    pub fn nodes(&self) -> &[redis::ConnectionInfo] {
        &self.nodes
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let known = SCHEMES.iter().find(|(scheme, ..)| text.starts_with(scheme));
        let &(scheme, plain, is_cluster) = known.ok_or(AddressError::Scheme)?;
        let rest = &text[scheme.len()..];
        let (credentials, hosts) = rest.rsplit_once('@').map_or(("", rest), |(credentials, hosts)| (credentials, hosts));
        let (hosts, path) = hosts.split_once('/').map_or((hosts, ""), |(hosts, path)| (hosts, path));
        if is_cluster && !path.is_empty() {
            return Err(AddressError::DatabaseOfCluster);
        }
        let mut nodes = Vec::new();
        for host in hosts.split(',') {
            if host.is_empty() || (!is_cluster && host.len() != hosts.len()) {
                return Err(AddressError::Hosts);
            }
            let credentials = if credentials.is_empty() { String::new() } else { format!("{credentials}@") };
            let url = format!("{plain}{credentials}{host}/{path}");
            // The library's words would repeat the address, and with it the password.
            let node = url.as_str().into_connection_info().map_err(|_| AddressError::Unreadable)?;
            // The library's name is nobody's concern, and telling it takes a right more.
            let settings = node.redis_settings().clone().set_skip_set_lib_name();
            nodes.push(node.set_redis_settings(settings));
        }
        let shown_nodes: Vec<String> = nodes.iter().map(|node| shown(node.addr())).collect();
        Ok(Self { shown: format!("{scheme}{}", shown_nodes.join(",")), nodes, is_cluster })
    }
}

fn shown(address: &ConnectionAddr) -> String {
    match address {
        ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => format!("{host}:{port}"),
        other => other.to_string(),
    }
}

/// The scheme, the hosts and the ports; never a name or a password.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a text is no address. It does not repeat the text, in which a password may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressError {
    /// It begins with no scheme that is known.
    Scheme,
    /// There is no host, or there are several without being a cluster's.
    Hosts,
    /// A cluster has no databases to choose from.
    DatabaseOfCluster,
    /// Something else about it can't be read.
    Unreadable,
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheme => "an address of Redis begins with redis://, rediss://, redis+cluster:// or rediss+cluster://",
            Self::Hosts => "an address of Redis names one host, HOST:PORT, or for a cluster several with commas between them",
            Self::DatabaseOfCluster => "a cluster has one database alone: leave out what follows the host",
            Self::Unreadable => {
                "the address of Redis can't be read: write redis://USER:PASSWORD@HOST:PORT/DATABASE, with %XX for special signs"
            }
        })
    }
}

impl std::error::Error for AddressError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown_without_their_password() {
        for (text, shown, nodes) in [
            ("redis://localhost", "redis://localhost:6379", 1),
            ("redis://user:secret@10.0.0.1:7000/3", "redis://10.0.0.1:7000", 1),
            ("rediss://:secret@cache.example:6380", "rediss://cache.example:6380", 1),
            ("redis+cluster://u:se%40cret@a:7000,b:7001", "redis+cluster://a:7000,b:7001", 2),
            ("rediss+cluster://a", "rediss+cluster://a:6379", 1),
        ] {
            let address: Address = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(address.to_string(), shown);
            assert!(!format!("{address:?}").contains("secret"));
            assert_eq!(address.nodes().len(), nodes);
            assert_eq!(address.is_cluster(), text.contains("cluster"));
        }
    }

    #[test]
    fn what_is_no_address_is_told_without_repeating_it() {
        for (text, error) in [
            ("http://localhost", AddressError::Scheme),
            ("localhost:6379", AddressError::Scheme),
            ("redis://", AddressError::Hosts),
            ("redis://a,b", AddressError::Hosts),
            ("redis+cluster://a,,b", AddressError::Hosts),
            ("redis+cluster://a/3", AddressError::DatabaseOfCluster),
            ("redis://:secret@host:port", AddressError::Unreadable),
        ] {
            let told = text.parse::<Address>().map(|address| address.to_string());
            assert_eq!(told, Err(error), "{text}");
            assert!(!error.to_string().contains("secret"));
        }
    }
}
