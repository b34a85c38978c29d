//! From a command to the call of its script.

use nevertwice_api::encoding::encode_fields;
use nevertwice_core::fields::Fields;
use nevertwice_core::{Action, BookingOwner, Command, Intent, LevelCap, Name, PlaceOrder, Position, ShardId};

use super::scripts::{
    ADMIT, ADOPT_SHARD, ATTACH_PAYMENT, BEGIN_PAYMENT, CONFIRM_PAYMENT, EXPIRE_HOLDS, EXPIRE_INTENT, FREEZE, LIST_INSTRUMENT,
    LOAD_CANDIDATES, OPEN_ACCOUNT, OPEN_MARKET, OPEN_SALE, PAY_HOLDERS, PLACE_ORDER, PLACE_ORDERS, RELEASE_BOOKING, REPRICE, SET_CAPS,
    SET_MODE, SET_SALE_OPEN, SETTLE_INSTRUMENT, UNFREEZE,
};
use crate::keys;
use crate::script::{Call, Script};

/// What every decision is made under.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// The epoch in which the caller decides.
    pub(crate) epoch: u32,
    /// The caller's clock, in milliseconds since 1970.
    pub(crate) at_ms: i64,
    /// How far that may be from the server's, in milliseconds.
    pub(crate) skew_ms_max: i64,
    /// How much longer than the retention an intent's memory is kept, in milliseconds.
    pub(crate) slack_ms: i64,
    /// About how many entries the stream keeps.
    pub(crate) entries_max: i64,
}

/// The call that decides a command.
pub(crate) fn decision(terms: Terms, shard: &ShardId, command: &Command) -> Call {
    let (script, args) = action(&command.action);
    let Intent { principal, key, .. } = &command.intent;
    let origin = command.origin.as_ref().map(|origin| bytes(&**origin)).unwrap_or_default();
    let mut all = vec![terms.bytes(&command.intent), bytes(shard), bytes(&command.intent), origin];
    all.extend(args);
    let mut keys = vec![keys::shard_records(shard), keys::shard_intent(shard, principal, key), keys::shard_entries(shard)];
    if script.keys().len() > keys.len() {
        keys.push(keys::shard_free(shard));
    }
    Call { script, keys, args: all }
}

/// How many orders one call decides at most.
pub(crate) const ORDERS_MAX: usize = 64;

/// The call that decides several orders of one market, at most [`ORDERS_MAX`], one after the other. None if one is no order.
pub(crate) fn orders<'a>(terms: Terms, shard: &ShardId, commands: impl Iterator<Item = &'a Command>) -> Option<Call> {
    let mut keys = vec![keys::shard_records(shard), keys::shard_entries(shard)];
    // The intents' lengths stand with each.
    let mut call = terms.numbers();
    call.extend_from_slice(&[0; 2]);
    let mut args = vec![call, bytes(shard)];
    for Command { intent, action, origin } in commands {
        let Action::PlaceOrder(it) = action else { return None };
        keys.push(keys::shard_intent(shard, &intent.principal, &intent.key));
        let origin = origin.as_ref().map(|origin| bytes(&**origin)).unwrap_or_default();
        let mut terms = order(it);
        terms.extend_from_slice(&owner_bytes(intent).to_le_bytes());
        args.extend([bytes(intent), origin, name(&it.account), name(&it.instrument), terms]);
    }
    Some(Call { script: &PLACE_ORDERS, keys, args })
}

/// The call that makes the *no* to an intent whose time has run out the last word.
pub(crate) fn last_word(terms: Terms, shard: &ShardId, intent: &Intent) -> Call {
    let keys = vec![keys::shard_records(shard), keys::shard_intent(shard, &intent.principal, &intent.key)];
    Call { script: &EXPIRE_INTENT, keys, args: vec![terms.bytes(intent), bytes(intent)] }
}

impl Terms {
    /// The same with how long the intent's principal and key are, which are its first fields.
    fn bytes(self, intent: &Intent) -> Vec<u8> {
        let mut call = self.numbers();
        call.extend_from_slice(&owner_bytes(intent).to_le_bytes());
        call
    }

    fn numbers(self) -> Vec<u8> {
        parts(&[&self.epoch, &self.at_ms, &self.skew_ms_max, &self.slack_ms, &self.entries_max])
    }
}

/// How many bytes an intent's principal and key take in the encoding. Both are far shorter than a word of 16 bits can say.
fn owner_bytes(intent: &Intent) -> u16 {
    (intent.principal.as_str().len() + intent.key.as_str().len() + 4) as u16
}

/// The call that lets a shard go on in an epoch.
pub(crate) fn adopt_shard(shard: &ShardId, epoch: u32) -> Call {
    Call { script: &ADOPT_SHARD, keys: vec![keys::shard_records(shard)], args: vec![epoch.to_string().into_bytes()] }
}

