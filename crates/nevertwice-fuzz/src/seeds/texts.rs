//! Texts as clients and operators send them, good and bad.

use std::fs;
use std::path::Path;

use nevertwice_local::fuzzing::{segment_name, write_marker, write_reach};
use nevertwice_local::snapshot::snapshot_name;
use nevertwice_server::fuzzing::write_note;

use super::list::Input;
use crate::targets::ID;
use crate::targets::note::SECRET;

pub(super) fn named<const N: usize>(inputs: [(&str, &str); N]) -> Vec<Input> {
    inputs.into_iter().map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec())).collect()
}

/// With the byte that chooses before each text.
pub(super) fn chosen<const N: usize>(inputs: [(&str, u8, &str); N]) -> Vec<Input> {
    inputs.into_iter().map(|(name, choice, text)| (name.to_owned(), [&[choice], text.as_bytes()].concat())).collect()
}

pub(super) fn markers() -> Vec<Input> {
    let (format, reach, segment, snapshot) = (write_marker(ID), write_reach(71), segment_name(3), snapshot_name(40));
    let newer = format.replace("format 1", "format 2");
    chosen([
        ("format", 0, format.as_str()),
        ("format-newer", 0, newer.as_str()),
        ("reach", 1, reach.as_str()),
        ("segment", 2, segment.as_str()),
        ("snapshot", 3, snapshot.as_str()),
        ("reach-signed", 1, "batch +7\n"),
        ("segment-signed", 2, "journal-+0000000000000000001.segment"),
    ])
}

pub(super) fn headers() -> Vec<Input> {
    named([
        ("bare", "idempotency-key: 8e03978e-40d5-43dd-bc93-6894a57f9324\ncontent-type: application/json"),
        ("quoted", "idempotency-key: \"8e03978e\"\nidempotency-expires: 1784000000000\nack-level: journaled"),
        ("escaped", "idempotency-key: \"a\\\"b\\\\c\""),
        ("list", "idempotency-key: a, b"),
        ("twice", "idempotency-key: a\nidempotency-key: a"),
        ("forwarded", "idempotency-key: k\nx-forwarded-for: 6.6.6.6, 1.2.3.4:80\nx-forwarded-for: [2001:db8::7]:443, 10.0.0.2"),
        ("levels", "idempotency-key: k\nack-level: decided, journaled\nack-level: ledgered"),
        ("expires", "idempotency-key: k\nidempotency-expires: 9999999999999999\ncontent-type: text/plain; charset=utf-8"),
    ])
}

