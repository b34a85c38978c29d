//! Sweeps over all shards, every so often.

use std::sync::Arc;

use nevertwice_api::Health;
use nevertwice_core::{ShardId, ShardKind};
use tokio::sync::watch;
use tokio::time::{Duration, MissedTickBehavior, interval};

use super::closings::Closings;
use super::{holds, keys, payouts};
use crate::app::App;
use crate::metrics::Overdue;
use crate::refusal::Refusal;

/// How many sweeps come between two looks at all bookings for those whose payment is to be closed. In between the steward
/// knows them from its own steps.
const SWEEPS_A_LOOK: u64 = 60;

/// The steward.
pub(crate) struct Steward {
    app: Arc<App>,
    closings: Closings,
    sweeps: u64,
}

impl Steward {
    pub(crate) fn new(app: Arc<App>) -> Self {
        Self { app, closings: Closings::default(), sweeps: 0 }
    }

    /// Sweeps every so often until told to stop.
    pub(crate) async fn run(mut self, every: Duration, mut stop: watch::Receiver<bool>) {
        let mut ticks = interval(every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = stop.wait_for(|stop| *stop) => return,
                _ = ticks.tick() => {}
            }
            self.sweep().await;
        }
    }

    /// Goes over the records of keys and all shards once. What fails is tried again the next time.
    pub(crate) async fn sweep(&mut self) {
        if self.app.backend.status().health == Health::Following {
            // A standby decides nothing.
            return;
        }
        let keys_swept = keys::sweep(&self.app).await;
        let shards = match self.app.within_deadline(self.app.backend.shards()).await {
            Ok(shards) => shards,
            Err(refusal) => return self.failed(None, &refusal),
        };
        let look = self.sweeps.is_multiple_of(SWEEPS_A_LOOK);
        let (mut overdue, mut complete) = (Overdue::default(), true);
        if let Err(refusal) = keys_swept {
            complete = false;
            self.failed(None, &refusal);
        }
        for shard in shards {
            if self.app.is_stopping() {
                return;
            }
            let done = match shard.kind {
                ShardKind::Market => payouts::pay(&self.app, &shard).await,
                ShardKind::Sale => self.sweep_sale(&shard, look, &mut overdue).await,
            };
            if let Err(refusal) = done {
                complete = false;
                self.failed(Some(&shard), &refusal);
            }
        }
        self.sweeps = self.sweeps.wrapping_add(1);
        self.app.metrics.sweeps.ended(overdue, complete);
    }

    async fn sweep_sale(&mut self, sale: &ShardId, look: bool, overdue: &mut Overdue) -> Result<(), Refusal> {
        let expired = holds::expire(&self.app, sale).await?;
        overdue.holds += expired.overdue;
        self.closings.add(sale, expired.closing);
        if look {
            self.closings.look(&self.app, sale).await?;
        }
        let (waiting, failed) = self.closings.close(&self.app, sale).await;
        overdue.closings += waiting;
        failed.or(expired.failed).map_or(Ok(()), Err)
    }

    fn failed(&self, shard: Option<&ShardId>, refusal: &Refusal) {
        self.app.metrics.steward_failures.inc();
        let shard = shard.map(ToString::to_string);
        tracing::warn!(shard, code = %refusal.code(), "a step of the steward failed and will be tried again");
    }
}
