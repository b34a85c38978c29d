//! `nevertwice doctor`: looks at the machine, the folder and the settings before they fail, and says what each finding means.
//!
//! Each subject is one file: it reads what there is to read, and a function without any reading judges it. Nothing is changed
//! but for a file without a name that a sync is measured with.

mod clock;
mod command;
mod configuration;
mod credentials;
mod disk;
mod filesystem;
mod finding;
mod folder;
mod ledger;
mod limits;
mod memory;
mod permissions;
mod proxy;
mod tls;
mod traces;

pub(crate) use command::DoctorArgs;
use command::nearest;
