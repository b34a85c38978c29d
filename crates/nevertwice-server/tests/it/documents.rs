//! What is written down about the API and the settings is what the code does. `UPDATE=1` writes it anew.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use nevertwice_server::config::SETTINGS;
use nevertwice_server::{Access, Content, Role, openapi_document, routes};
use serde_json::Value;

use crate::house::House;

fn document() -> Value {
    serde_json::from_str(&openapi_document()).expect("the document is JSON")
}

#[test]
fn the_document_has_every_route_and_no_other() {
    let document = document();
    let paths = document["paths"].as_object().expect("paths");
    let described: BTreeSet<(String, String)> = paths
        .iter()
        .flat_map(|(path, item)| item.as_object().expect("methods").keys().map(|method| (method.to_uppercase(), path.clone())))
        .collect();
    let served: BTreeSet<(String, String)> = routes().iter().map(|route| (route.method.word().to_owned(), route.path.to_owned())).collect();
    assert_eq!(described, served);
    let words: BTreeSet<&str> = routes().iter().map(|route| route.word).collect();
    assert_eq!(words.len(), routes().len(), "each route has a word of its own");
}

#[test]
fn every_reference_in_the_document_leads_somewhere() {
    fn references(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(members) => {
                if let Some(Value::String(reference)) = members.get("$ref") {
                    found.insert(reference.clone());
                }
                members.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }
    let document = document();
    let mut found = BTreeSet::new();
    references(&document, &mut found);
    assert!(found.len() > 40, "{found:?}");
    for reference in found {
        let pointer = reference.strip_prefix('#').expect("a reference within the document");
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    let order = &document["components"]["schemas"]["PlaceOrder"];
    assert_eq!(order["additionalProperties"], false, "{order}");
    assert_eq!(order["properties"]["quantity"]["type"], "integer");
}

#[tokio::test]
async fn the_document_and_the_pages_are_served() {
    let house = House::open().await;
    assert_eq!(house.get("/openapi.json").await.json(), document());
    assert_eq!(house.get("/healthz").await.text, r#"{"status":"ok"}"#);
    assert_eq!(house.get("/readyz").await.status, 200);
    for code in nevertwice_api::ErrorCode::ALL {
        let page = house.get(format!("/errors/{code}")).await;
        assert!(page.status == 200 && page.text.contains("<h1>") && page.text.contains("What to do"), "{code}");
    }
    let metrics = house.get("/metrics").await;
    assert!(metrics.text.ends_with("# EOF\n") && metrics.text.contains("le=\"+Inf\""), "{}", metrics.text);
    for name in [
        "nevertwice_requests",
        "nevertwice_queue_depth",
        "nevertwice_group_size",
        "nevertwice_sync_seconds",
        "nevertwice_decide_seconds",
        "nevertwice_unknown_outcomes",
    ] {
        assert!(metrics.text.contains(&format!("# TYPE {name} ")), "{name}");
    }
}

/// Like [`up_to_date`], for one section of a page that is written by hand otherwise.
fn section_up_to_date(name: &str, title: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    let written = std::fs::read_to_string(&path).expect("the page is there");
    let heading = format!("\n## {title}\n");
    let start = written.find(&heading).expect("the page has the section") + heading.len();
    let end = written[start..].find("\n## ").map_or(written.len(), |at| start + at);
    up_to_date(name, &format!("{}{text}{}", &written[..start], &written[end..]));
}

#[tokio::test]
async fn the_page_for_people_has_all_that_the_document_has_and_nothing_from_elsewhere() {
    let house = House::open().await;
    let page = house.get("/docs").await;
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let document = document();
    for route in routes() {
        assert!(page.text.contains(&format!("id=\"{}\"", route.word)) && page.text.contains(route.path), "{route:?}");
    }
    let schemas = document["components"]["schemas"].as_object().expect("schemas");
    for name in schemas.keys() {
        assert!(page.text.contains(&format!("id=\"schema-{name}\"")), "{name}");
    }
    for link in page.text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        let leads = link == "/openapi.json" || link.strip_prefix('#').is_some_and(|id| page.text.contains(&format!("id=\"{id}\"")));
        assert!(leads, "{link}");
    }
    for elsewhere in ["<script", "src=", "@import", "url(", "<link"] {
        assert!(!page.text.contains(elsewhere), "{elsewhere}");
    }
}

#[test]
fn every_route_says_with_which_statuses_it_answers() {
    let document = document();
    let problem = "application/problem+json";
    for route in routes() {
        let operation = &document["paths"][route.path][route.method.word().to_lowercase()];
        let responses = operation["responses"].as_object().expect("responses");
        assert!(responses.contains_key(&route.status.to_string()) && !responses.contains_key("default"), "{route:?}");
        for (status, response) in responses {
            let refuses = status.starts_with(['4', '5']);
            assert_eq!(response["content"].get(problem).is_some(), refuses, "{route:?} {status}");
        }
        for status in ["500", "503", "431"] {
            assert!(responses.contains_key(status), "{route:?} {status}");
        }
    }
    let order = &document["paths"]["/v1/markets/{market}/orders"]["post"];
    assert_eq!(order["responses"]["503"]["headers"]["Retry-After"]["schema"]["type"], "integer");
    assert_eq!(document["components"]["schemas"]["PlaceOrder"]["properties"]["quantity"]["minimum"], 1);
}

fn up_to_date(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, text).expect("the page can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == text,
        "docs/{name} is not up to date; write it anew with UPDATE=1 cargo test -p nevertwice-server --test it documents"
    );
}

#[test]
fn the_page_about_the_settings_is_up_to_date() {
    let mut text = String::from(
        "# Configuration\n\nThis page is made from the code by a test (`crates/nevertwice-server/tests/it/documents.rs`).\n\n\
         Settings come from the defaults, a TOML file (`--config FILE`), the environment (`NEVERTWICE_` and the setting in\n\
         capitals, such as `NEVERTWICE_SWEEP_MS`), and flags (`--listen`, `--data`, `--log`, `--set SETTING=VALUE`); later ones\n\
         win. A key that nobody knows is refused, and so is nonsense, with what is wrong named: what does not fit together all at\n\
         once, a key that nobody knows or a value of the wrong kind by itself. The keys of\n\
         callers and the headers of the collector are not taken from the command line, where everybody on the machine could see\n\
         them. A setting that the command line gives twice, by `--set` and by a flag of its own or by two of either, is refused.\n\n\
         | setting | default | meaning |\n|---|---|---|\n",
    );
    for setting in SETTINGS {
        let default = if setting.default.is_empty() { "none".to_owned() } else { format!("`{}`", setting.default) };
        let _ = writeln!(text, "| `{}` | {default} | {} |", setting.key, setting.meaning.trim());
    }
    text.push_str(
        "\nRefused because they are unsafe together:\n\n\
         - `listen` on another address than loopback without `operator_key`, `service_key`, `keys_file` or `jwt_issuer` (`credentials_required`);\n\
         - `jwt_issuer` without `jwt_audience`: a JWT for another service of the same issuer would be taken;\n\
         - `jwt_algorithms` without the keys that they need, or keys that none of them uses: a key is for one kind of algorithm;\n\
         - `sweep_ms` over a quarter of `hold_ms`: holds have to end on time;\n\
         - `hold_ms` not shorter than `retention_ms`: a retry within the hold must find its booking;\n\
         - `answer_deadline_ms` over half of `retention_ms`: a retry must find what its first attempt did;\n\
         - `level = \"replicated\"` without a `replicas_min`: nobody would confirm;\n\
         - `replicas_wait_ms` over `answer_deadline_ms`, where there is a `replicas_min`: nobody would hear what came later;\n\
         - `keys_lease_ms_max` not shorter than `keys_retention_ms`: a claim must not outlive the memory of its key;\n\
         - `keys_lease_ms` over `keys_lease_ms_max`: it is what is asked for where nobody says;\n\
         - `keys_answer_bytes_max` over `keys_answers_bytes_max`: no such answer could be kept;\n\
         - certificates or headers for a collector without `otlp_endpoint`, and `otlp_ca_file` where that is not `https://`: somebody takes\n  \
         for safe what is not there.\n",
    );
    up_to_date("configuration.md", &text);
}

#[test]
fn the_page_about_the_api_is_up_to_date() {
    let mut text = String::from(
        "# The HTTP API\n\nThis page is made from the table of routes by a test (`crates/nevertwice-server/tests/it/documents.rs`). The\n\
         server describes itself as well: `GET /openapi.json` for programs, `GET /docs` for people; `cargo xtask schemathesis` holds it to\n\
         that.\n\n\
         Bodies are JSON in UTF-8; unknown members are refused. Amounts, prices and quantities are whole numbers in the market's\n\
         unit. Every error is a problem (RFC 9457) of type `application/problem+json`, with a stable `code` whose page is at\n\
         `/errors/{code}`; the pages are also [here](errors/README.md). A head that is refused before there is a request has such an\n\
         answer too (`head_malformed`, `headers_too_large`, `uri_too_long`, and `request_timeout` where half of one came and no\n\
         more), which ends its connection. A connection on which nothing was asked, or nothing more, is closed after `request_read_ms`\n\
         without a word. The server speaks HTTP/1.1, over TLS where that is configured; a proxy in front of it speaks whatever else is\n\
         wanted.\n\n\
         ## Headers\n\n\
         | header | where | meaning |\n|---|---|---|\n\
         | `Authorization: Bearer KEY` | all but what anyone may ask | a key, or a JWT where an issuer is configured; none if the server has no credentials. [Access](access.md) says who may do what |\n\
         | `Host` | a server without credentials | a loopback address, `localhost` or the host of `public_url`, or the answer is `role_insufficient`: what a page in a browser sends under a name of its own is nobody's command. A host in the first line (`GET http://HOST/...`) has to be one of these as well |\n\
         | `Principal` | what a service may ask for a principal | on whose behalf; needed with the key of a service, and not with a JWT, which is for its subject. It is the first half of an intent, so it is the same in every retry |\n\
         | `Idempotency-Key` | every command, but for the calls about [keys](keys-api.md) | 1 to 255 visible ASCII characters, in double quotes (RFC 8941) or bare: the second half of an intent |\n\
         | `Idempotency-Expires` | the same | milliseconds since 1970; from then on the intent is given up, and an unknown key is refused `intent_expired` |\n\
         | `Ack-Level` | every command and call about keys | further levels that the answer has to have reached, separated by commas |\n\
         | `traceparent` | all | the trace that the request is part of (W3C Trace Context); kept in the entry and the log, and recorded for a collector if it says `sampled` and [there is one](operation.md#traces). One that can't be read is ignored |\n\
         | `traceresponse` | answers | in the form of a `traceparent`: the same trace, with the server's own step; where the request named a trace |\n\
         | `Idempotent-Replayed: true` | answers | what is told had happened before, with the same key; the status is 200 |\n\
         | `Retry-After` | answers | seconds after which the same request may be made again, with the same key |\n\n\
         A batch has a key, and may have a `principal` and an `expires_at`, in each of its lines; the headers of an intent are not\n\
         needed for it. The forms of the sandbox have no key: the payment's id is the key. The calls about keys have none: key, owner\n\
         and generation in their bodies tell them apart, and a key of their own would have to be guarded in its turn.\n\n\
         A replay of a booking that has ended `released` says so in `state.state`: its key has done its work, and who wants a seat\n\
         again draws a new key.\n",
    );
    for (title, prefix) in [
        ("Markets", "/v1/markets"),
        ("Sales", "/v1/sales"),
        ("Keys", "/v1/keys"),
        ("Payments in the sandbox", "/sandbox"),
        ("The server itself", ""),
    ] {
        let _ = write!(text, "\n## {title}\n\n| method and path | who | body | answer | what |\n|---|---|---|---|---|\n");
        let others = ["/v1/markets", "/v1/sales", "/v1/keys", "/sandbox"];
        let here =
            |path: &str| if prefix.is_empty() { !others.iter().any(|other| path.starts_with(other)) } else { path.starts_with(prefix) };
        for route in routes().iter().filter(|route| here(route.path)) {
            let query: String = route
                .query
                .iter()
                .enumerate()
                .fold(String::new(), |query, (number, (name, _))| query + if number == 0 { "?" } else { "&" } + name + "=");
            let shape = |content: Content| match content {
                Content::Nothing => String::new(),
                Content::Json(schema) => format!("`{}`", schema.replace('_', " of ")),
                Content::Ndjson(schema) => format!("`{schema}` a line (NDJSON)"),
                Content::Html => "a page".to_owned(),
                Content::Text(media_type) => format!("`{media_type}`"),
                Content::Bytes => "`application/octet-stream`".to_owned(),
            };
            let (method, path, who) = (route.method.word(), route.path, route.access.word());
            let _ = writeln!(
                text,
                "| `{method} {path}{query}` | {who} | {} | {} {} | {} |",
                shape(route.request),
                route.status,
                shape(route.response),
                route.summary
            );
        }
    }
    up_to_date("http-api.md", &text);
}

#[test]
fn the_table_of_who_may_do_what_is_up_to_date() {
    let mut text =
        String::from("\nMade from the table of routes by a test (`crates/nevertwice-server/tests/it/documents.rs`).\n\n| what | path |");
    for role in Role::ALL {
        let _ = write!(text, " {} |", role.word());
    }
    text.push_str("\n|---|---|");
    text.push_str(&"---|".repeat(Role::ALL.len()));
    text.push('\n');
    for route in routes() {
        let _ = write!(text, "| `{}` | `{} {}` |", route.word, route.method.word(), route.path);
        for role in Role::ALL {
            text.push_str(match (route.access.admits(*role), route.access) {
                (true, Access::Anyone) => " yes |",
                (true, access) if *role == Role::Service && access.is_on_behalf() => " for a principal |",
                (true, access) if *role == Role::Principal && access.is_on_behalf() => " itself |",
                (true, _) => " yes |",
                (false, _) => " |",
            });
        }
        text.push('\n');
    }
    section_up_to_date("access.md", "The table", &text);
}
