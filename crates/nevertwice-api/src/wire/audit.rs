//! What operators did, on the wire.

use nevertwice_core::{
    Before, BookingBefore, CandidateFact, CandidatesBefore, CandidatesLoaded, CapsBefore, Entry, Event, InstrumentBefore, KnownCandidate,
    LevelCap, Origin,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::folder_fact::{Fact, FolderFact, FolderPlace};
use crate::key_fact::{KeyFact, KeyStanding};
use crate::person::reference;

/// `GET /v1/audit`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditPage {
    /// What operators did, the oldest first; a page may be empty although more follow.
    pub facts: Vec<AuditFact>,
    /// The `cursor` of the next page; absent on the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The audit begins after this batch of the journal; 0: with the first.
    pub begins_after: u64,
    /// False: what was done most recently is missing, since it could not be written; a restart adds it.
    pub is_whole: bool,
}

/// One thing that an operator did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditFact {
    /// In which market or sale, as `market/NAME` or `sale/NAME`; absent where it was done to a key, or to the data folder as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    /// The entry's position; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// Who, from where, in which trace; absent where the entry was made before that was kept, and where a program was started
    /// on the server's machine to do it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Caller>,
    /// On whose behalf; absent where nobody sent a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// With which idempotency key, or to which key of somebody's guard; absent where nobody sent a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Which command.
    pub command: String,
    /// The instrument, account or booking that it was about, or the scope of a key; absent where it was about the whole shard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// What was before; null where there was nothing, or where the entry was made before that was kept.
    #[schema(value_type = Option<Object>)]
    pub before: Option<Map<String, Value>>,
    /// What is after.
    #[schema(value_type = Object)]
    pub after: Map<String, Value>,
}

/// Who called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Caller {
    /// The name of the credential; never the credential.
    pub name: String,
    /// As what it was let in: `operator`, `service` or `principal`.
    pub role: String,
    /// The address of whoever was connected; absent where it is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The trace that the request was part of, as a `traceparent`; absent where there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
}

impl From<&Origin> for Caller {
    fn from(origin: &Origin) -> Self {
        Self {
            name: origin.caller.to_string(),
            role: origin.role.word().to_owned(),
            address: origin.address.as_ref().map(ToString::to_string),
            trace: origin.trace.map(|trace| trace.to_string()),
        }
    }
}

impl AuditFact {
    /// Shows a fact; `None` for an entry that no operator's command makes.
    #[must_use]
    pub fn of(fact: &Fact) -> Option<Self> {
        match fact {
            Fact::Entry(entry) => Self::of_entry(entry),
            Fact::Folder(fact) => Some(Self::of_folder(fact)),
            Fact::Key(fact) => Some(Self::of_key(fact)),
        }
    }

    fn of_entry(entry: &Entry) -> Option<Self> {
        let [event] = entry.events.as_slice() else { return None };
        let (about, before, after) = change(event, entry.before.as_deref())?;
        Some(Self {
            shard: Some(entry.shard.to_string()),
            position: Some(entry.position.to_string()),
            at_ms: entry.at_ms,
            origin: entry.origin.as_deref().map(Caller::from),
            principal: Some(entry.intent.principal.to_string()),
            key: Some(entry.intent.key.to_string()),
            command: event.command().to_owned(),
            about,
            before: before.map(members),
            after: members(after),
        })
    }

    fn of_folder(fact: &FolderFact) -> Self {
        let FolderFact { deed, at_ms, asker, before, after, shards, shards_left_out } = fact;
        let place = |place: &FolderPlace| json!({"journal": format!("{:016x}", place.journal), "epoch": place.epoch, "batch": place.batch});
        let mut was = members(place(before));
        let shards = shards.iter().map(|(shard, position)| json!({"shard": shard.to_string(), "position": position.to_string()}));
        was.insert("shards".to_owned(), shards.collect());
        if *shards_left_out > 0 {
            was.insert("shards_left_out".to_owned(), json!(shards_left_out));
        }
        Self {
            shard: None,
            position: None,
            at_ms: *at_ms,
            origin: asker.as_ref().map(|asker| Caller::from(&asker.origin)),
            principal: asker.as_ref().map(|asker| asker.principal.to_string()),
            key: asker.as_ref().map(|asker| asker.key.to_string()),
            command: deed.word().to_owned(),
            about: None,
            before: Some(was),
            after: members(place(after)),
        }
    }

    fn of_key(fact: &KeyFact) -> Self {
        let mut after = standing(fact.after).map(members).unwrap_or_default();
        if let Some(generation) = fact.generation {
            after.insert("generation".to_owned(), json!(generation));
        }
        Self {
            shard: None,
            position: None,
            at_ms: fact.at_ms,
            origin: Some(Caller::from(&fact.origin)),
            principal: Some(fact.principal.to_string()),
            key: Some(fact.key.to_string()),
            command: fact.deed.word().to_owned(),
            about: (!fact.scope.is_empty()).then(|| fact.scope.clone()),
            before: standing(fact.before).map(members),
            after,
        }
    }
}

/// How the record of a key stood: nothing where there was none.
fn standing(standing: KeyStanding) -> Option<Value> {
    Some(match standing {
        KeyStanding::Absent => return None,
        KeyStanding::Free => json!({"state": "free"}),
        KeyStanding::InProgress { lease_ms } => json!({"state": "in_progress", "lease_ms": lease_ms}),
        KeyStanding::Completed { status, body_bytes, is_tombstone } => {
            json!({"state": "completed", "status": status, "body_bytes": body_bytes, "is_tombstone": is_tombstone})
        }
        KeyStanding::Refused => json!({"refused": true}),
    })
}

