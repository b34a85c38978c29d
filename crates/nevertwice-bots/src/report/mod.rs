//! The report of a run: the verdict first, then what it rests on.
//!
//! One model ([`Report`]), two shapes: lines for a terminal ([`text`]) and a single HTML file that needs nothing else
//! ([`html`]), with charts drawn as SVG by a plotting library. A report passes only if every check passes.

mod charts;
mod html;
mod model;
mod text;

pub use html::html;
pub use model::{Check, InputLine, Job, LevelFill, Mark, PricePath, Rate, Report};
pub use text::{grouped, text};
