//! Decides one command.

use alloc::boxed::Box;
use alloc::vec;

use crate::limits::AT_MS_MAX;
#[cfg(doc)]
use crate::limits::TOUCH_MAX;
use crate::state::Body;
use crate::{Action, Command, Entry, Event, Intent, Position, Rejection, ShardKind, State};

/// What became of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It will have happened once this entry is applied, which has to be the next thing that the host does with the state.
    Accepted(Entry),
    /// Nothing happened, and nothing is remembered.
    Rejected(Rejection),
    /// It happened before, as this entry says.
    Replayed(Entry),
}

impl State {
    /// Looks at one command and says what becomes of it at that instant, which is the shard's last one if that is later.
    ///
    /// Nothing is changed. The first check that fails answers; their order is that of [`Rejection`].
    #[must_use]
    pub fn decide(&self, command: &Command, at_ms: i64) -> Decision {
        let at_ms = at_ms.max(self.at_ms);
        if let Some(record) = self.intents.find(&command.intent.principal, &command.intent.key, at_ms) {
            if record.intent.fingerprint != command.intent.fingerprint {
                return Decision::Rejected(Rejection::FingerprintMismatch { position: record.position });
            }
            return Decision::Replayed(record.into_entry(self.shard.clone()));
        }
        let event = self.check_intent(&command.intent, &command.action, at_ms).and_then(|()| self.decide_action(&command.action, at_ms));
        match event {
            Err(rejection) => Decision::Rejected(rejection),
            Ok(event) => Decision::Accepted(Entry {
                shard: self.shard.clone(),
                position: Position { epoch: self.epoch, seq: self.position.seq.saturating_add(1) },
                at_ms,
                intent: command.intent.clone(),
                events: vec![event],
                before: command.origin.as_ref().and_then(|_| self.before(&command.action)).map(Box::new),
                origin: command.origin.clone(),
            }),
        }
    }

    /// Reads ahead what deciding these commands will look up in memory that no cache has; of the first [`TOUCH_MAX`] at most. It
    /// changes nothing and promises nothing: a host that has several commands at hand calls it before it decides the first of
    /// them, so that they wait for memory together instead of one after the other.
    pub fn touch<'a>(&self, commands: impl Iterator<Item = &'a Command>) {
        self.intents.touch(commands.map(|command| &command.intent));
    }

    fn check_intent(&self, intent: &Intent, action: &Action, at_ms: i64) -> Result<(), Rejection> {
        if !(0..=AT_MS_MAX).contains(&at_ms) {
            return Err(Rejection::InstantOutOfRange);
        }
        if let Some(expires_at) = intent.expires_at {
            if expires_at <= at_ms {
                return Err(Rejection::IntentExpired { expires_at });
            }
            // A shard that is not open yet has no retention but the one that the command brings.
            let retention_ms = match action {
                Action::OpenMarket(open) if !self.is_open() => open.retention_ms,
                Action::OpenSale(open) if !self.is_open() => open.retention_ms,
                _ if !self.is_open() => return Ok(()),
                _ => self.intents.retention_ms(),
            };
            let expires_at_max = at_ms.saturating_add(retention_ms);
            if expires_at > expires_at_max {
                return Err(Rejection::IntentExpiryTooFar { expires_at_max });
            }
        }
        if self.intents.is_full(at_ms) {
            return Err(Rejection::IntentsFull);
        }
        Ok(())
    }

    fn decide_action(&self, action: &Action, at_ms: i64) -> Result<Event, Rejection> {
        match &self.body {
            Body::Unopened => self.decide_opening(action),
            Body::Market(market) => Ok(match action {
                Action::PlaceOrder(action) => Event::OrderFilled(action.decide(market)?),
                Action::ListInstrument(action) => Event::InstrumentListed(action.decide(market)?),
                Action::OpenAccount(action) => Event::AccountOpened(action.decide(market)?),
                Action::Reprice(action) => Event::InstrumentRepriced(action.decide(market)?),
                Action::Freeze(action) => Event::InstrumentFrozen(action.decide(market)?),
                Action::Unfreeze(action) => Event::InstrumentUnfrozen(action.decide(market)?),
                Action::SetMode(action) => Event::ModeSet(action.decide(market)?),
                Action::SettleInstrument(action) => Event::InstrumentSettled(action.decide(market)?),
                Action::PayHolders(action) => Event::HoldersPaid(action.decide(market)?),
                Action::OpenMarket(_) => return Err(Rejection::MarketExists),
                _ => return Err(Rejection::WrongShardKind),
            }),
            Body::Sale(sale) => Ok(match action {
                Action::Admit(action) => Event::CandidateAdmitted(action.decide(sale, at_ms)?),
                Action::LoadCandidates(action) => Event::CandidatesLoaded(action.decide(sale)?),
                Action::BeginPayment(action) => Event::PaymentBegun(action.decide(sale, &self.shard, at_ms)?),
                Action::AttachPayment(action) => Event::PaymentAttached(action.decide(sale)?),
                Action::ConfirmPayment(action) => Event::PaymentConfirmed(action.decide(sale)?),
                #[cfg(feature = "mutants")]
                Action::ReleaseBooking(action) if self.mutant == Some(crate::Mutant::ReleaseWithoutOwner) => {
                    Event::BookingReleased(action.decide_for_anybody(sale)?)
                }
                Action::ReleaseBooking(action) => Event::BookingReleased(action.decide(sale)?),
                Action::ExpireHolds(action) => Event::HoldsExpired(action.decide(sale, at_ms)?),
                Action::SetSaleOpen(action) => Event::SaleOpenSet(action.decide(sale)?),
                Action::SetCaps(action) => Event::CapsSet(action.decide(sale)?),
                Action::OpenSale(_) => return Err(Rejection::SaleExists),
                _ => return Err(Rejection::WrongShardKind),
            }),
        }
    }

    fn decide_opening(&self, action: &Action) -> Result<Event, Rejection> {
        match (self.kind(), action) {
            (ShardKind::Market, Action::OpenMarket(action)) => Ok(Event::MarketOpened(action.decide()?)),
            (ShardKind::Sale, Action::OpenSale(action)) => Ok(Event::SaleOpened(action.decide()?)),
            (ShardKind::Market, Action::OpenSale(_)) | (ShardKind::Sale, Action::OpenMarket(_)) => Err(Rejection::WrongShardKind),
            (ShardKind::Market, _) => Err(Rejection::UnknownMarket),
            (ShardKind::Sale, _) => Err(Rejection::UnknownSale),
        }
    }
}

/// Whether a setting is within its range.
pub(crate) fn in_range(setting: &'static str, value: i64, min: i64, max: i64) -> Result<(), Rejection> {
    if (min..=max).contains(&value) { Ok(()) } else { Err(Rejection::SettingOutOfRange { setting, min, max }) }
}
