//! The file with one public key in PEM (`BEGIN PUBLIC KEY`, RFC 7468), which has no id.

use tokio_rustls::rustls::pki_types::SubjectPublicKeyInfoDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;

use super::keys::{Material, PublicKey};
use crate::der::{BIT_STRING, INTEGER, SEQUENCE, first_of};

/// What stands before a key on Ed25519 (RFC 8410).
const ED25519: &[u8] = &[0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// What stands before a point on P-256, uncompressed (RFC 5480).
const P256: &[u8] = &[
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01,
    0x07, 0x03, 0x42, 0x00,
];

/// What stands in the middle before a key of RSA (RFC 3279).
const RSA: &[u8] = &[0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];

/// Reads the file. What is wrong is said in words; what stands there is not.
pub(super) fn read(bytes: &[u8]) -> Result<PublicKey, String> {
    let mut blocks = SubjectPublicKeyInfoDer::pem_slice_iter(bytes);
    let (first, second) = (blocks.next(), blocks.next());
    let (Some(Ok(der)), None) = (first, second) else {
        return Err("it is not one public key in PEM, between `-----BEGIN PUBLIC KEY-----` and its end".to_owned());
    };
    let material = material(&der)
        .ok_or_else(|| "its key is none that can be used: RSA of 2048 to 8192 bits, P-256 (uncompressed) and Ed25519 are".to_owned())?;
    Ok(PublicKey { id: None, material })
}

fn material(der: &[u8]) -> Option<Material> {
    if let Some(key) = der.strip_prefix(ED25519) {
        return Some(Material::Ed25519(key.try_into().ok()?));
    }
    if let Some(point) = der.strip_prefix(P256) {
        let point: [u8; 65] = point.try_into().ok()?;
        return (point[0] == 4).then_some(Material::P256(point));
    }
    let (whole, rest) = first_of(der, SEQUENCE)?;
    let (bits, after) = first_of(whole.strip_prefix(RSA)?, BIT_STRING)?;
    let (numbers, no_more) = first_of(bits.strip_prefix(&[0])?, SEQUENCE)?;
    let (n, more) = first_of(numbers, INTEGER)?;
    let (e, end) = first_of(more, INTEGER)?;
    if [rest, after, no_more, end].iter().any(|left| !left.is_empty()) {
        return None;
    }
    super::jwks::rsa(n, e).ok()
}
