//! The one table of routes: what each takes, answers, and asks of its caller. The router, the checks of who calls, the
//! metrics, the OpenAPI document and the docs are made from it.

use nevertwice_api::BoxFuture;

use crate::access::Access;
use crate::call::Call;
use crate::endpoints::{acks, batch, bookings, history, instruments, journal, keys, markets, orders, pages, sales, standby, status};
use crate::refusal::Refusal;
use crate::reply::Reply;

pub(crate) type Handler = fn(Box<Call>) -> BoxFuture<'static, Result<Reply, Refusal>>;

/// A method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Reads.
    Get,
    /// Changes.
    Post,
}

impl Method {
    /// The word in a request.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
        }
    }
}

/// What a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Nothing.
    Nothing,
    /// One JSON text of the schema of that name.
    Json(&'static str),
    /// Lines, each a JSON text of the schema of that name.
    Ndjson(&'static str),
    /// A page.
    Html,
    /// Another text.
    Text(&'static str),
    /// Bytes.
    Bytes,
}

/// One route.
#[derive(Clone, Copy)]
pub struct Route {
    /// Its method.
    pub method: Method,
    /// Its path, with `{placeholders}`.
    pub path: &'static str,
    /// What it asks of its caller.
    pub access: Access,
    /// The word for it in metrics, logs and the OpenAPI document.
    pub word: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// What it takes.
    pub request: Content,
    /// What it answers.
    pub response: Content,
    /// With which status, where nothing is wrong and nothing is replayed.
    pub status: u16,
    /// The parameters of its query, and what they mean.
    pub query: &'static [(&'static str, &'static str)],
    /// Whether it demands an idempotency key.
    pub keyed: bool,
    /// Whether its calls are told apart by key, owner and generation in their bodies: an idempotency key would guard the guard.
    pub fenced: bool,
    /// Whether it is the traffic of people, orders and bookings, and not what operators do.
    pub traffic: bool,
    /// Whether it is answered however much the server has to do; it takes no time.
    pub is_at_once: bool,
    /// Whether it asks the payment gateway, which may give no answer.
    pub reaches_gateway: bool,
    pub(crate) handle: Handler,
}

impl std::fmt::Debug for Route {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method.word(), self.path)
    }
}

impl Route {
    const fn get(path: &'static str, word: &'static str, access: Access, handle: Handler) -> Self {
        Self {
            method: Method::Get,
            path,
            access,
            word,
            summary: "",
            request: Content::Nothing,
            response: Content::Nothing,
            status: 200,
            query: &[],
            keyed: false,
            fenced: false,
            traffic: false,
            is_at_once: false,
            reaches_gateway: false,
            handle,
        }
    }

    const fn post(path: &'static str, word: &'static str, access: Access, handle: Handler) -> Self {
        Self { method: Method::Post, keyed: true, ..Self::get(path, word, access, handle) }
    }

    const fn says(self, summary: &'static str) -> Self {
        Self { summary, ..self }
    }

    const fn takes(self, schema: &'static str) -> Self {
        Self { request: Content::Json(schema), ..self }
    }

    const fn shows(self, schema: &'static str) -> Self {
        Self { response: Content::Json(schema), ..self }
    }

    const fn creates(self, schema: &'static str) -> Self {
        Self { response: Content::Json(schema), status: 201, ..self }
    }

    const fn asks(self, query: &'static [(&'static str, &'static str)]) -> Self {
        Self { query, ..self }
    }

    const fn carries_traffic(self) -> Self {
        Self { traffic: true, ..self }
    }

    const fn fenced(self) -> Self {
        Self { keyed: false, fenced: true, traffic: true, ..self }
    }

    const fn at_once(self) -> Self {
        Self { is_at_once: true, ..self }
    }

    const fn asks_gateway(self) -> Self {
        Self { reaches_gateway: true, ..self }
    }

    const fn exchanges(self, request: Content, response: Content) -> Self {
        Self { request, response, keyed: false, ..self }
    }
}