/// What it was about, what was before, and what is after.
type Change = (Option<String>, Option<Value>, Value);

fn change(event: &Event, before: Option<&Before>) -> Option<Change> {
    Some(match event {
        Event::MarketOpened(event) => {
            let limits = &event.limits;
            let limits =
                json!({"quantity_max": limits.quantity_max, "holding_max": limits.holding_max, "house_loss_max": limits.house_loss_max});
            let after = json!({"decimals": event.decimals, "fee_bps": event.fee_bps, "limits": limits, "mode": event.mode.word(),
                "retention_ms": event.retention_ms});
            (None, None, after)
        }
        Event::ModeSet(event) => (None, Some(json!({"mode": event.mode_before.word()})), json!({"mode": event.mode.word()})),
        Event::InstrumentListed(event) => {
            (Some(event.instrument.to_string()), None, json!({"state": "active", "base": event.base, "slope": event.slope}))
        }
        Event::AccountOpened(event) => {
            (Some(event.account.to_string()), None, json!({"class": event.class.word(), "opening_balance": event.opening_balance}))
        }
        Event::InstrumentRepriced(event) => {
            let was = match before {
                Some(Before::Instrument(before)) => instrument(before),
                _ => json!({"base": event.base_before, "price": event.price_before}),
            };
            let after = json!({"base": event.base, "price": event.price_after, "house_loss": event.house_loss});
            (Some(event.instrument.to_string()), Some(was), after)
        }
        Event::InstrumentFrozen(event) => {
            (Some(event.instrument.to_string()), Some(json!({"state": "active"})), json!({"state": "frozen"}))
        }
        Event::InstrumentUnfrozen(event) => {
            (Some(event.instrument.to_string()), Some(json!({"state": "frozen"})), json!({"state": "active"}))
        }
        Event::InstrumentSettled(event) => {
            let was = match before {
                Some(Before::Instrument(before)) => Some(instrument(before)),
                _ => None,
            };
            let after = json!({"state": "settled", "price": event.price, "net": event.net, "house_loss": event.house_loss});
            (Some(event.instrument.to_string()), was, after)
        }
        Event::SaleOpened(event) => {
            let after = json!({"open": false, "levels": caps(&event.levels), "total_cap": event.total_cap, "hold_ms": event.hold_ms,
                "opens_at": event.opens_at, "closes_at": event.closes_at, "retention_ms": event.retention_ms});
            (None, None, after)
        }
        Event::SaleOpenSet(event) => (None, Some(json!({"open": !event.open})), json!({"open": event.open})),
        Event::CapsSet(event) => {
            let was = match before {
                Some(Before::Caps(CapsBefore { levels, total_cap })) => Some(json!({"levels": caps(levels), "total_cap": total_cap})),
                _ => None,
            };
            (None, was, json!({"levels": caps(&event.levels), "total_cap": event.total_cap}))
        }
        Event::CandidatesLoaded(event) => {
            let (was, after) = loaded(event, before);
            (None, was, after)
        }
        Event::PaymentConfirmed(event) => {
            (Some(event.booking.to_string()), booking(before), json!({"state": "paid", "payment": event.payment.as_str()}))
        }
        Event::BookingReleased(event) => {
            let after = json!({"state": "released", "seat": event.seat, "reason": event.reason.word()});
            (Some(event.booking.to_string()), booking(before), after)
        }
        Event::OrderFilled(_)
        | Event::HoldersPaid(_)
        | Event::CandidateAdmitted(_)
        | Event::PaymentBegun(_)
        | Event::PaymentAttached(_)
        | Event::HoldsExpired(_) => return None,
    })
}

fn instrument(before: &InstrumentBefore) -> Value {
    json!({"state": before.state.word(), "base": before.base, "price": before.price, "house_loss": before.house_loss})
}

fn booking(before: Option<&Before>) -> Option<Value> {
    match before {
        Some(Before::Booking(BookingBefore { state })) => Some(json!({"state": state.word()})),
        _ => None,
    }
}

fn caps(levels: &[LevelCap]) -> Value {
    levels.iter().map(|LevelCap { level, cap }| json!({"level": level.as_str(), "cap": cap})).collect()
}

/// Candidates are told apart by their references; levels are told by their numbers in the order of opening.
fn loaded(event: &CandidatesLoaded, before: Option<&Before>) -> (Option<Value>, Value) {
    let show = |fact: &CandidateFact, email: Option<[u8; 32]>, levels: u64| {
        let numbers: Vec<u32> = (0..u64::BITS).filter(|number| levels >> number & 1 == 1).collect();
        json!({"reference": reference(&fact.candidate), "has_email": email.is_some(), "levels": numbers})
    };
    let after: Vec<Value> = event.candidates.iter().map(|fact| show(fact, fact.email, fact.levels)).collect();
    let count = after.len();
    let Some(Before::Candidates(CandidatesBefore { known })) = before else {
        return (None, json!({"loaded": count, "candidates": after}));
    };
    let pairs = || event.candidates.iter().zip(known);
    let was = pairs().filter_map(|(fact, known)| known.as_ref().map(|known| show(fact, known.email, known.levels)));
    let email_changed =
        |(fact, known): &(&CandidateFact, &Option<KnownCandidate>)| known.as_ref().is_some_and(|known| known.email != fact.email);
    let added = known.iter().filter(|known| known.is_none()).count();
    let after = json!({"loaded": count, "added": added, "emails_changed": pairs().filter(email_changed).count(), "candidates": after});
    (Some(json!({"candidates": was.collect::<Vec<Value>>()})), after)
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
