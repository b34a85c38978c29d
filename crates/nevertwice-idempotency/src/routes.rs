//! Which routes are guarded.

use std::borrow::Cow;
use std::sync::Arc;

use http::Method;

use crate::Policy;

/// One guarded route: methods and a pattern of paths.
#[derive(Clone, Debug)]
pub struct Route {
    /// Its name in metrics: the pattern.
    pub(crate) pattern: String,
    pub(crate) methods: Vec<Method>,
    pub(crate) policy: Arc<Policy>,
}

/// The guarded routes, in the order in which they are tried. What none matches passes unguarded.
#[derive(Clone, Debug, Default)]
pub struct Routes(pub(crate) Vec<Arc<Route>>);

impl Routes {
    /// No route.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// POST and PATCH at every path, by the draft.
    #[must_use]
    pub fn ietf() -> Self {
        Self::new().guard(&[Method::POST, Method::PATCH], "/{*rest}", Policy::ietf())
    }

    /// POST at every path, as Stripe documents it.
    #[must_use]
    pub fn stripe() -> Self {
        Self::new().guard(&[Method::POST], "/{*rest}", Policy::stripe())
    }

    /// POST, PUT and PATCH at every path, as the Universal Commerce Protocol has it.
    #[must_use]
    pub fn ucp() -> Self {
        Self::new().guard(&[Method::POST, Method::PUT, Method::PATCH], "/{*rest}", Policy::ucp())
    }

    /// Adds a route. A segment of the pattern in braces, `{id}`, matches any segment; a last one with a star, `{*rest}`, any rest. A
    /// slash at its end is of no meaning.
    #[must_use]
    pub fn guard(mut self, methods: &[Method], pattern: &str, policy: Policy) -> Self {
        let policy = Arc::new(policy);
        self.0.push(Arc::new(Route { pattern: canonical(pattern).into_owned(), methods: methods.to_vec(), policy }));
        self
    }

    pub(crate) fn find(&self, method: &Method, path: &str) -> Option<Arc<Route>> {
        let path = normal(path);
        let is_meant = |route: &Arc<Route>| {
            route.methods.iter().any(|guarded| guarded.as_str().eq_ignore_ascii_case(method.as_str()))
                && (matches(&route.pattern, &path) || matches(&route.pattern, without_slash(&path)))
        };
        self.0.iter().find(|route| is_meant(route)).cloned()
    }
}

/// The path in the one form that names a route: as it is compared, without a slash at its end, since many services take it with one
/// and without.
pub(crate) fn canonical(path: &str) -> Cow<'_, str> {
    match normal(path) {
        Cow::Borrowed(path) => Cow::Borrowed(without_slash(path)),
        Cow::Owned(path) => Cow::Owned(without_slash(&path).to_owned()),
    }
}

fn without_slash(path: &str) -> &str {
    path.strip_suffix('/').filter(|rest| !rest.is_empty()).unwrap_or(path)
}

pub(crate) fn matches(pattern: &str, path: &str) -> bool {
    let is_slash = |byte: &u8| *byte == b'/';
    let (mut wanted, mut given) = (pattern.as_bytes().split(is_slash), path.as_bytes().split(is_slash));
    loop {
        match (wanted.next(), given.next()) {
            (Some(rest), Some(_)) if rest.starts_with(b"{*") => return true,
            (Some(any), Some(segment)) if any.starts_with(b"{") && any.ends_with(b"}") && !segment.is_empty() => {}
            (Some(literal), Some(segment)) if literal == segment => {}
            (None, None) => return true,
            _ => return false,
        }
    }
}

/// The path as it is compared. Who stands behind the guard may take several spellings for one path: escapes of characters that need
/// none, segments of dots (RFC 3986, sections 6.2.2.2 and 6.2.2.3), empty segments. None of them is a way around the guard.
fn normal(path: &str) -> Cow<'_, str> {
    let is_other = |pair: &[u8]| matches!(pair, [b'%', _] | [_, b'%'] | [b'/', b'/' | b'.']);
    if path != "%" && !path.as_bytes().windows(2).any(is_other) {
        return Cow::Borrowed(path);
    }
    let path = unescaped(path);
    let mut segments: Vec<&str> = Vec::new();
    let last = path.rsplit('/').next().unwrap_or_default();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            segment => segments.push(segment),
        }
    }
    let end = if matches!(last, "" | "." | "..") && !segments.is_empty() { "/" } else { "" };
    Cow::Owned(format!("/{}{end}", segments.join("/")))
}

