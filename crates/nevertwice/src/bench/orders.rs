//! The market and the orders that the benchmarks trade.

use nevertwice_core::limits::HOLDING_MAX;
use nevertwice_core::{
    AccountClass, Action, Command, IdempotencyKey, Intent, ListInstrument, MarketLimits, MarketMode, Name, OpenAccount, OpenMarket,
    PlaceOrder, Principal, ShardId, Side,
};

/// The day's length, in milliseconds: the retention of the benchmarks' market.
const DAY_MS: i64 = 86_400_000;

/// The largest order that any market can have.
pub(super) const QUANTITY_MAX: i64 = HOLDING_MAX;

pub(super) fn market() -> ShardId {
    ShardId::market(name("bench"))
}

pub(super) fn name(text: &str) -> Name {
    Name::new(text).expect("the benchmarks' names are names")
}

/// An intent of its own for every number; the key looks like those that clients make.
pub(super) fn intent(number: u64) -> Intent {
    let mut fingerprint = [0; 32];
    fingerprint[..8].copy_from_slice(&number.to_le_bytes());
    let key = format!("{:08x}-0000-4000-8000-{number:012x}", number >> 16);
    Intent {
        principal: Principal::new("bench").expect("it is a principal"),
        key: IdempotencyKey::new(&key).expect("it is a key"),
        fingerprint,
        expires_at: None,
    }
}

pub(super) fn command(number: u64, action: impl Into<Action>) -> Command {
    Command::new(intent(number), action)
}

/// What opens the market, with so many instruments and accounts: the first commands of every benchmark.
pub(super) fn opening(instruments: usize, accounts: usize) -> Vec<Command> {
    let limits = MarketLimits { quantity_max: QUANTITY_MAX, holding_max: HOLDING_MAX, house_loss_max: 1 << 40 };
    let open = OpenMarket { decimals: 2, fee_bps: 50, limits, mode: MarketMode::Open, retention_ms: DAY_MS };
    let mut actions: Vec<Action> = vec![open.into()];
    actions.extend((0..instruments).map(|number| Action::from(ListInstrument { instrument: instrument(number), base: 100, slope: 0 })));
    actions.extend((0..accounts).map(|number| {
        Action::from(OpenAccount { account: account(number), class: AccountClass::Bot, opening_balance: 1_000_000_000_000 })
    }));
    // Numbers that no order uses.
    actions.into_iter().zip((u64::MAX / 2)..).map(|(action, number)| command(number, action)).collect()
}

pub(super) fn instrument(number: usize) -> Name {
    name(&format!("BEN-{number}"))
}

pub(super) fn account(number: usize) -> Name {
    name(&format!("account-{number}"))
}

/// One account's endless orders: it buys a share and sells it again.
pub(super) fn order(account: &Name, instrument: &Name, turn: u64, quantity: i64) -> PlaceOrder {
    PlaceOrder {
        account: account.clone(),
        instrument: instrument.clone(),
        side: if turn.is_multiple_of(2) { Side::Buy } else { Side::Sell },
        quantity,
        limit_price: None,
        expected_price: None,
        max_slippage_bps: None,
    }
}
