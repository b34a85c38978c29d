//! Where a database is.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sqlx::postgres::PgConnectOptions;

/// Where a database is: `sqlite:PATH`, or `postgres://USER:PASSWORD@HOST/NAME`. It shows no password.
#[derive(Clone)]
pub struct Address(Place);

#[derive(Clone)]
pub(crate) enum Place {
    Sqlite(PathBuf),
    Postgres(Box<PgConnectOptions>),
}

/// Why a text is no address. It does not repeat the text: there may be a password in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressFault {
    /// It begins with neither of the two words.
    Kind,
    /// No file is named.
    NoFile,
    /// It is no URL of Postgres.
    Url,
}

impl fmt::Display for AddressFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kind => "an address of a ledger begins with `sqlite:` or `postgres://`",
            Self::NoFile => "`sqlite:` is followed by the path of a file",
            Self::Url => "it can't be read as `postgres://USER@HOST:PORT/NAME`",
        })
    }
}

impl std::error::Error for AddressFault {}

impl Address {
    pub(crate) fn place(&self) -> &Place {
        &self.0
    }

    /// What kind of database it is: `sqlite` or `postgres`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self.0 {
            Place::Sqlite(_) => "sqlite",
            Place::Postgres(_) => "postgres",
        }
    }

    /// Whether a text that may be an address has a password in it: such a one does not belong where others can read it.
    #[must_use]
    pub fn has_password(text: &str) -> bool {
        let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
        let (authority, after) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let user = authority.rsplit_once('@').map(|(user, _)| user);
        user.is_some_and(|user| user.contains(':')) || after.contains("password=")
    }

    /// The file that the database would lie in and that is not there yet.
    #[must_use]
    pub fn missing_file(&self) -> Option<&Path> {
        match &self.0 {
            Place::Sqlite(path) if !path.exists() => Some(path),
            Place::Sqlite(_) | Place::Postgres(_) => None,
        }
    }

    /// The same with that password, which came from a file or from the environment. A SQLite file has none.
    #[must_use]
    pub fn with_password(self, password: &str) -> Address {
        match self.0 {
            Place::Postgres(options) => Address(Place::Postgres(Box::new(options.password(password)))),
            Place::Sqlite(path) => Address(Place::Sqlite(path)),
        }
    }
}

impl FromStr for Address {
    type Err = AddressFault;

    fn from_str(text: &str) -> Result<Address, AddressFault> {
        if let Some(path) = text.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return if path.is_empty() { Err(AddressFault::NoFile) } else { Ok(Address(Place::Sqlite(path.into()))) };
        }
        if !(text.starts_with("postgres://") || text.starts_with("postgresql://")) {
            return Err(AddressFault::Kind);
        }
        let options: PgConnectOptions = text.parse().map_err(|_| AddressFault::Url)?;
        Ok(Address(Place::Postgres(Box::new(options))))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Place::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Place::Postgres(options) => {
                let name = options.get_database().unwrap_or_else(|| options.get_username());
                match options.get_socket() {
                    Some(socket) => write!(f, "postgres:{} ({name})", socket.display()),
                    None => write!(f, "postgres://{}@{}:{}/{name}", options.get_username(), options.get_host(), options.get_port()),
                }
            }
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
