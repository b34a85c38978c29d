//! Markets on the wire.

use nevertwice_core as core;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Envelope, Problem};

/// Reads a member that may be absent but not null: a null that somebody's code made of a lost bound must not lift the bound.
fn bounded<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    i64::deserialize(deserializer).map(Some)
}

/// What a market lets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MarketMode {
    /// Buying and selling.
    Open,
    /// Selling only.
    ReduceOnly,
    /// No orders.
    Halted,
}

/// Which way an order goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// From the house.
    Buy,
    /// To the house.
    Sell,
}

/// Whose an account is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccountClass {
    /// A person's.
    #[default]
    Player,
    /// A program's.
    Bot,
}

/// What an instrument is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InstrumentState {
    /// It trades.
    Active,
    /// It does not trade for now.
    Frozen,
    /// Its last price is fixed.
    Settled,
}

macro_rules! same_words {
    ($($name:ident { $($variant:ident),* })*) => {$(
        impl From<core::$name> for $name {
            fn from(value: core::$name) -> Self {
                match value { $(core::$name::$variant => Self::$variant),* }
            }
        }
        impl From<$name> for core::$name {
            fn from(value: $name) -> Self {
                match value { $($name::$variant => Self::$variant),* }
            }
        }
    )*};
}

same_words! {
    MarketMode { Open, ReduceOnly, Halted }
    Side { Buy, Sell }
    AccountClass { Player, Bot }
    InstrumentState { Active, Frozen, Settled }
}

/// The bounds of a market.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MarketLimits {
    /// Shares in one order.
    pub quantity_max: i64,
    /// Shares of one instrument that all accounts hold together.
    pub holding_max: i64,
    /// What repricing and settling may cost the house, in the market's unit.
    pub house_loss_max: i64,
}

/// `POST /v1/markets`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenMarket {
    /// Its name.
    pub market: String,
    /// Decimals of its unit, 0 to 8.
    pub decimals: u8,
    /// The fee on each notional, in basis points.
    pub fee_bps: i64,
    /// Its bounds.
    pub limits: MarketLimits,
    /// Its mode to begin with.
    pub mode: MarketMode,
    /// How long an accepted intent is remembered, in milliseconds; the server's default if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention_ms: Option<i64>,
}

/// A market was opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MarketOpened {
    /// Its name.
    pub market: String,
    /// Decimals of its unit.
    pub decimals: u8,
    /// The fee on each notional, in basis points.
    pub fee_bps: i64,
    /// Its bounds.
    pub limits: MarketLimits,
    /// Its mode.
    pub mode: MarketMode,
    /// How long an accepted intent is remembered, in milliseconds.
    pub retention_ms: i64,
    /// The entry's position.
    pub position: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

/// `GET /v1/markets/{market}`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Market {
    /// Its name.
    pub market: String,
    /// Decimals of its unit: all amounts are whole numbers of `10^-decimals`.
    pub decimals: u8,
    /// The fee on each notional, in basis points.
    pub fee_bps: i64,
    /// Its bounds.
    pub limits: MarketLimits,
    /// Its mode.
    pub mode: MarketMode,
    /// The balance of the fees account.
    pub fees: i64,
    /// The balance of the issuance account: minus all opening balances.
    pub issuance: i64,
    /// What the house would have lost if every holder sold now, or was paid; less than zero is a gain.
    pub house_loss: i64,
    /// How many instruments are listed.
    pub instruments: u64,
    /// How many accounts are open.
    pub accounts: u64,
}

/// `POST /v1/markets/{market}/instruments`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ListInstrument {
    /// Its name.
    pub instrument: String,
    /// The price before anything is sold.
    pub base: i64,
    /// What each share adds to the price.
    pub slope: i64,
}

/// An instrument was listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InstrumentListed {
    /// Its name.
    pub instrument: String,
    /// The price before anything is sold.
    pub base: i64,
    /// What each share adds to the price.
    pub slope: i64,
    /// The entry's position.
    pub position: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

