//! The binary, as whoever starts it sees it.

mod conformance;
mod copies;
mod demo;
mod doctor;
mod key;
mod key_record;
mod manual;
mod packaging;
mod proxy;
mod reports;
mod serve;
mod upgrade;
mod verify_keys;
