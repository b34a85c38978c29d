//! Each shard's history from its first entry: the command behind each entry, and every answer at its position.
//!
//! The entries come from the follower; that each of them was asked for, and that each answer tells what they say, is judged by the
//! record of the callers. At a position the auditor and a model are in the state in which the answer was computed, so refusals have
//! to be true there, reads have to show what was there, and replays have to repeat what was first said.

use std::collections::{BTreeMap, HashMap};

use nevertwice_api::{Answer, Level};
use nevertwice_core::model::Auditor;
use nevertwice_core::{Command, Decision, IdempotencyKey, Position, Principal, Query, ShardId, State};

use crate::finding::Finding;
use crate::follower::{Follower, Followed};
use crate::record::{Call, ReadCall, Record};

/// The seeds of the model's hash tables.
const TABLES_SEED: (u64, u64) = (29, 31);

/// Answers of one shard, by what they are said of.
#[derive(Default)]
struct Said<'a> {
    at: BTreeMap<Position, Vec<&'a Call>>,
    reads: BTreeMap<Position, Vec<&'a ReadCall>>,
    sent: HashMap<(&'a Principal, &'a IdempotencyKey), Vec<&'a Command>>,
}

/// Judges all answers, and says how many were judged at their position.
pub(crate) fn judge(record: &Record, follower: &Follower) -> Result<u64, Finding> {
    let mut said: BTreeMap<&ShardId, Said<'_>> = BTreeMap::new();
    for call in &record.calls {
        let of_shard = said.entry(&call.shard).or_default();
        let intent = &call.command.intent;
        of_shard.sent.entry((&intent.principal, &intent.key)).or_default().push(&call.command);
        if let Some(Ok(answer)) = &call.answer {
            of_shard.at.entry(answer.position).or_default().push(call);
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
    let mut judged = 0;
    for (shard, said) in &said {
        judged += judge_shard(shard, said, record, follower.shards.get(*shard))?;
    }
    Ok(judged)
}

fn judge_shard(shard: &ShardId, said: &Said<'_>, record: &Record, followed: Option<&Followed>) -> Result<u64, Finding> {
    let chain = followed.map_or(&[][..], |followed| &followed.chain);
    lost_positions(shard, said, followed)?;
    let mut auditor = Auditor::new(shard.clone());
    let mut model = State::new(shard.clone(), 0, TABLES_SEED);
    let mut judged = judge_at(Position::default(), said, record, &mut auditor, &model)?;
    for entry in chain {
        let position = entry.position;
        let intent = &entry.intent;
        let about = |what: String| Finding::new(format!("{shard} {position}: {what}")).about(position).about(intent.key.as_str());
        let sent = said.sent.get(&(&intent.principal, &intent.key));
        let command = sent.and_then(|sent| sent.iter().find(|command| command.intent == *intent));
        let Some(command) = command else { return Err(about("an entry that nobody asked for".to_owned())) };
        let decision = Decision::Accepted(entry.clone());
        auditor.judge(command, entry.at_ms, &decision).map_err(|violation| about(violation.to_string()))?;
        model.apply(entry).map_err(|error| about(error.to_string()))?;
        judged += judge_at(position, said, record, &mut auditor, &model)?;
    }
    auditor.compare(&model).map_err(|violation| Finding::new(format!("{shard} at its end: {violation}")))?;
    Ok(judged)
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
        judge_call(call, position, record, auditor)?;
        judged += 1;
    }
    for read in said.reads.get(&position).into_iter().flatten() {
        judge_read(read, position, model)?;
        judged += 1;
    }
    Ok(judged)
}

fn judge_call(call: &Call, position: Position, record: &Record, auditor: &mut Auditor) -> Result<(), Finding> {
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
            // The clock's instants in all turns between the question and the answer: in one of them it was decided.
            let turns = record.turns.get(call.turns.0..call.turns.1).unwrap_or_default();
            let mut instants = turns.to_vec();
            instants.dedup();
            let mut violation = None;
            for at_ms in instants.iter().copied() {
                match auditor.judge(&call.command, at_ms, decision) {
                    Ok(()) => return Ok(()),
                    Err(other) => violation = Some(other),
                }
            }
            let why = violation.map_or("it was answered before it was decided".to_owned(), |violation| violation.to_string());
            let (first, last) = (instants.first().copied().unwrap_or(0), instants.last().copied().unwrap_or(0));
            Err(about(format!("{}, but {why}; decided between {first} and {last}; asked: {:?}", word(decision), call.command)))
        }
    }
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
