//! How much of a store each principal holds, so that none of them fills it for all others.

use std::collections::HashMap;

/// Against whose bound a record counts: 32 bits of a keyed digest of who calls, made by whoever names the records. So a store knows
/// which records have the same caller, and not who that is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PrincipalMark(pub u32);

impl PrincipalMark {
    /// Nobody's: such records count against the store's own bounds alone.
    pub const NOBODY: Self = Self(0);

    /// The mark made of a digest; never that of nobody.
    #[must_use]
    pub const fn of(digest: u64) -> Self {
        let mark = (digest ^ (digest >> 32)) as u32;
        Self(if mark == 0 { 1 } else { mark })
    }
}

/// Small tables, each of which grows by itself: none grows by one rehash of all principals.
const PARTS: usize = 64;

/// The most that one principal holds of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShareBounds {
    /// Records.
    pub records_max: u64,
    /// Bytes of answers.
    pub answers_bytes_max: u64,
}

impl ShareBounds {
    /// The bounds that a setting means, in a store that holds so much: 0 is half of the store.
    #[must_use]
    pub const fn or_half(self, records_max: u64, answers_bytes_max: u64) -> Self {
        const fn or_half(said: u64, of: u64) -> u64 {
            if said == 0 { of.div_ceil(2) } else { said }
        }
        Self { records_max: or_half(self.records_max, records_max), answers_bytes_max: or_half(self.answers_bytes_max, answers_bytes_max) }
    }
}

/// What one principal holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Share {
    records: u64,
    answer_bytes: u64,
}

/// How much of a store each principal holds. It bounds nothing by itself: a store asks before it takes something.
#[derive(Debug)]
pub struct PrincipalShares {
    parts: Vec<HashMap<PrincipalMark, Share>>,
}

impl Default for PrincipalShares {
    fn default() -> Self {
        Self { parts: (0..PARTS).map(|_| HashMap::new()).collect() }
    }
}

impl PrincipalShares {
    /// Whether the principal may have one more record.
    #[must_use]
    pub fn has_room(&self, principal: PrincipalMark, bounds: &ShareBounds) -> bool {
        if principal == PrincipalMark::NOBODY {
            return true;
        }
        let share = self.share(principal);
        share.records < bounds.records_max && share.answer_bytes < bounds.answers_bytes_max
    }

    /// Whether the principal may have so many bytes of answers more.
    #[must_use]
    pub fn has_room_for(&self, principal: PrincipalMark, answer_bytes: u64, bounds: &ShareBounds) -> bool {
        principal == PrincipalMark::NOBODY || self.share(principal).answer_bytes.saturating_add(answer_bytes) <= bounds.answers_bytes_max
    }

    /// Counts a record and the bytes of its answer.
    pub fn add(&mut self, principal: PrincipalMark, records: u64, answer_bytes: u64) {
        if principal == PrincipalMark::NOBODY {
            return;
        }
        let share = self.part(principal).entry(principal).or_default();
        share.records = share.records.saturating_add(records);
        share.answer_bytes = share.answer_bytes.saturating_add(answer_bytes);
    }

    /// Counts them no more. Who holds nothing takes no memory.
    pub fn remove(&mut self, principal: PrincipalMark, records: u64, answer_bytes: u64) {
        let part = self.part(principal);
        if let Some(share) = part.get_mut(&principal) {
            share.records = share.records.saturating_sub(records);
            share.answer_bytes = share.answer_bytes.saturating_sub(answer_bytes);
            if *share == Share::default() {
                part.remove(&principal);
            }
        }
    }

    /// How many principals hold something.
    #[must_use]
    pub fn principals(&self) -> usize {
        self.parts.iter().map(HashMap::len).sum()
    }

    fn part(&mut self, principal: PrincipalMark) -> &mut HashMap<PrincipalMark, Share> {
        &mut self.parts[principal.0 as usize % PARTS]
    }

    fn share(&self, principal: PrincipalMark) -> Share {
        self.parts[principal.0 as usize % PARTS].get(&principal).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: ShareBounds = ShareBounds { records_max: 2, answers_bytes_max: 10 };

    #[test]
    fn one_principal_at_its_bound_leaves_the_others_theirs() {
        let (ann, bob) = (PrincipalMark(7), PrincipalMark(7 + 64));
        let mut shares = PrincipalShares::default();
        shares.add(ann, 1, 4);
        assert!(shares.has_room(ann, &BOUNDS) && shares.has_room_for(ann, 6, &BOUNDS) && !shares.has_room_for(ann, 7, &BOUNDS));
        shares.add(ann, 1, 0);
        assert!(!shares.has_room(ann, &BOUNDS) && shares.has_room(bob, &BOUNDS));
        shares.remove(ann, 1, 0);
        shares.add(ann, 0, 6);
        assert!(!shares.has_room(ann, &BOUNDS), "its bytes are used up");
        shares.remove(ann, 1, 10);
        assert_eq!(shares.principals(), 0);
    }

    #[test]
    fn nobody_has_no_bound_and_no_digest_is_nobodys() {
        let mut shares = PrincipalShares::default();
        shares.add(PrincipalMark::NOBODY, 9, 99);
        assert!(shares.has_room(PrincipalMark::NOBODY, &BOUNDS) && shares.has_room_for(PrincipalMark::NOBODY, 99, &BOUNDS));
        for digest in [0, 1, 1 << 32, (1 << 32) | 1, u64::MAX] {
            assert_ne!(PrincipalMark::of(digest), PrincipalMark::NOBODY, "{digest}");
        }
    }

    #[test]
    fn nothing_said_is_half_of_the_store() {
        let said = |records_max, answers_bytes_max| ShareBounds { records_max, answers_bytes_max };
        assert_eq!(said(0, 0).or_half(1_000, 1), said(500, 1));
        assert_eq!(said(3, 4).or_half(1_000, 1_000), said(3, 4));
    }
}