/// `GET /v1/markets/{market}/instruments/{instrument}`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Instrument {
    /// Its name.
    pub instrument: String,
    /// The curve's base.
    pub base: i64,
    /// The curve's slope.
    pub slope: i64,
    /// What it is doing.
    pub state: InstrumentState,
    /// The price after the last share, or the settled one.
    pub price: i64,
    /// Shares that the house has sold and not bought back or paid out.
    pub net: i64,
    /// The house's cash from it.
    pub cash: i64,
}

/// `GET /v1/markets/{market}/instruments?from=`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InstrumentPage {
    /// Instruments in the order of listing.
    pub instruments: Vec<Instrument>,
    /// The `from` of the next page; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u32>,
}

/// `GET /v1/markets/{market}/instruments/{instrument}/quote?side=&quantity=`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Quote {
    /// The sum over the shares, before the fee.
    pub notional: i64,
    /// The fee.
    pub fee: i64,
    /// What would move: a buyer pays `notional + fee`, a seller gets `notional - fee`.
    pub total: i64,
    /// The price of the order's last share.
    pub last_price: i64,
    /// The instrument's price before.
    pub price_before: i64,
    /// The instrument's price after.
    pub price_after: i64,
}

/// `POST /v1/markets/{market}/accounts`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenAccount {
    /// Its name.
    pub account: String,
    /// Whose it is.
    #[serde(default)]
    pub class: AccountClass,
    /// What it begins with.
    pub opening_balance: i64,
}

/// An account was opened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AccountOpened {
    /// Its name.
    pub account: String,
    /// Whose it is.
    pub class: AccountClass,
    /// What was issued to it.
    pub opening_balance: i64,
    /// The entry's position.
    pub position: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

/// `GET /v1/markets/{market}/accounts/{account}`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Account {
    /// Its name.
    pub account: String,
    /// Whose it is.
    pub class: AccountClass,
    /// Its money.
    pub balance: i64,
    /// The sum of its holdings' profits, each as of the account's own last trade in it.
    pub marked_score: i64,
    /// How many instruments it holds.
    pub holdings: u64,
}

/// An account's shares of one instrument.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Holding {
    /// Whose.
    pub account: String,
    /// Of what.
    pub instrument: String,
    /// How many.
    pub shares: i64,
    /// What they cost, fees included.
    pub cost: i64,
    /// Their profit at the price after the account's last trade in them.
    pub marked_profit: i64,
}

/// `GET /v1/markets/{market}/accounts/{account}/holdings?from=` and `.../instruments/{instrument}/holders?cursor=`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HoldingPage {
    /// Holdings; a piece of a scan may be empty although more follow.
    pub holdings: Vec<Holding>,
    /// The `from` or `cursor` of the next page; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u32>,
}

/// `POST /v1/markets/{market}/orders`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlaceOrder {
    /// Who trades.
    pub account: String,
    /// What.
    pub instrument: String,
    /// Which way.
    pub side: Side,
    /// How many shares.
    pub quantity: i64,
    /// The worst price for the last share.
    #[serde(default, deserialize_with = "bounded", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub limit_price: Option<i64>,
    /// The average price per share that was expected, before the fee; it goes with `max_slippage_bps`.
    #[serde(default, deserialize_with = "bounded", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub expected_price: Option<i64>,
    /// How far, in basis points, the notional may be from what was expected; it goes with `expected_price`.
    #[serde(default, deserialize_with = "bounded", skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub max_slippage_bps: Option<i64>,
}

/// An order was filled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Order {
    /// Its id: the entry's position, unique in the market.
    pub order_id: String,
    /// Who traded.
    pub account: String,
    /// What.
    pub instrument: String,
    /// Which way.
    pub side: Side,
    /// How many shares.
    pub quantity: i64,
    /// The sum over the shares, before the fee.
    pub notional: i64,
    /// The fee.
    pub fee: i64,
    /// What moved: a buyer paid `notional + fee`, a seller got `notional - fee`.
    pub total: i64,
    /// `notional / quantity` to four digits, cut; for display only.
    pub average: String,
    /// The instrument's price before.
    pub price_before: i64,
    /// The instrument's price after.
    pub price_after: i64,
    /// The account's money after.
    pub balance: i64,
    /// The account's shares after.
    pub holding: i64,
    /// What those shares cost, fees included.
    pub cost: i64,
    /// The account's marked score after.
    pub marked_score: i64,
    /// The entry's position.
    pub position: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

