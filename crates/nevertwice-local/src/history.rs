//! Tells what has happened, of a folder that is served: from the files of the audit and from durable segments, beside the writer.

use std::io;
use std::time::Duration;

use nevertwice_api::{AuditAsk, AuditPage, Finding, History, HistoryFailure, Sought};

use crate::audit::Trail;
use crate::clock::Stopwatch;
use crate::error::OpenError;
use crate::follow::Following;
use crate::journal::JournalReader;

/// After so many bytes a search pauses, for as long as it took to read them: others have the processor and the disk for half of
/// the time.
const BYTES_A_STEP: usize = 4 << 20;

/// The longest pause.
const PAUSE_MAX: Duration = Duration::from_millis(20);

/// How often a search begins again because the segments that it was about to read had gone.
const TRIES: usize = 3;

/// The history of a folder that is served.
pub(crate) struct LocalHistory {
    reader: JournalReader,
    trail: Trail,
}

impl LocalHistory {
    pub(crate) fn new(reader: JournalReader, trail: Trail) -> LocalHistory {
        LocalHistory { reader, trail }
    }

    /// Writes what the audit has waiting: nothing more will come.
    pub(crate) fn end(&self) {
        if self.trail.has_news() {
            self.trail.flush();
        }
    }

    fn search(&self, sought: &Sought, watch: &Stopwatch, within: Duration) -> Result<Finding, Stopped> {
        let (first, last) = (self.reader.first(), self.reader.durable());
        let mut following = Following::new(sought);
        let (mut bytes, mut step) = (0, Stopwatch::start());
        let read = self.reader.read(first.saturating_sub(1), last, |frame| {
            following.take(frame)?;
            bytes += frame.payload.len();
            if bytes >= BYTES_A_STEP {
                std::thread::sleep(step.took().min(PAUSE_MAX));
                (bytes, step) = (0, Stopwatch::start());
            }
            if watch.took() > within { Err(Stopped::TimeOver) } else { Ok(()) }
        });
        match read {
            Ok(_) | Err(Stopped::TimeOver) => Ok(following.finish(first, last)),
            Err(stopped) => Err(stopped),
        }
    }
}

impl History for LocalHistory {
    fn audit(&self, asked: &AuditAsk) -> Result<AuditPage, HistoryFailure> {
        self.trail.page(asked)
    }

    fn follow(&self, sought: &Sought, within: Duration) -> Result<Finding, HistoryFailure> {
        let watch = Stopwatch::start();
        let mut tries = 0;
        loop {
            tries += 1;
            match self.search(sought, &watch, within) {
                Ok(finding) => return Ok(finding),
                Err(Stopped::Pruned) if tries < TRIES => {}
                Err(stopped) => return Err(stopped.failure()),
            }
        }
    }
}

/// Why a search did not come to the end.
enum Stopped {
    TimeOver,
    Pruned,
    Failed(HistoryFailure),
}

impl Stopped {
    fn failure(self) -> HistoryFailure {
        match self {
            Stopped::Failed(failure) => failure,
            Stopped::TimeOver | Stopped::Pruned => {
                HistoryFailure::Unreadable { what: "segments went faster than they were read".to_owned() }
            }
        }
    }
}

impl From<HistoryFailure> for Stopped {
    fn from(failure: HistoryFailure) -> Stopped {
        Stopped::Failed(failure)
    }
}

impl From<OpenError> for Stopped {
    fn from(error: OpenError) -> Stopped {
        match error {
            // A segment that a snapshot let go after the search had begun.
            OpenError::Io(failure) if failure.source.kind() == io::ErrorKind::NotFound => Stopped::Pruned,
            error => Stopped::Failed(failure_of(&error)),
        }
    }
}

/// What an error of reading says to who asked.
pub(crate) fn failure_of(error: &OpenError) -> HistoryFailure {
    match error {
        OpenError::Io(failure) => HistoryFailure::Unreadable { what: failure.to_string() },
        OpenError::Damage(damage) => HistoryFailure::Damaged { what: damage.to_string() },
        error => HistoryFailure::Damaged { what: error.to_string() },
    }
}
