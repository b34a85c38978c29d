//! The document, put together.

use utoipa::OpenApi as _;

use super::components::Components;
use super::paths;

/// The document, as JSON.
#[must_use]
pub fn document() -> String {
    let mut document = Components::openapi();
    paths::add(&mut document.paths);
    document.to_pretty_json().unwrap_or_default()
}
