//! What the layer of keys reads: lines with keys, heads of kept answers, multipart bodies.

use nevertwice_api::encoding::encode_lines;

use super::list::Input;
use super::texts::named;

pub(super) fn lines() -> Vec<Input> {
    let longest = "k".repeat(255);
    let escaped = format!("\"{}\"", "\\\"".repeat(255));
    named([
        ("bare", "8e03978e-40d5-43dd-bc93-6894a57f9324"),
        ("quoted", "\"8e03978e\""),
        ("spaced", " \t\"a\""),
        ("escaped", r#""a\"b\\c""#),
        ("bare-backslash", "a\\b"),
        ("list", "a, b"),
        ("quoted-list", "\"a\", \"b\""),
        ("comma", "\"a,b\""),
        ("parameter", "\"a\";p=1"),
        ("unclosed", "\"a\\\""),
        ("no-escape", "\"a\\b\""),
        ("empty", "\"\""),
        ("dots", "\"..\""),
        ("not-ascii", "\"\u{e9}\""),
        ("longest", longest.as_str()),
        ("longest-escaped", escaped.as_str()),
    ])
}

pub(super) fn heads() -> Vec<Input> {
    let lines: [(&[u8], &[u8]); 5] =
        [(b"location", b"/charges/7"), (b"link", b"</a>; rel=\"a,b\""), (b"link", b"</c>"), (b"x-empty", b""), (b"x-bytes", b"\xff\t")];
    let heads = [("none", &lines[..0]), ("one", &lines[..1]), ("all", &lines[..])];
    let written = heads.into_iter().map(|(name, lines)| (name.to_owned(), encode_lines(lines.iter().copied()).unwrap_or_default()));
    let text = ("text".to_owned(), b"location:/charges/7\nlink:</a>\nlink:</c>\nno colon\n:\n".to_vec());
    written.chain([text]).collect()
}

pub(super) fn bodies() -> Vec<Input> {
    let field = "Content-Disposition: form-data; name=\"amount\"\r\n\r\n5";
    let file =
        "content-type: text/plain\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\"\r\nX-Other: 1\r\n\r\nline\r\n--c\r\n";
    let two = format!("multipart/form-data; boundary=b\n--b\r\n{field}\r\n--b\r\n{file}\r\n--b--\r\n");
    let preamble = format!("multipart/form-data; charset=x; Boundary=\"b\"\nignored\r\n--b\r\n{field}\r\n--b--ignored");
    let headless = "multipart/form-data; boundary=b\n--b\r\n\r\nabc\r\n--b--".to_owned();
    let unclosed = format!("multipart/form-data; boundary=b\n--b\r\n{field}\r\n");
    let unbounded = format!("multipart/form-data\n--b\r\n{field}\r\n--b--\r\n");
    let none = "multipart/form-data; boundary=b\n--b--".to_owned();
    named([
        ("two", two.as_str()),
        ("preamble", preamble.as_str()),
        ("headless", headless.as_str()),
        ("unclosed", unclosed.as_str()),
        ("unbounded", unbounded.as_str()),
        ("none", none.as_str()),
    ])
}
