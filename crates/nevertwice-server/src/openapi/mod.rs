//! The OpenAPI document: schemas from the wire types, paths from the table of routes.

mod components;
mod document;
mod page;
mod paths;
mod responses;
mod schemas;

pub use document::document;
pub(crate) use page::page;
