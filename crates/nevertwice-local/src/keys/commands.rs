//! What the writer does about each command: asks the core's transition function, and keeps the change.

use nevertwice_api::{AnswerBytes, KeyReply, KeyStoreFailure, Level, Levels, PrincipalMark, Registered};
use nevertwice_core::keys::{
    BodyKept, CompleteKey, Completion, KeyAnswer, KeyDecision, KeyId, KeyRecord, KeyRejection, Lease, RegisterKey, Registration,
    ReleaseKey, RenewLease,
};

use super::answers::WriteFault;
use super::change::{Kept, Place};
use super::queue::{Item, Reply, Told};
use super::reader::Replay;
use super::writer::{State, Writer};

impl Writer {
    /// Does one thing.
    pub(super) fn take(&mut self, item: Item) {
        match item {
            Item::Register(principal, id, command, levels, reply) => self.register(principal, id, &command, levels, reply),
            Item::Complete(id, command, bytes, levels, reply) => self.complete(id, &command, &bytes, levels, reply),
            Item::Renew(id, command, reply) => self.renew(id, &command, reply),
            Item::Release(id, command, levels, reply) => self.release(id, &command, levels, reply),
            Item::Inspect(id, reply) => self.inspect(id, reply),
            Item::Sweep(records_max, reply) => self.sweep(records_max, reply),
            // The one who takes things out of the queue looks for it.
            Item::Stop => {}
        }
    }

    fn record(&self, id: &KeyId) -> Option<&KeyRecord> {
        self.records.get(id).map(|kept| &kept.record)
    }

    fn register(&mut self, principal: PrincipalMark, id: KeyId, command: &RegisterKey, levels: Levels, reply: Reply<KeyReply<Registered>>) {
        let KeyDecision { reply: decided, change } = command.decide(self.record(&id), self.group.at_ms);
        if let Some(record) = change {
            if let Err(failure) = self.make_room(principal, &id) {
                return drop(reply.send(Err(failure)));
            }
            self.change(id, Kept { record, place: None, principal });
        }
        let must_wait = self.must_wait(levels);
        let levels = self.levels(&id, must_wait);
        let at_ms = self.group.at_ms;
        let told = match decided {
            Ok(Registration::Replay { generation, answer }) => match self.place_of(&id, &answer) {
                Some(place) => Told::Replay(Replay { reply, generation, answer, place, at_ms, levels }),
                None => Told::Register(reply, registered(Ok(Registration::Replay { generation, answer }), at_ms, levels)),
            },
            other => Told::Register(reply, registered(other, at_ms, levels)),
        };
        self.tell(id, must_wait, told);
    }

    fn place_of(&self, id: &KeyId, answer: &KeyAnswer) -> Option<Place> {
        self.records.get(id)?.place.filter(|_| answer.body == BodyKept::Whole)
    }

    /// Finds room for a claim, or says why there is none.
    fn make_room(&mut self, principal: PrincipalMark, id: &KeyId) -> Result<(), KeyStoreFailure> {
        match self.group.state {
            State::Poisoned => return Err(KeyStoreFailure::Unavailable),
            State::Full => return Err(KeyStoreFailure::Full),
            State::Ready => {}
        }
        if self.records.get(id).is_some() {
            return Ok(());
        }
        if !self.has_room() || !self.has_share(principal) {
            self.sweep_at_bound();
        }
        match (self.has_share(principal), self.has_room()) {
            (false, _) => Err(KeyStoreFailure::PrincipalFull),
            (true, false) => Err(KeyStoreFailure::Full),
            (true, true) => Ok(()),
        }
    }

    /// Whether the principal may have one more record.
    fn has_share(&self, principal: PrincipalMark) -> bool {
        self.records.shares().has_room(principal, &self.bounds.of_one)
    }

    fn principal_of(&self, id: &KeyId) -> PrincipalMark {
        self.records.get(id).map_or(PrincipalMark::NOBODY, |kept| kept.principal)
    }

    fn has_room(&self) -> bool {
        self.records.len() < self.bounds.records_max && self.answers.has_room()
    }

