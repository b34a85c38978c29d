//! The echo endpoints themselves: whatever else is checked rests on them.

use hyper::Method;

use crate::control::{End, Gate, Plan};
use crate::http::NoAnswer;
use crate::probe::{Failed, Probe};

/// Asked by a method that nobody guards, an endpoint does what it was planned to.
pub(super) async fn answers_as_planned(probe: &Probe) -> Result<(), Failed> {
    let plan = Plan::status(418).header("link", "</a>; rel=\"a,b\"").header("link", "</c>").body(&[0, 159, 146, 150]);
    probe.plan(plan).await?;
    let answer = probe.send(&probe.keyless().by(Method::GET).at(format!("/echo/{}/deeper?a=1", probe.name))).await?;
    let links: Vec<_> = answer.values("link").iter().map(|value| value.escape_ascii().to_string()).collect();
    if answer.status != 418 || links.len() != 2 || answer.body != [0, 159, 146, 150].as_slice() {
        return Err(Failed::new(format!("{answer}, link: {links:?}"), "status 418, two lines of link, the bytes 00 9f 92 96"));
    }
    probe.check_runs(1).await
}

pub(super) async fn gate_holds(probe: &Probe) -> Result<(), Failed> {
    probe.plan(Plan::status(200).gate(Gate::Answer)).await?;
    let asked = probe.keyless().by(Method::GET);
    let under_way = probe.begin(&asked);
    probe.wait_at_gate().await?;
    probe.check_runs(1).await?;
    if under_way.is_over() {
        return Err(Failed::new("an answer before the gate was opened", "no answer"));
    }
    probe.open_gate().await?;
    probe.check_ran(&under_way.answer().await?, 200)?;
    probe.wait_until(|state| state.waiting == 0, "nobody at the gate").await?;
    probe.check_ran(&probe.send(&asked).await?, 200)
}

pub(super) async fn fails_as_planned(probe: &Probe) -> Result<(), Failed> {
    for (name, end) in [("break", End::Break), ("panic", End::Panic)] {
        let part = probe.part(name);
        part.plan(Plan::status(200).sized(1_000).end(end)).await?;
        match part.try_send(&part.keyless().by(Method::GET)).await {
            Err(NoAnswer::Broken) => {}
            // What stands before the endpoint may say so in its own words.
            Ok(answer) if answer.status >= 500 => {}
            Ok(answer) => return Err(Failed::new(answer, "a connection that breaks, or 5xx").of(name)),
            Err(none) => return Err(Failed::from(none).of(name)),
        }
        part.check_runs(1).await?;
    }
    Ok(())
}

pub(super) async fn counts_what_it_is_sent(probe: &Probe) -> Result<(), Failed> {
    probe.plan(Plan::status(200)).await?;
    for (key, asked) in [("with-length", probe.keyless()), ("chunked", probe.keyless().chunked())] {
        let asked = asked.body("text/plain", vec![b'x'; 70_000]).with("idempotency-key", format!("{}-{key}", probe.key()));
        probe.check_ran(&probe.send(&asked).await?, 200)?;
        let state = probe.state().await?;
        if state.body_bytes != 70_000 {
            return Err(Failed::new(format!("the handler was sent {} bytes", state.body_bytes), "70000 bytes"));
        }
    }
    probe.check_runs(2).await
}
