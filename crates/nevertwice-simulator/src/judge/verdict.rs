//! All judgements.

use super::{history, payments, replies};
use crate::finding::Finding;
use crate::world::World;

/// Judges a world that has come to its end.
pub(crate) fn judge(world: &mut World) -> Result<(), Finding> {
    let judged = {
        let record = world.record().clone();
        let record = record.get();
        let judged = history::judge(&record, world.follower())?;
        replies::judge(&record, world.intents(), world.follower())?;
        payments::judge(&world.payments(), world.follower())?;
        judged
    };
    world.note_judged(&judged);
    Ok(())
}
