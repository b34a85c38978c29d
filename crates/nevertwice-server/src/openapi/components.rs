//! The schemas.

use nevertwice_api::wire::*;
use utoipa::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "nevertwice",
        description = "Contended, retry-safe writes: markets, sales, and the keys of other people's handlers. Amounts, prices and quantities are whole numbers in the market's unit. \
            Unknown members are refused. A `result` is made from the entry alone, so a replay repeats it member for member; what stands beside it \
            may differ. Every error is a `Problem` of type `application/problem+json`, with a page at `/errors/{code}`.",
        license(name = "MIT OR Apache-2.0", identifier = "MIT OR Apache-2.0"),
    ),
    components(schemas(
        Problem,
        AckLevels,
        AuditPage,
        BatchAnswer,
        BatchOrder,
        Book,
        BookingAnswer,
        Caps,
        CompleteKey,
        Confirm,
        Explanation,
        FreezeInstrument,
        HeaderLine,
        Health,
        KeptAnswer,
        KeyCompleted,
        KeyRecord,
        KeyRegistered,
        KeyReleased,
        JournalListing,
        KeysSnapshot,
        JournalNote,
        JournalReader,
        JournalSegment,
        JournalSnapshot,
        LeaseRenewed,
        ListInstrument,
        LoadCandidates,
        OpenAccount,
        OpenMarket,
        OpenSale,
        PlaceOrder,
        Promote,
        Promoted,
        Standby,
        StandbyShard,
        RegisterKey,
        Release,
        ReleaseKey,
        RenewLease,
        Reprice,
        SetMode,
        SetSaleOpen,
        Settle,
        Envelope<AccountOpened>,
        Envelope<CandidatesLoaded>,
        Envelope<CapsSet>,
        Envelope<Confirmed>,
        Envelope<InstrumentFrozen>,
        Envelope<InstrumentListed>,
        Envelope<InstrumentRepriced>,
        Envelope<InstrumentSettled>,
        Envelope<MarketOpened>,
        Envelope<ModeSet>,
        Envelope<Order>,
        Envelope<Released>,
        Envelope<SaleOpenSet>,
        Envelope<SaleOpened>,
        Read<Account>,
        Read<Booking>,
        Read<BookingPage>,
        Read<HoldingPage>,
        Read<Instrument>,
        Read<InstrumentPage>,
        Read<Market>,
        Read<Quote>,
        Read<Sale>,
    )),
    modifiers(&Bearer)
)]
pub(super) struct Components;

/// The keys of callers.
struct Bearer;

impl utoipa::Modify for Bearer {
    fn modify(&self, document: &mut utoipa::openapi::OpenApi) {
        let bearer = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("The operator key, or the service key on behalf of a `Principal`. A server without keys needs none."))
            .build();
        if let Some(components) = &mut document.components {
            components.add_security_scheme("key", SecurityScheme::Http(bearer));
        }
    }
}
