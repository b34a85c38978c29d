//! When a certificate begins and ends. Whether it can be used is rustls's matter and that of whoever connects.

use crate::calendar::instant_of;
use crate::der::{Element, GENERALIZED_TIME, INTEGER, SEQUENCE, UTC_TIME, first, first_of};

/// What stands before the serial number of every certificate but the oldest.
const VERSION: u8 = 0xa0;

/// The time in which a certificate holds; milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CertificateTimes {
    /// From when on.
    pub begins_at: i64,
    /// Up to when.
    pub ends_at: i64,
}

/// The times of a certificate in DER (RFC 5280, section 4.1); `None` if they can't be read.
pub(crate) fn times(der: &[u8]) -> Option<CertificateTimes> {
    let (certificate, _) = first_of(der, SEQUENCE)?;
    let (signed, _) = first_of(certificate, SEQUENCE)?;
    let after_version = first_of(signed, VERSION).map_or(signed, |(_, rest)| rest);
    let (_, after_serial) = first_of(after_version, INTEGER)?;
    let (_, after_algorithm) = first_of(after_serial, SEQUENCE)?;
    let (_, after_issuer) = first_of(after_algorithm, SEQUENCE)?;
    let (validity, _) = first_of(after_issuer, SEQUENCE)?;
    let begins = first(validity)?;
    let ends = first(begins.rest)?;
    Some(CertificateTimes { begins_at: instant(begins)?, ends_at: instant(ends)? })
}

/// `YYMMDDHHMMSSZ`, from 1950 on, or `YYYYMMDDHHMMSSZ`.
fn instant(time: Element<'_>) -> Option<i64> {
    let text = std::str::from_utf8(time.content).ok()?.strip_suffix('Z')?;
    let whole = match time.tag {
        UTC_TIME if text.as_bytes().first()? >= &b'5' => format!("19{text}"),
        UTC_TIME => format!("20{text}"),
        GENERALIZED_TIME => text.to_owned(),
        _ => return None,
    };
    if whole.len() != 14 || !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let part = |from: usize, to: usize| whole.get(from..to);
    let (date, clock) = ((part(0, 4)?, part(4, 6)?, part(6, 8)?), (part(8, 10)?, part(10, 12)?, part(12, 14)?));
    instant_of(&format!("{}-{}-{}T{}:{}:{}Z", date.0, date.1, date.2, clock.0, clock.1, clock.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_write_a_time_are_read() {
        let read = |tag, text: &str| instant(Element { tag, content: text.as_bytes(), rest: &[] });
        assert_eq!(read(UTC_TIME, "260921141320Z"), Some(1_790_000_000_000));
        assert_eq!(read(GENERALIZED_TIME, "20260921141320Z"), Some(1_790_000_000_000));
        assert_eq!(read(GENERALIZED_TIME, "99991231235959Z"), Some(253_402_300_799_000));
        assert_eq!(read(UTC_TIME, "700101000000Z"), Some(0));
        for (tag, text) in [
            (UTC_TIME, "20260921141320Z"),
            (GENERALIZED_TIME, "260921141320Z"),
            (GENERALIZED_TIME, "20260921141320"),
            (GENERALIZED_TIME, "20261321141320Z"),
            (GENERALIZED_TIME, "2026092114132\u{e9}"),
            (UTC_TIME, ""),
            (SEQUENCE, "260921141320Z"),
        ] {
            assert_eq!(read(tag, text), None, "{text}");
        }
    }

    #[test]
    fn the_times_of_a_certificate_are_those_it_was_made_with() {
        let mut parameters = rcgen::CertificateParams::new(["localhost".to_owned()]).expect("a name");
        parameters.not_before = rcgen::date_time_ymd(2026, 1, 2);
        parameters.not_after = rcgen::date_time_ymd(2060, 3, 4);
        let key = rcgen::KeyPair::generate().expect("a key");
        let certificate = parameters.self_signed(&key).expect("a certificate");
        let der = certificate.der();
        let expected =
            CertificateTimes { begins_at: instant_of("2026-01-02").expect("a date"), ends_at: instant_of("2060-03-04").expect("a date") };
        assert_eq!(times(der), Some(expected));
        for length in 0..der.len() {
            assert_eq!(times(&der[..length]), None, "cut after {length}");
        }
    }
}
