//! Documents that lead somewhere and are led to: links between files, the table of contents, and a page for every error code.

use std::collections::{BTreeMap, BTreeSet};

use pulldown_cmark::{Event, Options, Parser, Tag};

use super::finding::{Finding, Rule};
use super::modules::Source;
use super::tree::{Tree, folder_of, is_within, normalise};

const BROKEN_LINK: Rule =
    Rule { name: "broken-link", why: "a reader who follows it finds nothing", instead: "name the file where it is now, or drop the link" };

const UNLISTED: Rule = Rule {
    name: "unlisted-page",
    why: "a page that the table of contents does not name is found by nobody",
    instead: "give it a row in docs/README.md",
};

const NO_PAGE: Rule = Rule {
    name: "code-without-page",
    why: "whoever gets this error asks what was done and what to do",
    instead: "write docs/errors/<code>.md: what was wrong, what was done (nothing, or what), what to do",
};

const NO_CODE: Rule = Rule {
    name: "page-without-code",
    why: "a page about an error that nobody can get misleads",
    instead: "delete the page, or name the code in the catalogue",
};

const NO_TEST: Rule = Rule {
    name: "code-without-test",
    why: "an error that no test has ever met may never come, or come where its page does not say",
    instead: "write a test that gets it, and names it as \"code\" or as ErrorCode::Name; or delete what nothing sends",
};

const BLIND: Rule = Rule {
    name: "unread-catalogue",
    why: "a check that reads no code finds no mistake",
    instead: "write rows `Name = \"code\", status, ...`, or teach xtask/src/tidy/documents.rs the new form",
};

/// Where the catalogue of error codes may lie.
const CATALOGUE: &[&str] = &["crates/nevertwice-api/src/errors.rs", "crates/nevertwice-api/src/errors/"];
const PAGES: &str = "docs/errors/";
const CONTENTS: &str = "docs/README.md";

pub(super) fn links(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| path.ends_with(".md")) {
        for (link, at) in links_in(text) {
            if !leads_somewhere(tree, path, &link) {
                let line = text[..at].matches('\n').count() + 1;
                findings.push(Finding::new(path, line, format!("link to `{link}`"), BROKEN_LINK));
            }
        }
    }
    findings
}

/// Links and pictures, and where in the text each begins.
fn links_in(text: &str) -> impl Iterator<Item = (String, usize)> {
    Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter().filter_map(|(event, range)| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some((dest_url.into_string(), range.start)),
        _ => None,
    })
}

fn leads_somewhere(tree: &Tree, from: &str, link: &str) -> bool {
    let target = target(link);
    if target.is_empty() || link.contains("://") || link.starts_with("mailto:") {
        return true;
    }
    resolve(from, target).is_some_and(|path| tree.has(&path))
}

/// The link without the place in the page.
fn target(link: &str) -> &str {
    link.split(['#', '?']).next().unwrap_or_default()
}

/// The path that a link to a file means; nothing if it leaves the repository.
fn resolve(from: &str, target: &str) -> Option<String> {
    let path = match target.strip_prefix('/') {
        Some(from_root) => normalise(from_root),
        None => normalise(&format!("{}/{target}", folder_of(from))),
    };
    path.map(|path| path.replace("%20", " "))
}

/// Pages directly under `docs/` that the table of contents does not link to.
pub(super) fn unlisted(tree: &Tree) -> Vec<Finding> {
    let contents = tree.texts().find(|(path, _)| *path == CONTENTS).map_or("", |(_, text)| text);
    let listed: BTreeSet<String> = links_in(contents).filter_map(|(link, _)| resolve(CONTENTS, target(&link))).collect();
    let pages = tree.texts().map(|(path, _)| path).filter(|path| is_within(path, "docs/*") && path.ends_with(".md") && *path != CONTENTS);
    let missing = pages.filter(|page| !listed.contains(*page));
    missing.map(|page| Finding::new(page, 1, format!("{CONTENTS} does not list it"), UNLISTED)).collect()
}

