//! Each shard's history from its first entry: the command behind each entry, and every answer at its position.
//!
//! The entries come from the follower; that each of them was asked for, and that each answer tells what they say, is judged by the
//! record of the callers. At a position the auditor and a model are in the state in which the answer was computed, so refusals have
//! to be true there, reads have to show what was there, and replays have to repeat what was first said.

use std::collections::{BTreeMap, HashMap};

use nevertwice_api::{Answer, Level};
use nevertwice_core::model::Auditor;
use nevertwice_core::{Command, Decision, Entry, IdempotencyKey, Position, Principal, Query, Rejection, ShardId, State};

use crate::finding::Finding;
use crate::follower::{Followed, Follower};
use crate::record::{Call, ReadCall, Record};

/// The seeds of the model's hash tables.
const TABLES_SEED: (u64, u64) = (29, 31);

/// Answers of one shard, by what they are said of.
#[derive(Default)]
struct Said<'a> {
    at: BTreeMap<Position, Vec<&'a Call>>,
    reads: BTreeMap<Position, Vec<&'a ReadCall>>,
    sent: HashMap<(&'a Principal, &'a IdempotencyKey), Vec<&'a Command>>,
    /// The calls that were told that their intent has expired.
    expired: Vec<&'a Call>,
    /// The calls whose askers did not wait for the answer: they were decided all the same, and nobody knows in which turn.
    unheard: Vec<&'a Call>,
}

/// What was judged.
#[derive(Default)]
pub(crate) struct Judged {
    /// Answers, each at its position.
    pub(crate) answers: u64,
    /// Entries of intents that had been given up, after a clock was set back over a restart.
    pub(crate) late: u64,
}

/// Judges all answers.
pub(crate) fn judge(record: &Record, follower: &Follower) -> Result<Judged, Finding> {
    let mut said: BTreeMap<&ShardId, Said<'_>> = BTreeMap::new();
    for call in &record.calls {
        let of_shard = said.entry(&call.shard).or_default();
        let intent = &call.command.intent;
        of_shard.sent.entry((&intent.principal, &intent.key)).or_default().push(&call.command);
        if call.answer.is_none() {
            of_shard.unheard.push(call);
        }
        if let Some(Ok(answer)) = &call.answer {
            of_shard.at.entry(answer.position).or_default().push(call);
            if is_told_expired(call) {
                of_shard.expired.push(call);
            }
        }
    }
    for read in &record.reads {
        if let Some(reading) = &read.reading {
            said.entry(&read.shard).or_default().reads.entry(reading.position).or_default().push(read);
        }
    }
    for shard in follower.shards.keys() {
        said.entry(shard).or_default();
    }
    let mut judged = Judged::default();
    for (shard, said) in &said {
        let of_shard = judge_shard(shard, said, record, follower.shards.get(*shard))?;
        judged.answers += of_shard.answers;
        judged.late += of_shard.late;
    }
    Ok(judged)
}

fn judge_shard(shard: &ShardId, said: &Said<'_>, record: &Record, followed: Option<&Followed>) -> Result<Judged, Finding> {
    let chain = followed.map_or(&[][..], |followed| &followed.chain);
    lost_positions(shard, said, followed)?;
    let mut auditor = Auditor::new(shard.clone());
    let mut model = State::new(shard.clone(), 0, TABLES_SEED);
    let mut given_up = GivenUp::default();
    let mut judged = Judged::default();
    judged.answers += judge_at(Position::default(), said, record, &mut auditor, &model)?;
    given_up.note(Position::default(), said);
    for entry in chain {
        given_up.check(entry, &mut judged.late)?;
        let position = entry.position;
        let intent = &entry.intent;
        let about = |what: String| Finding::new(format!("{shard} {position}: {what}")).about(position).about(intent.key.as_str());
        let sent = said.sent.get(&(&intent.principal, &intent.key));
        let command = sent.and_then(|sent| sent.iter().find(|command| command.intent == *intent));
        let Some(command) = command else { return Err(about("an entry that nobody asked for".to_owned())) };
        let decision = Decision::Accepted(entry.clone());
        auditor.judge(command, entry.at_ms, &decision).map_err(|violation| about(violation.to_string()))?;
        model.apply(entry).map_err(|error| about(error.to_string()))?;
        judged.answers += judge_at(position, said, record, &mut auditor, &model)?;
        given_up.note(position, said);
    }
    auditor.compare(&model).map_err(|violation| Finding::new(format!("{shard} at its end: {violation}")))?;
    Ok(judged)
}

