//! What happened how often.

macro_rules! counts {
    ($($(#[doc = $meaning:literal])* $name:ident,)*) => {
        /// What happened how often.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Counts {
            $($(#[doc = $meaning])* pub $name: u64,)*
        }

        impl Counts {
            /// All of them with their names, in the order of their declaration.
            #[must_use]
            pub fn named(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name)),*]
            }

            /// Adds those of another seed.
            pub(crate) const fn add(&mut self, other: &Self) {
                $(self.$name += other.$name;)*
            }
        }
    };
}

counts! {
    /// Commands that were answered with a decision.
    decisions,
    /// Intents of clients, reads included.
    intents,
    /// Requests that arrived over HTTP.
    http,
    /// Entries that were accepted and are durable.
    entries,
    /// Ends of the process without warning.
    crashes,
    /// Those of them that took the power with them.
    power_losses,
    /// Those that came in the middle of a call to the disk.
    in_calls,
    /// Those that came in a recovery.
    in_recoveries,
    /// Orderly stops.
    stops,
    /// Failed calls to the disk.
    failed_calls,
    /// Times that the disk was full.
    full_disks,
    /// Bits that were flipped.
    flips,
    /// Flipped bits that were found and refused as damage.
    flips_found,
    /// Steps of the clock.
    clock_steps,
    /// Starts that were refused because the clock was far behind.
    clock_refusals,
    /// Snapshots that were made, or tried.
    snapshots,
    /// Sweeps of the steward.
    sweeps,
    /// Payments that were made at the gateway.
    payments,
    /// Refusals and reads that were judged at their position.
    judged,
    /// Entries of intents that had been given up, after a clock was set back over a restart: a known limit.
    late_copies,
    /// Standbys that were promoted after their primaries were lost.
    promotions,
    /// Answers at the level `replicated` before that.
    replicated,
    /// Deaths of standbys.
    standby_deaths,
    /// Entries that were told as `journaled` alone and that a promoted standby lacks.
    lacking,
    /// Virtual time, in milliseconds.
    virtual_ms,
}
