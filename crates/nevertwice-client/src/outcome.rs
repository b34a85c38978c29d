//! How an intent ended, as far as the client knows.

use crate::http::Reply;

/// How an intent ended, as far as the client knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It happened, once.
    Done(Done),
    /// It did not happen.
    Failed(Failed),
    /// Nobody knows here whether it happened.
    Unknown(Unknown),
}

/// It happened, once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// The answer.
    pub reply: Reply,
    /// Whether it had happened before this attempt, with the same key.
    pub replayed: bool,
    /// How often it was sent by this call.
    pub attempts: u32,
}

/// It did not happen: the server said no, or never heard of it. What was asked may be asked anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// The server's stable code; `http_STATUS` if it names none; `not_sent` if nothing has reached it.
    pub code: String,
    /// The last answer, if there was one.
    pub reply: Option<Reply>,
    /// How often it was sent by this call.
    pub attempts: u32,
}

/// Nobody knows here whether it happened: show neither yes nor no, and make no new key.
///
/// Send the same intent again, which tells; or, after its `expires_at`, look at what the server shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// Why it was given up.
    pub reason: UnknownReason,
    /// The server's last code, or none if there was no answer.
    pub code: Option<String>,
    /// The last answer, if there was one.
    pub reply: Option<Reply>,
    /// How often it was sent by this call.
    pub attempts: u32,
}

/// Why an intent was given up whose outcome is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownReason {
    /// The call's time was over.
    Deadline,
    /// It was sent as often as it may be.
    Attempts,
    /// The intent's own time was over.
    Expired,
    /// An answer that says neither yes nor no.
    ServerFault,
    /// A no to this attempt, while an earlier one may still be on its way.
    RefusedInDoubt,
}

impl UnknownReason {
    /// The stable word for it, the same in every language.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Deadline => "deadline",
            Self::Attempts => "attempts",
            Self::Expired => "expired",
            Self::ServerFault => "server_fault",
            Self::RefusedInDoubt => "refused_in_doubt",
        }
    }
}
