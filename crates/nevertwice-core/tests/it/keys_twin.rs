//! Keys against a slow twin that remembers everything that ever happened and looks it all up again.

use nevertwice_core::keys::*;
use proptest::prelude::*;

/// Something that was accepted, and when.
#[derive(Clone, Copy, Debug)]
enum Happened {
    Claimed { owner: u8, asked: u8, lease_ends: i64, retention_ms: i64 },
    Renewed { lease_ends: i64 },
    Answered { status: u32 },
    GivenBack,
}

#[derive(Default)]
struct Twin {
    history: Vec<(i64, Happened)>,
}

impl Twin {
    /// What happened since the key was last unknown.
    fn remembered(&self, at: i64) -> &[(i64, Happened)] {
        let mut start = self.history.len();
        let mut next = at;
        while let Some((when, _)) = start.checked_sub(1).map(|index| self.history[index]) {
            if next >= when + self.retention(start - 1) {
                break;
            }
            (start, next) = (start - 1, when);
        }
        &self.history[start..]
    }

    fn retention(&self, index: usize) -> i64 {
        let claims = self.history[..=index].iter().rev();
        let found = claims.into_iter().find_map(|(_, what)| match what {
            Happened::Claimed { retention_ms, .. } => Some(*retention_ms),
            _ => None,
        });
        found.expect("everything begins with a claim")
    }

    fn generation(&self, at: i64) -> u64 {
        let claims = self.remembered(at).iter().filter(|(_, what)| matches!(what, Happened::Claimed { .. }));
        let first = self.remembered(at).first().map_or(at - 1, |(when, _)| when - 1);
        first.unsigned_abs() + claims.count() as u64
    }

    /// The generation that the step names.
    fn named(&self, step: &Step, at: i64) -> u64 {
        self.remembered(at).first().map_or(1, |(when, _)| when.unsigned_abs()) + step.after_first
    }

    fn claim(&self, at: i64) -> Option<(u8, u8)> {
        self.remembered(at).iter().rev().find_map(|(_, what)| match what {
            Happened::Claimed { owner, asked, .. } => Some((*owner, *asked)),
            _ => None,
        })
    }

    fn lease_ends(&self, at: i64) -> i64 {
        let found = self.remembered(at).iter().rev().find_map(|(_, what)| match what {
            Happened::Claimed { lease_ends, .. } | Happened::Renewed { lease_ends } => Some(*lease_ends),
            _ => None,
        });
        found.expect("there is a claim")
    }

    fn now(&self, at: i64) -> i64 {
        self.remembered(at).last().map_or(at, |(when, _)| at.max(*when))
    }

    fn last(&self, at: i64) -> Option<Happened> {
        self.remembered(at).last().map(|(_, what)| *what)
    }

    fn register(&mut self, step: &Step, at: i64) -> String {
        let now = self.now(at);
        let lease_ends = now + step.lease_ms;
        let claimed = Happened::Claimed { owner: step.owner, asked: step.asked, lease_ends, retention_ms: step.retention_ms };
        let generation = self.generation(at);
        match (self.last(at), self.claim(at)) {
            (None | Some(Happened::GivenBack), _) => {
                match step.expires_at {
                    Some(end) if end <= now => return "intent_expired".into(),
                    Some(end) if end > now + step.retention_ms => return "intent_expiry_too_far".into(),
                    _ => self.history.push((now, claimed)),
                }
                format!("fresh {} {lease_ends}", generation + 1)
            }
            (_, Some((_, asked))) if asked != step.asked => "fingerprint_mismatch".into(),
            (Some(Happened::Answered { status }), _) => format!("replay {generation} {status}"),
            (_, Some((owner, _))) if owner == step.owner => format!("resumed {generation} {}", self.lease_ends(at)),
            _ if now < self.lease_ends(at) => format!("key_in_progress {}", self.lease_ends(at)),
            _ if step.lapse == LapsePolicy::Refuse => "outcome_unknown".into(),
            _ if step.lapse == LapsePolicy::Rerun && step.expires_at.is_some_and(|end| end <= now) => "outcome_unknown".into(),
            _ => {
                self.history.push((now, claimed));
                format!("taken {} {lease_ends}", generation + 1)
            }
        }
    }

    /// What is wrong with who asks, for all but a registration.
    fn refusal(&self, step: &Step, at: i64) -> Option<String> {
        match self.claim(at) {
            None => Some("unknown_key".into()),
            Some((owner, _)) if owner != step.owner || self.generation(at) != self.named(step, at) => Some("stale_owner".into()),
            Some(_) => None,
        }
    }

