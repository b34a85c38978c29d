//! What the gateway took, against how the bookings ended.

use std::collections::BTreeMap;

use nevertwice_core::{BookingState, Name, PaymentId, Query, ScanCursor, ShardId, View};

use crate::finding::Finding;
use crate::follower::Follower;
use crate::gateway::Payment;
use crate::world::DESK_SALE;

/// Money that was taken belongs to a booking that ended paid; and a booking that people made and that ended paid was paid.
pub(crate) fn judge(payments: &[(PaymentId, Name, Payment)], follower: &Follower) -> Result<(), Finding> {
    let mut ended: BTreeMap<PaymentId, BookingState> = BTreeMap::new();
    let mut of_people: BTreeMap<PaymentId, BookingState> = BTreeMap::new();
    for (shard, followed) in &follower.shards {
        let mut cursor = Some(ScanCursor::default());
        while let Some(from) = cursor {
            let Ok(View::Bookings(bookings, next)) = followed.state.read(&Query::Bookings { cursor: from }) else { break };
            for booking in bookings {
                if let Some(payment) = booking.payment {
                    ended.insert(payment.clone(), booking.state);
                    if is_of_people(shard) {
                        of_people.insert(payment, booking.state);
                    }
                }
            }
            cursor = next;
        }
    }
    for (payment, sale, state) in payments {
        let end = ended.get(payment);
        match (state, end) {
            (_, None) => return Err(about(payment, format!("{sale}: payment {payment} is at the gateway, and no booking has it"))),
            (Payment::Paid, Some(end)) if *end != BookingState::Paid => {
                return Err(about(payment, format!("{sale}: payment {payment} was taken, and its booking is {end:?}")));
            }
            _ => {}
        }
    }
    let taken = |payment: &PaymentId| payments.iter().any(|(id, _, state)| id == payment && *state == Payment::Paid);
    let unpaid = of_people.iter().find(|(payment, end)| **end == BookingState::Paid && !taken(payment));
    match unpaid {
        Some((payment, _)) => Err(about(payment, format!("payment {payment} was never made, and its booking is paid"))),
        None => Ok(()),
    }
}

fn is_of_people(shard: &ShardId) -> bool {
    shard.name.as_str() == DESK_SALE
}

fn about(payment: &PaymentId, what: String) -> Finding {
    Finding::new(what).about(payment)
}
