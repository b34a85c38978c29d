//! The same JSON text, spelt as differently as can be.

/// Canonical JSON with its members in the other order, with white space wherever it may stand, and every character of a string as
/// an escape. Numbers stay as they are.
pub(super) fn respelt(canonical: &[u8]) -> Vec<u8> {
    let mut reader = Reader { text: canonical, at: 0 };
    reader.value()
}

/// The numbers of a JSON text, as they are written, sorted.
pub(super) fn numbers(text: &[u8]) -> Vec<Vec<u8>> {
    let mut numbers = Vec::new();
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let start = at;
        match byte {
            b'"' => at = end_of_string(text, at),
            b'-' | b'0'..=b'9' => {
                while matches!(text.get(at), Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')) {
                    at += 1;
                }
                numbers.push(text[start..at].to_vec());
            }
            _ => at += 1,
        }
    }
    numbers.sort();
    numbers
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

const SPACE: &[u8] = b" \t\r\n";

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn value(&mut self) -> Vec<u8> {
        match self.peek() {
            Some(b'{') => self.list(b'}', |reader| [reader.string(), SPACE.to_vec(), reader.mark(), reader.value()].concat()),
            Some(b'[') => self.list(b']', Self::value),
            Some(b'"') => self.string(),
            _ => {
                let start = self.at;
                while !matches!(self.peek(), None | Some(b',' | b']' | b'}')) {
                    self.at += 1;
                }
                self.text[start..self.at].to_vec()
            }
        }
    }

    /// An object or an array; an object the other way round.
    fn list(&mut self, end: u8, item: impl Fn(&mut Self) -> Vec<u8>) -> Vec<u8> {
        let begin = self.mark();
        let mut items = Vec::new();
        while self.peek() != Some(end) {
            items.push([SPACE, &item(self), SPACE].concat());
            if self.peek() == Some(b',') {
                self.at += 1;
            }
        }
        if end == b'}' {
            items.reverse();
        }
        [begin, SPACE.to_vec(), items.join(&b","[..]), self.mark()].concat()
    }

    /// One character as it is.
    fn mark(&mut self) -> Vec<u8> {
        self.at += 1;
        self.text[self.at - 1..self.at].to_vec()
    }

    fn string(&mut self) -> Vec<u8> {
        let start = self.at;
        self.at = end_of_string(self.text, start);
        let string: String = serde_json::from_slice(&self.text[start..self.at]).expect("the canonical form is JSON");
        let escaped: String = string.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
        format!("\"{escaped}\"").into_bytes()
    }
}

fn end_of_string(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}
