//! Every bound of the core, by name. What exceeds one is rejected with a stable code; nothing is ever wrapped or cut.

/// The largest amount of money, price or share count in absolute value: `2^53 - 1`.
///
/// Up to it every whole number is exact in Rust, in the doubles of Lua and in the numbers of JSON.
pub const AMOUNT_MAX: i64 = (1 << 53) - 1;

/// Basis points in a whole.
pub const BPS: i64 = 10_000;

/// The largest notional of one order, so that `notional * fee_bps` stays within [`AMOUNT_MAX`].
pub const NOTIONAL_MAX: i64 = AMOUNT_MAX / BPS;

/// The largest holding, and the largest `net` of an instrument: the integer part of the square root of [`AMOUNT_MAX`].
///
/// Up to it `cost * sold` splits into quotient and remainder without leaving the exact range of a double, and so do the
/// products of the curve.
pub const HOLDING_MAX: i64 = 94_906_265;

/// The most that all accounts of a market may be opened with, together.
///
/// With [`HOUSE_LOSS_MAX`] it bounds every balance a player can ever reach, so that a payout can't fail for its size:
/// what players own is at most what was issued and what the house may lose.
pub const ISSUANCE_MAX: i64 = AMOUNT_MAX / 4;

/// The largest `house_loss_max` a market may declare.
pub const HOUSE_LOSS_MAX: i64 = AMOUNT_MAX / 4;

/// The largest number of decimals of a market's unit.
pub const DECIMALS_MAX: u8 = 8;

/// Instruments in one market.
pub const INSTRUMENTS_MAX: usize = 16_384;

/// Accounts in one market.
pub const ACCOUNTS_MAX: usize = 16_000_000;

/// Holders named by one `PayHolders`.
pub const PAY_HOLDERS_MAX: usize = 64;

/// Levels of one sale; one bit each in the set that a candidate may book.
pub const LEVELS_MAX: usize = 64;

/// Seats of one sale, counted over all its levels.
pub const SEATS_MAX: i64 = 16_000_000;

/// Candidates of one sale.
pub const CANDIDATES_MAX: usize = 16_000_000;

/// Bookings that one sale remembers, ended ones included.
pub const BOOKINGS_MAX: usize = 64_000_000;

/// Candidates named by one `LoadCandidates`.
pub const LOAD_CANDIDATES_MAX: usize = 256;

/// Bookings named by one `ExpireHolds`.
pub const EXPIRE_HOLDS_MAX: usize = 64;

/// Intents that one shard remembers at a time.
pub const INTENTS_MAX: usize = 100_000_000;

/// Epochs whose first position a shard remembers.
pub const ADOPTIONS_MAX: usize = 1_024;

/// Remembered intents that one applied entry frees at most, so that purging never delays a decision.
pub const PURGE_MAX: usize = 4;

/// The longest hold, in milliseconds: 30 days.
pub const HOLD_MS_MAX: i64 = 30 * 24 * 60 * 60 * 1_000;

/// The shortest retention of intents, in milliseconds.
pub const RETENTION_MS_MIN: i64 = 1_000;

/// The longest retention of intents, in milliseconds: 366 days.
pub const RETENTION_MS_MAX: i64 = 366 * 24 * 60 * 60 * 1_000;

/// The last instant the core accepts, in milliseconds since 1970: some 285,000 years on, and within [`AMOUNT_MAX`] with any
/// retention or hold added.
pub const AT_MS_MAX: i64 = AMOUNT_MAX - RETENTION_MS_MAX - HOLD_MS_MAX;

/// The longest lease of a claimed key, in milliseconds: one day.
pub const LEASE_MS_MAX: i64 = 24 * 60 * 60 * 1_000;

/// How often one key may be claimed.
pub const GENERATION_MAX: u64 = AMOUNT_MAX.unsigned_abs();

/// Bytes of the header lines of a key's answer, in their encoding.
pub const KEY_HEAD_BYTES_MAX: u32 = 64 << 10;

/// Bytes of the body of a key's answer: 1 GiB. Stores and routes set bounds of their own, far below it.
pub const KEY_BODY_BYTES_MAX: u64 = 1 << 30;

/// Items that one page of a read, or one piece of a scan, returns at most.
pub const PAGE_MAX: usize = 256;

/// Rows that one piece of a scan looks at, at most, whether it returns them or not.
pub const SCAN_ROWS_MAX: usize = 4_096;

/// Items in any list that is decoded.
pub const LIST_MAX: usize = 4_096;

// The square of the largest holding is exact in a double; the next one's is not.
const _: () = assert!(HOLDING_MAX * HOLDING_MAX <= AMOUNT_MAX);
const _: () = assert!((HOLDING_MAX + 1) * (HOLDING_MAX + 1) > AMOUNT_MAX);
// A holding's value is at most twice the curve's integral, which cash and the house's loss bound.
const _: () = assert!(2 * (ISSUANCE_MAX + HOUSE_LOSS_MAX) <= AMOUNT_MAX);
const _: () = assert!(LOAD_CANDIDATES_MAX <= LIST_MAX && EXPIRE_HOLDS_MAX <= LIST_MAX && PAY_HOLDERS_MAX <= LIST_MAX);
const _: () = assert!(ADOPTIONS_MAX <= LIST_MAX);
const _: () = assert!(LEVELS_MAX <= u64::BITS as usize);
const _: () = assert!(AT_MS_MAX > 0);

/// How many commands a host may have read ahead at a time.
pub const TOUCH_MAX: usize = 16;
