//! What becomes of the key when the handler has answered, or has not.

use crate::control::{End, Plan};
use crate::http::{Answer, Ask, NoAnswer};
use crate::probe::{Failed, Probe};
use crate::profile::ServerErrors;

async fn check_kept(probe: &Probe, plan: Plan) -> Result<(), Failed> {
    let (first, again) = probe.twice(plan, &probe.ask()).await?;
    probe.check_replay(&first, &again)?;
    probe.check_runs(1).await
}

async fn check_free(probe: &Probe, plan: Plan) -> Result<(), Failed> {
    let status = plan.status;
    let (_, again) = probe.twice(plan, &probe.ask()).await?;
    probe.check_ran(&again, status)?;
    // A free key is free for anything.
    let other = probe.send(&probe.ask().body("application/json", "[]")).await?;
    probe.check_ran(&other, status)?;
    probe.check_runs(3).await
}

async fn check_unknown(probe: &Probe, plan: Plan) -> Result<(), Failed> {
    probe.plan(plan).await?;
    // The first caller hears the handler, the layer, or nothing.
    match probe.try_send(&probe.ask()).await {
        Ok(answer) if probe.is_marked(&answer) || answer.status < 400 => return Err(Failed::new(answer, "an error of the first attempt")),
        Ok(_) | Err(NoAnswer::Broken) => {}
        Err(none) => return Err(none.into()),
    }
    for _ in 0..2 {
        let again = probe.send(&probe.ask()).await?;
        probe.check_refusal(&again, probe.profile.statuses.unknown)?;
    }
    probe.check_runs(1).await
}

/// Each status at an endpoint of its own.
macro_rules! each_status {
    ($probe:ident, $check:ident, $statuses:expr) => {
        for status in $statuses {
            $check(&$probe.part(status), Plan::status(status)).await.map_err(|failed| failed.of(format!("handler: {status}")))?;
        }
    };
}

pub(super) async fn success_is_kept(probe: &Probe) -> Result<(), Failed> {
    each_status!(probe, check_kept, [200, 201, 202, 204, 301, 302, 303]);
    Ok(())
}

pub(super) async fn client_errors_are_kept(probe: &Probe) -> Result<(), Failed> {
    each_status!(probe, check_kept, [400, 402, 404, 405, 410, 422]);
    Ok(())
}

pub(super) async fn client_errors_free(probe: &Probe) -> Result<(), Failed> {
    each_status!(probe, check_free, [400, 402, 404, 410, 422]);
    Ok(())
}

pub(super) async fn refusals_of_the_handler_free(probe: &Probe) -> Result<(), Failed> {
    each_status!(probe, check_free, [401, 403, 409, 425, 429]);
    Ok(())
}

pub(super) async fn unavailable_with_retry_after_frees(probe: &Probe) -> Result<(), Failed> {
    check_free(probe, Plan::status(503).header("retry-after", "1")).await
}

pub(super) async fn server_errors_are_unknown(probe: &Probe) -> Result<(), Failed> {
    each_status!(probe, check_unknown, [500, 502, 503, 504]);
    Ok(())
}

pub(super) async fn server_errors_are_kept(probe: &Probe) -> Result<(), Failed> {
    each_status!(probe, check_kept, [500, 502, 503, 504]);
    Ok(())
}

pub(super) async fn timeout_of_the_handler_is_unknown(probe: &Probe) -> Result<(), Failed> {
    each_status!(probe, check_unknown, [408]);
    Ok(())
}

pub(super) async fn panic_is_unknown(probe: &Probe) -> Result<(), Failed> {
    check_unknown(probe, Plan::status(200).end(End::Panic)).await
}

pub(super) async fn broken_body_is_unknown(probe: &Probe) -> Result<(), Failed> {
    probe.plan(Plan::status(200).sized(1_000).end(End::Break)).await?;
    // What came before it broke may have been passed on.
    let first = probe.try_send(&probe.ask()).await;
    if let Ok(answer) = &first
        && answer.status < 500
    {
        return Err(Failed::new(answer, "an answer that breaks off, or 5xx"));
    }
    let again = probe.send(&probe.ask()).await?;
    probe.check_refusal(&again, probe.profile.statuses.unknown)?;
    probe.check_runs(1).await
}

pub(super) async fn mismatch_is_told_of_unknown_keys(probe: &Probe) -> Result<(), Failed> {
    probe.plan(Plan::status(200).end(End::Panic)).await?;
    let _lost = probe.try_send(&probe.ask()).await;
    let other = probe.send(&probe.ask().body("application/json", "[]")).await?;
    probe.check_refusal(&other, probe.profile.statuses.mismatch)?;
    probe.check_runs(1).await
}

pub(super) async fn handler_says_that_nothing_happened(probe: &Probe) -> Result<(), Failed> {
    for status in [200, 422, 500] {
        let plan = Plan::status(status).header("idempotency-effect", "none");
        check_free(&probe.part(status), plan).await.map_err(|failed| failed.of(format!("handler: {status}")))?;
    }
    Ok(())
}

pub(super) async fn handler_says_that_it_happened(probe: &Probe) -> Result<(), Failed> {
    for status in [409, 429, 500] {
        let plan = Plan::status(status).header("idempotency-effect", "done");
        check_kept(&probe.part(status), plan).await.map_err(|failed| failed.of(format!("handler: {status}")))?;
    }
    Ok(())
}

pub(super) async fn what_the_handler_says_is_taken_off(probe: &Probe) -> Result<(), Failed> {
    for effect in ["none", "done", "other"] {
        let part = probe.part(effect);
        let (first, again) = part.twice(Plan::status(200).header("idempotency-effect", effect), &part.ask()).await?;
        if [&first, &again].iter().any(|answer: &&Answer| !answer.values("idempotency-effect").is_empty()) {
            return Err(Failed::new("idempotency-effect in an answer", "it is for the layer alone").of(effect));
        }
    }
    Ok(())
}

pub(super) async fn freed_key_is_kept_later(probe: &Probe) -> Result<(), Failed> {
    probe.plan(Plan::status(429)).await?;
    probe.check_ran(&probe.send(&probe.ask()).await?, 429)?;
    probe.check_same(&probe.ask(), &probe.ask()).await
}

/// Whether an unknown outcome shows: where 5xx are kept it is the panic alone.
pub(super) fn unknown_errors(profile: &crate::profile::Profile) -> bool {
    profile.effects.server_errors == ServerErrors::Unknown
}

pub(super) async fn refused_requests_leave_no_trace(probe: &Probe) -> Result<(), Failed> {
    probe.plan(Plan::status(201)).await?;
    let spoilt: Ask = probe.keyless().with("idempotency-key", format!("\"{}", probe.key()));
    probe.check_refusal(&probe.send(&spoilt).await?, probe.profile.statuses.invalid)?;
    probe.check_same(&probe.ask(), &probe.ask()).await
}
