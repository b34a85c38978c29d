//! What each package must never reach, as data.

/// One package and its walls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wall {
    pub(crate) package: &'static str,
    /// Packages that must not be reachable on this platform.
    pub(crate) never: &'static [&'static [&'static str]],
    /// Forbidden packages that are nevertheless reachable on some other platform, with the reason in `why`.
    pub(crate) elsewhere: &'static [&'static str],
    /// A package that is reachable: the proof that the question is asked rightly.
    pub(crate) control: &'static str,
    pub(crate) why: &'static str,
}

const RUNTIMES: &[&str] = &["tokio", "mio", "futures-util", "async-std", "smol"];
const HTTP: &[&str] = &["axum", "hyper", "hyper-util", "http", "tower", "tower-http", "reqwest"];
const DATABASES: &[&str] = &["redis", "rusqlite", "libsqlite3-sys", "sqlx", "postgres", "tokio-postgres"];
const CLOCKS_AND_CHANCE: &[&str] = &["rand", "rand_core", "getrandom", "fastrand", "chrono", "time", "jiff"];
const STD_USERS: &[&str] = &["serde", "serde_core", "serde_json", "libc", "log", "tracing", "parking_lot", "tempfile"];
const PICTURES: &[&str] = &["plotters", "maud", "indicatif", "comfy-table"];

const CORE: &str = "nevertwice-core";
const API: &str = "nevertwice-api";
const LOCAL: &str = "nevertwice-local";
const REDIS: &str = "nevertwice-redis";
const LEDGER: &str = "nevertwice-ledger";
const IDEMPOTENCY: &str = "nevertwice-idempotency";
const CLIENT: &str = "nevertwice-client";
const SERVER: &str = "nevertwice-server";
const BOTS: &str = "nevertwice-bots";
const CONFORMANCE: &str = "nevertwice-conformance";
pub(crate) const BINARY: &str = "nevertwice";
const TESTKIT: &str = "nevertwice-testkit";
const FUZZ: &str = "nevertwice-fuzz";
const SIMULATOR: &str = "nevertwice-simulator";
const XTASK: &str = "xtask";

/// Nobody may reach these: the binary is no library, the others are for development.
pub(crate) const NEVER_IMPORTED: &[&str] = &[BINARY, TESTKIT, FUZZ, SIMULATOR, XTASK];

/// But for who is for development too, and what it builds on.
pub(crate) const FOR_DEVELOPMENT: &[(&str, &str)] = &[(FUZZ, TESTKIT), (SIMULATOR, TESTKIT)];

/// Features that only development turns on: what is shipped has none of them.
pub(crate) const DEVELOPMENT_FEATURES: &[&str] = &["fuzzing", "given-time", "mutants", "stepped"];

