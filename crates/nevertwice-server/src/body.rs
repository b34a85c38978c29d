//! Reads a request's body: bounded in size and in time, and as one JSON text of the right shape.

use std::pin::pin;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use nevertwice_api::{ErrorCode, Failure};
use serde::Deserialize;
use tokio::time::{Duration, Instant, timeout};

use crate::named::Named;
use crate::refusal::Refusal;
use crate::share::Share;

/// How much of a body that is too large is read and thrown away, so that its sender gets to read why.
const DISCARD_MAX: usize = 1 << 20;

/// How often whoever waits for a body looks whether the server still does.
const LOOK_UP: Duration = Duration::from_millis(100);

/// Reads the whole body.
pub(crate) async fn read(app: &Share, body: Body, headers: &HeaderMap, bytes_max: usize) -> Result<Bytes, Refusal> {
    let within = app.limits.request_read;
    if is_announced_too_large(headers, bytes_max) {
        // Who waits to be told to go on is told not to; whoever sends already gets to read why.
        if !headers.contains_key(header::EXPECT) {
            let _read_or_not = timeout(within, discard(body, 0)).await;
        }
        return Err(too_large(bytes_max));
    }
    let deadline = Instant::now() + within;
    let mut collected = pin!(collect(body, bytes_max));
    loop {
        let now = Instant::now();
        if now >= deadline {
            return Err(Refusal::new(
                ErrorCode::RequestTimeout,
                format!("The body did not arrive whole within {} ms", within.as_millis()),
                "Send it again with the same key",
            ));
        }
        if let Some(collected) = app.rest().until(deadline.min(now + LOOK_UP), collected.as_mut()).await {
            return collected;
        }
        if app.is_last_call() {
            return Err(Failure::ShuttingDown.into());
        }
    }
}

fn is_announced_too_large(headers: &HeaderMap, bytes_max: usize) -> bool {
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    announced.is_some_and(|length| length > bytes_max as u64)
}

async fn collect(mut body: Body, bytes_max: usize) -> Result<Bytes, Refusal> {
    // Nearly always the whole body lies in one piece, which is not copied.
    let mut first: Option<Bytes> = None;
    let mut joined = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| {
            Refusal::new(ErrorCode::BodyMalformed, "The body broke off before its end", "Send it again, whole, with the same key")
        })?;
        let Ok(data) = frame.into_data() else { continue };
        let so_far = first.as_ref().map_or(joined.len(), Bytes::len);
        if so_far + data.len() > bytes_max {
            discard(body, so_far + data.len()).await;
            return Err(too_large(bytes_max));
        }
        if joined.is_empty() && first.is_none() {
            first = Some(data);
        } else {
            if let Some(first) = first.take() {
                joined.extend_from_slice(&first);
            }
            joined.extend_from_slice(&data);
        }
    }
    Ok(first.unwrap_or_else(|| joined.freeze()))
}

async fn discard(mut body: Body, mut read: usize) {
    while read < DISCARD_MAX
        && let Some(Ok(frame)) = body.frame().await
    {
        read += frame.data_ref().map_or(0, Bytes::len);
    }
}

fn too_large(bytes_max: usize) -> Refusal {
    Refusal::new(ErrorCode::BodyTooLarge, format!("The body is larger than {bytes_max} bytes"), "Send less at once")
        .figure("body_bytes_max", bytes_max)
}

/// Refuses a body of another media type, or one in an encoding: none is taken off here.
pub(crate) fn check_media_type(headers: &HeaderMap, allowed: &[&str]) -> Result<(), Refusal> {
    if headers.get_all(header::CONTENT_ENCODING).iter().any(|line| !line.as_bytes().eq_ignore_ascii_case(b"identity")) {
        return Err(Refusal::new(
            ErrorCode::MediaTypeUnsupported,
            "The Content-Encoding header names an encoding, and this server takes none",
            "Send the body as it is",
        ));
    }
    let mut lines = headers.get_all(header::CONTENT_TYPE).iter();
    if let (Some(line), None) = (lines.next(), lines.next())
        && let Ok(text) = line.to_str()
    {
        let essence = text.split(';').next().unwrap_or_default().trim();
        if allowed.iter().any(|allowed| essence.eq_ignore_ascii_case(allowed)) {
            return Ok(());
        }
    }
    Err(Refusal::new(
        ErrorCode::MediaTypeUnsupported,
        "The Content-Type header does not name the media type that this endpoint takes",
        &format!("Send the body as {}", allowed.join(" or ")),
    ))
}

/// Reads one JSON text of a shape. What does not fit is named by its path.
pub(crate) fn parse<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Refusal> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let read = T::deserialize(Named(&mut reader)).and_then(|value| reader.end().map(|()| value));
    read.map_err(|_| explain::<T>(bytes))
}

// Only what failed is read again, this time with a note of the way to the member.
fn explain<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Refusal {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let error = match serde_path_to_error::deserialize::<_, T>(Named(&mut reader)) {
        Ok(_) => return malformed("something follows the JSON text"),
        Err(error) => error,
    };
    let path = shown(&error.path().to_string());
    let inner = error.into_inner();
    match inner.classify() {
        serde_json::error::Category::Data => {
            let inner = shown(&for_people(&inner.to_string()));
            let wrong =
                if path == "." { format!("The body does not fit: {inner}") } else { format!("The member `{path}` does not fit: {inner}") };
            let refusal =
                Refusal::new(ErrorCode::BodyInvalid, wrong, "Send the members and types that the API's description lists, and no others");
            if path == "." { refusal } else { refusal.figure("member", path) }
        }
        _ => malformed(&shown(&inner.to_string())),
    }
}

/// How much of what came in is shown in an answer, in characters.
const SHOWN_MAX: usize = 300;

/// A text that holds pieces of what came in, as one line of bounded length: names of members are anybody's.
fn shown(text: &str) -> String {
    let mut shown = String::new();
    for (number, character) in text.chars().enumerate() {
        if number >= SHOWN_MAX {
            return shown + "...";
        }
        if character.is_control() {
            shown.extend(character.escape_default());
        } else {
            shown.push(character);
        }
    }
    shown
}

// What a number has to be is said in words.
fn for_people(error: &str) -> String {
    let whole = ["expected i64", "expected u64", "expected u32", "expected u8"];
    whole.iter().fold(error.to_owned(), |text, rust| text.replace(rust, "expected a whole number in range"))
}

/// A body that is not one JSON text.
pub(crate) fn malformed(what: &str) -> Refusal {
    Refusal::new(
        ErrorCode::BodyMalformed,
        format!("The body is not one JSON text: {what}"),
        "Send one JSON object in UTF-8, each member once",
    )
}

/// A body whose members have the right types, but not the right values.
pub(crate) fn invalid(member: &str, what: impl std::fmt::Display) -> Refusal {
    Refusal::new(ErrorCode::BodyInvalid, format!("The member `{member}` does not fit: {what}"), "Correct it, and send the request again")
        .figure("member", member)
}
