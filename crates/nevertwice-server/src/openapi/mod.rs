//! The OpenAPI document: schemas from the wire types, paths from the table of routes.

mod components;
mod paths;

use utoipa::OpenApi as _;

use components::Components;

/// The document, as JSON.
#[must_use]
pub fn document() -> String {
    let mut document = Components::openapi();
    paths::add(&mut document.paths);
    document.to_pretty_json().unwrap_or_default()
}
