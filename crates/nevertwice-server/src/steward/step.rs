//! One step of the steward.

use nevertwice_api::Answer;
use nevertwice_core::{Action, Command, Decision, Entry, Intent, Rejection, ShardId};

use crate::app::App;
use crate::convert;
use crate::refusal::Refusal;

/// Submits a step. `None`: there was nothing to do, or it had been done.
pub(super) async fn step(app: &App, shard: &ShardId, intent: Intent, action: Action) -> Result<Option<Entry>, Refusal> {
    let Answer { decision, position, .. } = app.submit(shard.clone(), Command::new(intent, action), nevertwice_api::Levels::NONE).await?;
    match decision {
        Decision::Accepted(entry) => Ok(Some(entry)),
        Decision::Replayed(_) => Ok(None),
        Decision::Rejected(Rejection::NothingDue) => Ok(None),
        Decision::Rejected(rejection) => Err(convert::refuse(&rejection, position)),
    }
}
