//! How far a position is.

use nevertwice_api::wire::AckLevels;
use nevertwice_api::{Failure, Level};
use nevertwice_core::{Query, ShardId};

use crate::call::Call;
use crate::refusal::Refusal;
use crate::reply::Reply;

pub(crate) async fn market(call: Box<Call>) -> Result<Reply, Refusal> {
    let shard = call.market()?;
    wait(&call, shard, Query::Market).await
}

pub(crate) async fn sale(call: Box<Call>) -> Result<Reply, Refusal> {
    let shard = call.sale()?;
    wait(&call, shard, Query::Sale).await
}

async fn wait(call: &Call, shard: ShardId, figures: Query) -> Result<Reply, Refusal> {
    let position = call.position("position")?;
    let level = call.parameters(&["level"])?.level()?.unwrap_or(Level::Decided);
    let (app, backend) = (&call.app, &call.app.backend);
    let levels = match app.within_deadline(backend.wait(shard.clone(), position, level)).await {
        // A shard that does not exist has no history: then that is what is wrong.
        Err(refusal) if refusal.code() == Failure::PositionUnknown.code() => {
            app.read(shard, figures, None).await?;
            return Err(refusal);
        }
        waited => waited?,
    };
    Reply::read(&AckLevels { position: position.to_string(), levels: levels.iter().collect() })
}
