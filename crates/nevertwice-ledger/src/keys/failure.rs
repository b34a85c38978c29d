//! What an error of the database says of the command: that nothing was done, or that nobody knows.

use nevertwice_api::KeyStoreFailure;
use sqlx::Error;

/// Which database it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Sqlite,
    Postgres,
}

/// Of a statement that only reads: nothing was done, whatever it was.
pub(super) fn of_reading(error: &Error) -> KeyStoreFailure {
    tracing::warn!(%error, "the database of keys did not answer; nothing was done");
    KeyStoreFailure::Unavailable
}

/// Of a statement that writes, or of its commit.
pub(super) fn of_writing(error: &Error, kind: Kind) -> KeyStoreFailure {
    let failure = match (error, kind) {
        (Error::PoolTimedOut | Error::PoolClosed, _) => KeyStoreFailure::Unavailable,
        (Error::Database(error), Kind::Sqlite) => of_sqlite(error.code().as_deref().unwrap_or_default()),
        (Error::Database(error), Kind::Postgres) => of_postgres(error.code().as_deref().unwrap_or_default()),
        // The statement was sent, and its reply was lost.
        _ => KeyStoreFailure::OutcomeUnknown,
    };
    match failure {
        KeyStoreFailure::OutcomeUnknown => tracing::warn!(%error, "the database of keys lost a reply; the same command again tells"),
        _ => tracing::warn!(%error, "the database of keys refused to write; nothing was done"),
    }
    failure
}

/// By result codes (<https://www.sqlite.org/rescode.html>): the low byte is the kind.
fn of_sqlite(code: &str) -> KeyStoreFailure {
    const BUSY: i32 = 5;
    const LOCKED: i32 = 6;
    const NOMEM: i32 = 7;
    const READONLY: i32 = 8;
    const INTERRUPT: i32 = 9;
    const CORRUPT: i32 = 11;
    const FULL: i32 = 13;
    const CANTOPEN: i32 = 14;
    const CONSTRAINT: i32 = 19;
    const NOTADB: i32 = 26;
    match code.parse::<i32>().map(|code| code & 0xff) {
        Ok(FULL) => KeyStoreFailure::Full,
        Ok(BUSY | LOCKED | NOMEM | READONLY | INTERRUPT | CORRUPT | CANTOPEN | CONSTRAINT | NOTADB) => KeyStoreFailure::Unavailable,
        // A failed sync may leave the change in the write-ahead file, to be found at the next start.
        _ => KeyStoreFailure::OutcomeUnknown,
    }
}

/// By SQLSTATE. A server that ends a session may do so after the change was made and before it says so.
fn of_postgres(state: &str) -> KeyStoreFailure {
    const DISK_FULL: &str = "53100";
    const COMPLETION_UNKNOWN: &str = "40003";
    match state {
        DISK_FULL => KeyStoreFailure::Full,
        COMPLETION_UNKNOWN => KeyStoreFailure::OutcomeUnknown,
        _ => match state.get(..2) {
            // Connection, operator's intervention, system error, internal error.
            Some("08" | "58" | "XX") | None => KeyStoreFailure::OutcomeUnknown,
            // 57014 is the answer to a statement that took too long: it was undone.
            Some("57") if state != "57014" => KeyStoreFailure::OutcomeUnknown,
            Some(_) => KeyStoreFailure::Unavailable,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_happened_is_never_called_undone() {
        use KeyStoreFailure::{Full, OutcomeUnknown, Unavailable};
        let sqlite =
            [("5", Unavailable), ("517", Unavailable), ("8", Unavailable), ("13", Full), ("10", OutcomeUnknown), ("1034", OutcomeUnknown)];
        for (code, expected) in sqlite {
            assert_eq!(of_sqlite(code), expected, "SQLite says {code}");
        }
        let postgres = [
            ("53100", Full),
            ("25006", Unavailable),
            ("40001", Unavailable),
            ("40P01", Unavailable),
            ("55P03", Unavailable),
            ("57014", Unavailable),
            ("57P01", OutcomeUnknown),
            ("57P02", OutcomeUnknown),
            ("08006", OutcomeUnknown),
            ("40003", OutcomeUnknown),
            ("58030", OutcomeUnknown),
            ("", OutcomeUnknown),
        ];
        for (state, expected) in postgres {
            assert_eq!(of_postgres(state), expected, "Postgres says {state}");
        }
    }
}
