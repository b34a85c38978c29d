//! The document as a page for people: made from the very text that `/openapi.json` serves, with nothing from elsewhere.

use std::sync::LazyLock;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use pulldown_cmark::{Parser, html::push_html};
use serde_json::{Map, Value};

use super::document;

const STYLE: &str = "
:root{color-scheme:light dark;--line:#8884}
body{max-width:62rem;margin:2rem auto;padding:0 1rem;font:16px/1.55 system-ui,sans-serif}
code,.path{font:.92em ui-monospace,monospace;overflow-wrap:anywhere}
table{border-collapse:collapse;width:100%;margin:.4rem 0 1rem}
td,th{border-top:1px solid var(--line);padding:.3rem .6rem .3rem 0;text-align:left;vertical-align:top}
th{font-weight:600}section{border-top:2px solid var(--line);margin-top:2rem;padding-top:.4rem}
h3{margin:1.6rem 0 .2rem}.method{font-weight:700;margin-right:.5rem}.must{color:#c0392b}
nav a{margin-right:1rem}p{margin:.4rem 0}
";

/// The page. It is made once.
pub(crate) fn page() -> String {
    static PAGE: LazyLock<String> = LazyLock::new(|| {
        let document: Value = serde_json::from_str(&document()).unwrap_or_default();
        render(&document).into_string()
    });
    PAGE.clone()
}

/// In the order in which one reads them.
const TAGS: [&str; 7] = ["markets", "sales", "keys", "history", "copies", "sandbox", "server"];

fn render(document: &Value) -> Markup {
    let info = &document["info"];
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (text(&info["title"])) " API" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { (text(&info["title"])) " API " (text(&info["version"])) }
                (markdown(&info["description"]))
                @for (_, scheme) in members(&document["components"]["securitySchemes"]) {
                    p { "Credentials: " code { "Authorization: Bearer KEY" } ". " (inline(&scheme["description"])) }
                }
                p { "For programs: " a href="/openapi.json" { "/openapi.json" } "." }
                nav { @for tag in TAGS { a href={ "#" (tag) } { (tag) } } a href="#schemas" { "schemas" } }
                @for tag in TAGS {
                    section id=(tag) {
                        h2 { (tag) }
                        @for (path, method, operation) in operations(document, tag) { (render_operation(path, method, operation)) }
                    }
                }
                section id="schemas" {
                    h2 { "schemas" }
                    @for (name, schema) in members(&document["components"]["schemas"]) { (render_schema(name, schema)) }
                }
            }
        }
    }
}

fn operations<'a>(document: &'a Value, tag: &str) -> Vec<(&'a str, &'a str, &'a Value)> {
    let all = members(&document["paths"]).flat_map(|(path, item)| {
        let operations = members(item).filter(|(_, operation)| operation.is_object());
        operations.map(move |(method, operation)| (path, method, operation))
    });
    all.filter(|(_, _, operation)| operation["tags"][0] == *tag).collect()
}

fn render_operation(path: &str, method: &str, operation: &Value) -> Markup {
    html! {
        h3 id=(text(&operation["operationId"])) { span.method { (method.to_uppercase()) } span.path { (path) } }
        p { (inline(&operation["summary"])) ". " (inline(&operation["description"])) }
        @if let Some(parameters) = operation["parameters"].as_array().filter(|parameters| !parameters.is_empty()) {
            table {
                tr { th { "parameter" } th { "in" } th { "what it may be" } th { "meaning" } }
                @for parameter in parameters {
                    tr {
                        td { code { (text(&parameter["name"])) } (must(parameter["required"] == true)) }
                        td { (text(&parameter["in"])) }
                        td { (shape(&parameter["schema"])) }
                        td { (inline(&parameter["description"])) }
                    }
                }
            }
        }
        @for (media_type, content) in members(&operation["requestBody"]["content"]) {
            p { "Takes " (shape(&content["schema"])) " as " code { (media_type) } ". " (inline(&operation["requestBody"]["description"])) }
        }
        table {
            tr { th { "status" } th { "body" } th { "headers" } th { "when" } }
            @for (status, response) in members(&operation["responses"]) {
                tr {
                    td { code { (status) } }
                    td {
                        @for (media_type, content) in members(&response["content"]) {
                            div { (shape(&content["schema"])) " as " code { (media_type) } }
                        }
                    }
                    td {
                        @for (name, header) in members(&response["headers"]) {
                            div { code { (name) } ": " (inline(&header["description"])) }
                        }
                    }
                    td { (inline(&response["description"])) }
                }
            }
        }
    }
}

fn render_schema(name: &str, schema: &Value) -> Markup {
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    html! {
        h3 id={ "schema-" (name) } { code { (name) } }
        (markdown(&schema["description"]))
        @if schema["properties"].is_object() {
            table {
                tr { th { "member" } th { "what it may be" } th { "meaning" } }
                @for (member, property) in members(&schema["properties"]) {
                    tr {
                        td { code { (member) } (must(required.contains(&member))) }
                        td { (shape(property)) }
                        td { (inline(&property["description"])) }
                    }
                }
            }
        } @else {
            p { (shape(schema)) }
        }
    }
}

fn must(must: bool) -> Markup {
    html! { @if must { span.must title="required" { " *" } } }
}

/// What a schema lets through, in a few words.
fn shape(schema: &Value) -> Markup {
    if let Some(name) = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next()) {
        return html! { a href={ "#schema-" (name) } { code { (name) } } };
    }
    let several = ["oneOf", "anyOf", "allOf"].iter().find_map(|word| schema[word].as_array());
    if let Some(several) = several {
        return html! { @for (number, one) in several.iter().enumerate() { @if number > 0 { " or " } (shape(one)) } };
    }
    if let Some(words) = schema["enum"].as_array() {
        let shown = words.len().min(WORDS_SHOWN);
        return html! {
            @for (number, word) in words.iter().take(shown).enumerate() { @if number > 0 { ", " } code { (text(word)) } }
            @if words.len() > shown { ", and " (words.len() - shown) " more" }
        };
    }
    let kinds = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().map(text).collect::<Vec<_>>().join(" or "),
        kind => text(kind).to_owned(),
    };
    html! {
        (kinds)
        @if schema["items"].is_object() { " of " (shape(&schema["items"])) }
        @if let Some(least) = number(&schema["minimum"]) { ", from " (least) }
        @if let Some(most) = number(&schema["maximum"]) { " to " (most) }
        @if let Some(pattern) = schema["pattern"].as_str() { ", " code { (pattern) } }
        @if let Some(length) = number(&schema["maxLength"]) { ", at most " (length) " characters" }
        @if let Some(count) = number(&schema["maxItems"]) { ", at most " (count) }
    }
}

/// Of a long list only the first words are shown.
const WORDS_SHOWN: usize = 12;

fn number(value: &Value) -> Option<String> {
    value.is_number().then(|| value.to_string())
}

fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter).map(|(name, member)| (name.as_str(), member))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn markdown(value: &Value) -> Markup {
    let mut out = String::new();
    push_html(&mut out, Parser::new(text(value)));
    PreEscaped(out)
}

/// A line without the paragraph around it.
fn inline(value: &Value) -> Markup {
    let PreEscaped(whole) = markdown(value);
    PreEscaped(whole.trim().trim_start_matches("<p>").trim_end_matches("</p>").to_owned())
}
