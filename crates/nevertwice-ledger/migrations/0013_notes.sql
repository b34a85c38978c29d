-- What is noted of a database once and compared at each start, such as the mark of the secret under which its keys are named.
CREATE TABLE nevertwice_notes (
    name TEXT NOT NULL PRIMARY KEY,
    note TEXT NOT NULL
);
