//! The rule: what each route asks, and which roles it lets in.

/// What a route asks of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Nothing.
    Anyone,
    /// A credential that is for all shards; on nobody's behalf. How the server is, which is no principal's business.
    Known,
    /// To read what is about others.
    Reader,
    /// To read what is about everybody, or about the principal itself.
    Principal,
    /// To act on behalf of a principal.
    Service,
    /// The operator's work.
    Operator,
}

/// What somebody is to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Nobody that the server knows.
    Nobody,
    /// A person, who acts for itself alone.
    Principal,
    /// Reads, on nobody's behalf, and changes nothing.
    Reader,
    /// A service, which acts for any principal.
    Service,
    /// Whoever runs the server.
    Operator,
}

impl Role {
    /// All of them.
    pub const ALL: &'static [Self] = &[Self::Nobody, Self::Principal, Self::Reader, Self::Service, Self::Operator];

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Nobody => "nobody",
            Self::Principal => "principal",
            Self::Reader => "reader",
            Self::Service => "service",
            Self::Operator => "operator",
        }
    }
}

impl Access {
    /// Whether it lets somebody of that role in.
    #[must_use]
    pub const fn admits(self, role: Role) -> bool {
        // Written out for each role, so that a new one is let in nowhere by accident.
        match (self, role) {
            (Self::Anyone, _) | (_, Role::Operator) => true,
            (Self::Known | Self::Reader, Role::Reader | Role::Service) => true,
            (Self::Principal, Role::Principal | Role::Reader | Role::Service) => true,
            (Self::Service, Role::Principal | Role::Service) => true,
            (Self::Known | Self::Reader, Role::Principal)
            | (Self::Service, Role::Reader)
            | (Self::Operator, Role::Principal | Role::Reader | Role::Service)
            | (_, Role::Nobody) => false,
        }
    }

    /// Whether a service has to say for whom it asks.
    #[must_use]
    pub const fn is_on_behalf(self) -> bool {
        matches!(self, Self::Reader | Self::Principal | Self::Service)
    }

    /// The words for it in the docs.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Anyone => "anyone",
            Self::Known | Self::Reader => "reader, service or operator",
            Self::Principal => "principal, reader, service or operator",
            Self::Service => "principal, service or operator",
            Self::Operator => "operator",
        }
    }
}
