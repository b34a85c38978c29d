//! A server whose steward finds nothing to do: what happens is what the script says, whenever the steward wakes up.

use std::sync::Arc;

use nevertwice_api::{Answer, Backend, BackendStatus, BoxFuture, Failure, Level, Levels, Reading, Request};
use nevertwice_core::{Position, Query, ShardId, StateHash};
use nevertwice_local::LocalBackend;
use nevertwice_server::Config;

use crate::house::Plan;

/// The real backend, but it lists no shard.
struct Quiet(Arc<LocalBackend>);

impl Backend for Quiet {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn offers(&self) -> Levels {
        self.0.offers()
    }
    fn submit(&self, request: Request) -> BoxFuture<'static, Result<Answer, Failure>> {
        self.0.submit(request)
    }
    fn read(&self, shard: ShardId, query: Query, level: Option<Level>) -> BoxFuture<'static, Result<Reading, Failure>> {
        self.0.read(shard, query, level)
    }
    fn wait(&self, shard: ShardId, position: Position, level: Level) -> BoxFuture<'static, Result<Levels, Failure>> {
        self.0.wait(shard, position, level)
    }
    fn state_hash(&self, shard: ShardId) -> BoxFuture<'static, Result<(Position, StateHash), Failure>> {
        self.0.state_hash(shard)
    }
    fn shards(&self) -> BoxFuture<'static, Result<Vec<ShardId>, Failure>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
    fn status(&self) -> BackendStatus {
        self.0.status()
    }
}

/// The plan of every server here: small segments, and addresses that do not depend on the port.
pub(super) fn plan() -> Plan {
    let listen = ([127, 0, 0, 1], 0).into();
    let public_url = Some("http://shop.example".to_owned());
    let config = Config { listen, public_url, sweep_ms: 60_000, ..Config::default() };
    Plan { config, segment_bytes: Some(64 << 10), wrap: Box::new(|backend| Arc::new(Quiet(backend))), ..Plan::default() }
}
