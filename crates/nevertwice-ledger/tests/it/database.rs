//! Opening a database, and what is said when it can't serve.

use nevertwice_ledger::{Address, Database, DatabaseFailure, DatabaseOptions};

use crate::support::{QUICK, Scratch};

#[tokio::test]
async fn tables_are_made_once_and_then_found() {
    for scratch in Scratch::both() {
        let database = Database::open(&scratch.address, &QUICK).await.expect("it opens");
        let without = database.check_tables().await.expect_err("there are no tables yet");
        assert_eq!(without.code(), "ledger_not_migrated", "{}: {without}", scratch.name);
        for _ in 0..2 {
            database.migrate().await.expect("the tables are made, or found");
            database.check_tables().await.expect("they are there");
        }
    }
}

#[tokio::test]
async fn two_who_make_the_tables_at_once_make_them_once() {
    for scratch in Scratch::both() {
        let first = Database::open(&scratch.address, &QUICK).await.expect("it opens");
        let second = Database::open(&scratch.address, &QUICK).await.expect("it opens");
        let (first, second) = tokio::join!(first.migrate(), second.migrate());
        assert_eq!((first, second), (Ok(()), Ok(())), "{}", scratch.name);
    }
}

#[test]
fn an_address_never_shows_its_password() {
    let address: Address = "postgres://me:s3cret@db.example/ledger?password=s3cret".parse().expect("an address");
    for shown in [address.to_string(), format!("{address:?}")] {
        assert!(!shown.contains("s3cret") && shown.contains("db.example"), "{shown}");
    }
    for wrong in ["mysql://s3cret@somewhere", "postgres://me:s3cret@:port/", "sqlite:", "s3cret"] {
        let told = wrong.parse::<Address>().expect_err(wrong).to_string();
        assert!(!told.contains("s3cret"), "{told}");
    }
}

#[test]
fn a_password_in_an_address_is_seen() {
    for (text, has_one) in [
        ("postgres://me:s3cret@db.example/ledger", true),
        ("postgres://me@db.example/ledger?password=s3cret", true),
        ("postgres://me@db.example:5432/ledger?host=/run:me@x", false),
        ("sqlite:/var/lib/a:b@c.db", false),
    ] {
        assert_eq!(Address::has_password(text), has_one, "{text}");
    }
}

#[tokio::test]
async fn a_database_that_is_not_there_is_told_as_such() {
    let options = DatabaseOptions { connect_ms: 500, ..DatabaseOptions::default() };
    for (address, code) in
        [("postgres://nobody@127.0.0.1:1/ledger", "ledger_unreachable"), ("sqlite:/nowhere-at-all/ledger.db", "ledger_unreachable")]
    {
        let address: Address = address.parse().expect("an address");
        let told = Database::open(&address, &options).await.expect_err("nobody is there");
        assert_eq!(told.code(), code, "{told}");
    }
}

#[tokio::test]
async fn a_server_that_would_forget_is_refused() {
    let scratch = Scratch::postgres();
    let told = Database::open(&scratch.address, &DatabaseOptions::default()).await.expect_err("its `fsync` is off");
    assert!(matches!(&told, DatabaseFailure::Forgetful { what } if what.contains("fsync")), "{told}");
}

#[tokio::test]
async fn a_file_that_is_no_database_is_told_as_such() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("letter.db");
    std::fs::write(&path, "Dear Sir or Madam, ".repeat(400)).expect("written");
    let address: Address = format!("sqlite:{}", path.display()).parse().expect("an address");
    let told = Database::open(&address, &DatabaseOptions::default()).await.expect_err("it is no database");
    assert_eq!(told.code(), "ledger_other_schema", "{told}");
}

#[tokio::test]
async fn tables_of_a_newer_version_are_refused_and_left_alone() {
    for scratch in Scratch::both() {
        let database = scratch.open().await;
        let newer = "INSERT INTO nevertwice_migrations (version, description, success, checksum, execution_time) \
                     SELECT 9999, 'of tomorrow', success, checksum, 0 FROM nevertwice_migrations WHERE version = 1";
        match &database {
            Database::Sqlite { write, .. } => sqlx::query(newer).execute(write).await.map(|done| done.rows_affected()),
            Database::Postgres { pool } => sqlx::query(newer).execute(pool).await.map(|done| done.rows_affected()),
        }
        .expect("noted");
        for told in [database.check_tables().await, database.migrate().await] {
            let told = told.expect_err("they are newer");
            assert!(matches!(told, DatabaseFailure::TooNew { found: 9_999, .. }), "{}: {told}", scratch.name);
        }
    }
}
