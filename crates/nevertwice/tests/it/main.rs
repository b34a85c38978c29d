//! The binary, as whoever starts it sees it.

mod copies;
mod demo;
mod doctor;
mod https;
mod key;
mod manual;
mod packaging;
mod ran;
mod reports;
mod serve;
mod starts;
mod upgrade;
