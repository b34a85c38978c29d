//! The document, put together.

use utoipa::OpenApi as _;

use super::components::Components;
use super::{paths, schemas};

/// The document, as JSON.
#[must_use]
pub fn document() -> String {
    let mut document = Components::openapi();
    paths::add(&mut document.paths);
    if let Some(components) = &mut document.components {
        schemas::bound_requests(components);
    }
    document.to_pretty_json().unwrap_or_default()
}
