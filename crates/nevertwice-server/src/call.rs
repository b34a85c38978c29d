//! One request on its way through the server.

use std::sync::{Mutex, PoisonError};

use axum::body::Body;
use axum::http::request::Parts;
use bytes::Bytes;
use nevertwice_api::person::{SaleKey, normal_email};
use nevertwice_api::{Answer, ErrorCode, Level, Levels, Request, fingerprint, wire};
use nevertwice_core::limits::AMOUNT_MAX;
use nevertwice_core::{Action, Code, Command, IdempotencyKey, Intent, Name, Origin, Position, ShardId};

use tokio::time::Instant;

use crate::access::Caller;
use crate::names::Names;
use crate::refusal::Refusal;
use crate::share::Share;
use crate::{body, intent, telemetry};

/// One request whose caller is known and allowed.
pub(crate) struct Call {
    pub(crate) app: Share,
    pub(crate) caller: Caller,
    /// What its entries tell of where it came from.
    pub(crate) origin: Option<Box<Origin>>,
    /// Its idempotency key, where the route demands one.
    pub(crate) key: Option<Result<IdempotencyKey, Refusal>>,
    pub(crate) names: Names,
    pub(crate) parts: Parts,
    pub(crate) body: Unread,
}

/// A body that nobody has read yet. Bodies can't be shared between threads, and calls can.
pub(crate) struct Unread(Mutex<Body>);

impl Unread {
    pub(crate) const fn new(body: Body) -> Self {
        Self(Mutex::new(body))
    }

    /// The body; empty for whoever comes second.
    pub(crate) fn take(&self) -> Body {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Call {
    /// What stands in the path for `{placeholder}`.
    pub(crate) fn path_text(&self, placeholder: &str) -> &str {
        self.names.get(placeholder).unwrap_or_default()
    }

    /// The name in the path for `{placeholder}`.
    pub(crate) fn name(&self, placeholder: &'static str) -> Result<Name, Refusal> {
        read_name(placeholder, self.path_text(placeholder))
    }

    /// The market of the path.
    pub(crate) fn market(&self) -> Result<ShardId, Refusal> {
        Ok(ShardId::market(self.name("market")?))
    }

    /// The sale of the path.
    pub(crate) fn sale(&self) -> Result<ShardId, Refusal> {
        Ok(ShardId::sale(self.name("sale")?))
    }

    /// The position in the path for `{placeholder}`.
    pub(crate) fn position(&self, placeholder: &str) -> Result<Position, Refusal> {
        read_position(self.path_text(placeholder))
    }

    /// The parameters of the query, of which only those are known.
    pub(crate) fn parameters(&self, known: &'static [&'static str]) -> Result<Parameters, Refusal> {
        Parameters::read(self.parts.uri.query(), known)
    }

    /// Refuses a query string where none is taken.
    fn no_parameters(&self) -> Result<(), Refusal> {
        self.parameters(&[]).map(|_| ())
    }

    /// Reads a call that owner and generation tell from others, and that has no key therefore: its body, and the levels that it asks for.
    pub(crate) async fn fenced<T: serde::de::DeserializeOwned>(&self, bytes_max: usize) -> Result<(T, Levels), Refusal> {
        self.no_parameters()?;
        let headers = &self.parts.headers;
        let levels = intent::ack_levels(headers)?;
        body::check_media_type(headers, &["application/json"])?;
        let bytes = body::read(&self.app, self.body.take(), headers, bytes_max).await?;
        Ok((body::parse(&bytes)?, levels))
    }

    /// Reads the rest of a command: the headers that make it an intent, and its body.
    pub(crate) async fn command(mut self: Box<Self>) -> Result<CommandCall, Refusal> {
        self.no_parameters()?;
        let key = self.key.take().ok_or_else(|| Refusal::internal("a command whose route demands no key"))??;
        let headers = &self.parts.headers;
        let expires_at = intent::expires_at(headers)?;
        let levels = intent::ack_levels(headers)?;
        body::check_media_type(headers, &["application/json"])?;
        let bytes = body::read(&self.app, self.body.take(), headers, self.app.limits.body_bytes_max).await?;
        let Self { app, caller, origin, .. } = *self;
        let intent = Intent { principal: caller.principal.clone(), key, fingerprint: [0; 32], expires_at };
        Ok(CommandCall { app, caller, origin, intent, levels, bytes })
    }
}

/// A command whose head and body have arrived.
pub(crate) struct CommandCall {
    pub(crate) app: Share,
    pub(crate) caller: Caller,
    /// What its entries tell of where it came from.
    pub(crate) origin: Option<Box<Origin>>,
    /// The intent, without its fingerprint.
    intent: Intent,
    pub(crate) levels: Levels,
    bytes: Bytes,
}

impl CommandCall {
    /// The command of an intent, with its origin.
    pub(crate) fn of(&self, intent: Intent, action: impl Into<Action>) -> Command {
        Command::new(intent, action).with_origin(self.origin.clone())
    }

    /// Submits a command and waits for its answer, within the deadline. It stands in the queue once this was first polled,
    /// and goes on whatever becomes of who asked.
    pub(crate) async fn submit(&self, shard: ShardId, command: Command) -> Result<Answer, Refusal> {
        let answer = self.app.backend.submit(Request { shard, command, levels: self.levels });
        let waiting = async {
            let answered = self.app.rest().until(Instant::now() + self.app.limits.answer_deadline, answer).await;
            answered.ok_or_else(Refusal::outcome_unknown)?.map_err(Refusal::from)
        };
        telemetry::step(self.app.recorder.as_ref(), "decide", waiting).await
    }

