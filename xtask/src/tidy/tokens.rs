//! Rust text as a flat row of tokens that know their line and whether they are test code.
//!
//! Comments and strings can't trip a rule that looks at tokens. Doc comments are left out; attributes are kept.

use std::str::FromStr;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) line: usize,
    /// Inside an item that exists only in tests.
    pub(super) is_test: bool,
}

/// Nothing if this is no Rust.
pub(super) fn read(text: &str) -> Option<Vec<Token>> {
    let stream = TokenStream::from_str(text).ok()?;
    let mut tokens = Vec::new();
    flatten(stream, false, &mut tokens);
    Some(tokens)
}

fn flatten(stream: TokenStream, is_test: bool, out: &mut Vec<Token>) {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    let mut all_test = is_test;
    // From an attribute that makes the next item a test until the end of that item.
    let mut item_test = false;
    let mut index = 0;
    while let Some(tree) = trees.get(index) {
        if let Some(attribute) = attribute_at(&trees, index) {
            let end = index + attribute.length;
            if attribute.is_test && attribute.is_inner {
                all_test = true;
            } else if attribute.is_test {
                item_test = true;
            }
            if !attribute.is_doc {
                for tree in &trees[index..end] {
                    push(tree, all_test || item_test, out);
                }
            }
            index = end;
            continue;
        }
        push(tree, all_test || item_test, out);
        let ends_item = match tree {
            TokenTree::Punct(punct) => punct.as_char() == ';',
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            TokenTree::Ident(_) | TokenTree::Literal(_) => false,
        };
        item_test &= !ends_item;
        index += 1;
    }
}

fn push(tree: &TokenTree, is_test: bool, out: &mut Vec<Token>) {
    let mut add = |text: String, line: usize| out.push(Token { text, line, is_test });
    let line = tree.span().start().line;
    match tree {
        TokenTree::Group(group) => {
            let (open, close) = match group.delimiter() {
                Delimiter::Parenthesis => ("(", ")"),
                Delimiter::Brace => ("{", "}"),
                Delimiter::Bracket => ("[", "]"),
                Delimiter::None => ("", ""),
            };
            add(open.to_owned(), group.span_open().start().line);
            flatten(group.stream(), is_test, out);
            out.push(Token { text: close.to_owned(), line: group.span_close().start().line, is_test });
        }
        TokenTree::Ident(ident) => {
            // `'static` is a lifetime, not the keyword.
            match out.last_mut() {
                Some(last) if last.text == "'" => last.text = format!("'{ident}"),
                _ => out.push(Token { text: ident.to_string(), line, is_test }),
            }
        }
        TokenTree::Punct(punct) => add(punct.as_char().to_string(), line),
        TokenTree::Literal(literal) => {
            let text = literal.to_string();
            let number = text.strip_suffix("f32").or_else(|| text.strip_suffix("f64")).map(str::len);
            match number {
                // `1f64` is a number and a type.
                Some(length) if text.starts_with(|c: char| c.is_ascii_digit()) && !text.starts_with("0x") => {
                    add(text[..length].to_owned(), line);
                    add(text[length..].to_owned(), line);
                }
                _ => add(text, line),
            }
        }
    }
}

struct Attribute {
    /// In token trees: `#` and `[..]`, with `!` between them in an inner one.
    length: usize,
    is_inner: bool,
    is_doc: bool,
    is_test: bool,
}

fn attribute_at(trees: &[TokenTree], index: usize) -> Option<Attribute> {
    let is_punct = |at: usize, wanted: char| matches!(trees.get(at), Some(TokenTree::Punct(p)) if p.as_char() == wanted);
    if !is_punct(index, '#') {
        return None;
    }
    let is_inner = is_punct(index + 1, '!');
    let at = index + 1 + usize::from(is_inner);
    let Some(TokenTree::Group(group)) = trees.get(at) else {
        return None;
    };
    if group.delimiter() != Delimiter::Bracket {
        return None;
    }
    Some(Attribute {
        length: at + 1 - index,
        is_inner,
        is_doc: first_ident(group).is_some_and(|name| name == "doc"),
        is_test: is_test_attribute(group),
    })
}

fn first_ident(group: &Group) -> Option<String> {
    match group.stream().into_iter().next() {
        Some(TokenTree::Ident(ident)) => Some(ident.to_string()),
        _ => None,
    }
}

/// `#[test]`, `#[tokio::test(..)]`, `#[cfg(test)]`, `#[cfg(all(test, ..))]`; not `#[cfg(any(test, ..))]`.
fn is_test_attribute(attribute: &Group) -> bool {
    let trees: Vec<TokenTree> = attribute.stream().into_iter().collect();
    let mut last_of_path = None;
    for tree in &trees {
        match tree {
            TokenTree::Ident(ident) => last_of_path = Some(ident.to_string()),
            TokenTree::Punct(punct) if punct.as_char() == ':' => {}
            TokenTree::Group(group) if last_of_path.as_deref() == Some("cfg") => {
                return demands_test(group.stream());
            }
            _ => break,
        }
    }
    last_of_path.as_deref() == Some("test")
}

