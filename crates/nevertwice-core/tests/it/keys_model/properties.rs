//! What must hold in every state, and that the checker sees it where it does not.

use std::sync::Arc;

use nevertwice_core::keys::LapsePolicy;
use stateright::{Checker as _, HasDiscoveries, Model as _, Property};

use super::steps::Keys;
use super::store::Bug;
use super::world::{Contender, End, Fault, Left, World};

const ONE_EFFECT: &str = "at most one effect where a lapsed key is refused";
const OWN_GENERATION: &str = "every effect has a generation of its own";
const ANSWER: &str = "an answer never changes";
const STALE: &str = "a stale owner changes nothing";
const GENERATION: &str = "the generation only rises";
const HANDS: &str = "a running claim does not change hands";
const ENDS: &str = "every contender ends";

/// A retention that no run of the model reaches.
const REMEMBERED_MS: i64 = 600_000;

fn has(world: &World, fault: Fault) -> bool {
    world.fault == Some(fault)
}

fn has_ended(contender: &Contender) -> bool {
    matches!(contender, Contender::Ended(_))
}

pub(super) fn all(keys: &Keys) -> Vec<Property<Keys>> {
    let mut all: Vec<Property<Keys>> = vec![
        // An attempt that slept until the key was forgotten is the one exception, and its generation is behind.
        Property::always(ONE_EFFECT, |keys: &Keys, world: &World| {
            keys.lapse != LapsePolicy::Refuse || world.acts.len() <= 1 || world.forgotten
        }),
        Property::always(OWN_GENERATION, |_: &Keys, world: &World| world.acts.windows(2).all(|pair| pair[0] != pair[1])),
        Property::always(ANSWER, |_: &Keys, world: &World| !has(world, Fault::AnswerChanged)),
        Property::always(STALE, |_: &Keys, world: &World| !has(world, Fault::StaleOwnerChanged)),
        Property::always(GENERATION, |_: &Keys, world: &World| !has(world, Fault::GenerationNotRisen)),
        Property::always(HANDS, |_: &Keys, world: &World| !has(world, Fault::RunningClaimChangedHands)),
        // Looked at where nothing more can happen, and not as a property of paths: the checker may miss those where paths meet.
        Property::always(ENDS, |keys: &Keys, world: &World| {
            let mut steps = Vec::new();
            keys.actions(world, &mut steps);
            world.fault.is_some() || !steps.is_empty() || world.contenders.iter().all(has_ended)
        }),
        // And what these are to be true of does happen.
        Property::sometimes("somebody hears another's answer", |_: &Keys, world: &World| ended(world, End::Replayed)),
        Property::sometimes("somebody is replaced", |_: &Keys, world: &World| ended(world, End::Replaced)),
    ];
    if keys.retention_ms == REMEMBERED_MS {
        all.push(Property::always("nothing is forgotten", |_: &Keys, world: &World| !world.forgotten));
    }
    if keys.lapse == LapsePolicy::Refuse {
        all.push(Property::sometimes("somebody hears that nobody knows", |_: &Keys, world: &World| ended(world, End::Unknown)));
    }
    all
}

fn ended(world: &World, end: End) -> bool {
    world.contenders.contains(&Contender::Ended(end))
}

/// Two contenders, a retention that ends, and something of everything.
fn two(lapse: LapsePolicy) -> Keys {
    let left = Left { losses: 2, deaths: 1, renewals: 2 };
    Keys { contenders: 2, lapse, retention_ms: 3_000, ticks: 7, left, bug: None, seen: Arc::default() }
}

/// Three contenders.
fn three(lapse: LapsePolicy) -> Keys {
    let left = Left { losses: 1, deaths: 1, renewals: 1 };
    Keys { contenders: 3, lapse, retention_ms: 3_000, ticks: 6, left, bug: None, seen: Arc::default() }
}

/// Walks every state and holds it to every property.
fn check(name: &str, keys: Keys, states_min: usize) {
    let (seen, takes_over) = (keys.seen.clone(), keys.lapse != LapsePolicy::Refuse);
    let checked = keys.checker().spawn_bfs().join();
    println!("{name}: {} states, {} steps, {} deep", checked.unique_state_count(), checked.state_count(), checked.max_depth());
    checked.assert_properties();
    assert_eq!(seen.missing(takes_over), [""; 0], "{name}");
    assert!(checked.unique_state_count() > states_min, "{name}: only {} states", checked.unique_state_count());
}

/// `Ask` takes a key over exactly as `Rerun` does, where no key has a time of its own: what differs is what the new owner does first.
#[test]
fn two_contenders_keep_every_property_whatever_becomes_of_a_lapsed_key() {
    for lapse in [LapsePolicy::Refuse, LapsePolicy::Rerun] {
        check(&format!("two, {}", lapse.word()), two(lapse), 10_000);
    }
}

#[test]
fn three_contenders_keep_every_property_where_a_lapsed_key_is_refused() {
    check("three, refuse", three(LapsePolicy::Refuse), 10_000);
}

#[test]
fn three_contenders_keep_every_property_where_a_lapsed_key_is_run_again() {
    check("three, rerun", three(LapsePolicy::Rerun), 10_000);
}

/// While the key is remembered there is no exception.
#[test]
fn of_three_contenders_one_has_its_effect_as_long_as_the_key_is_remembered() {
    check("three, remembered", Keys { retention_ms: REMEMBERED_MS, ..three(LapsePolicy::Refuse) }, 10_000);
}

#[test]
fn a_planted_bug_is_found() {
    for (bug, lapse, property) in [
        (Bug::OwnerNotCompared, LapsePolicy::Rerun, STALE),
        (Bug::LeaseEndForgets, LapsePolicy::Refuse, ONE_EFFECT),
        (Bug::ReleaseForgets, LapsePolicy::Refuse, GENERATION),
    ] {
        let until = HasDiscoveries::AnyOf([property].into());
        let checked = Keys { bug: Some(bug), ..two(lapse) }.checker().finish_when(until).spawn_bfs().join();
        let found = checked.discovery(property).unwrap_or_else(|| panic!("{bug:?} was not found"));
        println!("{bug:?}: {property}, after {} steps", found.into_actions().len());
    }
}
