//! Several requests with one key at once, and clients that leave.

use crate::control::{Gate, Plan};
use crate::http::Answer;
use crate::probe::{Failed, Probe};

/// How many send one request at once.
const AT_ONCE: u64 = 40;

pub(super) async fn duplicate_is_told_that_the_first_one_runs(probe: &Probe) -> Result<(), Failed> {
    probe.plan(Plan::status(201).gate(Gate::Answer)).await?;
    let under_way = probe.begin(&probe.ask());
    probe.wait_at_gate().await?;
    let told = answered_or_ran(probe, 1).await?;
    probe.check_refusal(&told, probe.profile.statuses.in_progress)?;
    if probe.profile.told.retry_after {
        let seconds = told.value("retry-after").and_then(|value| value.parse::<u64>().ok());
        if seconds.is_none_or(|seconds| seconds == 0) {
            return Err(Failed::new(format!("retry-after: {:?}", told.value("retry-after")), "retry-after: whole seconds, 1 or more"));
        }
    }
    probe.open_gate().await?;
    let first = under_way.answer().await?;
    probe.check_ran(&first, 201)?;
    probe.check_replay(&first, &probe.send(&probe.ask()).await?)?;
    probe.check_runs(1).await
}

/// The answer to a duplicate; or the failure, as soon as it is seen that the duplicate ran, which would wait at the gate for ever.
async fn answered_or_ran(probe: &Probe, runs: u64) -> Result<Answer, Failed> {
    let duplicate = probe.begin(&probe.ask());
    let end = probe.wait_until(|state| state.runs > runs || duplicate.is_over(), "an answer to the duplicate, and one run");
    let state = end.await?;
    if state.runs > runs {
        probe.open_gate().await?;
        return Err(Failed::new(format!("the effect happened {} times", state.runs), "once"));
    }
    duplicate.answer().await
}

pub(super) async fn duplicate_hears_the_first_answer(probe: &Probe) -> Result<(), Failed> {
    probe.plan(Plan::status(201).gate(Gate::Answer)).await?;
    let under_way = probe.begin(&probe.ask());
    probe.wait_at_gate().await?;
    let duplicate = probe.begin(&probe.ask());
    probe.open_gate().await?;
    let first = under_way.answer().await?;
    probe.check_ran(&first, 201)?;
    probe.check_replay(&first, &duplicate.answer().await?)?;
    probe.check_runs(1).await
}

pub(super) async fn mismatch_comes_before_in_progress(probe: &Probe) -> Result<(), Failed> {
    probe.plan(Plan::status(201).gate(Gate::Answer)).await?;
    let under_way = probe.begin(&probe.ask());
    probe.wait_at_gate().await?;
    let other = probe.begin(&probe.ask().body("application/json", "[]"));
    let state = probe.wait_until(|state| state.runs > 1 || other.is_over(), "an answer to the other request, and one run").await?;
    if state.runs > 1 {
        probe.open_gate().await?;
        return Err(Failed::new("the other request ran", "a refusal"));
    }
    probe.check_refusal(&other.answer().await?, probe.profile.statuses.mismatch)?;
    probe.open_gate().await?;
    probe.check_ran(&under_way.answer().await?, 201)?;
    probe.check_runs(1).await
}

pub(super) async fn of_many_one_runs(probe: &Probe) -> Result<(), Failed> {
    probe.plan(Plan::status(201).gate(Gate::Answer)).await?;
    let mut under_way: Vec<_> = (0..AT_ONCE).map(|_| probe.begin(&probe.ask())).collect();
    let waits = probe.profile.effects.duplicates == crate::profile::Duplicates::Wait;
    // With the gate closed all others have to be refused; or they wait, and nothing tells for how long.
    let is_settled = |over: usize| over as u64 == AT_ONCE - 1 || waits;
    let looked = probe.wait_until(
        |state| state.runs > 1 || (state.waiting == 1 && is_settled(under_way.iter().filter(|one| one.is_over()).count())),
        "one run, and an answer to every other request",
    );
    let state = looked.await;
    probe.open_gate().await?;
    if let Ok(state) = state
        && state.runs > 1
    {
        return Err(Failed::new(format!("of {AT_ONCE} at once {} ran", state.runs), "one"));
    }
    state?;
    let (mut ran, mut replayed) = (Vec::new(), Vec::new());
    while let Some(one) = under_way.pop() {
        let answer = one.answer().await?;
        match answer.status {
            201 if probe.is_marked(&answer) => replayed.push(answer),
            201 => ran.push(answer),
            _ => probe.check_refusal(&answer, probe.profile.statuses.in_progress)?,
        }
    }
    let [first] = ran.as_slice() else {
        return Err(Failed::new(format!("{} answers of runs", ran.len()), "one, and replays or refusals"));
    };
    replayed.iter().try_for_each(|again| probe.check_replay(first, again))?;
    probe.check_runs(1).await
}

pub(super) async fn hanging_up_changes_nothing(probe: &Probe) -> Result<(), Failed> {
    probe.plan(Plan::status(201).gate(Gate::Answer)).await?;
    let under_way = probe.begin(&probe.ask());
    probe.wait_at_gate().await?;
    drop(under_way);
    probe.open_gate().await?;
    let again = retry_until_known(probe).await?;
    if again.status != 201 || !probe.is_marked(&again) {
        return Err(Failed::new(&again, "the answer that the first client did not wait for, marked as a replay"));
    }
    probe.check_runs(1).await
}

/// Asks again while it is told that somebody works on it.
async fn retry_until_known(probe: &Probe) -> Result<Answer, Failed> {
    let end = tokio::time::Instant::now() + crate::http::ANSWER_TIME;
    loop {
        let answer = probe.send(&probe.ask()).await?;
        if answer.status != probe.profile.statuses.in_progress || tokio::time::Instant::now() >= end {
            return Ok(answer);
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

pub(super) async fn keys_do_not_wait_for_each_other(probe: &Probe) -> Result<(), Failed> {
    let (held, free) = (probe.part("held"), probe.part("free"));
    held.plan(Plan::status(201).gate(Gate::Answer)).await?;
    let under_way = held.begin(&held.ask());
    held.wait_at_gate().await?;
    free.check_same(&free.ask(), &free.ask()).await?;
    held.open_gate().await?;
    held.check_ran(&under_way.answer().await?, 201)
}
