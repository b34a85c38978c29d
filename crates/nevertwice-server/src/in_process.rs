//! The API without a socket, and the steward without a clock of its own: for the simulator, which says when a request arrives and
//! when the steward sweeps. Requests go the way that they go on a connection, but for the reading of bytes.

use std::convert::Infallible;
use std::future::Future;
use std::net::Ipv4Addr;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, Response};
use hyper::service::Service as _;
use tokio::sync::mpsc;

use crate::app::App;
use crate::config::Config;
use crate::connection::Connected;
use crate::error::StartError;
use crate::server::Parts;
use crate::share::Share;
use crate::steward::Steward;

/// The address under which the pages of payments would be reached.
const BASE_URL: &str = "http://in-process";

/// The API of one server.
pub struct InProcess {
    app: Arc<App>,
    connected: Connected,
}

impl std::fmt::Debug for InProcess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InProcess").field("backend", &self.app.backend.name()).finish_non_exhaustive()
    }
}

impl InProcess {
    /// Puts a server together as [`crate::Server::bind`] does, and binds nothing.
    ///
    /// # Errors
    /// If the configuration has nonsense in it.
    pub fn new(config: &Config, parts: Parts) -> Result<Self, StartError> {
        config.check()?;
        let base_url = config.public_url.clone().unwrap_or_else(|| BASE_URL.to_owned());
        // Nobody waits for the end of what is under way: the simulator knows what it started.
        let (work, _) = mpsc::channel(1);
        let app = Arc::new(App::new(config, parts, &base_url, work, None)?);
        let connected = Connected { app: Share::of(&app), address: Ipv4Addr::LOCALHOST.into() };
        Ok(Self { app, connected })
    }

    /// Answers a request, inside a runtime with a clock. To drop the future is to hang up.
    pub fn answer(&self, request: Request<Body>) -> impl Future<Output = Result<Response<Body>, Infallible>> + Send + 'static {
        self.connected.call(request)
    }

    /// A steward of this server, as it is after a start.
    #[must_use]
    pub fn sweeper(&self) -> Sweeper {
        Sweeper(Steward::new(Arc::clone(&self.app)))
    }
}

/// The steward, one sweep at a time.
pub struct Sweeper(Steward);

impl std::fmt::Debug for Sweeper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sweeper")
    }
}

impl Sweeper {
    /// Goes over all shards once.
    pub async fn sweep(&mut self) {
        self.0.sweep().await;
    }
}
