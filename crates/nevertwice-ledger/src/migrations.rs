//! The tables, by one set of migrations for both databases.
//!
//! The SQL is what both take; what differs is the type of bytes and the key that the database draws, which are written `{BYTES}` and
//! `{NUMBERED}`. All names begin with `nevertwice_`: the tables may lie in the database of somebody's own service.

use std::borrow::Cow;

use sqlx::AssertSqlSafe;
use sqlx::SqlSafeStr as _;
use sqlx::migrate::{Migration, MigrationType, Migrator};

/// Where the migrations that were made are noted.
pub(crate) const TABLE: &str = "nevertwice_migrations";

/// Each with its number, which is never used again, and its words, which never change once a version was released.
const ALL: &[(i64, &str, &str)] = &[
    (1, "entries", include_str!("../migrations/0001_entries.sql")),
    (10, "keys", include_str!("../migrations/0010_keys.sql")),
    (11, "outbox", include_str!("../migrations/0011_outbox.sql")),
    (12, "publisher", include_str!("../migrations/0012_publisher.sql")),
    (13, "notes", include_str!("../migrations/0013_notes.sql")),
];

/// The newest that this program knows.
pub(crate) fn newest() -> i64 {
    ALL.iter().map(|(number, ..)| *number).max().unwrap_or(0)
}

/// What one of the two databases calls what both have.
pub(crate) struct Words {
    bytes: &'static str,
    /// A primary key that the database draws, rising.
    numbered: &'static str,
}

pub(crate) const SQLITE: Words = Words { bytes: "BLOB", numbered: "INTEGER PRIMARY KEY AUTOINCREMENT" };
pub(crate) const POSTGRES: Words = Words { bytes: "BYTEA", numbered: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY" };

/// All of them, in those words.
pub(crate) fn migrator(words: &Words) -> Migrator {
    let migration = |(number, name, sql): &(i64, &'static str, &str)| {
        let sql = AssertSqlSafe(sql.replace("{BYTES}", words.bytes).replace("{NUMBERED}", words.numbered)).into_sql_str();
        Migration::new(*number, Cow::Borrowed(*name), MigrationType::Simple, sql, false)
    };
    let mut migrator = Migrator::with_migrations(ALL.iter().map(migration).collect());
    migrator.dangerous_set_table_name(TABLE);
    migrator
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_rise() {
        assert!(ALL.is_sorted_by_key(|(number, ..)| *number));
        assert!(ALL.windows(2).all(|two| two[0].0 < two[1].0));
        assert_eq!(newest(), ALL[ALL.len() - 1].0);
    }

    #[test]
    fn every_table_has_the_prefix() {
        for (_, name, sql) in ALL {
            for line in sql.lines().filter(|line| line.starts_with("CREATE ")) {
                assert!(line.contains(" nevertwice_"), "{name}: {line}");
            }
        }
    }
}