/// Every member of the workspace has a row, so that a new crate cannot come in without its walls.
pub(crate) const WALLS: &[Wall] = &[
    Wall {
        package: CORE,
        never: &[
            RUNTIMES,
            HTTP,
            DATABASES,
            CLOCKS_AND_CHANCE,
            STD_USERS,
            PICTURES,
            &[API, LOCAL, REDIS, LEDGER, IDEMPOTENCY, CLIENT, SERVER, BOTS],
        ],
        // The digest asks the operating system for the processor's features on ARM, through libc and without std.
        elsewhere: &["libc"],
        control: "siphasher",
        why: "the core is a pure function: no std, no serde, no runtime, no clock, no chance, no I/O",
    },
    Wall {
        package: API,
        never: &[RUNTIMES, HTTP, DATABASES, PICTURES, &[LOCAL, REDIS, LEDGER, IDEMPOTENCY, CLIENT, SERVER, BOTS]],
        elsewhere: &[],
        control: CORE,
        why: "the contract knows no runtime, no HTTP server, no Redis and no SQL, and does no I/O",
    },
    Wall {
        package: LOCAL,
        never: &[HTTP, DATABASES, PICTURES, &[REDIS, LEDGER, IDEMPOTENCY, CLIENT, SERVER, BOTS]],
        elsewhere: &[],
        control: API,
        why: "the embedded backend knows no server, no other backend and nobody who uses it",
    },
    Wall {
        package: REDIS,
        never: &[&["axum", "rusqlite", "sqlx"], PICTURES, &[LOCAL, LEDGER, IDEMPOTENCY, CLIENT, SERVER, BOTS]],
        elsewhere: &[],
        control: API,
        why: "the Redis backend decides nothing in Rust and knows no other backend",
    },
    Wall {
        package: LEDGER,
        never: &[&["axum", "redis"], PICTURES, &[LOCAL, REDIS, IDEMPOTENCY, CLIENT, SERVER, BOTS]],
        elsewhere: &[],
        control: "sqlx",
        why: "the ledger follows entries; it knows no backend that makes them",
    },
    Wall {
        package: IDEMPOTENCY,
        never: &[DATABASES, PICTURES, &[LOCAL, REDIS, LEDGER, CLIENT, SERVER, BOTS]],
        elsewhere: &[],
        control: API,
        why: "the layer and the proxy see a `KeyStore`, never a backend",
    },
    Wall {
        package: CLIENT,
        never: &[DATABASES, PICTURES, &["axum", "tower", "tower-http", CORE, API, LOCAL, REDIS, LEDGER, IDEMPOTENCY, SERVER, BOTS]],
        elsewhere: &[],
        control: "hyper",
        why: "the client knows the wire alone: no server, no backend, and nothing of what they are made of",
    },
    Wall {
        package: SERVER,
        never: &[&["indicatif", "comfy-table", CLIENT, BOTS]],
        elsewhere: &[],
        control: API,
        why: "the server does not know who drives it, and writes to no terminal",
    },
    Wall {
        package: BOTS,
        never: &[DATABASES, &["axum", "tower-http", LOCAL, REDIS, LEDGER, IDEMPOTENCY, SERVER]],
        elsewhere: &[],
        control: API,
        why: "bots are black-box: they know the public API and no backend",
    },
    Wall {
        package: CONFORMANCE,
        never: &[DATABASES, &["axum", "tower-http", CORE, API, LOCAL, REDIS, LEDGER, IDEMPOTENCY, SERVER, BOTS]],
        elsewhere: &[],
        control: "hyper",
        why: "the suite is black-box: it knows HTTP, and none of our other crates",
    },
    Wall { package: BINARY, never: &[], elsewhere: &[], control: SERVER, why: "the binary may reach everything" },
    Wall { package: TESTKIT, never: &[&[SERVER, BOTS]], elsewhere: &[], control: API, why: "the testkit tests backends, below the server" },
    Wall {
        package: FUZZ,
        never: &[&[BOTS], DATABASES],
        elsewhere: &[],
        control: SERVER,
        why: "the fuzz targets read what comes from outside, and drive no server",
    },
    Wall {
        package: SIMULATOR,
        never: &[&[BOTS], DATABASES],
        elsewhere: &[],
        control: SERVER,
        why: "the simulator plays the clients and the disk itself, and needs nobody else's",
    },
    Wall {
        package: XTASK,
        never: &[&[CORE, API, LOCAL, REDIS, LEDGER, IDEMPOTENCY, CLIENT, SERVER, BOTS]],
        elsewhere: &[],
        control: "clap",
        why: "the checks must build and run while the product does not compile",
    },
];

/// Forbidden names that the lock file need not hold. Any other name that it does not hold is taken for a misspelling.
pub(crate) const MAY_BE_ABSENT: &[(&str, &str)] = &[
    ("tower-http", "the server's few layers are its own; another crate may want it"),
    ("async-std", "a runtime that nobody brings in today"),
    ("smol", "a runtime that nobody brings in today"),
    ("futures-util", "part of hyper's family; comes and goes with its features"),
    ("reqwest", "an HTTP client that nobody brings in today"),
    ("rusqlite", "comes with the ledger"),
    ("postgres", "comes with the ledger, or never"),
    ("tokio-postgres", "comes with the ledger"),
    ("rand", "tests bring it in and out"),
    ("rand_core", "tests bring it in and out"),
    ("chrono", "a clock that nobody brings in today"),
    ("time", "a clock that nobody brings in today"),
    ("jiff", "a clock that nobody brings in today"),
    ("parking_lot", "tokio can use it; not with the features that we take"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_contradicts_itself() {
        for wall in WALLS {
            let names = wall.never.concat();
            assert!(!names.contains(&wall.package), "{} may not be walled off from itself", wall.package);
            assert!(!names.contains(&wall.control), "{}", wall.package);
            assert!(wall.elsewhere.iter().all(|name| names.contains(name)), "{}", wall.package);
            assert!(!wall.why.is_empty());
        }
    }

    #[test]
    fn every_row_is_there_once() {
        for (index, wall) in WALLS.iter().enumerate() {
            assert!(WALLS[..index].iter().all(|earlier| earlier.package != wall.package), "{}", wall.package);
        }
    }
}
