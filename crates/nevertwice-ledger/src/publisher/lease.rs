//! One process publishes at a time.

use sqlx::Error;

use crate::Database;
use crate::database::on_both;

/// There is one publisher for a database, whatever its endpoints.
const NAME: &str = "publisher";

/// Takes the lease, or makes it longer; returns its fence, and none while another holds it.
pub(super) async fn hold(database: &Database, holder: &str, at_ms: i64, lease_ms: i64) -> Result<Option<i64>, Error> {
    // A holder that comes back after another one gets a new fence as anybody does: the condition looks at who holds it now.
    const HOLD: &str = "INSERT INTO nevertwice_publishers AS p (name, fence, holder, lease_expires_at) VALUES ($1, 1, $2, $4) \
        ON CONFLICT (name) DO UPDATE SET \
        fence = CASE WHEN p.holder = $2 THEN p.fence ELSE p.fence + 1 END, holder = $2, lease_expires_at = $4 \
        WHERE p.holder = $2 OR p.lease_expires_at <= $3 RETURNING fence";
    let until = at_ms.saturating_add(lease_ms);
    on_both!(database, pool => sqlx::query_scalar(HOLD).bind(NAME).bind(holder).bind(at_ms).bind(until).fetch_optional(pool).await)
}

/// Ends the lease, so that another may begin at once.
pub(super) async fn end(database: &Database, holder: &str) -> Result<(), Error> {
    const END: &str = "UPDATE nevertwice_publishers SET lease_expires_at = 0 WHERE name = $1 AND holder = $2";
    on_both!(database, pool => sqlx::query(END).bind(NAME).bind(holder).execute(pool).await.map(drop))
}

/// Part of a statement that counts only under the newest fence, which is its parameter `$1`.
macro_rules! fenced {
    () => {
        "EXISTS (SELECT 1 FROM nevertwice_publishers WHERE name = 'publisher' AND fence = $1)"
    };
}
pub(super) use fenced;
