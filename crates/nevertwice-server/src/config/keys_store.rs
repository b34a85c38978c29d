//! Where records of keys are.

use serde::Deserialize;

/// Where records of keys are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeysStore {
    /// In this process's memory: they end with it.
    Memory,
    /// In a folder of their own.
    Local,
}