/// Intents whose senders were told that their time has run out: nothing of them may happen from then on.
#[derive(Default)]
struct GivenUp<'a>(HashMap<(&'a Principal, &'a IdempotencyKey), Vec<(Position, &'a Call)>>);

impl<'a> GivenUp<'a> {
    fn note(&mut self, position: Position, said: &Said<'a>) {
        for call in said.at.get(&position).into_iter().flatten().filter(|call| is_told_expired(call)) {
            let intent = &call.command.intent;
            self.0.entry((&intent.principal, &intent.key)).or_default().push((position, call));
        }
    }

    /// Whether an entry is of such an intent. Only a clock that was set back over a restart excuses it: that is a known limit, and
    /// the auditor sees to it that no entry is made at or after its intent's end.
    fn check(&self, entry: &Entry, late: &mut u64) -> Result<(), Finding> {
        let told = self.0.get(&(&entry.intent.principal, &entry.intent.key));
        let told = told.into_iter().flatten().find(|(_, call)| call.command.intent == entry.intent);
        let Some((position, call)) = told else { return Ok(()) };
        if call.epoch < entry.position.epoch {
            *late += 1;
            return Ok(());
        }
        let (shard, key, at) = (&entry.shard, entry.intent.key.as_str(), entry.position);
        let what = format!("{shard}: {key} was told as of {position} that its time has run out, and happened at {at} all the same");
        Err(Finding::new(what).about(key).about(at))
    }
}

fn is_told_expired(call: &Call) -> bool {
    matches!(answer_of(call).map(|answer| &answer.decision), Some(Decision::Rejected(Rejection::IntentExpired { .. })))
}

/// Positions that were told and are not there: only what was said not to be durable may be lost.
fn lost_positions(shard: &ShardId, said: &Said<'_>, followed: Option<&Followed>) -> Result<(), Finding> {
    let is_there = |position: Position| position.seq == 0 || followed.is_some_and(|followed| followed.has(position));
    for (position, calls) in &said.at {
        let durable = calls.iter().find(|call| answer_of(call).is_some_and(|answer| answer.levels.contains(Level::Journaled)));
        if let (Some(call), false) = (durable, is_there(*position)) {
            let key = call.command.intent.key.as_str();
            let what = format!("{shard}: {key} was answered as of {position}, which was called durable and is not there");
            return Err(Finding::new(what).about(key).about(position));
        }
    }
    for (position, reads) in &said.reads {
        let durable = reads.iter().find(|read| read.reading.as_ref().is_some_and(|reading| reading.levels.contains(Level::Journaled)));
        if durable.is_some() && !is_there(*position) {
            let what = format!("{shard}: a read was answered as of {position}, which was called durable and is not there");
            return Err(Finding::new(what).about(position));
        }
    }
    Ok(())
}

fn answer_of(call: &Call) -> Option<&Answer> {
    call.answer.as_ref().and_then(|answer| answer.as_ref().ok())
}

/// Judges what was said as of a position.
fn judge_at(position: Position, said: &Said<'_>, record: &Record, auditor: &mut Auditor, model: &State) -> Result<u64, Finding> {
    let mut judged = 0;
    for call in said.at.get(&position).into_iter().flatten() {
        judge_call(call, position, said, record, auditor)?;
        judged += 1;
    }
    for read in said.reads.get(&position).into_iter().flatten() {
        judge_read(read, position, model)?;
        judged += 1;
    }
    Ok(judged)
}

