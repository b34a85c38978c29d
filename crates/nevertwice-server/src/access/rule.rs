//! The rule: what each route asks, and which roles it lets in.

/// What a route asks of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing.
    Anyone,
    /// Either key; on nobody's behalf.
    Known,
    /// The service key on behalf of a principal, or the operator key.
    Service,
    /// The operator key.
    Operator,
}

/// What somebody is to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Nobody that the server knows.
    Nobody,
    /// A service, which acts for principals.
    Service,
    /// Whoever runs the server.
    Operator,
}

impl Access {
    /// The word for it in the docs.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Anyone => "anyone",
            Self::Known => "service or operator",
            Self::Service => "service for a principal, or operator",
            Self::Operator => "operator",
        }
    }
}