const LEVEL: (&str, &str) = ("level", "answer from a position that has reached this level; the shard's own if absent");
const FROM: (&str, &str) = ("from", "the `next` of the page before");
const CURSOR: (&str, &str) = ("cursor", "the `next` of the piece before");

const BATCHES: &[(&str, &str)] = &[
    ("after", "the last batch that is there already; 0 if absent"),
    ("crc", "the checksum of its frame, 8 hexadecimal digits: another history is then refused"),
    ("bytes_max", "how much may come at once, at most 4194304; a batch that is larger comes alone"),
    ("wait_ms", "how long to wait for the first batch where there is none yet, at most 10000; 0 if absent"),
    ("reader", "a name under which what is still to be read is kept, for a minute after it was last heard"),
    (
        "confirmed",
        "up to which batch, at most `after`, the reader has made everything durable on its own disk: it counts as a replica; it needs `reader` and `crc`",
    ),
];

use Access::{Anyone, Known, Operator, Principal, Reader, Service};

/// All routes.
pub(crate) static ROUTES: &[Route] = &[
    // The hot one first: nothing depends on the order, but it is the one to look at.
    Route::post("/v1/markets/{market}/orders", "place_order", Service, |call| Box::pin(orders::place(call)))
        .says("Places an order: whole or not at all")
        .takes("PlaceOrder")
        .creates("Envelope_Order")
        .carries_traffic(),
    Route::post("/v1/markets/{market}/orders/batch", "place_orders", Service, |call| Box::pin(batch::place(call)))
        .says("Places many orders, a line each, in their order; each line has its own key and its own answer")
        .exchanges(Content::Ndjson("BatchOrder"), Content::Ndjson("BatchAnswer"))
        .carries_traffic(),
    Route::post("/v1/markets", "open_market", Operator, |call| Box::pin(markets::open(call)))
        .says("Opens a market")
        .takes("OpenMarket")
        .creates("Envelope_MarketOpened"),
    Route::get("/v1/markets/{market}", "show_market", Principal, |call| Box::pin(markets::show(call)))
        .says("A market's own figures")
        .asks(&[LEVEL])
        .shows("Read_Market"),
    Route::post("/v1/markets/{market}/mode", "set_mode", Operator, |call| Box::pin(markets::set_mode(call)))
        .says("Sets a market's mode")
        .takes("SetMode")
        .shows("Envelope_ModeSet"),
    Route::post("/v1/markets/{market}/instruments", "list_instrument", Operator, |call| Box::pin(instruments::list(call)))
        .says("Lists an instrument")
        .takes("ListInstrument")
        .creates("Envelope_InstrumentListed"),
    Route::get("/v1/markets/{market}/instruments", "show_instruments", Principal, |call| Box::pin(instruments::page(call)))
        .says("Instruments, a page at a time")
        .asks(&[FROM, LEVEL])
        .shows("Read_InstrumentPage"),
    Route::get("/v1/markets/{market}/instruments/{instrument}", "show_instrument", Principal, |call| Box::pin(instruments::show(call)))
        .says("One instrument")
        .asks(&[LEVEL])
        .shows("Read_Instrument"),
    Route::get("/v1/markets/{market}/instruments/{instrument}/quote", "show_quote", Principal, |call| Box::pin(instruments::quote(call)))
        .says("What an order would cost or bring now")
        .asks(&[("side", "`buy` or `sell`"), ("quantity", "how many shares"), LEVEL])
        .shows("Read_Quote"),
    Route::get("/v1/markets/{market}/instruments/{instrument}/holders", "show_holders", Reader, |call| {
        Box::pin(instruments::holders(call))
    })
    .says("Who holds an instrument, a piece of a scan at a time")
    .asks(&[CURSOR, LEVEL])
    .shows("Read_HoldingPage"),
    Route::post("/v1/markets/{market}/instruments/{instrument}/reprice", "reprice", Operator, |call| Box::pin(instruments::reprice(call)))
        .says("Moves an instrument's base")
        .takes("Reprice")
        .shows("Envelope_InstrumentRepriced"),
    Route::post("/v1/markets/{market}/instruments/{instrument}/freeze", "freeze", Operator, |call| Box::pin(instruments::freeze(call)))
        .says("Stops an instrument's trading for a while")
        .takes("FreezeInstrument")
        .shows("Envelope_InstrumentFrozen"),
    Route::post("/v1/markets/{market}/instruments/{instrument}/unfreeze", "unfreeze", Operator, |call| {
        Box::pin(instruments::unfreeze(call))
    })
    .says("Lets a frozen instrument trade again")
    .takes("FreezeInstrument")
    .shows("Envelope_InstrumentFrozen"),
    Route::post("/v1/markets/{market}/instruments/{instrument}/settle", "settle_instrument", Operator, |call| {
        Box::pin(instruments::settle(call))
    })
    .says("Fixes an instrument's last price and ends its trading; the server then pays its holders")
    .takes("Settle")
    .shows("Envelope_InstrumentSettled"),
    Route::post("/v1/markets/{market}/accounts", "open_account", Operator, |call| Box::pin(markets::open_account(call)))
        .says("Opens an account")
        .takes("OpenAccount")
        .creates("Envelope_AccountOpened"),
    Route::get("/v1/markets/{market}/accounts/{account}", "show_account", Principal, |call| Box::pin(markets::show_account(call)))
        .says("One account")
        .asks(&[LEVEL])
        .shows("Read_Account"),
    Route::get("/v1/markets/{market}/accounts/{account}/holdings", "show_holdings", Principal, |call| Box::pin(markets::holdings(call)))
        .says("What an account holds, a page at a time")
        .asks(&[FROM, LEVEL])
        .shows("Read_HoldingPage"),
    Route::get("/v1/markets/{market}/acks/{position}", "await_market", Principal, |call| Box::pin(acks::market(call)))
        .says("Waits until a position of a market has reached a level, and tells all that it has reached")
        .asks(&[("level", "the level to wait for; `decided` if absent")])
        .shows("AckLevels"),
    Route::post("/v1/sales", "open_sale", Operator, |call| Box::pin(sales::open(call)))
        .says("Opens a sale; its doors stay closed until they are opened")
        .takes("OpenSale")
        .creates("Envelope_SaleOpened"),
    Route::get("/v1/sales/{sale}", "show_sale", Principal, |call| Box::pin(sales::show(call)))
        .says("A sale's own figures")
        .asks(&[LEVEL])
        .shows("Read_Sale"),
    Route::post("/v1/sales/{sale}/candidates", "load_candidates", Operator, |call| Box::pin(sales::load_candidates(call)))
        .says("Adds candidates, or changes what they may book")
        .takes("LoadCandidates")
        .shows("Envelope_CandidatesLoaded"),
    Route::post("/v1/sales/{sale}/open", "set_sale_open", Operator, |call| Box::pin(sales::set_open(call)))
        .says("Opens or closes a sale's doors")
        .takes("SetSaleOpen")
        .shows("Envelope_SaleOpenSet"),
    Route::post("/v1/sales/{sale}/caps", "set_caps", Operator, |call| Box::pin(sales::set_caps(call)))
        .says("Changes a sale's caps; below what is live is refused")
        .takes("Caps")
        .shows("Envelope_CapsSet"),
    Route::post("/v1/sales/{sale}/bookings", "book", Service, |call| Box::pin(bookings::book(call)))
        .says("Books a seat: admits the candidate, and begins the payment; a replay of a released booking says so in `state`: book again with a new key")
        .takes("Book")
        .creates("BookingAnswer")
        .carries_traffic()
        .asks_gateway(),
    Route::get("/v1/sales/{sale}/bookings", "show_bookings", Operator, |call| Box::pin(bookings::page(call)))
        .says("All bookings, ended ones included, a piece of a scan at a time")
        .asks(&[CURSOR, LEVEL])
        .shows("Read_BookingPage"),
    Route::get("/v1/sales/{sale}/bookings/{booking}", "show_booking", Principal, |call| Box::pin(bookings::show(call)))
        .says("One booking")
        .asks(&[LEVEL])
        .shows("Read_Booking"),
    Route::post("/v1/sales/{sale}/bookings/{booking}/confirm", "confirm_payment", Operator, |call| {
        Box::pin(bookings::confirm_payment(call))
    })
    .says("Ends a booking paid")
    .takes("Confirm")
    .shows("Envelope_Confirmed"),
    Route::post("/v1/sales/{sale}/bookings/{booking}/release", "release_booking", Service, |call| Box::pin(bookings::release(call)))
        .says("Ends a booking released, once its payment is closed at the gateway; an operator need not name the owner")
        .takes("Release")
        .shows("Envelope_Released")
        .asks_gateway(),
    Route::get("/v1/sales/{sale}/acks/{position}", "await_sale", Principal, |call| Box::pin(acks::sale(call)))
        .says("Waits until a position of a sale has reached a level, and tells all that it has reached")
        .asks(&[("level", "the level to wait for; `decided` if absent")])
        .shows("AckLevels"),
    Route::post("/v1/keys/register", "register_key", Service, |call| Box::pin(keys::register(call)))
        .says("Claims a key for an attempt at what it guards, or tells what is known of it: an answer, or a claim of somebody else")
        .takes("RegisterKey")
        .shows("KeyRegistered")
        .fenced(),
    Route::post("/v1/keys/complete", "complete_key", Service, |call| Box::pin(keys::complete(call)))
        .says("Answers a claimed key, for as long as it is remembered")
        .takes("CompleteKey")
        .shows("KeyCompleted")
        .fenced(),
    Route::post("/v1/keys/renew", "renew_lease", Service, |call| Box::pin(keys::renew(call)))
        .says("Moves the end of a claim's lease; an operator need not name the owner")
        .takes("RenewLease")
        .shows("LeaseRenewed")
        .fenced(),
    Route::post("/v1/keys/release", "release_key", Service, |call| Box::pin(keys::release(call)))
        .says("Gives a claimed key back, because nothing has happened; an operator need not name the owner")
        .takes("ReleaseKey")
        .shows("KeyReleased")
        .fenced(),
    Route::get("/v1/keys/inspect", "inspect_key", Principal, |call| Box::pin(keys::inspect(call)))
        .says("What is kept of a key: its state, owner, generation and times, and never the answer's bytes")
        .asks(&[("key", "the idempotency key"), ("scope", "its scope, if it has one")])
        .shows("KeyRecord"),
    Route::get("/v1/journal", "show_journal", Operator, |call| Box::pin(journal::list(call)))
        .says("What there is of the journal, and who reads it")
        .shows("JournalListing"),
    Route::get("/v1/journal/batches", "read_batches", Operator, |call| Box::pin(journal::batches(call)))
        .says("Durable batches, frame after frame without padding; the header `Journal-Batch` says which is the last durable one")
        .asks(BATCHES)
        .exchanges(Content::Nothing, Content::Bytes),
    Route::get("/v1/journal/snapshots/{batch}", "read_snapshot", Operator, |call| Box::pin(journal::snapshot(call)))
        .says("A piece of the snapshot after a batch; the header `Journal-Bytes` says how long the whole is")
        .asks(&[("from", "where the piece begins, in bytes; 0 if absent")])
        .exchanges(Content::Nothing, Content::Bytes),
    Route::get("/v1/journal/keys", "snapshot_keys", Operator, |call| Box::pin(journal::keys(call)))
        .says("Makes a snapshot of the records of keys, for who copies them, and says which")
        .shows("KeysSnapshot"),
    Route::get("/v1/journal/keys/{file}", "read_keys_file", Operator, |call| Box::pin(journal::keys_file(call)))
        .says("A piece of a snapshot of keys or of a file of their answers; the header `Journal-Bytes` says how long the whole is")
        .asks(&[("from", "where the piece begins, in bytes; 0 if absent")])
        .exchanges(Content::Nothing, Content::Bytes),
    Route::get("/v1/journal/audit", "read_audit", Operator, |call| Box::pin(journal::audit(call)))
        .says("What operators did, frame after frame as in the files of the audit without padding; none: nothing later is known")
        .asks(&[("after", "from the first frame on that begins after this batch or a later one; 0 if absent")])
        .exchanges(Content::Nothing, Content::Bytes),
    Route::get("/v1/audit", "show_audit", Operator, |call| Box::pin(history::audit(call)))
        .says("What operators did, the oldest first, a page at a time: who, from where, when, what was before and what is after")
        .asks(&[
            ("shard", "of this market or sale alone, as `market/NAME` or `sale/NAME`"),
            ("from", "from this instant on, in milliseconds since 1970"),
            ("until", "before this instant"),
            CURSOR,
        ])
        .shows("AuditPage"),
    Route::get("/v1/explain", "explain", Operator, |call| Box::pin(history::explain(call)))
        .says("What became of one tap: attempts, its entry, the answer that a retry gets, and what came later")
        .asks(&[
            ("principal", "whose intent"),
            ("key", "its idempotency key"),
            ("shard", "in this market or sale alone, as `market/NAME` or `sale/NAME`; in all if absent"),
            ("scope", "of a key of somebody's own guard; none if absent"),
        ])
        .shows("Explanation"),
    Route::get("/v1/standby", "show_standby", Operator, |call| Box::pin(standby::show(call)))
        .says("How a standby is; `not_standby` from any other server")
        .asks(&[("hashes", "`true`: with the state hashes, which walks all states")])
        .shows("Standby"),
    Route::post("/v1/standby/promote", "promote", Operator, |call| Box::pin(standby::promote(call)))
        .says("Makes a standby the server that decides; asked again, it says so again")
        .takes("Promote")
        .shows("Promoted"),
    Route::get("/sandbox/payments/{sale}/{payment}", "show_payment", Anyone, |call| Box::pin(pages::payment(call)))
        .says("The sandbox's page of a payment")
        .exchanges(Content::Nothing, Content::Html),
    Route::post("/sandbox/payments/{sale}/{payment}/pay", "pay", Anyone, |call| Box::pin(pages::pay(call)))
        .says("Makes a payment of the sandbox; the payment's id is the key")
        .exchanges(Content::Nothing, Content::Html),
    Route::post("/sandbox/payments/{sale}/{payment}/decline", "decline", Anyone, |call| Box::pin(pages::decline(call)))
        .says("Refuses a payment of the sandbox; the payment's id is the key")
        .exchanges(Content::Nothing, Content::Html),
    Route::get("/healthz", "alive", Anyone, |call| Box::pin(status::alive(call)))
        .says("Whether the server lives")
        .at_once()
        .shows("Health"),
    Route::get("/readyz", "ready", Anyone, |call| Box::pin(status::ready(call)))
        .says("Whether the server can work")
        .at_once()
        .shows("Health"),
    Route::get("/metrics", "metrics", Known, |call| Box::pin(status::metrics(call)))
        .says("Metrics for Prometheus")
        .exchanges(Content::Nothing, Content::Text("application/openmetrics-text")),
    Route::get("/errors/{code}", "error_page", Anyone, |call| Box::pin(pages::error_page(call)))
        .says("The page about an error's code")
        .exchanges(Content::Nothing, Content::Html),
    Route::get("/openapi.json", "openapi", Anyone, |call| Box::pin(status::openapi(call)))
        .says("The OpenAPI document of this API")
        .exchanges(Content::Nothing, Content::Text("application/json")),
    Route::get("/docs", "docs", Anyone, |call| Box::pin(status::docs(call)))
        .says("The same document as a page for people")
        .exchanges(Content::Nothing, Content::Html),
];

/// All routes, for documents and tests.
#[must_use]
pub fn routes() -> &'static [Route] {
    ROUTES
}
