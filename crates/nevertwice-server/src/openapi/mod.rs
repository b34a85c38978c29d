//! The OpenAPI document: schemas from the wire types, paths from the table of routes.

mod components;
mod document;
mod paths;

pub use document::document;
