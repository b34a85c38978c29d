//! Configuration: where it comes from, and what is refused.

use std::collections::HashMap;

use nevertwice_api::ErrorCode;
use nevertwice_server::config::{Config, SETTINGS, Sources, load};
use nevertwice_server::{StartError, load_or_create_person_secret};
use tempfile::TempDir;

fn load_text(text: &str) -> Result<Config, StartError> {
    let folder = TempDir::new().expect("a folder can be made");
    let file = folder.path().join("nevertwice.toml");
    std::fs::write(&file, text).expect("the file can be written");
    load(&Sources { file: Some(file), ..Sources::default() })
}

fn settings(pairs: &[(&str, &str)]) -> HashMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn later_sources_win() {
    let folder = TempDir::new().expect("a folder can be made");
    let file = folder.path().join("nevertwice.toml");
    std::fs::write(&file, "hold_ms = 300000\nsweep_ms = 1000\nbody_bytes_max = 2048\n").expect("the file can be written");
    let sources = Sources {
        file: Some(file),
        environment: settings(&[("NEVERTWICE_SWEEP_MS", "2000"), ("NEVERTWICE_BODY_BYTES_MAX", "4096"), ("HOME", "/nowhere")]),
        flags: vec![("body_bytes_max".to_owned(), "8192".to_owned()), ("listen".to_owned(), "127.0.0.1:0".to_owned())],
    };
    let config = load(&sources).expect("it is fine");
    assert_eq!((config.hold_ms, config.sweep_ms, config.body_bytes_max), (300_000, 2_000, 8_192));
    assert_eq!(config.listen.port(), 0);
    assert_eq!(config.retention_ms, Config::default().retention_ms);
    assert_eq!(load(&Sources::default()).expect("the defaults are fine"), Config::default());
}