    fn complete(&mut self, id: KeyId, command: &CompleteKey, bytes: &AnswerBytes, levels: Levels, reply: Reply<KeyReply<Completion>>) {
        let KeyDecision { reply: decided, change } = command.decide(self.record(&id), self.group.at_ms);
        if let Some(record) = change {
            if self.group.state == State::Poisoned {
                return drop(reply.send(Err(KeyStoreFailure::Unavailable)));
            }
            let principal = self.principal_of(&id);
            match self.keep(principal, &command.answer, bytes, record.retention_ms) {
                Ok(place) => self.change(id, Kept { record, place, principal }),
                Err(failure) => return drop(reply.send(Err(failure))),
            }
        }
        let must_wait = self.must_wait(levels);
        let told = self.reply(&id, must_wait, decided);
        self.tell(id, must_wait, Told::Complete(reply, told));
    }

    /// Writes an answer's bytes, if they are to be kept.
    fn keep(
        &mut self,
        principal: PrincipalMark,
        answer: &KeyAnswer,
        bytes: &AnswerBytes,
        retention_ms: i64,
    ) -> Result<Option<Place>, KeyStoreFailure> {
        if answer.body == BodyKept::Tombstone {
            return Ok(None);
        }
        let length = (bytes.head.len() + bytes.body.len()) as u64;
        if !self.records.shares().has_room_for(principal, length, &self.bounds.of_one) {
            return Err(KeyStoreFailure::PrincipalFull);
        }
        match self.answers.write(bytes, retention_ms) {
            Ok(place) => Ok(Some(place)),
            Err(WriteFault::Full) => Err(KeyStoreFailure::Full),
            Err(WriteFault::Failed(failure)) => {
                self.poison(&failure);
                self.group.state = State::Poisoned;
                Err(KeyStoreFailure::Unavailable)
            }
        }
    }

    fn renew(&mut self, id: KeyId, command: &RenewLease, reply: Reply<KeyReply<Lease>>) {
        let KeyDecision { reply: decided, change } = command.decide(self.record(&id), self.group.at_ms);
        if let Some(record) = change {
            match self.group.state {
                State::Poisoned => return drop(reply.send(Err(KeyStoreFailure::Unavailable))),
                // What is left is for those who answer.
                State::Full => return drop(reply.send(Err(KeyStoreFailure::Full))),
                State::Ready => self.change(id, Kept { record, place: None, principal: self.principal_of(&id) }),
            }
        }
        let must_wait = self.must_wait(Levels::NONE);
        let told = self.reply(&id, must_wait, decided);
        self.tell(id, must_wait, Told::Renew(reply, told));
    }

    fn release(&mut self, id: KeyId, command: &ReleaseKey, levels: Levels, reply: Reply<KeyReply<()>>) {
        let KeyDecision { reply: decided, change } = command.decide(self.record(&id), self.group.at_ms);
        if let Some(record) = change {
            if self.group.state == State::Poisoned {
                return drop(reply.send(Err(KeyStoreFailure::Unavailable)));
            }
            self.change(id, Kept { record, place: None, principal: self.principal_of(&id) });
        }
        let must_wait = self.must_wait(levels);
        let told = self.reply(&id, must_wait, decided);
        self.tell(id, must_wait, Told::Release(reply, told));
    }

    fn inspect(&mut self, id: KeyId, reply: Reply<Option<KeyRecord>>) {
        let record = KeyRecord::remembered(self.record(&id), self.group.at_ms).cloned();
        self.tell(id, self.must_wait(Levels::NONE), Told::Inspect(reply, record));
    }

    fn reply<R>(&self, id: &KeyId, must_wait: bool, decided: Result<R, KeyRejection>) -> KeyReply<R> {
        KeyReply { reply: decided, at_ms: self.group.at_ms, levels: self.levels(id, must_wait) }
    }

    /// The levels that an answer has reached when it is sent.
    fn levels(&self, id: &KeyId, must_wait: bool) -> Levels {
        if must_wait { Levels::reached(Level::Journaled) } else { self.reached(id) }
    }
}

fn registered(decided: Result<Registration, KeyRejection>, at_ms: i64, levels: Levels) -> KeyReply<Registered> {
    let reply = decided.map(|registration| Registered { registration, bytes: AnswerBytes::default() });
    KeyReply { reply, at_ms, levels }
}
