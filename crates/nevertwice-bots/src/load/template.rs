//! A request rendered once, in which only digits change.

use crate::http::{Request, Target};

/// Bytes of a request with named runs of digits.
///
/// A slot is written `<<name:width>>` in the path, a header line or the body, and holds `width` decimal digits, zeros
/// first. JSON knows no number with zeros in front, so a slot inside a number follows a digit (`1<<quantity:2>>`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Template {
    bytes: Vec<u8>,
    slots: Vec<(String, usize, usize)>,
}

/// A slot of a [`Template`], found once by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot(usize);

/// Why a request is no template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateError {
    /// A slot that is not of the form `<<name:width>>` with a width of 1 to 20.
    Malformed {
        /// What stands there.
        text: String,
    },
    /// No slot has this name.
    NoSlot {
        /// The name.
        name: String,
    },
}

impl std::fmt::Display for TemplateError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Malformed { text } => {
                write!(out, "not a slot of the form <<name:width>>: \"{text}\"")
            }
            Self::NoSlot { name } => write!(out, "the template has no slot \"{name}\""),
        }
    }
}

impl std::error::Error for TemplateError {}

impl Template {
    /// Renders a request for a target and finds its slots.
    pub fn new(request: &Request, target: &Target) -> Result<Self, TemplateError> {
        let mut body = Self::default();
        if let Some(text) = &request.body {
            body.append(&String::from_utf8_lossy(text))?;
        }
        let mut whole = Self::default();
        whole.append(&format!("{} {} HTTP/1.1\r\nhost: {}\r\n", request.method, request.path, target.authority()))?;
        for (name, value) in &request.headers {
            whole.append(&format!("{name}: {value}\r\n"))?;
        }
        if request.body.is_some() {
            let length = body.bytes.len();
            whole.append(&format!("content-type: application/json\r\ncontent-length: {length}\r\n"))?;
        }
        whole.append("\r\n")?;
        let head = whole.bytes.len();
        whole.bytes.append(&mut body.bytes);
        whole.slots.extend(body.slots.into_iter().map(|(name, start, width)| (name, head + start, width)));
        Ok(whole)
    }

    /// Appends text, its slots filled with zeros.
    fn append(&mut self, text: &str) -> Result<(), TemplateError> {
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("<<") {
            let malformed = || TemplateError::Malformed { text: after.chars().take(40).collect() };
            let (slot, tail) = after.split_once(">>").ok_or_else(malformed)?;
            let (name, width) = slot.split_once(':').ok_or_else(malformed)?;
            let width = width.parse().ok().filter(|width| (1..=20).contains(width)).ok_or_else(malformed)?;
            self.bytes.extend_from_slice(before.as_bytes());
            self.slots.push((name.to_owned(), self.bytes.len(), width));
            self.bytes.extend(std::iter::repeat_n(b'0', width));
            rest = tail;
        }
        self.bytes.extend_from_slice(rest.as_bytes());
        Ok(())
    }

    /// Finds a slot by name.
    pub fn slot(&self, name: &str) -> Result<Slot, TemplateError> {
        self.slots.iter().position(|(slot, _, _)| slot == name).map(Slot).ok_or_else(|| TemplateError::NoSlot { name: name.to_owned() })
    }

    /// Writes a number into a slot, as many of its last digits as the slot holds.
    pub fn set(&mut self, slot: Slot, mut number: u64) {
        let Some((_, start, width)) = self.slots.get(slot.0) else {
            return;
        };
        for digit in self.bytes[*start..*start + *width].iter_mut().rev() {
            *digit = b'0' + u8::try_from(number % 10).unwrap_or(0);
            number /= 10;
        }
    }

    /// The request as it now stands.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_filled_in_place() {
        let target = Target::parse("http://h:1").unwrap();
        let request =
            Request::post("/i/P<<player:4>>", &serde_json::json!({"q": "<<q:2>>"})).unwrap().header("idempotency-key", "run-<<key:6>>");
        let mut template = Template::new(&request, &target).unwrap();
        for (name, number) in [("player", 12_345), ("q", 7), ("key", 42)] {
            template.set(template.slot(name).unwrap(), number);
        }
        assert_eq!(
            String::from_utf8_lossy(template.bytes()),
            "POST /i/P2345 HTTP/1.1\r\nhost: h:1\r\nidempotency-key: run-000042\r\n\
             content-type: application/json\r\ncontent-length: 10\r\n\r\n{\"q\":\"07\"}"
        );
        assert!(template.slot("other").is_err());
        for path in ["/<<a", "/<<a>>", "/<<a:0>>", "/<<a:21>>", "/<<a:x>>"] {
            assert!(Template::new(&Request::get(path), &target).is_err(), "{path}");
        }
    }
}