#[test]
fn nonsense_is_refused_and_named() {
    for (text, named) in [
        ("swep_ms = 1000", "swep_ms"),
        ("[server]\nlisten = \"127.0.0.1:1\"", "server"),
        ("listen = \"localhost\"", "listen"),
        ("listen = \"127.0.0.1:99999\"", "listen"),
        ("sweep_ms = \"soon\"", "sweep_ms"),
        ("sweep_ms = -5", "sweep_ms"),
        ("sweep_ms = 1", "sweep_ms"),
        ("body_bytes_max = 10", "body_bytes_max"),
        ("requests_max = 0", "requests_max"),
        ("level = \"replicated\"", "replicas_min"),
        ("level = \"ledgered\"\nreplicas_min = 1", "level"),
        ("replicas_min = 9", "replicas_min"),
        ("ledger = \"sqlite:l.db\"\nledger_wait_ms = 20000", "ledger_wait_ms"),
        ("ledger = \"sqlite:l.db\"\nledger_lag_ms_max = 86400000", "ledger_lag_ms_max"),
        ("ledger_password_file = \"password\"", "there is none"),
        ("ledger_connections_max = 0", "ledger_connections_max"),
        ("replicas_min = 1\nreplicas_wait_ms = 20000", "replicas_wait_ms"),
        ("level = \"fsynced\"", "level"),
        ("public_url = \"shop.example\"", "public_url"),
        ("log_json = \"maybe\"", "log_json"),
        ("tls_key = \"key.pem\"", "belong together"),
        ("tls_certificate = \"certificate.pem\"", "belong together"),
        ("trusted_proxies = \"10.0.0.1/8\"", "10.0.0.1/8"),
        ("operator_key = \"short\"", "operator_key"),
        ("operator_key = \"0123456789abcdef\"\nservice_key = \"0123456789abcdef\"", "must differ"),
        ("this is no TOML", "TOML"),
        ("jwt_algorithms = \"none\"", "none"),
        ("jwt_algorithms = \"ES256, HS512\"", "HS512"),
        ("jwt_algorithms = \"ES256,ES256\"", "twice"),
        ("jwt_audience = \"a\"", "`jwt_issuer` is missing"),
        ("jwt_jwks_file = \"keys.json\"", "`jwt_issuer` is missing"),
        ("jwt_secret_file = \"secret\"", "`jwt_issuer` is missing"),
        ("jwt_shards = \"sale/a\"", "`jwt_issuer` is missing"),
        ("jwt_shards = \"everything\"", "everything"),
        ("jwt_shards = \",\"", "shards"),
        ("jwt_issuer = \"a\"", "`jwt_audience` is missing"),
        ("jwt_issuer = \"a\"", "`jwt_algorithms` is missing"),
        ("jwt_issuer = \"a b\"", "visible ASCII"),
        ("jwt_issuer = \"\"", "`jwt_issuer` must have"),
        ("jwt_issuer = \"a\"\njwt_audience = \"\"", "`jwt_audience` must have"),
        ("jwt_issuer = \"a\"\njwt_leeway_ms = 300001", "jwt_leeway_ms"),
        ("jwt_issuer = \"a\"\njwt_leeway_ms = -1", "jwt_leeway_ms"),
        ("jwt_issuer = \"a\"\njwt_algorithms = \"ES256\"", "public key"),
        ("jwt_issuer = \"a\"\njwt_algorithms = \"ES256\"\njwt_secret_file = \"s\"", "does not have HS256"),
        ("jwt_issuer = \"a\"\njwt_algorithms = \"HS256\"\njwt_jwks_file = \"k\"", "none that uses them"),
        ("jwt_issuer = \"a\"\njwt_algorithms = \"HS256\"", "set `jwt_secret_file`"),
        // Each fine by itself, and unsafe together.
        ("keys_store = \"redis\"", "redis://HOST"),
        ("keys_store = \"redis://h\"", "`keys_secret_file` must name"),
        ("keys_level = \"journaled\"", "`keys_store` names none"),
        ("keys_replicas = 1", "`keys_store` names none"),
        ("keys_store = \"redis://h\"\nkeys_secret_file = \"key\"\nkeys_replicas_wait_ms = 10001", "`keys_replicas_wait_ms`"),
        ("data = \"/\"\nperson_key_file = \"key\"", "`keys_secret_file` must say"),
        ("keys_bodies_bytes_max = 1000000", "`keys_bodies_bytes_max` is called `keys_answers_bytes_max` now"),
        ("keys_store = \"memory\"\nkeys_previous_secret_file = \"old\"", "keys_previous_secret_file"),
        ("keys_records_per_principal_max = 1000000001", "keys_records_per_principal_max"),
        ("keys_records_max = 0", "keys_records_max"),
        ("keys_answers_bytes_max = 0", "keys_answers_bytes_max"),
        ("keys_answer_bytes_max = 0", "keys_answer_bytes_max"),
        ("keys_retention_ms = 999", "keys_retention_ms"),
        ("keys_lease_ms = 0", "keys_lease_ms"),
        ("keys_lease_ms_max = 86400001", "keys_lease_ms_max"),
        ("keys_retention_ms = 3600000", "`keys_lease_ms_max` must be shorter"),
        ("keys_lease_ms_max = 59999", "`keys_lease_ms` must be at most"),
        ("keys_answers_bytes_max = 65535", "`keys_answer_bytes_max` must be at most `keys_answers_bytes_max`"),
        ("hold_ms = 10000", "sweep_ms"),
        ("sweep_ms = 150001", "a quarter"),
        ("retention_ms = 600000", "hold_ms"),
        ("retention_ms = 15000\nhold_ms = 10000\nsweep_ms = 2500", "answer_deadline_ms"),
    ] {
        let error = load_text(text).expect_err(text);
        assert_eq!(error.code, ErrorCode::ConfigurationInvalid, "{text}: {error}");
        let told = error.to_string();
        assert!(told.contains(named) && told.contains("Nothing was started"), "{text}: {told}");
    }
    assert!(load_text("hold_ms = 20000\nsweep_ms = 5000").is_ok());
    assert!(load(&Sources { environment: settings(&[("NEVERTWICE_SWEP_MS", "1")]), ..Sources::default() }).is_err());
    assert!(load(&Sources { flags: vec![("swep_ms".to_owned(), "1".to_owned())], ..Sources::default() }).is_err());
    let old = "is called `keys_answers_bytes_max` now";
    let environment = settings(&[("NEVERTWICE_KEYS_BODIES_BYTES_MAX", "1")]);
    let flags = vec![("keys_bodies_bytes_max".to_owned(), "1".to_owned())];
    for sources in [Sources { environment, ..Sources::default() }, Sources { flags, ..Sources::default() }] {
        assert!(load(&sources).expect_err("it is an old name").to_string().contains(old));
    }
    assert!(load(&Sources { file: Some("/no/such/file.toml".into()), ..Sources::default() }).is_err());
}

#[test]
fn jwts_are_credentials_from_wherever_they_are_configured() {
    let keys = [
        ("listen", "0.0.0.0:8080"),
        ("jwt_issuer", "https://issuer.example"),
        ("jwt_audience", "tickets"),
        ("jwt_algorithms", "ES256, EdDSA"),
        ("jwt_jwks_file", "jwks.json"),
        ("jwt_shards", "sale/final, market/wc"),
        ("jwt_leeway_ms", "0"),
    ];
    let text: String = keys.iter().map(|(key, value)| format!("{key} = \"{value}\"\n")).collect();
    let environment = keys.iter().map(|(key, value)| (format!("NEVERTWICE_{}", key.to_uppercase()), (*value).to_owned())).collect();
    let flags = keys.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let from_file = load_text(&text).expect("others may reach a server that knows its callers");
    assert!(from_file.has_credentials() && from_file.has_jwt() && !from_file.jwt_shards.are_all());
    assert_eq!(load(&Sources { environment, ..Sources::default() }).as_ref(), Ok(&from_file));
    assert_eq!(load(&Sources { flags, ..Sources::default() }).as_ref(), Ok(&from_file));
    let nobody = load_text("listen = \"0.0.0.0:8080\"").expect_err("nobody is known");
    assert_eq!(nobody.code, ErrorCode::CredentialsRequired);
    assert!(nobody.to_string().contains("jwt_issuer"), "{nobody}");
}

