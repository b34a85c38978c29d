//! The scripts of markets and sales, with the names of what they take.

use crate::script::Script;

/// What every decision of a shard writes to.
const SHARD: &[&str] = &["records", "intent", "entries"];
/// The same with the seats that are free again.
const SEATED: &[&str] = &["records", "intent", "entries", "free"];
/// What the look at an intent needs.
const INTENT: &[&str] = &["records", "intent"];
const RECORDS: &[&str] = &["records"];

macro_rules! scripts {
    ($($name:ident = $file:literal, $keys:expr, [$($arg:literal),*];)*) => {
        $(
            pub(crate) static $name: Script =
                Script::new($file, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/lua/", $file, ".lua")), $keys, &[$($arg),*]);
        )*

        /// All of them.
        pub(crate) static ALL: &[&Script] = &[$(&$name),*];
    };
}

scripts! {
    OPEN_MARKET = "open_market", SHARD, ["call", "shard", "asked", "origin", "terms"];
    LIST_INSTRUMENT = "list_instrument", SHARD, ["call", "shard", "asked", "origin", "instrument", "terms"];
    OPEN_ACCOUNT = "open_account", SHARD, ["call", "shard", "asked", "origin", "account", "terms"];
    PLACE_ORDER = "place_order", SHARD, ["call", "shard", "asked", "origin", "account", "instrument", "terms"];
    PLACE_ORDERS = "place_orders", &["records", "entries", "intents..."], ["call", "shard", "orders..."];
    REPRICE = "reprice", SHARD, ["call", "shard", "asked", "origin", "instrument", "new_base"];
    FREEZE = "freeze", SHARD, ["call", "shard", "asked", "origin", "instrument"];
    UNFREEZE = "unfreeze", SHARD, ["call", "shard", "asked", "origin", "instrument"];
    SET_MODE = "set_mode", SHARD, ["call", "shard", "asked", "origin", "new_mode"];
    SETTLE_INSTRUMENT = "settle_instrument", SHARD, ["call", "shard", "asked", "origin", "instrument", "price"];
    PAY_HOLDERS = "pay_holders", SHARD, ["call", "shard", "asked", "origin", "instrument", "accounts..."];
    OPEN_SALE = "open_sale", SHARD, ["call", "shard", "asked", "origin", "caps", "terms"];
    LOAD_CANDIDATES = "load_candidates", SHARD, ["call", "shard", "asked", "origin", "list"];
    ADMIT = "admit", SEATED, ["call", "shard", "asked", "origin", "candidate", "email", "level"];
    BEGIN_PAYMENT = "begin_payment", SHARD, ["call", "shard", "asked", "origin", "booking"];
    ATTACH_PAYMENT = "attach_payment", SHARD, ["call", "shard", "asked", "origin", "booking", "payment", "url"];
    CONFIRM_PAYMENT = "confirm_payment", SHARD, ["call", "shard", "asked", "origin", "booking", "payment"];
    RELEASE_BOOKING = "release_booking", SEATED, ["call", "shard", "asked", "origin", "booking", "by", "claimant", "reason"];
    EXPIRE_HOLDS = "expire_holds", SEATED, ["call", "shard", "asked", "origin", "bookings..."];
    SET_SALE_OPEN = "set_sale_open", SHARD, ["call", "shard", "asked", "origin", "open"];
    SET_CAPS = "set_caps", SHARD, ["call", "shard", "asked", "origin", "caps", "total"];
    READ_INSTRUMENTS = "read_instruments", RECORDS, ["from"];
    READ_QUOTE = "read_quote", RECORDS, ["instrument", "terms"];
    READ_HOLDINGS = "read_holdings", RECORDS, ["account", "from"];
    READ_HOLDERS = "read_holders", RECORDS, ["instrument", "cursor"];
    READ_SALE = "read_sale", RECORDS, [];
    READ_BOOKING_OF = "read_booking_of", RECORDS, ["candidate"];
    READ_BOOKINGS = "read_bookings", RECORDS, ["cursor", "due_at"];
    READ_INTENT = "read_intent", INTENT, [];
    EXPIRE_INTENT = "expire_intent", INTENT, ["call", "asked"];
    ADOPT_SHARD = "adopt_shard", RECORDS, ["epoch"];
    ADOPT_PLACE = "adopt_place", &["place"], ["timeline"];
}
