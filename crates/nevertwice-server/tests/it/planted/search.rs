//! Looks for secrets, in every spelling in which a program may write them.

use std::fmt::Write as _;

use data_encoding::{BASE32_NOPAD, BASE64_NOPAD, BASE64URL_NOPAD, HEXLOWER, HEXUPPER};

/// A secret, and what is looked for in its place.
pub(super) struct Sought {
    pub(super) name: String,
    /// Each spelling with its name.
    pub(super) spellings: Vec<(&'static str, String)>,
}

impl Sought {
    pub(super) fn new(name: impl Into<String>, secret: &[u8]) -> Self {
        assert!(secret.len() >= 16, "a short one would be found by chance");
        let percent = |of: fn(u8) -> bool| {
            secret.iter().fold(String::new(), |mut text, byte| {
                if of(*byte) {
                    text.push(char::from(*byte));
                } else {
                    let _ = write!(text, "%{byte:02X}");
                }
                text
            })
        };
        let mut spellings = vec![
            ("as it is", as_text(secret)),
            ("percent, all", percent(|_| false)),
            ("percent, what needs it", percent(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte))),
            ("hexadecimal", HEXLOWER.encode(secret)),
            ("hexadecimal, capitals", HEXUPPER.encode(secret)),
            ("base 32", BASE32_NOPAD.encode(secret)),
            ("a list of numbers", secret.iter().map(u8::to_string).collect::<Vec<_>>().join(", ")),
            ("a list of numbers, close together", secret.iter().map(u8::to_string).collect::<Vec<_>>().join(",")),
        ];
        // Where it stands in the midst of something else, base 64 has it in one of three ways; its edges mix with what is around.
        for (offset, names) in
            [["base 64", "base 64 for URLs"], ["base 64 + 1", "base 64 for URLs + 1"], ["base 64 + 2", "base 64 for URLs + 2"]]
                .into_iter()
                .enumerate()
        {
            let shifted = [&vec![0; offset], secret].concat();
            let whole = shifted.len() / 3 * 3;
            let from = if offset == 0 { 0 } else { 4 };
            spellings.push((names[0], BASE64_NOPAD.encode(&shifted[..whole])[from..].to_owned()));
            spellings.push((names[1], BASE64URL_NOPAD.encode(&shifted[..whole])[from..].to_owned()));
        }
        Self { name: name.into(), spellings }
    }

    /// In which spelling it is there.
    pub(super) fn find(&self, text: &str) -> Option<&'static str> {
        self.spellings.iter().find(|(_, spelling)| text.contains(spelling)).map(|(name, _)| *name)
    }
}

/// Bytes as a text, one letter each, so that nothing of them is lost.
pub(super) fn as_text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// The search would find what is there: in every spelling, in the midst of other things.
#[test]
fn the_search_finds_what_is_there() {
    for secret in [&b"operator-key/with+signs~0123456789"[..], &[0x00, 0xff, 0x80, 0x3e, 0x3f, 7, 8, 9, 10, 11, 12, 13, 250, 251, 252, 253]]
    {
        let sought = Sought::new("a secret", secret);
        assert_eq!(sought.spellings.len(), 14);
        assert_eq!(sought.find("nothing of it"), None);
        for (name, spelling) in &sought.spellings {
            assert!(sought.find(&format!("before{spelling}after")).is_some(), "{name}");
            // A part of it is not it.
            assert_eq!(sought.find(&format!("before{}", &spelling[..spelling.len() / 2])), None, "{name}");
        }
        for before in ["", "a", "ab", "abc"] {
            let whole = [before.as_bytes(), secret, b"behind"].concat();
            for encoded in [
                BASE64_NOPAD.encode(&whole),
                BASE64URL_NOPAD.encode(&whole),
                HEXLOWER.encode(&whole),
                format!("{whole:?}"),
                as_text(&whole),
            ] {
                assert!(sought.find(&encoded).is_some(), "{before}: {encoded}");
            }
        }
    }
}
