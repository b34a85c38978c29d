//! The address of a database, as commands take it.

use std::path::Path;

use nevertwice_ledger::Address;

/// The largest file with a password.
const PASSWORD_BYTES_MAX: usize = 4 << 10;

/// Reads an address, with the password of a file if there is one. What is wrong is told without either.
pub(crate) fn address(setting: &str, text: &str, password_file: Option<&Path>) -> Result<Address, String> {
    let address: Address = text.parse().map_err(|fault| format!("`{setting}` can't be used: {fault}"))?;
    match password_file {
        Some(file) => Ok(address.with_password(&password(file)?)),
        None => Ok(address),
    }
}

fn password(file: &Path) -> Result<String, String> {
    let text =
        std::fs::read_to_string(file).map_err(|error| format!("the file of the password, {}, can't be read: {error}", file.display()))?;
    let password = text.trim_end_matches(['\r', '\n']);
    if password.is_empty() || password.len() > PASSWORD_BYTES_MAX {
        return Err(format!("the file of the password, {}, has none in it", file.display()));
    }
    Ok(password.to_owned())
}