    /// The body.
    pub(crate) fn body<T: serde::de::DeserializeOwned>(&self) -> Result<T, Refusal> {
        body::parse(&self.bytes)
    }

    /// The intent. `operation` is the verb and noun, and the path's names.
    pub(crate) fn intent(&self, operation: &[&str]) -> Result<Intent, Refusal> {
        self.intent_of(operation, &self.bytes)
    }

    /// The intent of a command that names people: nobody finds out whom from its fingerprint without the sale's key.
    pub(crate) fn intent_about_people(&self, operation: &[&str], key: &SaleKey) -> Result<Intent, Refusal> {
        let intent = self.intent(operation)?;
        Ok(Intent { fingerprint: key.fingerprint(&intent.fingerprint), ..intent })
    }

    /// The intent to book: like [`Self::intent_about_people`], but the code and the address count as they are compared.
    pub(crate) fn intent_to_book(&self, sale: &Name, asked: &wire::Book, code: &Code, key: &SaleKey) -> Result<Intent, Refusal> {
        let email = asked.email.as_deref().map(normal_email);
        let normal = wire::Book { code: code.as_str().to_owned(), email, ..asked.clone() };
        let normal = serde_json::to_vec(&normal).map_err(|_| Refusal::internal("a booking that is not JSON"))?;
        let intent = self.intent_of(&["book", sale.as_str()], &normal)?;
        Ok(Intent { fingerprint: key.fingerprint(&intent.fingerprint), ..intent })
    }

    fn intent_of(&self, operation: &[&str], body: &[u8]) -> Result<Intent, Refusal> {
        let fingerprint = fingerprint::of_json(operation, body).map_err(|error| body::malformed(&error.to_string()))?;
        Ok(Intent { fingerprint, ..self.intent.clone() })
    }
}

/// The parameters of a query string, each of them known and there once.
pub(crate) struct Parameters(Vec<(&'static str, String)>);

impl Parameters {
    pub(crate) fn read(query: Option<&str>, known: &'static [&'static str]) -> Result<Self, Refusal> {
        let mut found: Vec<(&'static str, String)> = Vec::new();
        for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            let Some(name) = known.iter().find(|known| **known == name) else {
                return Err(invalid_query(&format!("The query parameter `{}` is unknown", name.escape_debug())));
            };
            if found.iter().any(|(before, _)| before == name) {
                return Err(invalid_query(&format!("The query parameter `{name}` came more than once")));
            }
            found.push((name, value.into_owned()));
        }
        Ok(Self(found))
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn needed(&self, name: &str) -> Result<&str, Refusal> {
        self.text(name).ok_or_else(|| invalid_query(&format!("The query parameter `{name}` is missing")))
    }

    /// A whole number, if the parameter is there.
    pub(crate) fn number<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, Refusal> {
        let read =
            |text: &str| text.parse().map_err(|_| invalid_query(&format!("The query parameter `{name}` is not a whole number in range")));
        self.text(name).map(read).transpose()
    }

    /// An instant in milliseconds since 1970, from 0 to [`AMOUNT_MAX`], if the parameter is there.
    pub(crate) fn instant(&self, name: &str) -> Result<Option<i64>, Refusal> {
        let ms = self.number(name)?;
        if ms.is_some_and(|ms| !(0..=AMOUNT_MAX).contains(&ms)) {
            return Err(invalid_query(&format!("The query parameter `{name}` is beyond what an instant can be")));
        }
        Ok(ms)
    }

    /// The `level`, if it is there.
    pub(crate) fn level(&self) -> Result<Option<Level>, Refusal> {
        self.text("level").map(intent::level).transpose()
    }
}

/// A query that is not understood.
pub(crate) fn invalid_query(wrong: &str) -> Refusal {
    Refusal::new(ErrorCode::QueryInvalid, wrong, "See the API's description for the parameters of this path")
}

/// Checks the name of a shard, as `market/NAME` or `sale/NAME`.
pub(crate) fn read_shard(text: &str) -> Result<ShardId, Refusal> {
    match text.split_once('/') {
        Some(("market", name)) => Ok(ShardId::market(read_name("shard", name)?)),
        Some(("sale", name)) => Ok(ShardId::sale(read_name("shard", name)?)),
        _ => Err(invalid_query("The query parameter `shard` is not written market/NAME or sale/NAME")),
    }
}

/// Reads a position of a path.
pub(crate) fn read_position(text: &str) -> Result<Position, Refusal> {
    text.parse().map_err(|error| {
        Refusal::new(
            ErrorCode::PositionInvalid,
            format!("The path does not name a position: {error}"),
            "Take it from an answer as it stood there",
        )
    })
}

/// Checks a name, and says which one it is if it is wrong.
pub(crate) fn read_name(what: &str, text: &str) -> Result<Name, Refusal> {
    Name::new(text).map_err(|error| {
        Refusal::new(
            ErrorCode::NameInvalid,
            format!("The name given as `{what}` is no name: {error}"),
            "Names have 1 to 64 of the letters A to Z and a to z, digits, and - _ . : @",
        )
        .figure("member", what)
    })
}
