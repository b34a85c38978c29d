//! What makes two requests the same.

use crate::control::Plan;
use crate::http::Ask;
use crate::probe::{Failed, Probe};

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

/// One body, and others that are the same or not.
struct Bodies {
    case: &'static str,
    first: (&'static str, &'static str),
    second: (&'static str, &'static str),
}

const fn json(case: &'static str, first: &'static str, second: &'static str) -> Bodies {
    Bodies { case, first: (JSON, first), second: (JSON, second) }
}

const fn form(case: &'static str, first: &'static str, second: &'static str) -> Bodies {
    Bodies { case, first: (FORM, first), second: (FORM, second) }
}

fn asked(probe: &Probe, (media_type, body): (&str, &'static str)) -> Ask {
    probe.ask().body(media_type, body)
}

async fn check_all_same(probe: &Probe, all: &[Bodies]) -> Result<(), Failed> {
    for bodies in all {
        let part = probe.part(bodies.case.replace(' ', "-"));
        let checked = part.check_same(&asked(&part, bodies.first), &asked(&part, bodies.second)).await;
        checked.map_err(|failed| failed.of(bodies.case))?;
    }
    Ok(())
}

async fn check_all_other(probe: &Probe, all: &[Bodies]) -> Result<(), Failed> {
    for bodies in all {
        let part = probe.part(bodies.case.replace(' ', "-"));
        let checked = part.check_mismatch(&asked(&part, bodies.first), &asked(&part, bodies.second)).await;
        checked.map_err(|failed| failed.of(bodies.case))?;
    }
    Ok(())
}

pub(super) async fn other_body_is_a_mismatch(probe: &Probe) -> Result<(), Failed> {
    probe.check_mismatch(&probe.ask(), &probe.ask().body(JSON, r#"{"amount":6}"#)).await
}

pub(super) async fn mismatch_leaves_the_answer(probe: &Probe) -> Result<(), Failed> {
    probe.plan(Plan::status(201)).await?;
    let first = probe.send(&probe.ask()).await?;
    probe.send(&probe.ask().body(JSON, "[]")).await?;
    probe.check_replay(&first, &probe.send(&probe.ask()).await?)?;
    probe.check_runs(1).await
}

pub(super) async fn json_is_the_same_by_what_it_means(probe: &Probe) -> Result<(), Failed> {
    let all = [
        json("order of members", r#"{"a":1,"b":{"c":2,"d":3}}"#, r#"{"b":{"d":3,"c":2},"a":1}"#),
        json("white space", r#"{"a":[1,2]}"#, "\r\n{ \"a\" :\t[ 1 , 2 ] }\n"),
        json("escapes", r#"{"a":"é/A\n"}"#, r#"{"\u0061":"\u00e9\/\u0041\u000a"}"#),
        json("surrogates", r#""😀""#, r#""\ud83d\ude00""#),
        Bodies { case: "parameters", first: (JSON, "{}"), second: ("application/json; charset=utf-8", "{ }") },
        Bodies { case: "suffix", first: ("application/pay+json", "{}"), second: ("application/pay+json", "{ }") },
    ];
    check_all_same(probe, &all).await
}

pub(super) async fn json_differs_by_what_it_means(probe: &Probe) -> Result<(), Failed> {
    let all = [
        json("order of an array", "[1,2]", "[2,1]"),
        json("null and absent", r#"{"a":null}"#, "{}"),
        json("text and number", r#"{"a":"1"}"#, r#"{"a":1}"#),
        json("member and value", r#"{"a":"b"}"#, r#"{"b":"a"}"#),
        json("nesting", "[[1],2]", "[[1,2]]"),
        json("empty and none", "[]", ""),
    ];
    check_all_other(probe, &all).await
}

pub(super) async fn numbers_count_by_their_text(probe: &Probe) -> Result<(), Failed> {
    let all = [
        json("beyond doubles", r#"{"amount":9007199254740992}"#, r#"{"amount":9007199254740993}"#),
        json("far beyond", "[123456789012345678901234567890]", "[123456789012345678901234567891]"),
        json("small fractions", "[0.1]", "[0.10000000000000000001]"),
        json("whole and fraction", "[1]", "[1.0]"),
        json("exponents", "[1e2]", "[100]"),
    ];
    check_all_other(probe, &all).await
}

pub(super) async fn broken_json_counts_by_its_bytes(probe: &Probe) -> Result<(), Failed> {
    check_all_other(probe, &[json("unclosed", "{", "{ "), json("twice", r#"{"a":1,"a":2}"#, r#"{"a":2,"a":1}"#)]).await
}

pub(super) async fn forms_are_the_same_by_their_fields(probe: &Probe) -> Result<(), Failed> {
    check_all_same(probe, &[form("order", "a=1&b=2", "b=2&a=1"), form("escapes", "a=x+y&b=%41", "a=x%20y&b=A")]).await
}

pub(super) async fn forms_differ_by_their_fields(probe: &Probe) -> Result<(), Failed> {
    let all = [
        form("value", "a=1", "a=2"),
        form("order of one name", "a=1&a=2", "a=2&a=1"),
        form("bytes that are no text", "a=%ff", "a=%fe"),
        form("name and value", "a=b", "b=a"),
    ];
    check_all_other(probe, &all).await
}

/// A form of parts, with that boundary between them.
fn multipart(probe: &Probe, boundary: &str, file: &str) -> Ask {
    let body = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"amount\"\r\n\r\n5\r\n\
         --{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{file}\"\r\nContent-Type: text/plain\r\n\r\nabc\r\n\
         --{boundary}--\r\n"
    );
    probe.ask().body(&format!("multipart/form-data; boundary={boundary}"), body)
}

pub(super) async fn multipart_is_the_same_whatever_the_boundary(probe: &Probe) -> Result<(), Failed> {
    probe.check_same(&multipart(probe, "one", "a.txt"), &multipart(probe, "an-other", "a.txt")).await
}

pub(super) async fn multipart_differs_by_its_parts(probe: &Probe) -> Result<(), Failed> {
    probe.check_mismatch(&multipart(probe, "one", "a.txt"), &multipart(probe, "one", "b.txt")).await
}

pub(super) async fn other_bodies_count_by_their_bytes(probe: &Probe) -> Result<(), Failed> {
    let text = |case, first, second| Bodies { case, first: ("text/plain", first), second: ("text/plain", second) };
    let all = [
        text("space", "a", "a "),
        text("something and nothing", "a", ""),
        Bodies { case: "media type", first: ("text/plain", "{}"), second: (JSON, "{}") },
    ];
    check_all_other(probe, &all).await
}

pub(super) async fn the_whole_body_counts(probe: &Probe) -> Result<(), Failed> {
    let long = |last: u8| {
        let mut body = vec![b'x'; probe.profile.limits.request_bytes_max.min(1 << 20)];
        body.pop();
        body.push(last);
        probe.ask().body("application/octet-stream", body)
    };
    probe.check_mismatch(&long(1), &long(2)).await
}

pub(super) async fn other_headers_do_not_count(probe: &Probe) -> Result<(), Failed> {
    let sent = |id: &str| probe.ask().with("x-request-id", id).with("traceparent", id).with("user-agent", id);
    probe.check_same(&sent("one"), &sent("two")).await
}
