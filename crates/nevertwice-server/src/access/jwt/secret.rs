//! The file of secrets for HS256: one a line.

use ring::hmac;

/// The shortest (RFC 7518, section 3.2) and the longest secret.
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 32..=512;

/// The most secrets: the present one, the next, and a reserve.
const SECRETS_MAX: usize = 4;

/// Reads the file. What is wrong is said in words; what stands there is not.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<hmac::Key>, String> {
    let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() || lines.len() > SECRETS_MAX {
        return Err(format!("it has {} secrets, one a line; 1 to {SECRETS_MAX} are taken", lines.len()));
    }
    // A public key as a secret would let everybody sign.
    if lines.iter().any(|line| line.starts_with(b"-----") || line.starts_with(b"{") || line.starts_with(b"ssh-")) {
        return Err(
            "what stands in it is a key of another kind, and no secret of HS256; public keys go into `jwt_jwks_file` or `jwt_key_file`"
                .to_owned(),
        );
    }
    let secret = |(index, line): (usize, &&[u8])| {
        if SECRET_BYTES.contains(&line.len()) && line.iter().all(u8::is_ascii_graphic) {
            return Ok(hmac::Key::new(hmac::HMAC_SHA256, line));
        }
        let (min, max) = (SECRET_BYTES.start(), SECRET_BYTES.end());
        Err(format!("secret number {} does not have {min} to {max} visible ASCII characters", index + 1))
    };
    lines.iter().enumerate().map(secret).collect()
}
