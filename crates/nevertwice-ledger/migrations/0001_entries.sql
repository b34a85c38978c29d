-- The truth of the ledger: one row for each shard, one for each accepted decision, and one for each key that is remembered.

-- The fence. Whoever inserts entries moves `last_seq` here in the same transaction, from the value that he knows.
CREATE TABLE nevertwice_shards (
    shard TEXT NOT NULL PRIMARY KEY,
    -- Rises with each writer: who has an older number writes nothing.
    fence BIGINT NOT NULL,
    -- The epoch of the last entry.
    epoch BIGINT NOT NULL,
    -- The seq of the last entry; 0 before the first.
    last_seq BIGINT NOT NULL,
    -- For how long a key is remembered after its entry, in milliseconds; 0 before the first.
    retention_ms BIGINT NOT NULL,
    -- The place that decided the last entry; none before the first.
    source TEXT,
    -- Who writes: the id of the place that decides.
    writer TEXT NOT NULL,
    -- Until when nobody else may, in milliseconds since 1970.
    lease_expires_at BIGINT NOT NULL,
    -- Why nothing is written any more, for people; none while all is well.
    stopped TEXT
);

-- How far each deciding place was read, so that a restart need not begin at its oldest entry.
CREATE TABLE nevertwice_sources (
    source TEXT NOT NULL PRIMARY KEY,
    mark TEXT NOT NULL
);

-- The record itself: the bytes are those of the journal, and never change.
CREATE TABLE nevertwice_entries (
    shard TEXT NOT NULL,
    seq BIGINT NOT NULL,
    epoch BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    bytes {BYTES} NOT NULL,
    PRIMARY KEY (shard, seq)
);

-- The memory of the tap. A row is replaced by a later entry with the same key once it has expired by that entry's `at_ms`.
CREATE TABLE nevertwice_intents (
    shard TEXT NOT NULL,
    principal TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint {BYTES} NOT NULL,
    epoch BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (shard, principal, key)
);

-- Entries whose key was remembered already: what happened twice, where nobody could refuse it any more.
CREATE TABLE nevertwice_doubles (
    shard TEXT NOT NULL,
    seq BIGINT NOT NULL,
    epoch BIGINT NOT NULL,
    first_seq BIGINT NOT NULL,
    first_epoch BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    PRIMARY KEY (shard, seq)
);
