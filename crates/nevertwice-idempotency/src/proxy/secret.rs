//! The secret under which keys are named, from its file.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use super::config::ProxyConfig;
use super::error::ProxyError;
use crate::Secrets;

/// Hexadecimal digits of a secret.
const DIGITS: usize = 64;

impl ProxyConfig {
    /// Reads the secrets that the settings name; none if they name none.
    ///
    /// # Errors
    /// If a file can't be read, or holds something else than 64 hexadecimal digits. What stands in it is not told.
    pub fn secrets(&self) -> Result<Option<Secrets>, ProxyError> {
        let Some(current) = &self.secret_file else { return Ok(None) };
        let current = read("secret_file", current)?;
        Ok(Some(match &self.previous_secret_file {
            Some(previous) => Secrets::changing(current, read("previous_secret_file", previous)?),
            None => Secrets::new(current),
        }))
    }
}

fn read(setting: &str, path: &Path) -> Result<[u8; 32], ProxyError> {
    let wrong = |what: String| ProxyError::configuration(format!("`{setting}`: {} {what}", path.display()));
    let file = File::open(path).map_err(|error| wrong(format!("can't be opened: {error}")))?;
    let mut text = String::new();
    // With the end of its line, as one or as two characters; whoever has more has something else.
    let read = file.take(DIGITS as u64 + 3).read_to_string(&mut text);
    read.map_err(|error| wrong(format!("can't be read: {error}")))?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let digits = line.strip_suffix('\r').unwrap_or(line).as_bytes();
    let mut secret = [0; 32];
    let is_whole = digits.len() == DIGITS;
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let bytes = digits.chunks_exact(2).map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.last()?)?));
    for (place, byte) in secret.iter_mut().zip(bytes) {
        *place = byte.ok_or_else(|| wrong("holds something else than 64 hexadecimal digits".to_owned()))?;
    }
    if is_whole {
        Ok(secret)
    } else {
        Err(wrong("does not hold 64 hexadecimal digits; make it for instance by `openssl rand -hex 32`".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(text: &str) -> Result<[u8; 32], ProxyError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("secret");
        std::fs::write(&path, text).expect("it is written");
        read("secret_file", &path)
    }

    #[test]
    fn a_secret_is_64_hexadecimal_digits() {
        let digits = "00ff".repeat(16);
        for text in [digits.clone(), format!("{digits}\n"), digits.to_uppercase()] {
            let secret = secrets(&text).expect("it is one");
            assert!(secret.chunks(2).all(|pair| pair == [0x00, 0xff]));
        }
        for text in ["", "00", &digits[1..], &format!("{digits}0"), &format!("{digits}\n\n\n"), &"0g".repeat(32), &"é".repeat(32)] {
            let error = secrets(text).expect_err("it is none");
            assert!(text.is_empty() || !error.detail.contains(text), "{error}");
        }
    }
}
