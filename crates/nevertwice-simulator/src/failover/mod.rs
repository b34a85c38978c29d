//! The second chapter of some seeds: a primary that waits for a standby, and is lost.
//!
//! The standby follows over a link that loses questions and answers and is cut off; both die and come back, with or without the
//! power. In the end the primary is lost for good and the standby is promoted. Then it is judged what it lacks: nothing that was told
//! as `replicated`, and of the rest only the last part of the primary's history.
//!
//! - `plan`: what a seed draws.
//! - `link`: what the standby hears of the primary.
//! - `standby`: the standby's copy, and its deaths.
//! - `scene`: what happens, step by step.
//! - `judge`: what has to be true after the promotion.

mod judge;
mod link;
mod plan;
mod scene;
mod standby;

pub(crate) use plan::Failover;
pub(crate) use scene::Scene;
