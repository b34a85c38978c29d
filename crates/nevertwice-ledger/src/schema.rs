//! The schema: numbered steps, the same text for both databases, each applied once and in order.
//!
//! The types are those that both take: SQLite keeps a `BYTEA` as the blob that it is given. A step that has been released never changes.

use sqlx::migrate::{Migration, MigrationType, Migrator};

/// Number, name, text.
const STEPS: &[(i64, &str, &str)] = &[(10, "key records", include_str!("../migrations/0010_key_records.sql"))];

/// All steps, for the database to apply those that it lacks.
pub(crate) fn steps() -> Migrator {
    let step = |(number, name, text): &(i64, &'static str, &'static str)| {
        Migration::new(*number, (*name).into(), MigrationType::Simple, sqlx::SqlSafeStr::into_sql_str(*text), false)
    };
    Migrator::with_migrations(STEPS.iter().map(step).collect())
}
