//! What is noted of a database once and compared at each start.

use crate::database::on_both;
use crate::{Database, DatabaseFailure};

impl Database {
    /// What is noted under a name; if nothing is, this is noted. Of several who note at once, one does, and all are told what.
    ///
    /// # Errors
    /// If the database does not serve.
    pub async fn note_first(&self, name: &str, note: &str) -> Result<String, DatabaseFailure> {
        const NOTE: &str = "INSERT INTO nevertwice_notes (name, note) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING";
        const NOTED: &str = "SELECT note FROM nevertwice_notes WHERE name = $1";
        on_both!(self, pool => sqlx::query(NOTE).bind(name).bind(note).execute(pool).await.map(drop))?;
        let noted: Result<String, sqlx::Error> = on_both!(self, pool => sqlx::query_scalar(NOTED).bind(name).fetch_one(pool).await);
        Ok(noted?)
    }

    /// Notes this in place of that. False: something else is noted.
    ///
    /// # Errors
    /// If the database does not serve.
    pub async fn note_instead(&self, name: &str, before: &str, note: &str) -> Result<bool, DatabaseFailure> {
        const INSTEAD: &str = "UPDATE nevertwice_notes SET note = $3 WHERE name = $1 AND note = $2";
        let done: Result<u64, sqlx::Error> = on_both!(self, pool => {
            sqlx::query(INSTEAD).bind(name).bind(before).bind(note).execute(pool).await.map(|done| done.rows_affected())
        });
        Ok(done? == 1)
    }
}
