//! The binary, as whoever starts it sees it.

mod conformance;
mod copies;
mod demo;
mod doctor;
mod https;
mod key;
mod key_record;
mod ledger;
mod manual;
mod packaging;
mod proxy;
mod proxy_contract;
mod publish;
mod ran;
mod reports;
mod serve;
mod starts;
mod upgrade;
mod verify_keys;
