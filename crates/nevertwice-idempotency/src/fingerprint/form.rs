//! Fields of a form or of a query, by their names and values.

/// The fields, decoded, in the order of their names; those of one name in the order in which they came.
pub(crate) fn fields(text: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let pairs = text.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty());
    let mut fields: Vec<_> = pairs
        .map(|pair| {
            let at = pair.iter().position(|byte| *byte == b'=');
            let (name, value) = at.map_or((pair, &[][..]), |at| (&pair[..at], pair.get(at + 1..).unwrap_or_default()));
            (decoded(name), decoded(value))
        })
        .collect();
    fields.sort_by(|a, b| a.0.cmp(&b.0));
    fields
}

/// Bytes, not text: characters that are not UTF-8 must not become one and the same replacement.
fn decoded(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let escaped = match (first, after) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)).map(|(high, low)| high * 16 + low),
            _ => None,
        };
        match (first, escaped) {
            (_, Some(byte)) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            (b'+', None) => bytes.push(b' '),
            (other, None) => bytes.push(*other),
        }
    }
    bytes
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}
