//! Frees records of keys that are not remembered any more, and counts claims past their lease even if nobody asks for them.

use crate::app::App;
use crate::refusal::Refusal;

/// Records that one step looks at: it takes a moment, and others have their turn after it.
const STEP_RECORDS_MAX: usize = 4_096;

/// Steps of one sweep: at a sweep every five seconds, a million records are gone over in a minute and a half. They are taken however few
/// records a step has seen, for a store may count places that nobody has.
const STEPS: usize = 16;

/// Goes over some of the records, on from where the last sweep ended.
pub(super) async fn sweep(app: &App) -> Result<(), Refusal> {
    for _ in 0..STEPS {
        let swept = app.keys.sweep(STEP_RECORDS_MAX).await?;
        if swept.freed > 0 {
            tracing::debug!(freed = swept.freed, "freed records of keys that are not remembered any more");
        }
        if app.is_stopping() {
            break;
        }
        tokio::task::yield_now().await;
    }
    Ok(())
}
