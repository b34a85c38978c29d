-- Messages that services leave in the transaction that makes them true. The publisher numbers them, delivers them and takes them away.
CREATE TABLE nevertwice_outbox (
    number {NUMBERED},
    -- What is delivered in order.
    topic TEXT NOT NULL,
    -- The place in its topic, given once the transaction is committed: a transaction that ends late comes late, and is never passed over.
    seq BIGINT,
    kind TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    payload {BYTES} NOT NULL
);

CREATE UNIQUE INDEX nevertwice_outbox_places ON nevertwice_outbox (topic, seq);

CREATE INDEX nevertwice_outbox_new ON nevertwice_outbox (number) WHERE seq IS NULL;

-- The last place that was given in a topic. It outlives the messages, so that none is given twice.
CREATE TABLE nevertwice_topics (
    topic TEXT NOT NULL PRIMARY KEY,
    last_seq BIGINT NOT NULL
);