/// Takes escapes off letters, digits, `-`, `.`, `_` and `~`; others mean something else than their character.
fn unescaped(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find('%') {
        out.push_str(rest.get(..at).unwrap_or_default());
        let escape = rest.get(at..at + 3);
        let byte = escape.and_then(|escape| u8::from_str_radix(escape.get(1..)?, 16).ok()).map(char::from);
        match (byte, escape) {
            (Some(byte), _) if byte.is_ascii_alphanumeric() || "-._~".contains(byte) => out.push(byte),
            (_, Some(escape)) => out.push_str(escape),
            (_, None) => out.push_str(rest.get(at..).unwrap_or_default()),
        }
        rest = rest.get(at + 3..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_guarded_in_every_spelling_that_means_it() {
        let routes = Routes::new().guard(&[Method::POST], "/v1/charges/{id}", Policy::ietf());
        let guarded = |path: &str| routes.find(&Method::POST, path).is_some();
        for path in [
            "/v1/charges/7",
            "/v1/charges/7/",
            "/v1/charges/7/8/..",
            "//v1/charges/7",
            "/v1//charges/7",
            "/v1/%63harges/7",
            "/v1/./charges/7",
            "/v1/x/../charges/7",
            "/../v1/charges/7",
            "/%2e%2E/v1/charges/7",
            "/v1/charges/%2f",
            "/v1/charges/%",
            "/v1/charges/%2",
            "/v1/charges/%zz",
        ] {
            assert!(guarded(path), "{path}");
        }
        for path in ["/v1/charges", "/v1/charges/", "/v1/charges/7/..", "/v1/charges/7/8", "/v1%2fcharges/7", "/v1/Charges/7"] {
            assert!(!guarded(path), "{path}");
        }
    }

    #[test]
    fn a_slash_at_the_end_or_small_letters_of_the_method_are_no_way_around_a_guard() {
        let small = Method::from_bytes(b"post").expect("a method");
        for pattern in ["/v1/charges", "/v1/charges/"] {
            let routes = Routes::new().guard(&[Method::POST], pattern, Policy::ietf());
            for path in ["/v1/charges", "/v1/charges/", "/v1/charges/.", "/v1/charges/x/.."] {
                assert!(routes.find(&Method::POST, path).is_some(), "{pattern} {path}");
                assert!(routes.find(&small, path).is_some(), "{pattern} {path}");
            }
        }
        let rest = Routes::new().guard(&[Method::POST], "/v1/{*rest}", Policy::ietf());
        assert!(rest.find(&Method::POST, "/v1/").is_some());
        assert!(rest.find(&Method::POST, "/v1").is_none());
    }

    #[test]
    fn a_pattern_in_an_odd_spelling_guards_what_it_means() {
        for (pattern, path) in [("/a/../b", "/b"), ("//b", "/b"), ("/%62", "/b"), ("/./b", "/b"), ("/", "/"), ("/b//{id}", "/b/7")] {
            let routes = Routes::new().guard(&[Method::POST], pattern, Policy::ietf());
            assert!(routes.find(&Method::POST, path).is_some(), "{pattern} {path}");
        }
    }

    #[test]
    fn a_path_has_one_normal_form() {
        for (path, normal_form) in [
            ("/", "/"),
            ("//", "/"),
            ("/..", "/"),
            ("/a/..", "/"),
            ("/a/b/..", "/a/"),
            ("/a/b/.", "/a/b/"),
            ("/a//b/", "/a/b/"),
            ("/%41", "/A"),
            ("/%20é%", "/%20é%"),
        ] {
            assert_eq!(normal(path), normal_form);
            assert_eq!(normal(normal_form), normal_form);
        }
    }
}
