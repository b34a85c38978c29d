//! A sale over HTTP as people use it: they book, pay at the gateway or don't, give up, tap twice; an operator loads the list,
//! moves the caps and the doors, and confirms payments.

use std::collections::BTreeMap;

use nevertwice_core::PaymentId;
use serde_json::{Value, json};

use super::event::Event;
use super::intent::{Ask, Intent};
use super::universe::World;
use crate::http::{Http, Told};
use crate::plan;

/// The name of its sale.
pub(crate) const SALE: &str = "desk";

/// Candidates of one load.
const LOAD: u64 = 40;

/// What somebody came to the desk for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Errand {
    /// To open the sale.
    Open,
    /// To load the list up to a candidate.
    Load(u64),
    /// To open the doors.
    Doors,
    /// To book a seat.
    Book,
    /// What a program sends that fills in every field.
    Trap,
    /// Something that nothing follows from.
    Other,
}

/// What is known at the desk.
pub(super) struct DeskState {
    plan: plan::Desk,
    is_open: bool,
    loaded: u64,
    are_doors_open: bool,
    /// A step of the opening is under way.
    is_preparing: bool,
    /// The bookings of which somebody was told, by payment: who booked, with which key, and which one it is.
    bookings: BTreeMap<String, Known>,
    next_key: u64,
}

#[derive(Clone)]
struct Known {
    booking: String,
    principal: String,
    key: String,
}

impl DeskState {
    pub(super) const fn new(plan: plan::Desk) -> Self {
        Self { plan, is_open: false, loaded: 0, are_doors_open: false, is_preparing: false, bookings: BTreeMap::new(), next_key: 0 }
    }

    fn key(&mut self) -> String {
        self.next_key += 1;
        format!("d-{}", self.next_key)
    }
}

fn has_email(candidate: u64) -> bool {
    candidate.is_multiple_of(3)
}

impl World {
    /// Somebody comes to the desk.
    pub(super) fn ask_at_desk(&mut self) -> bool {
        let Some(desk) = &self.desk else { return false };
        if !desk.is_open || desk.loaded < desk.plan.candidates || !desk.are_doors_open {
            if desk.is_preparing {
                return false;
            }
            self.prepare_desk();
            return true;
        }
        match self.chances.desk.below(100) {
            0..74 => self.book(false),
            74..79 => self.book(true),
            79..84 => self.load_again(),
            84..89 => self.move_caps(),
            89..92 => self.move_doors(),
            92..96 => self.release_known(true),
            _ => self.release_known(false),
        }
        true
    }

    fn prepare_desk(&mut self) {
        let now_ms = self.clock_ms();
        let Some(desk) = &mut self.desk else { return };
        desk.is_preparing = true;
        let (path, body, errand) = if !desk.is_open {
            let plan = &desk.plan;
            let body = json!({
                "sale": SALE,
                "levels": [{"level": "stands", "cap": plan.seats}, {"level": "box", "cap": (plan.seats / 4)}, {"level": "any", "cap": null}],
                "total_cap": plan.seats,
                "hold_ms": plan.hold_ms,
                "opens_at": now_ms - 1_000_000,
                "closes_at": now_ms + 1_000_000_000,
                "retention_ms": plan.retention_ms,
            });
            ("/v1/sales".to_owned(), body, Errand::Open)
        } else if desk.loaded < desk.plan.candidates {
            let upto = (desk.loaded + LOAD).min(desk.plan.candidates);
            let candidates: Vec<Value> = (desk.loaded..upto).map(line).collect();
            (format!("/v1/sales/{SALE}/candidates"), json!({"candidates": candidates}), Errand::Load(upto))
        } else {
            (format!("/v1/sales/{SALE}/open"), json!({"open": true}), Errand::Doors)
        };
        self.operate(path, &body, errand);
    }

    /// A request of the operator's.
    fn operate(&mut self, path: String, body: &Value, errand: Errand) {
        self.request(path, body, "operator-of-the-desk".to_owned(), true, errand);
    }

    fn request(&mut self, path: String, body: &Value, principal: String, is_operator: bool, errand: Errand) {
        let Some(desk) = &mut self.desk else { return };
        let key = desk.key();
        let retention_ms = desk.plan.retention_ms;
        let expires_at = self.chances.desk.chance(600).then(|| self.clock_ms() + retention_ms / 2);
        let body = Some(body.to_string());
        let name = format!("{errand:?} over HTTP at {path} as {principal}/{key}");
        let http = Http { path, body, is_operator, principal, key, expires_at, level: None, is_batch: false };
        let mut intent = Intent::new(Ask::Http(http), name);
        intent.expires_at = expires_at;
        intent.errand = Some(errand);
        let number = self.open_intent(intent);
        self.send(number);
    }

    fn book(&mut self, is_trapped: bool) {
        let Some(desk) = &self.desk else { return };
        let random = &mut self.chances.desk;
        let candidates = desk.plan.candidates;
        let candidate = match random.below(20) {
            0 => candidates + 1,
            1..6 => random.below(3).min(candidates - 1),
            _ => random.below(candidates),
        };
        let code = match random.below(3) {
            0 => format!(" code-{candidate} "),
            _ => format!("CODE-{candidate}"),
        };
        let email = match random.below(12) {
            0 => Some("somebody@else.example".to_owned()),
            1 => None,
            _ => has_email(candidate).then(|| format!("Person-{candidate}@example.org")),
        };
        let level = *random.pick(&["stands", "stands", "stands", "any", "box", "nowhere"]).unwrap_or(&"any");
        let mut body = json!({"code": code, "level": level});
        if let Some(email) = email {
            body["email"] = json!(email);
        }
        if is_trapped {
            body["website"] = json!("https://spam.example");
        }
        let errand = if is_trapped { Errand::Trap } else { Errand::Book };
        self.request(format!("/v1/sales/{SALE}/bookings"), &body, format!("person-{candidate}"), false, errand);
    }