/// Codes and pages, once there is a catalogue.
pub(super) fn error_pages(tree: &Tree, sources: &[Source]) -> Vec<Finding> {
    let catalogue = sources.iter().filter(|source| CATALOGUE.iter().any(|place| is_within(&source.path, place)));
    let mut codes = BTreeMap::new();
    let mut first = None;
    for source in catalogue {
        first.get_or_insert(source.path.as_str());
        for Row { name, code, line } in rows_in(source) {
            codes.entry(code).or_insert((source.path.as_str(), line, name));
        }
    }
    let Some(first) = first else { return Vec::new() };
    if codes.is_empty() {
        return vec![Finding::new(first, 1, "no code was found in the catalogue", BLIND)];
    }
    let mut findings = Vec::new();
    let tested = words_of_tests(sources);
    for (code, &(path, line, name)) in &codes {
        let page = format!("{PAGES}{code}.md");
        if !tree.has_file(&page) {
            findings.push(Finding::new(path, line, format!("`{code}` has no page {page}"), NO_PAGE));
        }
        if !tested.contains(name) && !tested.contains(format!("\"{code}\"").as_str()) {
            findings.push(Finding::new(path, line, format!("`{code}` is in no test"), NO_TEST));
        }
    }
    for (path, _) in tree.texts() {
        let Some(name) = path.strip_prefix(PAGES).and_then(|name| name.strip_suffix(".md")) else {
            continue;
        };
        if name != "README" && !codes.contains_key(name) {
            findings.push(Finding::new(path, 1, format!("`{name}` is no code of the catalogue"), NO_CODE));
        }
    }
    findings
}

/// One row of the catalogue.
struct Row<'a> {
    name: &'a str,
    code: &'a str,
    line: usize,
}

/// What the catalogue writes as `Name = "snake_case", 409, ...`.
fn rows_in(source: &Source) -> Vec<Row<'_>> {
    let product = source.tokens.windows(5).filter(|window| !window[0].is_test);
    let rows = product.filter_map(|window| {
        let [name, equals, value, comma, status] = window else { return None };
        let code = value.text.strip_prefix('"')?.strip_suffix('"')?;
        let is_row = equals.text == "=" && comma.text == "," && status.text.parse::<u16>().is_ok();
        is_row.then_some(Row { name: &name.text, code, line: value.line })
    });
    rows.collect()
}

