//! The judge finds what is planted, names it, and finds nothing in an honest run.

use nevertwice_bots::record::{Asked, BookingStage, Effect, Kind, Position, QUIET_US, Side, Told, Verdict, judge};

use crate::world::{World, intent, order};

fn verdict(world: &World) -> Verdict {
    judge(&world.record, Some(&world.market), Some(&world.sale))
}

/// The run fails, this kind is among the findings, and one of that kind says `words`.
fn finds(world: &World, kind: Kind, words: &str) {
    let verdict = verdict(world);
    let told = verdict.findings.iter().any(|finding| finding.kind == kind && finding.detail.contains(words));
    assert!(!verdict.is_clean() && told, "wanted {kind:?} with \"{words}\": {:#?}", verdict.findings);
}

#[test]
fn an_honest_run_is_clean() {
    let world = World::busy();
    assert!(world.record.len() > 300);
    assert_eq!(verdict(&world).findings, []);
}

#[test]
fn retries_refusals_and_lost_replies_are_no_failure() {
    let mut world = World::busy();
    let asked = order("ann", "X-1", Side::Buy, 2);
    world.tell("r", asked.clone(), Told::Nothing);
    world.tell("r", asked.clone(), Told::Unseen);
    world.tell("r", asked.clone(), Told::No { code: "insufficient_balance".into() });
    let effect = world.trade("r", "ann", "X-1", Side::Buy, 2);
    let (position, _) = world.record.get(&intent("r")).and_then(|notes| notes.yes()).expect("told yes");
    world.tell("r", asked, Told::Yes { position, replayed: true, effect, digest: 0 });
    assert_eq!(verdict(&world).findings, []);
}

// -- lost ---------------------------------------------------------------------------------------------------------------

#[test]
fn a_lost_fill_is_found() {
    for side in [Side::Buy, Side::Sell] {
        let mut world = World::busy();
        world.trade("first", "ann", "X-1", Side::Buy, 40);
        let before = world.market.clone();
        world.trade("gone", "ann", "X-1", side, 33);
        // The server forgot its last fill whole, as a power cut makes it.
        world.market = before;
        finds(&world, Kind::Lost, "the fill of p/gone is not there");
        assert_eq!(verdict(&world).findings.len(), 1);
    }
}

#[test]
fn a_lost_booking_is_found() {
    let mut world = World::busy();
    let booking = world.booking_of("C3");
    world.sale.bookings.remove(&booking);
    world.sale.live -= 1;
    world.sale.levels.get_mut("b").expect("a level").live -= 1;
    finds(&world, Kind::Lost, "p/C3 was told the booking");
}

#[test]
fn a_booking_that_ended_by_itself_is_lost() {
    let mut world = World::busy();
    let booking = world.booking_of("C3");
    world.set_stage(booking, BookingStage::Released);
    finds(&world, Kind::Lost, "never ended, and is released");
}

#[test]
fn a_lost_payment_is_found() {
    let mut world = World::busy();
    let booking = world.booking_of("C2");
    world.set_stage(booking, BookingStage::Admitted);
    finds(&world, Kind::Lost, "was told paid to p/C2-end, and is admitted");
}

#[test]
fn a_payment_at_the_page_that_is_lost_is_found() {
    let mut world = World::busy();
    let booking = world.booking_of("C3");
    world.tell("page", Asked::PayAtPage { booking }, Told::Nothing);
    world.tell("page", Asked::PayAtPage { booking }, Told::Shown);
    finds(&world, Kind::Lost, "was told paid to p/page, and is admitted");
    world.set_stage(booking, BookingStage::Paid);
    assert_eq!(verdict(&world).findings, []);
}

// -- doubled ------------------------------------------------------------------------------------------------------------

#[test]
fn a_doubled_fill_is_found() {
    let mut world = World::busy();
    world.trade("once", "bob", "X-2", Side::Buy, 41);
    world.fill("bob", "X-2", Side::Buy, 41);
    finds(&world, Kind::Doubled, "as if p/once had been filled twice");
    assert_eq!(verdict(&world).count(Kind::Lost), 0);
}

/// Even if a later fill makes up for it, the answers around it show the gap.
#[test]
fn a_doubled_fill_that_is_sold_again_is_found() {
    let mut world = World::busy();
    world.trade("once", "bob", "X-2", Side::Buy, 41);
    world.fill("bob", "X-2", Side::Buy, 41);
    world.trade("next", "bob", "X-2", Side::Sell, 1);
    world.fill("bob", "X-2", Side::Sell, 41);
    finds(&world, Kind::Changed, "bob's holding of X-2 was");
}

#[test]
fn one_intent_with_two_effects_is_found() {
    let mut world = World::busy();
    world.trade("twice", "bob", "X-2", Side::Buy, 3);
    world.trade("twice", "bob", "X-2", Side::Buy, 3);
    finds(&world, Kind::Doubled, "p/twice has effects at");
}

#[test]
fn a_fill_that_nobody_asked_for_is_found() {
    let mut world = World::new();
    world.fill("ann", "X-1", Side::Buy, 5);
    finds(&world, Kind::Doubled, "nobody asked for it");
}

#[test]
fn a_doubled_booking_is_found() {
    let mut world = World::busy();
    world.end("C2", BookingStage::Released);
    world.book("C3", "b");
    finds(&world, Kind::Doubled, "C3 has the live bookings");
    finds(&world, Kind::Doubled, "nobody was told of it");
}

