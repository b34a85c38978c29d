//! From a query to what is asked of the server. Every answer is as of one position: it is one command or one script.

use nevertwice_core::{Query, ShardId};
use redis::Cmd;

use super::calls::bytes;
use super::scripts::{READ_BOOKING_OF, READ_BOOKINGS, READ_HOLDERS, READ_HOLDINGS, READ_INSTRUMENTS, READ_INTENT, READ_QUOTE, READ_SALE};
use crate::keys;
use crate::script::Call;

/// What is asked. Every reply begins with the shard's head.
pub(crate) enum Asking {
    /// Some fields of the state.
    Fields(Cmd),
    /// A script that writes nothing.
    Script(Call),
}

/// What a query asks.
pub(crate) fn ask(shard: &ShardId, query: &Query) -> Asking {
    let state = keys::shard_records(shard);
    let fields = |fields: &[Vec<u8>]| {
        let mut command = redis::cmd("HMGET");
        command.arg(&state).arg("head").arg(fields);
        Asking::Fields(command)
    };
    let script = |script, args| Asking::Script(Call { script, keys: vec![state.clone()], args });
    let text = |number: &dyn ToString| number.to_string().into_bytes();
    match query {
        Query::Market => fields(&[b"market".to_vec(), b"fees".to_vec()]),
        Query::Instruments { from } => script(&READ_INSTRUMENTS, vec![text(from)]),
        Query::Instrument { instrument } => fields(&[b"market".to_vec(), keys::instrument_field(instrument)]),
        Query::Quote { instrument, side, quantity } => {
            script(&READ_QUOTE, vec![instrument.as_str().into(), [bytes(side), bytes(quantity)].concat()])
        }
        Query::Account { account } => fields(&[b"market".to_vec(), keys::account_field(account)]),
        Query::Holdings { account, from } => script(&READ_HOLDINGS, vec![account.as_str().into(), text(from)]),
        Query::Holders { instrument, cursor } => script(&READ_HOLDERS, vec![instrument.as_str().into(), text(&cursor.0)]),
        Query::Sale => script(&READ_SALE, vec![]),
        Query::Booking { booking } => fields(&[b"sale".to_vec(), keys::booking_field(*booking)]),
        Query::BookingOf { candidate } => script(&READ_BOOKING_OF, vec![candidate.0.to_vec()]),
        Query::DueHolds { at_ms, cursor } => script(&READ_BOOKINGS, vec![text(&cursor.0), text(at_ms)]),
        Query::Bookings { cursor } => script(&READ_BOOKINGS, vec![text(&cursor.0), vec![]]),
        Query::Intent { principal, key } => {
            let keys = vec![state.clone(), keys::shard_intent(shard, principal, key)];
            Asking::Script(Call { script: &READ_INTENT, keys, args: vec![] })
        }
    }
}
