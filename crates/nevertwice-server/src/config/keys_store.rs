//! Where records of keys are.

use serde::Deserialize;

use super::Secret;

/// Where records of keys are.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum KeysStore {
    /// In this process's memory: they end with it.
    Memory,
    /// In a folder of their own.
    Local,
    /// On a Redis server at that address, in which a password may stand.
    Redis(Secret),
}

impl TryFrom<String> for KeysStore {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.as_str() {
            "memory" => Ok(Self::Memory),
            "local" => Ok(Self::Local),
            address if address.starts_with("redis://") || address.starts_with("rediss://") => Ok(Self::Redis(Secret::new(address))),
            _ => Err("`keys_store` is `local`, `memory`, or the address of a server, redis://HOST:PORT or rediss://HOST:PORT"),
        }
    }
}
