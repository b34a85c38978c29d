//! The tournament in compressed time: each goal reprices its scorer when its turn has come.
//!
//! The clock is the crowd's work, not the wall: when a third of the orders is placed, a third of the tournament is over. So
//! the matches fill the run on a fast machine as on a slow one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use nevertwice_api::wire;

use super::ask::{Asker, Fault};
use super::market::Board;
use super::wire::{Answer, MARKET, Question, post};
use super::{DemoError, Options};
use crate::record::{Asked, Effect, IntentId, Told};
use crate::worldcup::{GoalEvent, Timeline, Whose};

/// How much a goal adds to its scorer's base, in the market's unit.
const GOAL: i64 = 300;
/// How much a penalty adds.
const PENALTY: i64 = 150;
/// Of a thousand reprices, how many lose their reply.
const LOST_PER_MILLE: u64 = 100;

/// Replays the goals. `bases` has each instrument's base; this is the only one who moves it.
pub(super) async fn replay(
    mut asker: Asker,
    timeline: Arc<Timeline>,
    board: Arc<Board>,
    mut bases: BTreeMap<String, i64>,
    options: Options,
) -> Result<Asker, DemoError> {
    let events = timeline.events();
    let (first, last) = match (events.first(), events.last()) {
        (Some(first), Some(last)) => (first.at, last.at),
        _ => return Ok(asker),
    };
    for (number, event) in events.iter().enumerate() {
        let Whose::Scorer { instrument, .. } = &event.whose else { continue };
        wait_for(&asker, share(event, first, last), options.orders).await;
        let Some(base) = bases.get_mut(instrument) else { continue };
        let moved = *base + if event.penalty { PENALTY } else { GOAL };
        let intent = IntentId { principal: "referee".to_owned(), key: format!("goal-{number}") };
        let path = format!("/v1/markets/{MARKET}/instruments/{instrument}/reprice");
        let request = post(&asker.shared, path, &wire::Reprice { base: moved }, &intent)?;
        let asked = Asked::Reprice { instrument: instrument.clone() };
        let question = Question { intent, asked, request, answer: Answer::Repriced };
        let fault = Fault::draw(&mut asker.seed, LOST_PER_MILLE);
        if let Told::Yes { effect: Effect::Repriced { price_after, .. }, .. } = asker.ask(&question, fault).await.told {
            *base = moved;
            if let Some(index) = board.index_of(instrument) {
                board.show(index, price_after);
                board.scored(index);
            }
        }
    }
    Ok(asker)
}

/// How far into the tournament a goal fell, in millionths.
fn share(event: &GoalEvent, first: i64, last: i64) -> u64 {
    let whole = (last - first).max(1);
    u64::try_from((event.at - first) * 1_000_000 / whole).unwrap_or(0)
}

/// Waits until that share of the orders is placed. The last goals fall a little before the last order.
async fn wait_for(asker: &Asker, share: u64, orders: u64) {
    let due = orders.saturating_mul(share).saturating_mul(97) / 100_000_000;
    while asker.shared.orders_done.load(Ordering::Relaxed) < due && !asker.shared.given_up.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
