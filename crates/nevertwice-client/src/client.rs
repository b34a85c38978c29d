//! Makes intents, finds them again, and forgets them. How they are sent is in `sending.rs`.

use std::sync::Arc;

use crate::http::Request;
use crate::request::{self, EXPIRES_HEADER, KEY_HEADER};
use crate::{
    Chance, ClientError, Clock, Intent, IntentOptions, IntentState, IntentStore, MemoryStore, Record, Retries, SystemClock, Transport,
    fresh_key, system_chance,
};

/// How long an intent is asked for, from its making, unless the client says otherwise.
const EXPIRES_IN_MS: u64 = 600_000;
/// The latest instant that a server reads, in milliseconds since 1970.
const INSTANT_MAX: u64 = (1 << 53) - 1;
/// The longest name of an intent, in bytes.
const NAME_MAX: usize = 1_024;

/// A client of one server. One intent at a time; one client per worker, which may share a store.
pub struct Client<T, C = SystemClock> {
    pub(crate) transport: T,
    pub(crate) clock: C,
    pub(crate) chance: Chance,
    pub(crate) store: Arc<dyn IntentStore>,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) authorization: Option<Box<dyn FnMut() -> String + Send>>,
    pub(crate) retries: Retries,
    pub(crate) expires_in_ms: u64,
}

impl<T: Transport> Client<T> {
    /// A client that keeps its intents in memory, with default bounds.
    #[must_use]
    pub fn new(transport: T) -> Self {
        Self {
            transport,
            clock: SystemClock::default(),
            chance: system_chance(),
            store: Arc::new(MemoryStore::default()),
            headers: Vec::new(),
            authorization: None,
            retries: Retries::default(),
            expires_in_ms: EXPIRES_IN_MS,
        }
    }
}

impl<T: Transport, C: Clock> Client<T, C> {
    /// The same client with another clock.
    #[must_use]
    pub fn with_clock<D: Clock>(self, clock: D) -> Client<T, D> {
        let Self { transport, clock: _, chance, store, headers, authorization, retries, expires_in_ms } = self;
        Client { transport, clock, chance, store, headers, authorization, retries, expires_in_ms }
    }

    /// The same client with other random bytes.
    #[must_use]
    pub fn with_chance(mut self, chance: Chance) -> Self {
        self.chance = chance;
        self
    }

    /// The same client with another store.
    #[must_use]
    pub fn with_store(mut self, store: Arc<dyn IntentStore>) -> Self {
        self.store = store;
        self
    }

    /// The same client with credentials that are asked for anew before each attempt, for they may end between two.
    #[must_use]
    pub fn with_authorization(mut self, authorization: impl FnMut() -> String + Send + 'static) -> Self {
        self.authorization = Some(Box::new(authorization));
        self
    }

    /// The same client with a header line for every request, unless the request has its own.
    ///
    /// # Errors
    ///
    /// A line that can't be sent; a key or an expiry, which would make one intent of all requests.
    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Result<Self, ClientError> {
        let line = (name, value.into());
        if [KEY_HEADER, EXPIRES_HEADER].iter().any(|own| name.eq_ignore_ascii_case(own)) {
            return Err(ClientError::KeyConflict);
        }
        request::check_line(&line)?;
        self.headers.push(line);
        Ok(self)
    }

    /// The same client with other bounds.
    ///
    /// # Errors
    ///
    /// Bounds that make no sense.
    pub fn with_retries(mut self, retries: Retries) -> Result<Self, ClientError> {
        self.retries = retries.checked()?;
        Ok(self)
    }

    /// The same client whose intents are asked for so long, from their making.
    #[must_use]
    pub fn with_expires_in_ms(mut self, expires_in_ms: u64) -> Self {
        self.expires_in_ms = expires_in_ms;
        self
    }

    /// Makes an intent, or finds the one that goes by its name and is not finished.
    ///
    /// As long as it is not finished, whoever comes with its name gets the same key. A key among the request's headers is taken for the
    /// caller's own.
    ///
    /// # Errors
    ///
    /// What can't be sent, another request under the same name, or a store that can't be used.
    pub fn intent(&mut self, request: Request, options: IntentOptions) -> Result<Intent, ClientError> {
        let IntentOptions { name, key, expires_at } = options;
        if name.as_ref().is_some_and(|name| name.is_empty() || name.len() > NAME_MAX) {
            return Err(invalid(format!("The name of an intent is not 1 to {NAME_MAX} bytes long")));
        }
        let (request, in_headers) = request::prepared(request, &self.headers)?;
        if key.is_some() && in_headers.is_some() && key != in_headers {
            return Err(ClientError::KeyConflict);
        }
        let given = key.or(in_headers);
        let now_ms = self.clock.now_ms();
        let expires_at = expires_at.unwrap_or_else(|| now_ms.saturating_add(self.expires_in_ms));
        if expires_at > INSTANT_MAX {
            return Err(invalid(format!("expires_at is beyond {INSTANT_MAX}")));
        }
        let key = match &given {
            Some(key) => request::checked_key(key)?,
            None => self.fresh_key(now_ms)?,
        };
        let fresh = Record { key, expires_at, digest: request::digest(&request), state: IntentState::New };
        let Some(name) = name else {
            return Ok(Intent { name: None, request, record: fresh });
        };
        let record = self.kept(&name, &fresh, now_ms)?;
        if given.is_some_and(|key| key != record.key) {
            return Err(ClientError::KeyConflict);
        }
        if record.digest != fresh.digest {
            return Err(ClientError::RequestChanged { name });
        }
        Ok(Intent { name: Some(name), request, record })
    }

    /// Forgets an intent whose outcome was taken in, so that its name is free for the next.
    ///
    /// # Errors
    ///
    /// [`ClientError::StillUnknown`] while nobody knows whether it happened; a store that can't be used.
    pub fn finish(&self, intent: &Intent) -> Result<(), ClientError> {
        self.forget(intent, false)
    }

    /// Forgets an intent whatever its outcome. Whoever then makes another for the same thing answers for what happens twice.
    ///
    /// # Errors
    ///
    /// A store that can't be used.
    pub fn abandon(&self, intent: &Intent) -> Result<(), ClientError> {
        self.forget(intent, true)
    }

    fn fresh_key(&mut self, now_ms: u64) -> Result<String, ClientError> {
        let mut bytes = [0; 10];
        if (self.chance)(&mut bytes) { Ok(fresh_key(now_ms, bytes)) } else { Err(ClientError::ChanceFailed) }
    }
}

impl<T, C> std::fmt::Debug for Client<T, C> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Client").field("retries", &self.retries).finish_non_exhaustive()
    }
}

fn invalid(wrong: impl Into<String>) -> ClientError {
    ClientError::RequestInvalid { wrong: wrong.into() }
}
