//! Heads of requests: what is taken off, what is added, and what is refused.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::house::House;
use super::upstream::{Upstream, raw};
use super::wire::{answer, ask, head, is_closed, post, request, write};

async fn house() -> (Upstream, House) {
    let upstream = Upstream::start().await;
    let house = House::before(upstream.address).await;
    (upstream, house)
}

/// What the upstream saw of a request: its target, and its header lines.
async fn seen(house: &House, request: impl AsRef<[u8]>) -> Vec<String> {
    let told = ask(house.address, request).await;
    assert_eq!(told.status, 200, "{told:?}");
    told.text().lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn what_a_stranger_says_of_where_it_comes_from_is_not_passed_on() {
    let (_upstream, house) = house().await;
    let spoof = [
        ("x-forwarded-for", "6.6.6.6"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "bank"),
        ("x-forwarded-prefix", "/admin"),
        ("x_forwarded_for", "6.6.6.6"),
        ("x-real-ip", "6.6.6.6"),
        ("forwarded", "for=6.6.6.6"),
    ];
    for path in ["/open/headers", "/headers"] {
        let keyed = [("authorization", "Bearer ann"), ("idempotency-key", "k")];
        let lines = seen(&house, request("POST", path, &[&keyed[..], &spoof].concat(), "{}")).await;
        let told = |name: &str| lines.iter().filter(|line| line.starts_with(name)).cloned().collect::<Vec<_>>();
        assert_eq!(told("x-forwarded-for"), ["x-forwarded-for: 127.0.0.1"]);
        assert_eq!(told("x-forwarded-proto"), ["x-forwarded-proto: http"]);
        assert_eq!(told("x-forwarded-host"), ["x-forwarded-host: shop"]);
        assert_eq!(told("forwarded"), ["forwarded: for=127.0.0.1;proto=http;host=\"shop\""]);
        assert!(!lines.iter().any(|line| line.contains("6.6.6.6") || line.contains("/admin")), "{lines:?}");
    }
}

#[tokio::test]
async fn what_a_trusted_proxy_says_counts() {
    let upstream = Upstream::start().await;
    let settings = "trusted_proxies = \"127.0.0.1\"\nidentity = { header = { principal = \"X-User\", tenant = \"X-Tenant\" } }";
    let house = House::with_settings(upstream.address, settings).await;
    let from = |user, tenant| {
        let lines = [("x-user", user), ("x-tenant", tenant), ("idempotency-key", "k"), ("x-forwarded-for", "1.2.3.4")];
        request("POST", "/headers", &lines, "{}")
    };
    let lines = seen(&house, from("ann", "a")).await;
    assert!(lines.contains(&"x-forwarded-for: 1.2.3.4, 127.0.0.1".to_owned()), "{lines:?}");
    assert!(lines.contains(&"x-user: ann".to_owned()));
    assert!(ask(house.address, from("ann", "a")).await.is_replay());
    assert!(!ask(house.address, from("ann", "b")).await.is_replay());
    assert!(!ask(house.address, from("bob", "a")).await.is_replay());
    let nobody = request("POST", "/headers", &[("idempotency-key", "k"), ("x_user", "ann"), ("x_tenant", "a")], "{}");
    assert_eq!(ask(house.address, nobody).await.code(), "credentials_missing");
}

#[tokio::test]
async fn a_strangers_identity_is_nobodys_and_does_not_reach_the_upstream() {
    let upstream = Upstream::start().await;
    let settings = "trusted_proxies = \"10.0.0.0/8\"\nidentity = { header = { principal = \"x-user\" } }";
    let house = House::with_settings(upstream.address, settings).await;
    let lines = [("x-user", "ann"), ("idempotency-key", "k")];
    assert_eq!(ask(house.address, request("POST", "/headers", &lines, "{}")).await.code(), "credentials_missing");
    let lines = seen(&house, request("POST", "/open/headers", &lines, "{}")).await;
    assert!(!lines.iter().any(|line| line.contains("ann")), "{lines:?}");
}

#[tokio::test]
async fn a_client_can_declare_no_header_of_others_to_be_of_its_connection() {
    let (_upstream, house) = house().await;
    let lines = [
        ("connection", "close, x-mine, authorization, idempotency-key, x-forwarded-for, host, content-length"),
        ("x-mine", "1"),
        ("authorization", "Bearer ann"),
        ("idempotency-key", "k"),
        ("keep-alive", "timeout=5"),
        ("proxy-connection", "keep-alive"),
        ("proxy-authorization", "Basic eA=="),
        ("te", "trailers, gzip"),
    ];
    let lines = seen(&house, request("POST", "/headers", &lines, "{}")).await;
    let has = |line: &str| lines.iter().any(|seen| seen == line);
    for line in
        ["host: shop", "authorization: Bearer ann", "idempotency-key: k", "x-forwarded-for: 127.0.0.1", "content-length: 2", "te: trailers"]
    {
        assert!(has(line), "{line}: {lines:?}");
    }
    for name in ["connection", "x-mine", "keep-alive", "proxy-connection", "proxy-authorization"] {
        assert!(!lines.iter().any(|line| line.starts_with(&format!("{name}:"))), "{name}: {lines:?}");
    }
}

#[tokio::test]
async fn headers_of_the_upstreams_connection_stay_there() {
    let address = raw(|_, mut stream| async move {
        let _ = head(&mut stream).await;
        let answer = "HTTP/1.1 200 OK\r\nconnection: close, x-hop\r\nx-hop: 1\r\nkeep-alive: timeout=5\r\nproxy-authenticate: Basic\r\nx-end: 2\r\ncontent-length: 0\r\n\r\n";
        let _ = stream.write_all(answer.as_bytes()).await;
    });
    let house = House::before(address.await).await;
    let told = ask(house.address, request("GET", "/", &[], "")).await;
    assert_eq!(told.header("x-end"), Some("2"));
    for name in ["connection", "x-hop", "keep-alive", "proxy-authenticate"] {
        assert_eq!(told.header(name), None, "{name}");
    }
}

#[tokio::test]
async fn a_target_in_absolute_form_names_the_host_and_never_the_upstream() {
    let (_upstream, house) = house().await;
    let lines = seen(&house, "GET http://other:81/open/headers?a=b HTTP/1.1\r\nhost: shop\r\n\r\n").await;
    assert_eq!(lines.first().map(String::as_str), Some("/open/headers?a=b"));
    assert!(lines.contains(&"host: other:81".to_owned()) && lines.contains(&"x-forwarded-host: other:81".to_owned()), "{lines:?}");
    // A guarded path is guarded in this form as well.
    let keyless = ask(house.address, "POST http://other/charges HTTP/1.1\r\nhost: shop\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!(keyless.code(), "idempotency_key_missing");
}

#[tokio::test]
async fn other_spellings_of_a_guarded_path_are_guarded() {
    let (upstream, house) = house().await;
    for path in ["//charges", "/./charges", "/open/../charges", "/%63harges"] {
        let told = ask(house.address, request("POST", path, &[("authorization", "Bearer ann")], "{}")).await;
        assert_eq!(told.code(), "idempotency_key_missing", "{path}");
    }
    assert_eq!(upstream.effects(), 0);
}

#[tokio::test]
async fn the_upstream_may_want_its_own_host() {
    let upstream = Upstream::start().await;
    let house = House::with_settings(upstream.address, "host = \"upstream\"").await;
    let lines = seen(&house, request("GET", "/open/headers", &[], "")).await;
    assert!(lines.contains(&format!("host: {}", upstream.address)) && lines.contains(&"x-forwarded-host: shop".to_owned()), "{lines:?}");
}

#[tokio::test]
async fn a_head_is_bounded_and_well_formed() {
    let (upstream, house) = house().await;
    let long = format!("GET /open/headers HTTP/1.1\r\nhost: shop\r\nx-long: {}\r\n\r\n", "a".repeat(100_000));
    assert_eq!(ask(house.address, long).await.status, 431);
    let many: String = (0..200).map(|number| format!("x-{number}: 1\r\n")).collect();
    assert_eq!(ask(house.address, format!("GET /open/headers HTTP/1.1\r\nhost: shop\r\n{many}\r\n")).await.status, 431);
    for (refused, status, code) in [
        ("GET / HTTP/1.1\r\n\r\n", 400, "head_malformed"),
        ("GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", 400, "head_malformed"),
        ("CONNECT shop:443 HTTP/1.1\r\nhost: shop:443\r\n\r\n", 405, "method_not_allowed"),
    ] {
        let told = ask(house.address, refused).await;
        assert_eq!((told.status, told.code().as_str()), (status, code), "{refused}");
    }
    let old = ask(house.address, "GET /open/headers HTTP/1.0\r\n\r\n").await;
    assert_eq!(old.status, 200);
    assert_eq!(upstream.effects(), 0);
}

#[tokio::test]
async fn a_client_that_says_nothing_or_too_little_is_not_waited_for() {
    let upstream = Upstream::start().await;
    let house = House::with_settings(upstream.address, "head_ms = 100").await;
    for little in ["", "PRI * HTTP/2.0\r\n", "GET /open/headers HTTP/1.1\r\nhost: shop\r\n"] {
        let mut stream = write(house.address, little).await;
        let mut told = Vec::new();
        let _ = stream.read_to_end(&mut told).await;
        assert!(told.is_empty() || told.starts_with(b"HTTP/1.1 408"), "{little}");
    }
}

/// What the client means to hide from the proxy and show the upstream, or the other way round.
#[tokio::test]
async fn no_request_is_smuggled_within_another() {
    let smuggled = "POST /charges HTTP/1.1\r\nhost: shop\r\nauthorization: Bearer ann\r\nidempotency-key: s\r\ncontent-length: 0\r\n\r\n";
    let (upstream, house) = house().await;
    let chunked = |lines: &str, body: &str| format!("POST /open/echo HTTP/1.1\r\nhost: shop\r\n{lines}\r\n\r\n{body}");
    let within = format!("{:x}\r\n{smuggled}\r\n0\r\n\r\n", smuggled.len());
    for hostile in [
        chunked("content-length: 4\r\ntransfer-encoding: chunked", &within),
        chunked("transfer-encoding: chunked\r\ncontent-length: 4", &within),
        chunked("transfer-encoding: chunked, identity", &within),
        chunked("transfer-encoding: xchunked", &within),
        chunked("transfer-encoding : chunked", &within),
        chunked("transfer-encoding: chunked\r\ntransfer-encoding: identity", &within),
        chunked(&format!("content-length: 0\r\ncontent-length: {}", smuggled.len()), smuggled),
        chunked("content-length: +1", smuggled),
        chunked("content-length: 0x10", smuggled),
        chunked("transfer-encoding: chunked", &format!("0;{}\r\n\r\n", "\n".repeat(3)).replace('\n', "\u{b}")),
    ] {
        let mut stream = write(house.address, &hostile).await;
        let told = answer(&mut stream).await;
        // Either it is refused and the connection ends, or it is one request whose body is all of that.
        assert!(
            told.status == 400 || (told.status == 200 && told.body == smuggled.as_bytes()) || told.body.is_empty(),
            "{hostile}\n{told:?}"
        );
        if told.status == 400 {
            assert!(is_closed(&mut stream).await, "{hostile}");
        }
    }
    assert_eq!(upstream.effects(), 0, "nothing within a request was taken for a request");
}

#[tokio::test]
async fn a_client_that_waits_for_leave_to_send_gets_it_and_the_upstream_is_not_asked() {
    let (_upstream, house) = house().await;
    for path in ["/headers", "/open/headers"] {
        let mut stream = write(
            house.address,
            format!("POST {path} HTTP/1.1\r\nhost: shop\r\nauthorization: Bearer ann\r\nidempotency-key: k\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n"),
        )
        .await;
        assert_eq!(head(&mut stream).await, "HTTP/1.1 100 Continue");
        stream.write_all(b"{}").await.expect("it is taken");
        let told = answer(&mut stream).await;
        assert!(told.status == 200 && !told.text().contains("expect:"), "{told:?}");
    }
    // Who is refused by the head alone is not asked for the body.
    let mut stream =
        write(house.address, "POST /charges HTTP/1.1\r\nhost: shop\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n").await;
    assert!(head(&mut stream).await.starts_with("HTTP/1.1 400"));
}

#[tokio::test]
async fn a_body_in_chunks_is_the_same_request_as_one_whole() {
    let (upstream, house) = house().await;
    assert_eq!(ask(house.address, post("/charges", "k", r#"{"a":1}"#)).await.status, 201);
    let chunked = "POST /charges HTTP/1.1\r\nhost: shop\r\nauthorization: Bearer ann\r\nidempotency-key: k\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\nx-trailer: 1\r\n\r\n";
    assert!(ask(house.address, chunked).await.is_replay());
    assert_eq!(upstream.effects(), 1);
}