impl Order {
    /// Renders the order from its entry alone; `None` if the entry is not one of an order.
    #[must_use]
    pub fn of(entry: &core::Entry) -> Option<Self> {
        let [core::Event::OrderFilled(filled)] = entry.events.as_slice() else { return None };
        let quantity = filled.quantity.max(1);
        let (whole, rest) = (filled.notional / quantity, filled.notional % quantity);
        Some(Self {
            order_id: entry.position.to_string(),
            account: filled.account.to_string(),
            instrument: filled.instrument.to_string(),
            side: filled.side.into(),
            quantity: filled.quantity,
            notional: filled.notional,
            fee: filled.fee,
            total: filled.total(),
            average: format!("{whole}.{:04}", i128::from(rest) * 10_000 / i128::from(quantity)),
            price_before: filled.price_before,
            price_after: filled.price_after,
            balance: filled.balance,
            holding: filled.holding,
            cost: filled.cost,
            marked_score: filled.marked_score,
            position: entry.position.to_string(),
            at_ms: entry.at_ms,
        })
    }
}

/// One line of `POST /v1/markets/{market}/orders/batch`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchOrder {
    /// The order's own idempotency key.
    pub key: String,
    /// Who means it; the caller's principal if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// When the intent expires, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// What is asked.
    pub order: PlaceOrder,
}

/// One line of the answer to a batch, in the order of the lines that came.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BatchAnswer {
    /// The order's key, if the line had one that could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What the status of a single request would have been.
    pub status: u16,
    /// The answer, if the order was filled now or before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Envelope<Order>>,
    /// What is wrong, if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

/// `POST /v1/markets/{market}/instruments/{instrument}/reprice`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Reprice {
    /// The new base.
    pub base: i64,
}

/// An instrument's base was moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InstrumentRepriced {
    /// Which one.
    pub instrument: String,
    /// The base before.
    pub base_before: i64,
    /// The base after.
    pub base: i64,
    /// The price before.
    pub price_before: i64,
    /// The price after.
    pub price_after: i64,
    /// What the house would have lost after it.
    pub house_loss: i64,
    /// The entry's position.
    pub position: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

/// `POST .../freeze` and `.../unfreeze`: an empty object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FreezeInstrument {}

/// An instrument was frozen, or trades again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InstrumentFrozen {
    /// Which one.
    pub instrument: String,
    /// What it is doing since.
    pub state: InstrumentState,
    /// The entry's position.
    pub position: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

/// `POST /v1/markets/{market}/mode`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetMode {
    /// The new mode.
    pub mode: MarketMode,
}

/// The market's mode was set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModeSet {
    /// The mode before.
    pub mode_before: MarketMode,
    /// The mode after.
    pub mode: MarketMode,
    /// The entry's position.
    pub position: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

/// `POST /v1/markets/{market}/instruments/{instrument}/settle`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Settle {
    /// What each share is worth.
    pub price: i64,
}

/// An instrument's last price was fixed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InstrumentSettled {
    /// Which one.
    pub instrument: String,
    /// What each share is worth.
    pub price: i64,
    /// Shares that are to be paid.
    pub net: i64,
    /// What the house will have lost once all are paid.
    pub house_loss: i64,
    /// The entry's position.
    pub position: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

/// What one holder got.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Payout {
    /// Who.
    pub account: String,
    /// For how many shares.
    pub shares: i64,
    /// How much.
    pub amount: i64,
    /// The account's money after.
    pub balance: i64,
}

/// Holders were paid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HoldersPaid {
    /// For which instrument.
    pub instrument: String,
    /// Who got what.
    pub payouts: Vec<Payout>,
    /// Shares that are still to be paid.
    pub net: i64,
    /// The entry's position.
    pub position: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}