fn demands_test(condition: TokenStream) -> bool {
    let trees: Vec<TokenTree> = condition.into_iter().collect();
    trees.iter().enumerate().any(|(index, tree)| match tree {
        TokenTree::Ident(ident) if ident == "test" => true,
        TokenTree::Ident(ident) if ident == "all" => {
            matches!(trees.get(index + 1), Some(TokenTree::Group(group)) if demands_test(group.stream()))
        }
        _ => false,
    })
}

/// Every path that the `use` declarations bring in, written out: `use a::{b, c::d}` as `a::b` and `a::c::d`.
pub(super) fn imports(tokens: &[Token]) -> Vec<Vec<Token>> {
    let mut paths = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        // `use<'a>` in a return type is no declaration.
        if token.text == "use" && tokens.get(index + 1).is_some_and(|next| next.text != "<") {
            expand(tokens, index + 1, &[], &mut paths);
        }
    }
    paths
}

/// Reads one branch of a use tree from `index`; returns where it ended.
fn expand(tokens: &[Token], mut index: usize, prefix: &[Token], out: &mut Vec<Vec<Token>>) -> usize {
    let mut path = prefix.to_vec();
    while let Some(token) = tokens.get(index) {
        match token.text.as_str() {
            "{" => {
                loop {
                    index = expand(tokens, index + 1, &path, out);
                    if tokens.get(index).is_none_or(|token| token.text != ",") {
                        break;
                    }
                }
                return index + 1;
            }
            "," | "}" | ";" => {
                if path.len() > prefix.len() {
                    out.push(path);
                }
                return index;
            }
            _ => path.push(token.clone()),
        }
        index += 1;
    }
    index
}

/// The tokens of a pattern such as `.unwrap()` or `std::fs`.
pub(super) fn pattern(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut in_word = false;
    for c in text.chars() {
        let is_word = c.is_alphanumeric() || c == '_';
        match words.last_mut() {
            Some(word) if is_word && in_word => word.push(c),
            _ if !c.is_whitespace() => words.push(c.to_string()),
            _ => {}
        }
        in_word = is_word;
    }
    words
}

/// Where the pattern begins in the row.
pub(super) fn find<'a>(tokens: &'a [Token], pattern: &[String]) -> impl Iterator<Item = &'a Token> {
    tokens
        .windows(pattern.len().max(1))
        .filter(move |window| window.iter().map(|token| &token.text).eq(pattern))
        .filter_map(|window| window.first())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(tokens: &[Token]) -> String {
        tokens.iter().map(|token| token.text.as_str()).collect::<Vec<_>>().join(" ")
    }

    fn product_texts(text: &str) -> String {
        let tokens = read(text).expect("Rust");
        texts(&tokens.into_iter().filter(|token| !token.is_test).collect::<Vec<_>>())
    }

    #[test]
    fn docs_comments_and_strings_are_no_code() {
        assert_eq!(product_texts("//! std::\n/// std::\nfn f() { /* std:: */ \"std::\"; }"), "fn f ( ) { \"std::\" ; }");
        assert_eq!(product_texts("&'static str"), "& 'static str");
        assert_eq!(product_texts("1f64 0xf32 2.5"), "1 f64 0xf32 2.5");
        assert_eq!(read("fn f( {"), None);
    }

    #[test]
    fn test_items_are_told_from_the_product() {
        for (text, product) in [
            ("#[cfg(test)] mod tests { use a; } fn g() {}", "fn g ( ) { }"),
            ("#[cfg(all(test, unix))] mod tests; fn g() {}", "fn g ( ) { }"),
            ("#[test] #[should_panic] fn t() {} fn g() {}", "fn g ( ) { }"),
            ("#[tokio::test(flavor = \"x\")] async fn t<A, B>() {} mod g;", "mod g ;"),
            ("#![cfg(test)] fn t() {} fn u() {}", ""),
            ("#[cfg(any(test, model))] mod m;", "# [ cfg ( any ( test , model ) ) ] mod m ;"),
            ("#[cfg(not(test))] mod m;", "# [ cfg ( not ( test ) ) ] mod m ;"),
            ("mod m { #[cfg(test)] fn t() {} fn g() {} }", "mod m { fn g ( ) { } }"),
        ] {
            assert_eq!(product_texts(text), product, "{text}");
        }
    }

    #[test]
    fn imports_are_written_out() {
        let tokens = read("use a::{b, c::{d, e as f}};\npub use g::*; fn h() -> impl I + use<'x> {}").expect("Rust");
        let paths: Vec<String> = imports(&tokens).iter().map(|path| texts(path)).collect();
        assert_eq!(paths, ["a : : b", "a : : c : : d", "a : : c : : e as f", "g : : *"]);
    }

    #[test]
    fn patterns_match_whole_tokens() {
        let tokens = read("a.unwrap();\nb.unwrap_or(c);\nd . unwrap ( );").expect("Rust");
        let lines: Vec<usize> = find(&tokens, &pattern(".unwrap()")).map(|token| token.line).collect();
        assert_eq!(lines, [1, 3]);
        assert_eq!(pattern("#[ignore"), ["#", "[", "ignore"]);
        assert_eq!(pattern("extern crate std"), ["extern", "crate", "std"]);
    }
}