    fn load_again(&mut self) {
        let Some(desk) = &self.desk else { return };
        let candidate = self.chances.desk.below(desk.plan.candidates);
        let mut line = line(candidate);
        if self.chances.desk.chance(500) {
            line["levels"] = json!(["any"]);
        }
        self.operate(format!("/v1/sales/{SALE}/candidates"), &json!({"candidates": [line]}), Errand::Other);
    }

    fn move_caps(&mut self) {
        let Some(desk) = &self.desk else { return };
        let random = &mut self.chances.desk;
        let (seats, total) = (random.between(0, desk.plan.seats * 2), random.between(0, desk.plan.seats * 2));
        let body = json!({"levels": [{"level": "stands", "cap": seats}], "total_cap": total});
        self.operate(format!("/v1/sales/{SALE}/caps"), &body, Errand::Other);
    }

    fn move_doors(&mut self) {
        let open = self.chances.desk.chance(700);
        self.operate(format!("/v1/sales/{SALE}/open"), &json!({"open": open}), Errand::Other);
    }

    /// Somebody gives up a booking that was told: its owner, or with the wrong name of the owner, or the operator.
    fn release_known(&mut self, is_operator: bool) {
        let Some(desk) = &self.desk else { return };
        let known: Vec<(&String, &Known)> = desk.bookings.iter().collect();
        let Some((payment, known)) = self.chances.desk.pick(&known).map(|(payment, known)| ((*payment).clone(), (*known).clone())) else {
            return self.book(false);
        };
        self.release(&payment, known, is_operator);
    }

    fn release(&mut self, payment: &str, known: Known, is_operator: bool) {
        let body = match self.chances.desk.below(8) {
            0 => json!({"booked_with": known.key}),
            1 => json!({"payment": format!("{payment}0")}),
            _ if is_operator => json!({}),
            _ => json!({"payment": payment}),
        };
        let path = format!("/v1/sales/{SALE}/bookings/{}/release", known.booking);
        self.request(path, &body, known.principal, is_operator, Errand::Other);
    }

    /// What follows from an errand.
    pub(super) fn errand_is_done(&mut self, number: usize, errand: Errand, told: &Told) {
        let Some(desk) = &mut self.desk else { return };
        let is_yes = matches!(told, Told::Yes { .. });
        match errand {
            Errand::Open => {
                desk.is_preparing = false;
                // It may have been opened by an attempt of which nobody heard.
                desk.is_open |= is_yes || matches!(told, Told::No { code, .. } if code == "sale_exists");
            }
            Errand::Load(upto) => {
                desk.is_preparing = false;
                if is_yes {
                    desk.loaded = upto;
                }
            }
            Errand::Doors => {
                desk.is_preparing = false;
                desk.are_doors_open |= is_yes || matches!(told, Told::No { code, .. } if code == "no_change");
            }
            Errand::Book => {
                if let Told::Yes { reply, .. } = told {
                    self.has_booked(number, reply);
                }
            }
            Errand::Trap | Errand::Other => {}
        }
    }

    fn has_booked(&mut self, number: usize, reply: &Value) {
        let state = &reply["state"];
        let (Some(booking), Some(payment)) = (state["booking"].as_str(), state["payment"].as_str()) else { return };
        let Some(Ask::Http(http)) = self.intents.get(number).map(|intent| &intent.ask) else { return };
        let known = Known { booking: booking.to_owned(), principal: http.principal.clone(), key: http.key.clone() };
        let Some(desk) = &mut self.desk else { return };
        desk.bookings.insert(payment.to_owned(), known.clone());
        let random = &mut self.chances.desk;
        let (pays, gives_up) = (random.chance(desk.plan.paid), random.chance(desk.plan.released));
        let us = random.between(1_000, desk.plan.hold_ms * 2_500);
        if pays && let Ok(payment) = PaymentId::new(payment) {
            self.after(us, Event::Pay(payment));
        }
        if gives_up && self.quiet_us.is_none() {
            let payment = payment.to_owned();
            self.release(&payment, known, false);
        }
    }

    /// Somebody pays on the gateway's page, or declines; then the operator may confirm it, or leave that to the steward.
    pub(super) fn pay(&mut self, payment: &PaymentId) {
        if self.chances.desk.chance(150) {
            let declined = self.machine.gateway.decline(payment);
            return self.trace.line(self.now_us, || format!("payment {payment} is declined: {declined}"));
        }
        let paid = self.machine.gateway.pay(payment);
        self.trace.line(self.now_us, || format!("payment {payment} is made: {paid}"));
        if !paid {
            return;
        }
        self.counts.payments += 1;
        if self.chances.desk.chance(500) && self.quiet_us.is_none() {
            let known = self.desk.as_ref().and_then(|desk| desk.bookings.get(payment.as_str())).cloned();
            let Some(known) = known else { return };
            let path = format!("/v1/sales/{SALE}/bookings/{}/confirm", known.booking);
            self.operate(path, &json!({"payment": payment.as_str()}), Errand::Other);
        }
    }
}

fn line(candidate: u64) -> Value {
    let mut line = json!({"code": format!("code-{candidate}")});
    if has_email(candidate) {
        line["email"] = json!(format!("person-{candidate}@example.org"));
    }
    line
}
