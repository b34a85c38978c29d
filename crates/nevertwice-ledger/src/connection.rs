//! A connection to either database, for statements that are written once.

use sqlx::{Database, PgConnection, Postgres, Sqlite, SqliteConnection};

/// A connection that is somebody's for a while.
pub(crate) enum Connection<'c> {
    Sqlite(&'c mut SqliteConnection),
    Postgres(&'c mut PgConnection),
}

/// A database of which a service's own transaction can hold rows of ours: SQLite or Postgres.
pub trait SqlDatabase: Database + sealed::Sealed {}

impl SqlDatabase for Sqlite {}
impl SqlDatabase for Postgres {}

mod sealed {
    use super::{Connection, Database, PgConnection, Postgres, Sqlite, SqliteConnection};

    pub trait Sealed: Database {
        #[expect(private_interfaces, reason = "nobody outside can call it")]
        fn lend(connection: &mut Self::Connection) -> Connection<'_>;
    }

    impl Sealed for Sqlite {
        #[expect(private_interfaces, reason = "nobody outside can call it")]
        fn lend(connection: &mut SqliteConnection) -> Connection<'_> {
            Connection::Sqlite(connection)
        }
    }

    impl Sealed for Postgres {
        #[expect(private_interfaces, reason = "nobody outside can call it")]
        fn lend(connection: &mut PgConnection) -> Connection<'_> {
            Connection::Postgres(connection)
        }
    }
}

/// Writes an expression once for both databases.
macro_rules! on {
    ($connection:expr, $c:ident => $body:expr) => {
        match $connection {
            $crate::connection::Connection::Sqlite($c) => $body,
            $crate::connection::Connection::Postgres($c) => $body,
        }
    };
}
pub(crate) use on;
