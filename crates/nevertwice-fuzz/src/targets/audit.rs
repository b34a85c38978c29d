//! A file of the audit in a real data folder: with its own checksums, or with right ones.

use std::sync::{Arc, LazyLock};

use nevertwice_api::{AuditAsk, Fact};
use nevertwice_core::Entry;
use nevertwice_local::inspect::Inspection;
use nevertwice_local::is_audit;
use nevertwice_local::storage::Storage as _;
use nevertwice_testkit::storage::MemoryStorage;

use super::opened;
use crate::seeds::house::{House, Left};
use crate::{Verdict, forge};

/// A folder with an audit.
pub(crate) static HOUSE: LazyLock<House> = LazyLock::new(|| House::build(6, Left::StoppedWithSnapshots));

/// The first file of the audit in it.
pub(crate) fn file_name() -> String {
    let names = HOUSE.storage.list().expect("memory can be listed");
    names.into_iter().filter(|name| is_audit(name)).min().expect("its snapshots have written the audit")
}

/// The input is one byte that chooses whether the checksums are made right, then the file.
#[must_use]
pub fn run(bytes: &[u8]) -> Verdict {
    let Some((choice, bytes)) = bytes.split_first() else { return Verdict::Refused };
    let is_forged = choice % 2 == 1;
    let mut bytes = bytes.to_vec();
    if is_forged {
        forge::audit(&mut bytes, 1);
    }
    let storage = HOUSE.storage.fork(1);
    storage.put(&file_name(), &bytes);
    let shown = opened::open(&storage.fork(2));
    if let Ok(shown) = &shown {
        HOUSE.check_prefix(shown);
        HOUSE.check_reached(shown);
    }
    match told(&storage) {
        // Who makes checksums right may tell what he likes, in whole entries.
        Some(told) if !is_forged => {
            let expected: Vec<&Entry> = HOUSE.entries.iter().filter(|entry| entry.is_operators()).collect();
            assert_eq!(told.iter().collect::<Vec<_>>(), expected, "nothing is wrong with it, and it is not what was done");
            Verdict::of(shown.is_ok())
        }
        told => Verdict::of(told.is_some() && shown.is_ok()),
    }
}

/// All entries that the audit tells, if nothing is wrong with it.
fn told(storage: &MemoryStorage) -> Option<Vec<Entry>> {
    let inspection = Inspection::open(Arc::new(storage.clone())).expect("its marker is whole");
    let faults = inspection.audit_faults();
    let (audit, fault) = inspection.audit().ok()?;
    let mut asked = AuditAsk::default();
    let mut entries = Vec::new();
    loop {
        let page = audit.page(&asked).ok()?;
        entries.extend(page.facts.iter().filter_map(Fact::entry).cloned());
        assert!(entries.len() <= 1_000_000, "the pages come to an end");
        match page.next {
            Some(next) => asked.cursor = Some(next),
            None => break,
        }
    }
    (fault.is_none() && faults.is_ok_and(|faults| faults.is_empty())).then_some(entries)
}
