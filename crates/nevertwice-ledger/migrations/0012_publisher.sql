-- Who publishes. Only the holder of the newest fence moves cursors.
CREATE TABLE nevertwice_publishers (
    name TEXT NOT NULL PRIMARY KEY,
    fence BIGINT NOT NULL,
    holder TEXT NOT NULL,
    lease_expires_at BIGINT NOT NULL
);

-- How far an endpoint has been told of a stream: up to this seq, and nothing after it.
CREATE TABLE nevertwice_cursors (
    endpoint TEXT NOT NULL,
    stream TEXT NOT NULL,
    last_seq BIGINT NOT NULL,
    -- Of the message after it: how often it was tried, when it is tried next, and what came of the last try.
    tries BIGINT NOT NULL,
    next_at BIGINT NOT NULL,
    what TEXT NOT NULL,
    PRIMARY KEY (endpoint, stream)
);

-- What an endpoint did not take, however often it was tried. It is kept until it is sent again or given up by an operator.
CREATE TABLE nevertwice_dead_letters (
    endpoint TEXT NOT NULL,
    stream TEXT NOT NULL,
    seq BIGINT NOT NULL,
    kind TEXT NOT NULL,
    -- When what it tells of happened, and when it was given up.
    at_ms BIGINT NOT NULL,
    died_at BIGINT NOT NULL,
    tries BIGINT NOT NULL,
    what TEXT NOT NULL,
    -- 1 where an operator wants it sent again.
    is_wanted BIGINT NOT NULL,
    payload {BYTES} NOT NULL,
    PRIMARY KEY (endpoint, stream, seq)
);