#[test]
fn a_short_deadline_is_not_refused_for_the_patience_with_a_server_that_is_not_there() {
    load_text("answer_deadline_ms = 100").expect("no Redis server keeps keys, and there is no ledger");
}

#[test]
fn all_that_is_wrong_is_told_at_once() {
    let told = load_text("keys_lease_ms = 86400000\nbody_bytes_max = 1\nsweep_ms = 2000000").expect_err("it is nonsense").to_string();
    for named in ["keys_lease_ms", "body_bytes_max", "sweep_ms"] {
        assert!(told.contains(named), "{told}");
    }
}

#[test]
fn settings_from_the_environment_keep_their_text() {
    let config = load(&Sources { environment: settings(&[("NEVERTWICE_OPERATOR_KEY", "0123456789012345e3")]), ..Sources::default() });
    let expected = nevertwice_server::config::Secret::new("0123456789012345e3");
    assert_eq!(config.expect("it is a key").operator_key, Some(expected));
}

#[test]
#[cfg(unix)]
fn an_environment_that_is_not_utf_8_is_refused_only_where_it_is_about_settings() {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt as _;

    use nevertwice_server::config::environment;
    let variables = |pairs: &[(&[u8], &[u8])]| -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| (OsString::from_vec(name.to_vec()), OsString::from_vec(value.to_vec()))).collect()
    };
    let others: [(&[u8], &[u8]); 4] = [(b"HOME", b"/\xff"), (b"\xff", b""), (b"NEVERTWICE", b"\xff"), (b"NEVERTWICES", b"\xff")];
    let read = environment(variables(&[&others[..], &[(b"NEVERTWICE_SWEEP_MS", b"2000")]].concat())).expect("it is fine");
    assert_eq!(read, settings(&[("NEVERTWICE_SWEEP_MS", "2000")]));
    for (name, value, named) in [
        (&b"NEVERTWICE_OPERATOR_KEY"[..], &b"hidden-\xff-0123456789"[..], "NEVERTWICE_OPERATOR_KEY"),
        (b"NEVERTWICE_SWEEP_MS\xff", b"2000", "NEVERTWICE_SWEEP_MS"),
    ] {
        let error = environment(variables(&[(name, value)])).expect_err("it is not UTF-8");
        assert_eq!(error.code, ErrorCode::ConfigurationInvalid);
        let told = error.to_string();
        assert!(told.contains(named) && !told.contains("hidden"), "{told}");
    }
}

#[test]
fn the_secret_of_persons_is_made_once_and_never_anew_beside_data() {
    let folder = TempDir::new().expect("a folder can be made");
    let (path, data) = (folder.path().join("data.key"), folder.path().join("data"));
    let first = load_or_create_person_secret(&path, &data).expect("it is made");
    assert_eq!(load_or_create_person_secret(&path, &data).expect("it is read"), first);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    std::fs::create_dir(&data).expect("a folder can be made");
    std::fs::write(data.join("format"), "1").expect("a file can be written");
    assert_eq!(load_or_create_person_secret(&path, &data).expect("it is read"), first);
    std::fs::write(&path, "short").expect("a file can be written");
    assert!(load_or_create_person_secret(&path, &data).is_err());
    std::fs::remove_file(&path).expect("it can be removed");
    let error = load_or_create_person_secret(&path, &data).expect_err("another would make strangers of all").to_string();
    assert!(error.contains("missing") && error.contains("Restore"), "{error}");
}

#[test]
fn the_defaults_that_are_shown_are_those_of_the_code() {
    let shown = SETTINGS.iter().filter(|setting| !setting.default.is_empty());
    let flags = shown.map(|setting| (setting.key.to_owned(), setting.default.split(' ').next().unwrap_or_default().to_owned()));
    let config = load(&Sources { flags: flags.collect(), ..Sources::default() }).expect("the defaults are fine");
    assert_eq!(config, Config::default());
}

#[test]
fn every_setting_has_a_meaning() {
    for setting in SETTINGS {
        assert!(setting.meaning.trim().ends_with('.'), "{}", setting.key);
    }
}
