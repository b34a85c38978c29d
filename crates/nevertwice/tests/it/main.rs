//! The binary, as whoever starts it sees it.

mod copies;
mod demo;
mod doctor;
mod key;
mod key_record;
mod manual;
mod packaging;
mod reports;
mod serve;
mod upgrade;
