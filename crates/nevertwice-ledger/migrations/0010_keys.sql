-- Records of keys. The record itself is in `record`; the other columns repeat what statements ask for.
CREATE TABLE nevertwice_keys (
    id {BYTES} NOT NULL PRIMARY KEY,
    generation BIGINT NOT NULL,
    -- How often the row was written. With generation, state and owner it tells this row from every other that the key will have.
    change BIGINT NOT NULL,
    -- 1 free, 2 in progress, 3 completed.
    state BIGINT NOT NULL,
    owner {BYTES} NOT NULL,
    -- From this instant on the record counts as absent. Milliseconds since 1970, as all instants here.
    forgotten_at BIGINT NOT NULL,
    -- 0 where nobody works on the key.
    lease_expires_at BIGINT NOT NULL,
    answer_bytes BIGINT NOT NULL,
    record {BYTES} NOT NULL,
    head {BYTES} NOT NULL,
    body {BYTES} NOT NULL
);
