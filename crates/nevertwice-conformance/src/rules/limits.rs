//! Large answers, streams and large requests.

use crate::control::{Gate, Plan};
use crate::http::NoAnswer;
use crate::probe::{Failed, Probe};

/// A request whose answer was not kept: it was carried out, and it is not run again.
async fn check_not_kept(probe: &Probe) -> Result<(), Failed> {
    for _ in 0..2 {
        let again = probe.send(&probe.ask()).await?;
        probe.check_refusal(&again, probe.profile.statuses.not_kept)?;
    }
    probe.check_runs(1).await
}

pub(super) async fn largest_answer_is_kept(probe: &Probe) -> Result<(), Failed> {
    let bytes = probe.profile.limits.answer_bytes_max;
    let (first, again) = probe.twice(Plan::status(200).sized(bytes), &probe.ask()).await?;
    probe.check_replay(&first, &again)?;
    probe.check_runs(1).await
}

pub(super) async fn larger_answer_leaves_a_tombstone(probe: &Probe) -> Result<(), Failed> {
    for chunked in [false, true] {
        let part = probe.part(if chunked { "chunked" } else { "with-length" });
        let bytes = part.profile.limits.answer_bytes_max + 1;
        let plan = Plan::status(200).sized(bytes);
        part.plan(if chunked { plan.chunked() } else { plan }).await?;
        let first = part.send(&part.ask()).await?;
        part.check_ran(&first, 200)?;
        if first.body.len() != bytes {
            return Err(Failed::new(&first, format!("the first caller gets all {bytes} bytes")));
        }
        check_not_kept(&part).await?;
    }
    Ok(())
}

pub(super) async fn larger_answer_is_kept(probe: &Probe) -> Result<(), Failed> {
    let bytes = probe.profile.limits.answer_bytes_max + 1;
    let (first, again) = probe.twice(Plan::status(200).sized(bytes), &probe.ask()).await?;
    probe.check_replay(&first, &again)?;
    probe.check_runs(1).await
}

pub(super) async fn events_pass_while_they_come(probe: &Probe) -> Result<(), Failed> {
    let plan = Plan::status(200).header("content-type", "text/event-stream").body(b"data: 1\n\ndata: 2\n\n").chunked().gate(Gate::Half);
    probe.plan(plan).await?;
    let mut stream = probe.open(&probe.ask()).await?;
    probe.check_ran(&stream.answer, 200)?;
    let half = stream.more().await?.unwrap_or_default();
    if half != b"data: 1\n\n".as_slice() {
        return Err(Failed::new(format!("\"{}\" before the second event was sent", half.escape_ascii()), "the first event"));
    }
    probe.wait_at_gate().await?;
    probe.open_gate().await?;
    let rest = stream.more().await?.unwrap_or_default();
    if rest != b"data: 2\n\n".as_slice() || stream.more().await?.is_some() {
        return Err(Failed::new(format!("\"{}\"", rest.escape_ascii()), "the second event, and then the end"));
    }
    check_not_kept(probe).await
}

pub(super) async fn largest_request_runs(probe: &Probe) -> Result<(), Failed> {
    let bytes = probe.profile.limits.request_bytes_max;
    for chunked in [false, true] {
        let part = probe.part(if chunked { "chunked" } else { "with-length" });
        let asked = part.ask().body("application/octet-stream", vec![7; bytes]);
        let asked = if chunked { asked.chunked() } else { asked };
        part.check_same(&asked, &asked).await?;
        let state = part.state().await?;
        if state.body_bytes != bytes as u64 {
            return Err(Failed::new(format!("the handler was sent {} bytes", state.body_bytes), format!("{bytes} bytes")));
        }
    }
    Ok(())
}

pub(super) async fn larger_request_is_refused(probe: &Probe) -> Result<(), Failed> {
    let bytes = probe.profile.limits.request_bytes_max + 1;
    probe.plan(Plan::status(200)).await?;
    for chunked in [false, true] {
        let asked = probe.ask().body("application/octet-stream", vec![7; bytes]);
        match probe.try_send(&if chunked { asked.chunked() } else { asked }).await {
            Ok(answer) => probe.check_refusal(&answer, probe.profile.statuses.too_large)?,
            // The connection may be closed before all is sent, and the answer be lost with it.
            Err(NoAnswer::Broken) => {}
            Err(none) => return Err(none.into()),
        }
    }
    // And the key is as it was.
    probe.check_same(&probe.ask(), &probe.ask()).await
}

pub(super) async fn chunks_are_the_same_request(probe: &Probe) -> Result<(), Failed> {
    probe.check_same(&probe.ask(), &probe.ask().chunked()).await
}

pub(super) async fn requests_without_a_body(probe: &Probe) -> Result<(), Failed> {
    let empty = || crate::http::Ask { body: bytes::Bytes::new(), ..probe.ask().without("content-type") };
    probe.check_same(&empty(), &empty()).await
}
