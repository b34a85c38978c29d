//! The patience of a publisher.

/// How a publisher works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublisherOptions {
    /// Who it is, for people: a host and a process.
    pub holder: String,
    /// The endpoints, each told everything from the first message on that is there when it is named for the first time.
    pub endpoints: Vec<String>,
    /// How long it is the one that publishes, without a renewal, in milliseconds.
    pub lease_ms: i64,
    /// The pause after the first failed try, in milliseconds; each further one is twice as long.
    pub pause_ms: i64,
    /// The longest pause, in milliseconds.
    pub pause_ms_max: i64,
    /// How often a message is tried before it becomes a dead letter.
    pub tries_max: i64,
    /// How many messages one step numbers, and how many it carries of one stream to one endpoint, at most.
    pub step_messages_max: i64,
}

impl Default for PublisherOptions {
    fn default() -> Self {
        Self {
            holder: "nevertwice".to_owned(),
            endpoints: Vec::new(),
            lease_ms: 30_000,
            pause_ms: 1_000,
            pause_ms_max: 3_600_000,
            tries_max: 20,
            step_messages_max: 64,
        }
    }
}

impl PublisherOptions {
    /// The pause after so many failed tries: twice as long each time, and somewhere in its upper half, by that random number, so that
    /// those who failed together don't come back together.
    pub(super) fn pause(&self, tries: i64, random: u64) -> i64 {
        let doublings = u32::try_from(tries.saturating_sub(1).clamp(0, 62)).unwrap_or(0);
        let whole = self.pause_ms.saturating_mul(1_i64.checked_shl(doublings).unwrap_or(i64::MAX)).min(self.pause_ms_max).max(1);
        let half = whole / 2;
        half + i64::try_from(random % u64::try_from(whole - half + 1).unwrap_or(1)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_their_bound_and_are_scattered() {
        let options = PublisherOptions { pause_ms: 1_000, pause_ms_max: 60_000, ..PublisherOptions::default() };
        for (tries, whole) in [(1, 1_000), (2, 2_000), (3, 4_000), (6, 32_000), (7, 60_000), (64, 60_000), (i64::MAX, 60_000)] {
            assert_eq!(options.pause(tries, 0), whole / 2, "after {tries} tries");
            assert_eq!(options.pause(tries, u64::try_from(whole / 2).expect("it is small")), whole, "after {tries} tries");
        }
    }
}
