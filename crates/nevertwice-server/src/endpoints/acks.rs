//! How far a position is.

use nevertwice_api::Level;
use nevertwice_api::wire::AckLevels;
use nevertwice_core::ShardId;

use crate::call::Call;
use crate::refusal::Refusal;
use crate::reply::Reply;

pub(crate) async fn market(call: Box<Call>) -> Result<Reply, Refusal> {
    let shard = call.market()?;
    wait(&call, shard).await
}

pub(crate) async fn sale(call: Box<Call>) -> Result<Reply, Refusal> {
    let shard = call.sale()?;
    wait(&call, shard).await
}

async fn wait(call: &Call, shard: ShardId) -> Result<Reply, Refusal> {
    let position = call.position("position")?;
    let level = call.parameters(&["level"])?.level()?.unwrap_or(Level::Decided);
    let levels = call.app.within_deadline(call.app.backend.wait(shard, position, level)).await?;
    Reply::read(&AckLevels { position: position.to_string(), levels: levels.iter().collect() })
}
