//! Sales: candidates, and a fixed number of seats on levels; admissions that end paid or released.
//!
//! One file a command, all of one shape: what is asked, the checks in order, the fact, and how the fact is applied.

mod admit;
mod attach_payment;
mod begin_payment;
mod confirm_payment;
mod expire_holds;
mod load_candidates;
mod open_sale;
mod release_booking;
mod set_caps;
mod set_sale_open;
mod state;
mod view;

pub use admit::{Admit, CandidateAdmitted};
pub use attach_payment::{AttachPayment, PaymentAttached};
pub use begin_payment::{BeginPayment, PaymentBegun};
pub use confirm_payment::{ConfirmPayment, PaymentConfirmed};
pub use expire_holds::{ExpireHolds, HoldEnd, HoldsExpired};
pub use load_candidates::{CandidateFact, CandidateId, CandidatesLoaded, LoadCandidates};
pub use open_sale::{LevelCap, OpenSale, SaleOpened};
pub use release_booking::{BookingOwner, BookingReleased, ReleaseBooking, ReleaseReason};
pub use set_caps::{CapsSet, SetCaps};
pub use set_sale_open::{SaleOpenSet, SetSaleOpen};
pub use state::BookingState;
pub(crate) use state::{Booking, Candidate, Level, Sale, SaleTerms};
pub use view::{BookingView, DueHolds, LevelView, SaleView};
