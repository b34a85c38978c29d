//! Parts of a JSON text, chosen by pointers (RFC 6901), out of its canonical form.

use super::FingerprintRules;

/// What counts of a canonical text.
pub(super) fn chosen(canonical: Vec<u8>, rules: &FingerprintRules) -> Vec<u8> {
    if rules.json_include.is_empty() && rules.json_exclude.is_empty() {
        return canonical;
    }
    let mut chooser = Chooser { text: &canonical, at: 0, rules, out: Vec::new() };
    let all = rules.json_include.is_empty();
    chooser.value("", all);
    chooser.out
}

struct Chooser<'a> {
    text: &'a [u8],
    at: usize,
    rules: &'a FingerprintRules,
    out: Vec<u8>,
}

/// The canonical form has no white space and is well-formed, so a value is told by its first byte.
impl Chooser<'_> {
    fn value(&mut self, path: &str, is_within: bool) {
        if self.rules.json_exclude.iter().any(|pointer| pointer == path) {
            return self.skip();
        }
        let is_within = is_within || self.rules.json_include.iter().any(|pointer| pointer == path);
        let first = self.text.get(self.at).copied();
        if is_within {
            // The path stands before what is found at it, so that values can't change places.
            self.put(path.as_bytes());
        }
        match first {
            Some(b'{') => self.members(path, is_within),
            Some(b'[') => self.items(path, is_within),
            _ => {
                let start = self.at;
                self.skip();
                if is_within {
                    let scalar = self.text.get(start..self.at).unwrap_or_default().to_vec();
                    self.put(&scalar);
                }
            }
        }
        if is_within && let Some(kind @ (b'{' | b'[')) = first {
            self.put(&[kind, b'.']);
        }
    }

    fn put(&mut self, part: &[u8]) {
        self.out.extend((part.len() as u64).to_le_bytes());
        self.out.extend(part);
    }

    fn members(&mut self, path: &str, is_within: bool) {
        self.at += 1;
        while self.text.get(self.at) == Some(&b'"') {
            let start = self.at;
            self.string();
            let name = self.text.get(start + 1..self.at.saturating_sub(1)).unwrap_or_default();
            let name = unescaped(name).replace('~', "~0").replace('/', "~1");
            self.at += 1;
            self.value(&format!("{path}/{name}"), is_within);
            if self.text.get(self.at) == Some(&b',') {
                self.at += 1;
            }
        }
        self.at += 1;
    }

    fn items(&mut self, path: &str, is_within: bool) {
        self.at += 1;
        let mut index = 0_u64;
        while self.text.get(self.at).is_some_and(|byte| *byte != b']') {
            self.value(&format!("{path}/{index}"), is_within);
            index += 1;
            if self.text.get(self.at) == Some(&b',') {
                self.at += 1;
            }
        }
        self.at += 1;
    }

    /// Passes a whole value.
    fn skip(&mut self) {
        let mut depth = 0_u32;
        loop {
            match self.text.get(self.at) {
                None => return,
                Some(b'"') => self.string(),
                Some(b'{' | b'[') => {
                    depth += 1;
                    self.at += 1;
                }
                Some(b'}' | b']') => {
                    depth = depth.saturating_sub(1);
                    self.at += 1;
                }
                Some(b',' | b':') => self.at += 1,
                Some(_) => {
                    while !matches!(self.text.get(self.at), None | Some(b',' | b'}' | b']')) {
                        self.at += 1;
                    }
                }
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn string(&mut self) {
        self.at += 1;
        while let Some(byte) = self.text.get(self.at) {
            self.at += if *byte == b'\\' { 2 } else { 1 };
            if *byte == b'"' {
                return;
            }
        }
    }
}

/// The canonical form escapes only quotes, backslashes and control characters.
fn unescaped(name: &[u8]) -> String {
    let quoted = [b"\"", name, b"\""].concat();
    serde_json::from_slice(&quoted).unwrap_or_else(|_| String::from_utf8_lossy(name).into_owned())
}