fn judge_call(call: &Call, position: Position, said: &Said<'_>, record: &Record, auditor: &mut Auditor) -> Result<(), Finding> {
    let Some(answer) = answer_of(call) else { return Ok(()) };
    let key = call.command.intent.key.as_str();
    let about = |what: String| Finding::new(format!("{} as of {position}, {key}: {what}", call.shard)).about(key).about(position);
    match &answer.decision {
        Decision::Accepted(entry) => {
            // The auditor has followed the durable entry of this position; what was told has to be the same.
            if entry.position != position {
                return Err(about(format!("accepted at {}", entry.position)));
            }
            let replay = Decision::Replayed(entry.clone());
            auditor.judge(&call.command, entry.at_ms, &replay).map_err(|violation| about(format!("accepted, but {violation}")))
        }
        decision => {
            // The clock's instants in all turns between the question and the answer: in one of them it was decided. Where somebody
            // had been told that an intent has expired, the shard's time did not go back behind that, whatever the clock showed.
            let turns = record.turns.get(call.turns.0..call.turns.1).unwrap_or_default();
            let mut violation = None;
            for at_ms in turns.chunk_by(|a, b| a == b).filter_map(<[i64]>::first).copied() {
                match auditor.judge(&call.command, at_ms, decision) {
                    Ok(()) => return Ok(()),
                    Err(other) => violation = Some(other),
                }
            }
            let floors = floors(call, said, record);
            if floors.iter().any(|at_ms| auditor.judge(&call.command, *at_ms, decision).is_ok()) {
                return Ok(());
            }
            let why = violation.map_or("it was answered before it was decided".to_owned(), |violation| violation.to_string());
            let (first, last) = (turns.first().copied().unwrap_or(0), turns.last().copied().unwrap_or(0));
            Err(about(format!("{}, but {why}; decided between {first} and {last}; asked: {:?}", word(decision), call.command)))
        }
    }
}

/// The instants of turns that may have been the last word on an intent of this shard before a call was answered, and are later than
/// what the clock showed when the call was decided.
fn floors(call: &Call, said: &Said<'_>, record: &Record) -> Vec<i64> {
    let turns = |call: &Call| record.turns.get(call.turns.0..call.turns.1).unwrap_or_default().iter().copied();
    let Some(earliest) = turns(call).min() else { return Vec::new() };
    let before = |told: &&&Call| told.epoch == call.epoch && told.turns.0 <= call.turns.1;
    let heard = said.expired.iter().filter(before).flat_map(|told| turns(told));
    let unheard = said.unheard.iter().filter(before).filter_map(|asked| Some((asked, asked.command.intent.expires_at?)));
    let unheard = unheard.flat_map(|(asked, expires_at)| {
        let turns = record.turns.get(asked.turns.0..call.turns.1).unwrap_or_default();
        turns.iter().copied().filter(move |at_ms| *at_ms >= expires_at)
    });
    let mut floors: Vec<i64> = heard.chain(unheard).filter(|at_ms| *at_ms > earliest).collect();
    floors.sort_unstable();
    floors.dedup();
    floors
}

fn word(decision: &Decision) -> String {
    match decision {
        Decision::Accepted(_) => "accepted".to_owned(),
        Decision::Replayed(entry) => format!("replayed {}", entry.position),
        Decision::Rejected(rejection) => format!("rejected: {rejection:?}"),
    }
}

fn judge_read(read: &ReadCall, position: Position, model: &State) -> Result<(), Finding> {
    let Some(reading) = &read.reading else { return Ok(()) };
    // What a key did is remembered for a time, and reads do not say when they were made.
    if matches!(read.query, Query::Intent { .. }) {
        return Ok(());
    }
    let expected = model.read(&read.query);
    if reading.view == expected {
        return Ok(());
    }
    let what = format!("{} as of {position}: {:?} showed {:?}, and there was {expected:?}", read.shard, read.query, reading.view);
    Err(Finding::new(what).about(position))
}
