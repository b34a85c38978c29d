//! Opens or closes a sale's doors.

use super::Sale;
use crate::Rejection;
use crate::fields::fields;

/// Opens or closes a sale's doors. Who has a booking goes on either way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetSaleOpen {
    /// Whether they are to be open.
    pub open: bool,
}

fields! {
    /// The doors were opened or closed.
    pub struct SaleOpenSet {
        /// Whether they are open.
        pub open: bool,
    }
}

impl SetSaleOpen {
    pub(crate) const fn decide(&self, sale: &Sale) -> Result<SaleOpenSet, Rejection> {
        if sale.open == self.open { Err(Rejection::NoChange) } else { Ok(SaleOpenSet { open: self.open }) }
    }
}

impl SaleOpenSet {
    pub(crate) const fn apply(&self, sale: &mut Sale) {
        sale.open = self.open;
    }
}
