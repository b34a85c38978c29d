//! One market or sale in Redis: which script decides a command and with which arguments, and what its reply and the records under
//! the keys mean. The layout is said in `lua/README.md`; nothing here decides.

mod asking;
mod calls;
mod dump;
mod fields;
mod reading;
mod rejections;
mod reply;
mod scripts;

pub(crate) use asking::{Asking, ask};
pub(crate) use calls::{ORDERS_MAX, Terms, adopt_shard, decision, last_word, orders};
pub(crate) use dump::Dump;
pub(crate) use fields::{Adoptions, HEAD_VERSION};
pub(crate) use reading::{Read, head, read};
pub(crate) use reply::{Odd, Outcome, adopted, each, outcome, place};
pub(crate) use scripts::ADOPT_PLACE;
pub(crate) use scripts::ALL;