    fn change(&mut self, step: &Step, at: i64) -> String {
        if let Some(refusal) = self.refusal(step, at) {
            return refusal;
        }
        let now = self.now(at);
        let what = match (step.kind, self.last(at)) {
            (Kind::Complete, Some(Happened::Answered { .. })) => return "kept before".into(),
            (Kind::Release, Some(Happened::GivenBack)) => return "released".into(),
            (_, Some(Happened::Answered { .. })) => return "key_completed".into(),
            (_, Some(Happened::GivenBack)) => return "key_released".into(),
            (Kind::Complete, _) => Happened::Answered { status: step.status },
            (Kind::Release, _) => Happened::GivenBack,
            _ => Happened::Renewed { lease_ends: now + step.lease_ms.min(self.retention(self.history.len() - 1) - 1) },
        };
        self.history.push((now, what));
        match what {
            Happened::Answered { .. } => "kept".into(),
            Happened::GivenBack => "released".into(),
            _ => format!("renewed {} {}", self.generation(now), self.lease_ends(now)),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Register,
    Complete,
    Renew,
    Release,
}

#[derive(Clone, Debug)]
struct Step {
    later_ms: i64,
    kind: Kind,
    owner: u8,
    asked: u8,
    /// How many claims after the first of those that are remembered.
    after_first: u64,
    lease_ms: i64,
    retention_ms: i64,
    expires_at: Option<i64>,
    lapse: LapsePolicy,
    status: u32,
}

fn lease(told: &str, lease: Lease) -> String {
    format!("{told} {} {}", lease.generation, lease.expires_at)
}

fn rejected(rejection: KeyRejection) -> String {
    match rejection {
        KeyRejection::KeyInProgress { lease_expires_at, .. } => format!("{} {lease_expires_at}", rejection.code()),
        other => other.code().into(),
    }
}

fn core_says(record: &mut Option<KeyRecord>, step: &Step, generation: u64, at: i64) -> String {
    let owner = OwnerId([step.owner; 32]);
    let (change, told) = match step.kind {
        Kind::Register => {
            let Step { lease_ms, retention_ms, expires_at, lapse, .. } = *step;
            let decision =
                RegisterKey { fingerprint: [step.asked; 32], owner, lease_ms, retention_ms, expires_at, lapse }.decide(record.as_ref(), at);
            let told = decision.reply.map(|reply| match reply {
                Registration::Fresh(held) => lease("fresh", held),
                Registration::TakenOver(held) => lease("taken", held),
                Registration::Resumed(held) => lease("resumed", held),
                Registration::Replay { generation, answer } => format!("replay {generation} {}", answer.status),
            });
            (decision.change, told)
        }
        Kind::Complete => {
            let answer = KeyAnswer {
                status: step.status,
                head_bytes: 0,
                head_digest: [0; 32],
                body_bytes: 0,
                body_digest: [0; 32],
                body: BodyKept::Whole,
            };
            let decision = CompleteKey { owner, generation, answer }.decide(record.as_ref(), at);
            let told = decision.reply.map(|reply| match reply {
                Completion::Kept => "kept".to_owned(),
                Completion::KeptBefore => "kept before".to_owned(),
            });
            (decision.change, told)
        }
        Kind::Renew => {
            let decision = RenewLease { owner, generation, lease_ms: step.lease_ms }.decide(record.as_ref(), at);
            (decision.change, decision.reply.map(|held| lease("renewed", held)))
        }
        Kind::Release => {
            let decision = ReleaseKey { owner, generation }.decide(record.as_ref(), at);
            (decision.change, decision.reply.map(|()| "released".to_owned()))
        }
    };
    if let Some(change) = change {
        *record = Some(change);
    }
    told.unwrap_or_else(rejected)
}

fn any_step() -> impl Strategy<Value = Step> {
    let kind = prop_oneof![
        3 => Just(Kind::Register),
        2 => Just(Kind::Complete),
        2 => Just(Kind::Renew),
        2 => Just(Kind::Release),
    ];
    let later_ms = prop_oneof![6 => Just(0_i64), 6 => 1_i64..400, 2 => 400_i64..1_300, 1 => -200_i64..0];
    let lapse = prop_oneof![Just(LapsePolicy::Refuse), Just(LapsePolicy::Rerun), Just(LapsePolicy::Ask)];
    let lease_ms = prop_oneof![Just(0_i64), Just(1), 2_i64..999];
    let retention_ms = prop_oneof![Just(1_000_i64), 1_000_i64..1_500];
    let expires_at = prop_oneof![3 => Just(None), 1 => (9_000_i64..16_000).prop_map(Some)];
    let who = (kind, 0_u8..3, prop_oneof![4 => Just(0_u8), 1 => Just(1)], 0_u64..4);
    (later_ms, who, lease_ms, retention_ms, expires_at, lapse, 200_u32..204).prop_map(
        |(later_ms, (kind, owner, asked, after_first), lease_ms, retention_ms, expires_at, lapse, status)| Step {
            later_ms,
            kind,
            owner,
            asked,
            after_first,
            lease_ms,
            retention_ms,
            expires_at,
            lapse,
            status,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_key_does_what_its_history_says(steps in proptest::collection::vec(any_step(), 1..40)) {
        let mut at = 10_000;
        let mut record = None;
        let mut twin = Twin::default();
        for (number, step) in steps.iter().enumerate() {
            at += step.later_ms;
            let generation = twin.named(step, at);
            let expected = if step.kind == Kind::Register { twin.register(step, at) } else { twin.change(step, at) };
            let told = core_says(&mut record, step, generation, at);
            prop_assert_eq!(told, expected, "step {} at {}: {:?}", number, at, step);
        }
    }

    #[test]
    fn a_rejection_changes_nothing(steps in proptest::collection::vec(any_step(), 1..40)) {
        let mut at = 10_000;
        let mut record: Option<KeyRecord> = None;
        for step in &steps {
            at += step.later_ms;
            let before = record.clone();
            let first = before.as_ref().map_or(1, |record| record.generation);
            let told = core_says(&mut record, step, first + step.after_first, at);
            if KeyRejection::CODES.iter().any(|code| told.starts_with(code)) {
                prop_assert_eq!(&record, &before, "{}: {:?}", told, step);
            }
        }
    }
}
