//! Keys and times.

use crate::control::Plan;
use crate::probe::{Failed, Probe};

/// Of 2022.
const UUID_OF_LONG_AGO: &str = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
const ULID_OF_LONG_AGO: &str = "01FWHE4YDGFK1SHH6W1G60EECF";

pub(super) async fn expired_and_unknown_is_refused(probe: &Probe) -> Result<(), Failed> {
    probe.plan(Plan::status(201)).await?;
    for instant in ["0", "1000000000000"] {
        let answer = probe.send(&probe.ask().with("idempotency-expires", instant)).await?;
        probe.check_refusal(&answer, probe.profile.statuses.expired)?;
    }
    probe.check_runs(0).await
}

pub(super) async fn expired_and_known_is_answered(probe: &Probe) -> Result<(), Failed> {
    probe.check_same(&probe.ask(), &probe.ask().with("idempotency-expires", "1000000000000")).await
}

pub(super) async fn expiry_that_is_no_instant_is_refused(probe: &Probe) -> Result<(), Failed> {
    probe.plan(Plan::status(201)).await?;
    for value in ["", "soon", "-1", "+1", "1.5", "1e3", "99999999999999999999", "2026-01-01T00:00:00Z"] {
        let answer = probe.send(&probe.ask().with("idempotency-expires", value)).await?;
        probe.check_refusal(&answer, probe.profile.statuses.invalid).map_err(|failed| failed.of(format!("`{value}`")))?;
    }
    let twice = probe.ask().with("idempotency-expires", "4000000000000").with("idempotency-expires", "4000000000000");
    probe.check_refusal(&probe.send(&twice).await?, probe.profile.statuses.invalid)?;
    probe.check_runs(0).await
}

pub(super) async fn old_keys_are_refused(probe: &Probe) -> Result<(), Failed> {
    probe.plan(Plan::status(201)).await?;
    for key in [UUID_OF_LONG_AGO, ULID_OF_LONG_AGO] {
        let answer = probe.send(&probe.keyless().with("idempotency-key", key)).await?;
        probe.check_refusal(&answer, probe.profile.statuses.expired).map_err(|failed| failed.of(key))?;
    }
    probe.check_runs(0).await
}

pub(super) async fn keys_without_a_time_are_taken(probe: &Probe) -> Result<(), Failed> {
    // A version 4 UUID made of the endpoint's name: it looks like the other, and carries no time.
    let hex: String = probe.name.bytes().map(|byte| format!("{byte:02x}")).collect();
    let digits = |from: usize, to: usize| hex.get(from..to).unwrap_or_default().to_owned();
    let key = format!("{}-{}-4{}-8{}-{}", digits(0, 8), digits(8, 12), digits(12, 15), digits(15, 18), digits(18, 30));
    let asked = probe.keyless().with("idempotency-key", key);
    probe.check_same(&asked, &asked).await
}
