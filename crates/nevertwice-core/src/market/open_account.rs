//! Opens an account.

use super::{Account, Market};
use crate::amount::{add, sub};
use crate::decide::in_range;
use crate::fields::{fields, words};
use crate::limits::{ACCOUNTS_MAX, AMOUNT_MAX, ISSUANCE_MAX};
use crate::{ApplyError, Name, Rejection};

words! {
    /// Whose an account is. All classes trade by the same rules; boards and reports tell them apart.
    pub enum AccountClass {
        /// A person's.
        1 => Player = "player",
        /// A program's.
        2 => Bot = "bot",
    }
}

/// Opens an account. Accounts exist only because this made them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenAccount {
    /// Its name.
    pub account: Name,
    /// Whose it is.
    pub class: AccountClass,
    /// What it begins with, issued from the market's issuance account; 0 or more.
    pub opening_balance: i64,
}

fields! {
    /// An account was opened.
    pub struct AccountOpened {
        /// Its name.
        pub account: Name,
        /// Whose it is.
        pub class: AccountClass,
        /// What was issued to it.
        pub opening_balance: i64,
    }
}

impl OpenAccount {
    pub(crate) fn decide(&self, market: &Market) -> Result<AccountOpened, Rejection> {
        in_range("opening_balance", self.opening_balance, 0, AMOUNT_MAX)?;
        if market.account(&self.account).is_some() {
            return Err(Rejection::AccountExists);
        }
        if market.accounts().len() >= ACCOUNTS_MAX {
            return Err(Rejection::AccountsFull);
        }
        // The issuance account is minus what was issued.
        let remaining = add(ISSUANCE_MAX, market.issuance).unwrap_or_default();
        if self.opening_balance > remaining {
            return Err(Rejection::IssuanceExceeded { remaining });
        }
        Ok(AccountOpened { account: self.account.clone(), class: self.class, opening_balance: self.opening_balance })
    }
}

impl AccountOpened {
    pub(crate) fn apply(&self, market: &mut Market) -> Result<(), ApplyError> {
        if market.account(&self.account).is_some() {
            return Err(ApplyError::Exists("account"));
        }
        market.issuance = sub(market.issuance, self.opening_balance).ok_or(ApplyError::OutOfRange("issuance"))?;
        market.add_account(Account::new(self.account.clone(), self.class, self.opening_balance));
        Ok(())
    }
}
