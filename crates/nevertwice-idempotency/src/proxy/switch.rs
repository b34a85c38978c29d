//! Connections that change to another protocol, such as WebSocket: from then on bytes pass in both directions.

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::io::copy_bidirectional;

/// Passes bytes between both ends until one of them has ended.
pub(super) async fn switch(client: OnUpgrade, upstream: OnUpgrade) {
    let passed = async {
        let (client, upstream) = tokio::try_join!(client, upstream).map_err(std::io::Error::other)?;
        copy_bidirectional(&mut TokioIo::new(client), &mut TokioIo::new(upstream)).await
    };
    if let Err(error) = passed.await {
        tracing::debug!(%error, "a connection that had changed its protocol ended early");
    }
}
