//! Planted secrets: a server that knows many is asked in every way, and none of them is found where it does not belong.

mod drive;
mod search;