/// Every name and every text that stands in a test.
fn words_of_tests(sources: &[Source]) -> BTreeSet<&str> {
    sources.iter().flat_map(|source| &source.tokens).filter(|token| token.is_test).map(|token| token.text.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::modules;
    use super::*;

    #[test]
    fn links_to_missing_files_are_found() {
        let tree = Tree::of(&[
            ("README.md", "a\n\n[here](docs/a.md) [gone](docs/gone.md) ![gone](x.svg)\n\n[by name]\n\n[by name]: y.md\n"),
            ("docs/a.md", "[out](../../elsewhere.md) [up](../README.md#top) [root](/docs/a.md) [bad](/a.md)\n"),
        ]);
        let found: Vec<_> = links(&tree).into_iter().map(|f| format!("{}:{} {}", f.path, f.line, f.what)).collect();
        assert_eq!(
            found,
            [
                "README.md:3 link to `docs/gone.md`",
                "README.md:3 link to `x.svg`",
                "README.md:5 link to `y.md`",
                "docs/a.md:1 link to `../../elsewhere.md`",
                "docs/a.md:1 link to `/a.md`",
            ]
        );
    }

    #[test]
    fn other_links_pass() {
        let text = "[web](https://example.com/x.md) [top](#top) [folder](docs) [mail](mailto:a@example.com)\n\
                    `[code](gone.md)`\n\n```text\n[code](gone.md)\n```\n\n| a |\n|---|\n| [self](README.md) |\n";
        assert_eq!(links(&Tree::of(&[("README.md", text), ("docs/a.md", "")])), []);
    }

    #[test]
    fn a_page_that_the_contents_do_not_list_is_found() {
        let files = [("docs/a.md", ""), ("docs/b.md", ""), ("docs/adr/0001.md", ""), ("docs/picture.png", ""), ("README.md", "")];
        let unlisted = |contents: Option<&str>| {
            let contents = contents.map(|text| ("docs/README.md", text));
            let files: Vec<_> = files.into_iter().chain(contents).collect();
            unlisted(&Tree::of(&files)).into_iter().map(|finding| finding.path).collect::<Vec<_>>()
        };
        assert_eq!(unlisted(Some("| [A](a.md#top) |\n\n[b](/docs/b.md)\n")), [""; 0]);
        assert_eq!(unlisted(Some("[A](a.md), b.md and [b](adr/b.md)\n")), ["docs/b.md"]);
        assert_eq!(unlisted(None), ["docs/a.md", "docs/b.md"]);
    }

    fn pages(files: &[(&str, &str)]) -> Vec<(Rule, String)> {
        let mut all = vec![
            ("crates/nevertwice-api/Cargo.toml", ""),
            ("crates/nevertwice-api/src/lib.rs", "mod errors;"),
            ("crates/nevertwice-api/src/errors.rs", "errors! { SoldOut = \"sold_out\", 409, final, \"No seat is left\"; }"),
        ];
        all.extend([("crates/nevertwice-api/tests/it/main.rs", "fn met() { assert_eq!(code, \"sold_out\"); }")]);
        all.extend(files);
        let tree = Tree::of(&all);
        let (sources, _) = modules::read(&tree);
        error_pages(&tree, &sources).into_iter().map(|finding| (finding.rule, finding.what)).collect()
    }

    #[test]
    fn a_code_without_page_and_a_page_without_code_are_found() {
        assert_eq!(pages(&[]), [(NO_PAGE, "`sold_out` has no page docs/errors/sold_out.md".into())]);
        assert_eq!(
            pages(&[("docs/errors/sold_out.md", ""), ("docs/errors/gone.md", ""), ("docs/errors/README.md", "")]),
            [(NO_CODE, "`gone` is no code of the catalogue".into())]
        );
    }

    #[test]
    fn a_code_that_no_test_meets_is_found() {
        let found = |test: &str| {
            let tree = Tree::of(&[
                ("crates/nevertwice-api/Cargo.toml", ""),
                ("crates/nevertwice-api/src/lib.rs", "mod errors;"),
                ("crates/nevertwice-api/src/errors.rs", "errors! { SoldOut = \"sold_out\", 409, final, \"No seat is left\"; }"),
                ("crates/nevertwice-api/tests/it/main.rs", test),
                ("docs/errors/sold_out.md", ""),
            ]);
            let (sources, _) = modules::read(&tree);
            error_pages(&tree, &sources).into_iter().map(|finding| finding.rule).collect::<Vec<_>>()
        };
        assert_eq!(found("fn met() {}"), [NO_TEST]);
        assert_eq!(found("fn met() { \"sold_out\" }"), []);
        assert_eq!(found("fn met() { ErrorCode::SoldOut }"), []);
    }

    #[test]
    fn a_catalogue_in_another_form_is_told() {
        let tree = Tree::of(&[
            ("crates/nevertwice-api/Cargo.toml", ""),
            ("crates/nevertwice-api/src/errors.rs", "const CODES: &[&str] = &[\"sold_out\"];"),
        ]);
        let findings = error_pages(&tree, &modules::read(&tree).0);
        assert_eq!(findings.iter().map(|finding| finding.rule).collect::<Vec<_>>(), [BLIND]);
    }

    #[test]
    fn a_catalogue_with_its_pages_passes() {
        assert_eq!(pages(&[("docs/errors/sold_out.md", "")]), []);
        assert_eq!(error_pages(&Tree::of(&[("docs/errors/early.md", "")]), &[]), []);
    }
}