#[test]
fn a_booking_that_ended_twice_is_found() {
    let mut world = World::busy();
    let booking = world.booking_of("C2");
    let position = world.position();
    let told = Told::Yes { position, replayed: false, effect: Effect::Done, digest: 0 };
    world.tell("other", Asked::Release { booking }, told);
    finds(&world, Kind::Doubled, "ended paid for p/C2-end and released for p/other");
}

// -- oversold -----------------------------------------------------------------------------------------------------------

#[test]
fn a_level_over_its_cap_is_found() {
    let mut world = World::new();
    for candidate in ["C1", "C2", "C3"] {
        world.admit(candidate, candidate, "a");
    }
    finds(&world, Kind::Oversold, "3 live bookings on a, and it has 2 seats");
    assert_eq!(verdict(&world).findings.len(), 1);
}

#[test]
fn a_sale_over_its_total_is_found() {
    let mut world = World::busy();
    world.admit("C4", "C4", "b");
    finds(&world, Kind::Oversold, "4 live bookings, and the sale has 3 seats");
}

#[test]
fn a_seat_sold_twice_is_found() {
    let mut world = World::busy();
    let (one, other) = (world.booking_of("C2"), world.booking_of("C3"));
    let seat = world.sale.bookings[&one].seat;
    world.sale.bookings.get_mut(&other).expect("booked").seat = seat;
    finds(&world, Kind::Oversold, "is in the live bookings");
}

#[test]
fn a_counter_that_drifts_is_found() {
    let mut world = World::busy();
    world.sale.live -= 1;
    finds(&world, Kind::Changed, "3 live bookings are listed, and 2 counted");
}

// -- changed, not conserved, unsettled ------------------------------------------------------------------------------------

#[test]
fn an_answer_that_changes_is_found() {
    let mut world = World::busy();
    let asked = order("ann", "X-1", Side::Buy, 2);
    let effect = world.trade("r", "ann", "X-1", Side::Buy, 2);
    let (position, _) = world.record.get(&intent("r")).and_then(|notes| notes.yes()).expect("told yes");
    let Effect::Filled { total, balance, holding, price_before, price_after } = effect.clone() else { panic!("a fill") };
    let other = Effect::Filled { total: total + 1, balance, holding, price_before, price_after };
    world.tell("r", asked.clone(), Told::Yes { position, replayed: true, effect: other, digest: 0 });
    finds(&world, Kind::Changed, "p/r at 1-");
    let mut world = World::busy();
    world.trade("r", "ann", "X-1", Side::Buy, 2);
    world.tell("r", asked.clone(), Told::No { code: "insufficient_balance".into() });
    finds(&world, Kind::Changed, "told yes, and asked again told insufficient_balance");
    let mut world = World::busy();
    let effect = world.trade("r", "ann", "X-1", Side::Buy, 2);
    let (position, _) = world.record.get(&intent("r")).and_then(|notes| notes.yes()).expect("told yes");
    world.tell("r", asked, Told::Yes { position, replayed: false, effect, digest: 0 });
    finds(&world, Kind::Changed, "2 answers say that they are the first");
}

#[test]
fn one_position_for_two_intents_is_found() {
    let mut world = World::busy();
    let position = world.booking_of("C3");
    let seat = world.sale.bookings[&position].seat;
    let effect = Effect::Admitted { level: "b".into(), seat };
    let asked = Asked::Admission { candidate: "C9".into(), level: "b".into() };
    world.tell("C9", asked, Told::Yes { position, replayed: false, effect, digest: 0 });
    finds(&world, Kind::Changed, "were both told");
}

#[test]
fn money_that_appears_is_found() {
    let mut world = World::busy();
    world.market.accounts.get_mut("ann").expect("opened").balance += 1;
    finds(&world, Kind::NotConserved, "all money sums to +1");
    finds(&world, Kind::NotConserved, "ann has +1 against what was told");
    let mut world = World::busy();
    world.market.instruments.get_mut("X-1").expect("listed").net += 1;
    finds(&world, Kind::NotConserved, "of X-1 are held, and its net is");
    let mut world = World::busy();
    world.market.fees += 5;
    finds(&world, Kind::NotConserved, "all money sums to +5");
}

#[test]
fn an_intent_of_unknown_fate_is_told() {
    let asked = order("ann", "X-1", Side::Buy, 2);
    let no = || Told::No { code: "insufficient_balance".into() };
    let mut world = World::busy();
    world.tell("r", asked.clone(), Told::Nothing);
    finds(&world, Kind::Unsettled, "p/r");
    // A no that comes at once says nothing of an attempt that may still wait in a queue.
    world.tell("r", asked.clone(), no());
    finds(&world, Kind::Unsettled, "p/r");
    world.wait(QUIET_US);
    world.tell("r", asked.clone(), no());
    assert!(verdict(&world).is_clean());
    world.tell("r", asked.clone(), Told::Nothing);
    finds(&world, Kind::Unsettled, "p/r");
    // Nobody listened: nothing happened, but nobody knows what the answer would be.
    let mut world = World::busy();
    world.tell("r", asked, Told::Unseen);
    finds(&world, Kind::Unsettled, "p/r");
}

#[test]
fn positions_read_as_the_wire_writes_them() {
    let position: Position = "3-1234".parse().expect("a position");
    assert_eq!((position.epoch, position.seq, position.to_string().as_str()), (3, 1234, "3-1234"));
    assert!("10-1".parse::<Position>().expect("a position") > "9-99".parse().expect("a position"));
    for text in ["", "-", "1", "1-", "-1", "1-2-3", "+1-2", "1- 2", "99999999999999999999-1"] {
        assert!(text.parse::<Position>().is_err(), "{text}");
    }
}