pub(super) fn bodies() -> Vec<Input> {
    chosen([
        (
            "place-order",
            0,
            r#"{"account":"ann","instrument":"ARG-10","side":"buy","quantity":3,"limit_price":11000,"expected_price":10200,"max_slippage_bps":50}"#,
        ),
        (
            "open-market",
            1,
            r#"{"market":"cup","decimals":2,"fee_bps":30,"limits":{"quantity_max":1000,"holding_max":5000,"house_loss_max":100000},"mode":"open","retention_ms":86400000}"#,
        ),
        ("set-mode", 2, r#"{"mode":"reduce_only"}"#),
        ("list-instrument", 3, r#"{"instrument":"ARG-10","base":10000,"slope":2}"#),
        ("open-account", 4, r#"{"account":"ann","class":"bot","opening_balance":1000000}"#),
        ("reprice", 5, r#"{"base":9000}"#),
        ("freeze", 6, "{}"),
        ("settle", 7, r#"{"price":12000}"#),
        (
            "open-sale",
            8,
            r#"{"sale":"entry","levels":[{"level":"north","cap":50},{"level":"south","cap":null}],"total_cap":90,"hold_ms":600000,"opens_at":0,"closes_at":1884000000000}"#,
        ),
        ("load-candidates", 9, r#"{"candidates":[{"code":"7F3K-20","email":"a@example.com","levels":["north"]},{"code":"7F3K-21"}]}"#),
        ("set-sale-open", 10, r#"{"open":true}"#),
        ("caps", 11, r#"{"levels":[{"level":"north","cap":60}],"total_cap":100}"#),
        ("book", 12, r#"{"code":"7f3k-20","level":"north","email":"A@example.com","website":""}"#),
        ("confirm", 13, r#"{"payment":"entry.1-5"}"#),
        ("release", 14, r#"{"booked_with":"k-1"}"#),
        ("array", 0, r#"["ann","ARG-10","buy",1]"#),
        ("twice", 0, r#"{"account":"a","account":"b","instrument":"i","side":"buy","quantity":1}"#),
        ("escaped", 0, r#"{"\u0061ccount":"\u0061nn","instrument":"i","side":"sell","quantity":9007199254740991}"#),
        ("fraction", 0, r#"{"account":"a","instrument":"i","side":"buy","quantity":1.0}"#),
        ("unknown", 0, "{\"account\":\"a\",\"instrument\":\"i\",\"side\":\"buy\",\"quantity\":1,\"limit\\nprize\":1}"),
        (
            "register-key",
            15,
            r#"{"key":"k","scope":"POST:/charges","owner":"00","request":"{\"amount\":100}","lease_ms":60000,"expires_at":1884000000000,"lapse":"ask"}"#,
        ),
        (
            "complete-key",
            16,
            r#"{"key":"k","owner":"00","generation":7,"answer":{"status":201,"headers":[{"name":"a","value":"b"}],"body_text":"c"}}"#,
        ),
        ("tombstone", 16, r#"{"key":"k","owner":"00","generation":7,"answer":{"status":200,"tombstone_bytes":5000000}}"#),
        ("renew-lease", 17, r#"{"key":"k","owner":"00","generation":7,"lease_ms":0}"#),
        ("release-key", 18, r#"{"key":"k","scope":"s","generation":7}"#),
    ])
}

pub(super) fn json() -> Vec<Input> {
    named([
        ("order", r#"{"account":"ann","instrument":"ARG-10","side":"buy","quantity":3}"#),
        ("spaced", "{ \"b\" : [ 1 , 2.50 , -3e+2 , true , null ] ,\r\n\t\"a\" : \"\\u0041\\n\\ud83d\\ude00/\\/\" }"),
        ("numbers", "[0,-0,1e999,9007199254740993,123456789012345678901234567890,0.1]"),
        ("nested", "[[[[{\"a\":{\"a\":{}}}]]]]"),
        ("twice", r#"{"a":1,"\u0061":2}"#),
        ("surrogate", r#"["\ud800"]"#),
        ("word", "\"\u{e9}\u{20ac}\u{7f}\""),
    ])
}

pub(super) fn batches() -> Vec<Input> {
    let order = r#"{"account":"ann","instrument":"ARG-10","side":"buy","quantity":3}"#;
    let good = format!(
        "{{\"key\":\"k-1\",\"order\":{order}}}\n{{\"key\":\"k-2\",\"principal\":\"ann\",\"expires_at\":1784000000000,\"order\":{order}}}\n"
    );
    let mixed = format!(
        "\n{{\"order\":{order},\"key\":\"k-1\"}}\r\nnonsense\n{{\"key\":\"\",\"order\":{order}}}\n{{\"key\":\"k\",\"order\":[\"ann\",\"i\",\"buy\",1]}}\n{{\"key\":\"k\",\"expires_at\":-1,\"order\":{order}}}"
    );
    let many = "{}\n".repeat(40);
    named([("good", good.as_str()), ("mixed", mixed.as_str()), ("many", many.as_str())])
}

pub(super) fn configurations() -> Vec<Input> {
    named([
        ("file", "listen = \"0.0.0.0:80\"\noperator_key = \"$KEY\"\nretention_ms = 3600000\nlevel = \"journaled\"\n"),
        ("environment", "env:NEVERTWICE_OPERATOR_KEY=$KEY\nenv:NEVERTWICE_LISTEN=127.0.0.1:0\nenv:OTHER=1\n"),
        ("flags", "hold_ms = 60000\nflag:sweep_ms=1000\nflag:log=debug\nflag:data=folder\n"),
        ("unknown", "swep_ms = 1\n"),
        ("contradiction", "hold_ms = 600000\nretention_ms = 1000\nsweep_ms = 3600000\nqueue_max = 0\n"),
        ("broken-key", "operator_key = \"$KEY\nhold_ms = 1\n"),
        ("typed-key", "operator_key = [\"$KEY\"]\n"),
        ("number-key", "operator_key = $NUMBER\nservice_key = $NUMBER\n"),
        ("short-key", "service_key = \"short\"\npublic_url = \"ftp://example.com\"\n"),
    ])
}

pub(super) fn queries() -> Vec<Input> {
    chosen([
        ("good", 0, "from=20&level=journaled"),
        ("escaped", 0, "from=%32%30&side=a%20b+c"),
        ("unknown", 0, "form=20"),
        ("twice", 0, "from=1&from=1"),
        ("signed", 0, "from=%2B5"),
        ("position", 1, "3-1204"),
        ("position-zero", 1, "01-2"),
        ("name", 2, "ARG-10"),
        ("name-dots", 2, ".."),
        ("principal", 3, "ann@example.com"),
        ("own", 3, "nevertwice"),
    ])
}

pub(super) fn notes() -> Vec<Input> {
    let (right, other) = (write_note(&SECRET), write_note(&[1; 32]));
    let capitals = right.to_uppercase();
    named([
        ("right", right.as_str()),
        ("other", other.as_str()),
        ("endless", right.trim_end()),
        ("capitals", capitals.as_str()),
        ("newer", "person-key 2\nabc\n"),
        ("newest", "person-key 4294967295\n"),
    ])
}

pub(super) fn traces() -> Vec<Input> {
    named([
        ("sampled", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
        ("not-sampled", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"),
        ("later-version", "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-will-be"),
        ("no-version", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
        ("zero-trace", "00-00000000000000000000000000000000-00f067aa0ba902b7-01"),
        ("zero-parent", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01"),
        ("spaced", " \t00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03"),
        ("capitals", "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01"),
    ])
}

pub(super) fn proxies() -> Vec<Input> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ops/config/proxy.toml");
    let example = fs::read_to_string(file).expect("the example is there");
    named([
        ("example", example.as_str()),
        ("smallest", "upstream = \"http://127.0.0.1:9000\"\n"),
        (
            "choices",
            "upstream = \"https://shop:9443\"\nhost = \"upstream\"\nupstream_http = \"2\"\n[bodies]\nmemory_bytes_max = 1\n[store]\nfailures_max = 1\n\
             [[routes]]\nmethods = [\"POST\", \"PATCH\"]\npath = \"/{one}/{*rest}\"\npreset = \"ucp\"\nscope = \"route\"\nquery = { named = [\"page\"] }\n\
             fingerprint = { json_include = [\"/amount\"], headers = [\"X-Version\"] }\nlapse = \"rerun\"\noversize = { spill = 9000 }\nlevels = [\"journaled\"]\n",
        ),
        ("unknown", "upstream = \"http://127.0.0.1:9000\"\nupsteam = 1\n"),
        ("nonsense", "upstream = \"http://127.0.0.1:9000\"\nwhole_ms = 1\nconnections_max = 0\n"),
        ("bad-route", "upstream = \"http://127.0.0.1:9000\"\n[[routes]]\nmethods = [\"post\"]\npath = \"no\"\n"),
    ])
}