/// The script of an action, and its own arguments.
fn action(action: &Action) -> (&'static Script, Vec<Vec<u8>>) {
    match action {
        Action::OpenMarket(it) => (&OPEN_MARKET, vec![parts(&[&it.decimals, &it.fee_bps, &it.limits, &it.mode, &it.retention_ms])]),
        Action::ListInstrument(it) => (&LIST_INSTRUMENT, vec![name(&it.instrument), parts(&[&it.base, &it.slope])]),
        Action::OpenAccount(it) => (&OPEN_ACCOUNT, vec![name(&it.account), parts(&[&it.class, &it.opening_balance])]),
        Action::PlaceOrder(it) => (&PLACE_ORDER, vec![name(&it.account), name(&it.instrument), order(it)]),
        Action::Reprice(it) => (&REPRICE, vec![name(&it.instrument), bytes(&it.base)]),
        Action::Freeze(it) => (&FREEZE, vec![name(&it.instrument)]),
        Action::Unfreeze(it) => (&UNFREEZE, vec![name(&it.instrument)]),
        Action::SetMode(it) => (&SET_MODE, vec![bytes(&it.mode)]),
        Action::SettleInstrument(it) => (&SETTLE_INSTRUMENT, vec![name(&it.instrument), bytes(&it.price)]),
        Action::PayHolders(it) => (&PAY_HOLDERS, [&it.instrument].into_iter().chain(&it.holders).map(name).collect()),
        Action::OpenSale(it) => {
            let terms = parts(&[&it.total_cap, &it.hold_ms, &it.opens_at, &it.closes_at, &it.retention_ms]);
            (&OPEN_SALE, vec![levels(&it.levels), terms])
        }
        Action::LoadCandidates(it) => (&LOAD_CANDIDATES, vec![bytes(&it.candidates)]),
        Action::Admit(it) => {
            let email = it.email.map(|email| email.to_vec()).unwrap_or_default();
            (&ADMIT, vec![bytes(&it.candidate), email, name(&it.level)])
        }
        Action::BeginPayment(it) => (&BEGIN_PAYMENT, vec![bytes(&it.booking)]),
        Action::AttachPayment(it) => (&ATTACH_PAYMENT, vec![bytes(&it.booking), it.payment.as_str().into(), it.url.as_str().into()]),
        Action::ConfirmPayment(it) => (&CONFIRM_PAYMENT, vec![bytes(&it.booking), it.payment.as_str().into()]),
        Action::ReleaseBooking(it) => {
            let (by, owner) = match &it.owner {
                BookingOwner::Intent { principal, key } => (1_u8, parts(&[principal, key])),
                BookingOwner::Payment(payment) => (2, payment.as_str().into()),
            };
            (&RELEASE_BOOKING, vec![bytes(&it.booking), vec![by], owner, bytes(&it.reason)])
        }
        Action::ExpireHolds(it) => (&EXPIRE_HOLDS, it.bookings.iter().map(|booking: &Position| bytes(booking)).collect()),
        Action::SetSaleOpen(it) => (&SET_SALE_OPEN, vec![bytes(&it.open)]),
        Action::SetCaps(it) => (&SET_CAPS, vec![levels(&it.levels), bytes(&it.total_cap)]),
    }
}

pub(super) fn bytes<T: Fields>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode_fields(value, &mut bytes);
    bytes
}

fn name(name: &Name) -> Vec<u8> {
    name.as_str().into()
}

fn levels(levels: &Vec<LevelCap>) -> Vec<u8> {
    bytes(levels)
}

/// Guards that did not come are zero, and have no bit.
fn order(order: &PlaceOrder) -> Vec<u8> {
    let guards = [order.limit_price, order.expected_price, order.max_slippage_bps];
    let bits = guards.iter().zip([1_u8, 2, 4]).filter(|(guard, _)| guard.is_some()).map(|(_, bit)| bit).sum::<u8>();
    let mut bytes = parts(&[&order.side, &order.quantity, &bits]);
    guards.iter().for_each(|guard| encode_fields(&guard.unwrap_or(0), &mut bytes));
    bytes
}

/// A value whose fields can be appended.
trait Part {
    fn append(&self, bytes: &mut Vec<u8>);
}

impl<T: Fields> Part for T {
    fn append(&self, bytes: &mut Vec<u8>) {
        encode_fields(self, bytes);
    }
}

fn parts(parts: &[&dyn Part]) -> Vec<u8> {
    let mut bytes = Vec::new();
    parts.iter().for_each(|part| part.append(&mut bytes));
    bytes
}
