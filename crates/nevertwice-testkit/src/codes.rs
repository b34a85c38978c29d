//! Which codes of the catalogue are met in answers over HTTP, and in what the binary tells.
//!
//! `cargo xtask test` names a folder and looks afterwards which codes lie in it: one that nobody ever got is a code that may not
//! come, or come where its page does not say. Without a folder nothing is noted.

use std::fs;
use std::path::Path;

use nevertwice_api::ErrorCode;

/// Names the folder.
const VARIABLE: &str = "NVT_CODES_DIR";

/// A real answer carried this code.
///
/// # Panics
/// If it can't be noted.
pub fn met(code: ErrorCode) {
    let Some(folder) = std::env::var_os(VARIABLE) else { return };
    fs::write(Path::new(&folder).join(code.code()), "").expect("the folder of codes can be written");
}

/// The binary told this: its codes stand in parentheses or brackets.
pub fn met_in(told: &str) {
    for code in ErrorCode::ALL {
        if told.contains(&format!("({code})")) || told.contains(&format!("[{code}]")) {
            met(*code);
        }
    }
}
