//! Elements of DER (X.690), as far as keys and certificates need them: what can't be read is `None`, and nothing else happens.

pub(crate) const INTEGER: u8 = 0x02;
pub(crate) const BIT_STRING: u8 = 0x03;
pub(crate) const UTC_TIME: u8 = 0x17;
pub(crate) const GENERALIZED_TIME: u8 = 0x18;
pub(crate) const SEQUENCE: u8 = 0x30;

/// An element of less than 64 KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element<'a> {
    pub(crate) tag: u8,
    pub(crate) content: &'a [u8],
    /// What follows it.
    pub(crate) rest: &'a [u8],
}

/// The first element.
pub(crate) fn first(der: &[u8]) -> Option<Element<'_>> {
    let (&tag, rest) = der.split_first()?;
    let (&length, rest) = rest.split_first()?;
    let (length, rest) = match length {
        0..=0x7f => (usize::from(length), rest),
        0x81 => rest.split_first().map(|(length, rest)| (usize::from(*length), rest))?,
        0x82 => rest.split_first_chunk::<2>().map(|(length, rest)| (usize::from(u16::from_be_bytes(*length)), rest))?,
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some(Element { tag, content, rest })
}

/// The content of the first element, if it has that tag, and what follows it.
pub(crate) fn first_of(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    first(der).filter(|element| element.tag == tag).map(|Element { content, rest, .. }| (content, rest))
}
