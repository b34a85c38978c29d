//! What is a key, and what is not.

use hyper::Method;

use crate::control::Plan;
use crate::probe::{Failed, Probe};

pub(super) async fn retry_gets_the_first_answer(probe: &Probe) -> Result<(), Failed> {
    probe.check_same(&probe.ask(), &probe.ask()).await
}

pub(super) async fn every_guarded_method(probe: &Probe) -> Result<(), Failed> {
    for method in probe.guarded() {
        let part = probe.part(method.as_str().to_ascii_lowercase());
        let asked = part.ask().by(method.clone());
        part.check_same(&asked, &asked).await.map_err(|failed| failed.of(&method))?;
    }
    Ok(())
}

pub(super) async fn other_methods_run_each_time(probe: &Probe) -> Result<(), Failed> {
    for method in [Method::GET, Method::HEAD, Method::PUT, Method::DELETE] {
        if probe.guarded().contains(&method) {
            continue;
        }
        let part = probe.part(method.as_str().to_ascii_lowercase());
        let asked = part.ask().by(method.clone()).without("content-type");
        let asked = crate::http::Ask { body: bytes::Bytes::new(), ..asked };
        let (_, again) = part.twice(Plan::status(200), &asked).await.map_err(|failed| failed.of(&method))?;
        part.check_ran(&again, 200).map_err(|failed| failed.of(&method))?;
        part.check_runs(2).await.map_err(|failed| failed.of(&method))?;
    }
    Ok(())
}

pub(super) async fn missing_is_refused(probe: &Probe) -> Result<(), Failed> {
    probe.plan(Plan::status(200)).await?;
    let answer = probe.send(&probe.keyless()).await?;
    probe.check_refusal(&answer, probe.profile.statuses.missing.unwrap_or(400))?;
    probe.check_runs(0).await
}

pub(super) async fn missing_runs_each_time(probe: &Probe) -> Result<(), Failed> {
    let (_, again) = probe.twice(Plan::status(200), &probe.keyless()).await?;
    probe.check_ran(&again, 200)?;
    probe.check_runs(2).await
}

pub(super) async fn quoted_is_bare(probe: &Probe) -> Result<(), Failed> {
    let quoted = probe.keyless().with("idempotency-key", format!("\"{}\"", probe.key()));
    probe.check_same(&quoted, &probe.ask()).await
}

pub(super) async fn escapes_are_resolved(probe: &Probe) -> Result<(), Failed> {
    // A quoted key may have commas, quotes and backslashes in it; a bare one a backslash.
    let quoted = |text: &str| probe.keyless().with("idempotency-key", format!("\"{}{text}\"", probe.key()));
    let part = probe.part("backslash");
    let bare = probe.keyless().with("idempotency-key", format!("{}a\\b", probe.key()));
    let asked = |asked: crate::http::Ask| asked.at(format!("/echo/{}", part.name));
    part.check_same(&asked(quoted("a\\\\b")), &asked(bare)).await?;
    let part = probe.part("all");
    let visible: String = ('!'..='~').filter(|c| !matches!(c, '"' | '\\')).collect();
    let asked = part.keyless().with("idempotency-key", format!("\"{}{visible}\\\"\\\\\"", part.name));
    part.check_same(&asked, &asked).await
}

pub(super) async fn case_counts(probe: &Probe) -> Result<(), Failed> {
    probe.plan(Plan::status(200)).await?;
    for key in [probe.key().to_ascii_lowercase(), probe.key().to_ascii_uppercase()] {
        probe.check_ran(&probe.send(&probe.keyless().with("idempotency-key", key)).await?, 200)?;
    }
    probe.check_runs(2).await
}

pub(super) async fn longest(probe: &Probe) -> Result<(), Failed> {
    let key = format!("{:k<1$}", probe.key(), probe.profile.key_bytes_max);
    let asked = probe.keyless().with("idempotency-key", key);
    probe.check_same(&asked, &asked).await
}

/// What every refused form has in common: nothing ran.
async fn check_refused(probe: &Probe, forms: &[&[u8]]) -> Result<(), Failed> {
    probe.plan(Plan::status(200)).await?;
    for form in forms {
        let answer = probe.send(&probe.keyless().with("idempotency-key", form)).await?;
        let checked = probe.check_refusal(&answer, probe.profile.statuses.invalid);
        checked.map_err(|failed| failed.of(format!("`{}`", form.escape_ascii())))?;
    }
    probe.check_runs(0).await
}

pub(super) async fn empty_is_refused(probe: &Probe) -> Result<(), Failed> {
    check_refused(probe, &[b"", b"\"\""]).await
}

pub(super) async fn too_long_is_refused(probe: &Probe) -> Result<(), Failed> {
    let long = "k".repeat(probe.profile.key_bytes_max + 1);
    let longer = "k".repeat(8_000);
    check_refused(probe, &[long.as_bytes(), format!("\"{long}\"").as_bytes(), longer.as_bytes()]).await
}

pub(super) async fn list_is_refused(probe: &Probe) -> Result<(), Failed> {
    check_refused(probe, &[b"a, b", b"a,b", b"\"a\", \"b\"", b"a,"]).await
}

pub(super) async fn ill_formed_is_refused(probe: &Probe) -> Result<(), Failed> {
    let forms: &[&[u8]] = &[b"\"a", b"a\"", b"\"a\"b", b"\"a\";p=1", b"\"a\\b\"", b"\"a\\", b"a\"b", b"a b", b"\"a b\"", b"a\tb"];
    check_refused(probe, forms).await
}

pub(super) async fn other_than_ascii_is_refused(probe: &Probe) -> Result<(), Failed> {
    check_refused(probe, &["é".as_bytes(), b"\xe9", "\"ключ\"".as_bytes(), b"a\xff"]).await
}

pub(super) async fn two_lines_are_refused(probe: &Probe) -> Result<(), Failed> {
    probe.plan(Plan::status(200)).await?;
    for second in [probe.key(), format!("{}-other", probe.key())] {
        let answer = probe.send(&probe.ask().with("idempotency-key", second)).await?;
        probe.check_refusal(&answer, probe.profile.statuses.invalid)?;
    }
    probe.check_runs(0).await
}
