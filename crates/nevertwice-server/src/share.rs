//! A connection's share in what all requests have in common.

use std::ops::Deref;
use std::sync::Arc;

use crate::alarm::Rest;
use crate::app::App;

/// A share, which a request takes with it wherever it goes.
///
/// How many there are is counted by connection: were it counted in one place for all, every request would wait several times for
/// the other threads to let go of that place, which costs an order some percent of its time.
#[derive(Clone)]
pub(crate) struct Share(Arc<Shared>);

struct Shared {
    app: Arc<App>,
    rest: Arc<Rest>,
}

impl Share {
    /// The share of a new connection.
    pub(crate) fn of(app: &Arc<App>) -> Self {
        Self(Arc::new(Shared { app: Arc::clone(app), rest: Arc::default() }))
    }

    /// The connection's timer.
    pub(crate) fn rest(&self) -> &Arc<Rest> {
        &self.0.rest
    }
}

impl Deref for Share {
    type Target = App;

    fn deref(&self) -> &App {
        &self.0.app
    }
}
