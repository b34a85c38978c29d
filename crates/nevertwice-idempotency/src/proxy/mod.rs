//! A reverse proxy with guarded routes, for services in any language.
//!
//! It is the layer of this crate around a service that sends requests on: what a caller hears, what is kept and what is unknown is the
//! same, from the same code. Beside that it does what every proxy must: it passes other routes through, in both directions and as they
//! come; keeps what belongs to one connection to itself; says where a request came from and believes nobody else who says so; and bounds
//! what it holds. See `docs/proxy.md`.
//!
//! It does not balance loads, cache, rewrite or retry: a request is sent again only if not a byte of it was sent. It knows no store but
//! the [`KeyStore`](crate::KeyStore) that it is given, and reads no clock but tokio's and the store's.

mod body;
mod budget;
mod caller;
mod config;
mod connector;
mod counts;
mod error;
mod forward;
mod gathered;
mod hop_by_hop;
mod peer;
mod prompt;
mod routes_config;
mod secret;
mod server;
mod service;
mod store_url;
mod switch;
mod upstream_url;

pub use config::{Bodies, HostSeen, IdentityConfig, ProxyConfig, StoreConfig, UpstreamHttp};
pub use counts::{Count, ProxyCounts};
pub use error::ProxyError;
pub use routes_config::{
    FingerprintChoice, LapseChoice, LevelChoice, OversizeChoice, Preset, QueryChoice, RouteConfig, ScopeChoice, StoreDownChoice,
};
pub use server::{Proxy, ProxyParts, TlsNow};
pub use store_url::StoreUrl;
pub use upstream_url::UpstreamUrl;
