//! The rules, each with the line where it is broken.

use super::parse::{CHECK, COMMIT, File, Line, SECTIONS, words};

/// More is not read as a whole. A script with its header; the parts that it brings in have this each.
const LINES_MAX: usize = 300;

/// Flags of Redis 7 that a script may carry, and the only ones: others would weaken what the rest relies on.
const FLAGS: &[&str] = &["allow-oom", "no-writes"];

/// Commands that change nothing. Whatever is not here counts as a write.
const READS: &[&str] = &[
    "EXISTS",
    "GET",
    "GETRANGE",
    "HEXISTS",
    "HGET",
    "HGETALL",
    "HLEN",
    "HMGET",
    "HSTRLEN",
    "LLEN",
    "MGET",
    "PTTL",
    "SCARD",
    "SISMEMBER",
    "STRLEN",
    "TIME",
    "TYPE",
    "XINFO",
    "XLEN",
    "XRANGE",
    "XREVRANGE",
    "ZCARD",
    "ZRANGE",
    "ZSCORE",
];

/// Words with the reason why no script has them.
const BANNED: &[(&str, &str)] = &[
    ("cjson", "it damages large integers"),
    ("tostring", "it writes 15 digits and more in scientific notation; take string.format('%.0f', n)"),
    ("pcall", "an error must end the script before it writes, not be overheard"),
    ("loadstring", "a script is what its text says"),
    ("random", "a script decides by what it is given"),
    ("replicate_commands", "effects are replicated since Redis 7"),
];

/// A rule that a file breaks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Broken {
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) rule: &'static str,
    pub(super) what: String,
}

struct Found<'a> {
    file: &'a File<'a>,
    broken: Vec<Broken>,
}

impl Found<'_> {
    fn add(&mut self, line: usize, rule: &'static str, what: impl Into<String>) {
        self.broken.push(Broken { path: self.file.path.to_owned(), line, rule, what: what.into() });
    }
}

/// Holds a script, which brings in some of these parts, to all rules.
pub(super) fn script(file: &File<'_>, libs: &[File<'_>]) -> Vec<Broken> {
    let mut found = Found { file, broken: Vec::new() };
    for_any_file(&mut found);
    first_line(&mut found);
    header(&mut found);
    bindings(&mut found, "KEYS");
    bindings(&mut found, "ARGV");
    used(&mut found);
    keys_are_declared(&mut found);
    for (line, name) in file.includes() {
        if libs.iter().all(|lib| lib.name() != name) {
            found.add(line, "include", format!("there is no lib/{name}.lua"));
        }
    }
    order(&mut found, &writers(libs));
    found.broken
}

/// Holds a shared part to the rules that count for it.
pub(super) fn lib(file: &File<'_>) -> Vec<Broken> {
    let mut found = Found { file, broken: Vec::new() };
    for_any_file(&mut found);
    for line in file.code() {
        if let Some(name) = words(line.code).iter().find(|word| matches!(**word, "KEYS" | "ARGV")) {
            found.add(line.number, "lib-takes-arguments", format!("a shared part does not know a script's {name}: let it be an argument"));
        }
    }
    found.broken
}

fn for_any_file(found: &mut Found<'_>) {
    let lines = found.file.text.lines().count();
    if lines > LINES_MAX {
        found.add(LINES_MAX, "length", format!("it has {lines} lines, and {LINES_MAX} are read as a whole"));
    }
    for line in found.file.code() {
        let words = words(line.code);
        for (word, why) in BANNED {
            if words.contains(word) {
                found.add(line.number, "banned", format!("`{word}`: {why}"));
            }
        }
        for (command, key) in calls(&line) {
            let is_literal = command.starts_with(['\'', '"']);
            if !is_literal {
                found.add(line.number, "command", "the command of redis.call is a literal, so that one sees what it does");
            }
            if key.first().is_some_and(|first| first.starts_with(['\'', '"'])) || key.contains(&"..") {
                found.add(line.number, "key-built", "no key is spelled or put together in Lua: it comes through KEYS, from keys.rs");
            }
        }
    }
}

fn first_line(found: &mut Found<'_>) {
    let first = found.file.text.lines().next().unwrap_or_default();
    let Some(rest) = first.strip_prefix("#!lua") else {
        found.add(1, "first-line", "it begins with #!lua, or the server lets a foreign key pass in silence");
        return;
    };
    let flags = rest.strip_prefix(" flags=");
    let known = flags.is_some_and(|flags| flags.split(',').all(|flag| FLAGS.contains(&flag)));
    if !rest.is_empty() && !known {
        found.add(1, "first-line", format!("after #!lua comes nothing, or ` flags=` with some of {}", FLAGS.join(", ")));
    }
}

fn header(found: &mut Found<'_>) {
    let purpose = found.file.text.lines().nth(1).unwrap_or_default();
    if !purpose.strip_prefix("-- ").is_some_and(|purpose| purpose.ends_with('.')) {
        found.add(2, "header", "the second line says in a sentence what the script does");
    }
    let mut after = 0;
    for section in SECTIONS {
        let begin = format!("-- {section}");
        let at = found.file.lines().find(|(_, line)| line.starts_with(&begin)).map(|(number, _)| number);
        match at {
            Some(number) if number > after => after = number,
            _ => found.add(after + 1, "header", format!("`{begin}` is missing, or not at its place: {}", SECTIONS.join(" "))),
        }
    }
}

/// Each name of the header is bound once, by its number, to a local of its name.
fn bindings(found: &mut Found<'_>, table: &'static str) {
    let declared = found.file.declared(&format!("{table}:"));
    let takes_more = declared.last().is_some_and(|name| name.ends_with("..."));
    let mut bound: Vec<(usize, String, String)> = Vec::new();
    let mut wrong = Vec::new();
    for line in found.file.code() {
        let words = words(line.code);
        for (at, _) in words.iter().enumerate().filter(|(_, word)| **word == table) {
            match (words.first(), words.get(1), words.get(at + 1), words.get(at + 2), words.get(at + 3)) {
                (Some(&"local"), Some(name), Some(&"["), Some(index), Some(&"]")) if index.parse::<usize>().is_ok() => {
                    bound.push((line.number, (*name).to_owned(), (*index).to_owned()));
                }
                _ if takes_more => {}
                _ => wrong.push(line.number),
            }
        }
    }
    for number in wrong {
        found.add(number, "bound-once", format!("{table} is read once for each name, by `local name = {table}[number]`"));
    }
    let fixed: Vec<&str> = declared.into_iter().filter(|name| !name.ends_with("...")).collect();
    for (index, name) in fixed.iter().enumerate() {
        let expected = ((*name).to_owned(), (index + 1).to_string());
        let times = bound.iter().filter(|(_, name, number)| (name, number) == (&expected.0, &expected.1)).count();
        if times != 1 {
            found.add(1, "bound-once", format!("`{name}` of the header is bound {times} times to {table}[{}]", index + 1));
        }
    }
    if bound.len() > fixed.len() {
        found.add(bound[fixed.len()].0, "bound-once", format!("more of {table} is read than the header declares"));
    }
}

/// Every key and argument that is declared is used.
fn used(found: &mut Found<'_>) {
    let code = found.file.code();
    for name in found.file.declared("KEYS:").into_iter().chain(found.file.declared("ARGV:")).filter(|name| !name.ends_with("...")) {
        let times: usize = code.iter().map(|line| words(line.code).iter().filter(|word| **word == name).count()).sum();
        if times < 2 {
            found.add(1, "unused", format!("`{name}` is declared and never used"));
        }
    }
}

/// What redis.call touches is a declared key, or comes out of a list of them.
fn keys_are_declared(found: &mut Found<'_>) {
    let declared = found.file.declared("KEYS:");
    let takes_more = declared.last().is_some_and(|name| name.ends_with("..."));
    for line in found.file.code() {
        for (command, key) in calls(&line) {
            let is_declared = key.first().is_none_or(|name| declared.contains(name));
            if !is_declared && !takes_more && !command.contains("TIME") {
                found.add(line.number, "foreign-key", format!("{command} touches `{}`, which is none of its keys", key.join("")));
            }
        }
    }
}

/// First `-- check`, then `-- commit`: no write before it, and no way out after it but the last line.
fn order(found: &mut Found<'_>, writers: &[String]) {
    let (checks, commits) = (found.file.lines_that_are(CHECK), found.file.lines_that_are(COMMIT));
    let ([check], [commit]) = (&checks[..], &commits[..]) else {
        found.add(1, "check-then-commit", format!("there is one line `{CHECK}` and one line `{COMMIT}`"));
        return;
    };
    if check > commit {
        found.add(*commit, "check-then-commit", "`-- commit` stands before `-- check`");
    }
    let mut returns = Vec::new();
    for line in found.file.code() {
        let words = words(line.code);
        if line.number < *commit {
            let write = calls(&line).into_iter().find(|(command, _)| !is_read(command));
            if let Some((command, _)) = write {
                found.add(line.number, "write-before-commit", format!("{command} writes before all is checked"));
            }
            if let Some(writer) = words.iter().find(|word| writers.iter().any(|writer| writer == *word)) {
                found.add(line.number, "write-before-commit", format!("{writer} writes before all is checked"));
            }
        } else if words.contains(&"return") {
            returns.push((line.number, line.code.starts_with("return")));
        }
        if line.number < *check && words.first() == Some(&"return") && line.code.starts_with("return") {
            found.add(line.number, "check-then-commit", "nothing is answered before `-- check`");
        }
    }
    match &returns[..] {
        [(_, true)] => {}
        [] => found.add(*commit, "last-return", "what it answers stands in its last statement, after `-- commit`"),
        [(first, _), ..] => found.add(*first, "last-return", "a return before the last line would leave half of the writes"),
    }
}

/// Functions of shared parts that write, by their own calls or by those of others.
fn writers(libs: &[File<'_>]) -> Vec<String> {
    let mut functions: Vec<(String, Vec<Line<'_>>)> = Vec::new();
    for file in libs {
        let mut inside = false;
        for line in file.code() {
            if let ["local", "function", name, ..] = words(line.code)[..]
                && line.code.starts_with("local")
            {
                functions.push((name.to_owned(), Vec::new()));
                inside = true;
            } else if line.code.starts_with("end") {
                inside = false;
            } else if inside && let Some((_, body)) = functions.last_mut() {
                body.push(line);
            }
        }
    }
    let mut writers: Vec<String> = Vec::new();
    loop {
        let is_writer = |body: &[Line<'_>]| {
            body.iter().any(|line| {
                calls(line).iter().any(|(command, _)| !is_read(command))
                    || words(line.code).iter().any(|word| writers.iter().any(|writer| writer == word))
            })
        };
        let more: Vec<String> =
            functions.iter().filter(|(name, body)| !writers.contains(name) && is_writer(body)).map(|(name, _)| name.clone()).collect();
        if more.is_empty() {
            return writers;
        }
        writers.extend(more);
    }
}

fn is_read(command: &str) -> bool {
    READS.contains(&command.trim_matches(['\'', '"']))
}

/// Each `redis.call(COMMAND, KEY ...)` of a line: the command's word and the words of the key. A call whose command stands on the next
/// line has none here, and is reported by the words that it lacks.
fn calls<'a>(line: &Line<'a>) -> Vec<(&'a str, Vec<&'a str>)> {
    let words = words(line.code);
    let mut calls = Vec::new();
    for at in 0..words.len() {
        if words[at..].starts_with(&["redis", ".", "call", "("]) {
            let inside = &words[at + 4..];
            let command = inside.first().copied().unwrap_or_default();
            let key = inside.iter().skip(2).take_while(|word| !matches!(**word, "," | ")")).copied().collect();
            calls.push((command, key));
        }
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "#!lua\n-- Adds to a counter.\n-- Mirrors: nothing\n-- KEYS:\n--   counter: a number\n-- ARGV:\n--   more: what is added\n\
-- Replies: added: the sum; too_much\n-- Writes: counter\n-- Bound: one read, one write\n-- include numbers\nlocal counter = KEYS[1]\n\
local more = tonumber(ARGV[1])\n\n-- check\nlocal sum = tonumber(redis.call('GET', counter) or '0') + more\nif sum > 9 then\n  return {'too_much'}\n\
end\n\n-- commit\nredis.call('SET', counter, text(sum))\nreturn {'added', text(sum)}\n";
    const LIB: &str = "local function text(number)\n  return string.format('%.0f', number)\nend\nlocal function put(key)\n  redis.call('SET', key, 1)\nend\n\
local function put_both(a)\n  put(a)\nend\n";

    fn rules(text: &str) -> Vec<&'static str> {
        let libs = [File { path: "lua/lib/numbers.lua", text: LIB }];
        let mut rules: Vec<_> = script(&File { path: "lua/add.lua", text }, &libs).into_iter().map(|broken| broken.rule).collect();
        rules.dedup();
        rules
    }

    #[test]
    fn a_good_script_passes() {
        assert_eq!(script(&File { path: "lua/add.lua", text: GOOD }, &[File { path: "lua/lib/numbers.lua", text: LIB }]), []);
        assert_eq!(lib(&File { path: "lua/lib/numbers.lua", text: LIB }), []);
    }

    #[test]
    fn every_rule_fails_on_a_bad_script() {
        for (rule, was, is) in [
            ("first-line", "#!lua\n", "-- lua\n"),
            ("first-line", "#!lua\n", "#!lua flags=allow-cross-slot-keys\n"),
            ("header", "-- Adds to a counter.", "-- it adds"),
            ("header", "-- Bound: one read, one write\n", ""),
            ("header", "-- Writes: counter\n-- Bound: one read, one write\n", "-- Bound: one\n-- Writes: counter\n"),
            ("bound-once", "local more = tonumber(ARGV[1])", "local more = tonumber(ARGV[2])"),
            ("bound-once", "'added', text(sum)", "'added', ARGV[1]"),
            ("bound-once", "--   more: what is added\n", ""),
            ("unused", "+ more", "+ 1"),
            ("unused", "--   more: what", "--   other: x\n--   more: what"),
            ("foreign-key", "'GET', counter", "'GET', other"),
            ("key-built", "'GET', counter", "'GET', counter .. ':x'"),
            ("key-built", "'GET', counter", "'GET', 'counter'"),
            ("command", "redis.call('GET'", "redis.call(word"),
            ("include", "-- include numbers", "-- include nobody"),
            ("check-then-commit", "-- commit\n", ""),
            ("check-then-commit", "-- check\n", "return {'early'}\n-- check\n"),
            ("write-before-commit", "if sum > 9 then", "redis.call('INCR', counter)\nif sum > 9 then"),
            ("write-before-commit", "if sum > 9 then", "put(counter)\nif sum > 9 then"),
            ("write-before-commit", "if sum > 9 then", "put_both(counter)\nif sum > 9 then"),
            ("last-return", "redis.call('SET'", "if sum == 3 then\n  return {'three'}\nend\nredis.call('SET'"),
            ("last-return", "return {'added', text(sum)}\n", ""),
            ("banned", "text(sum)}", "cjson.encode(sum)}"),
            ("length", "-- commit\n", &format!("{}-- commit\n", "\n".repeat(LINES_MAX))),
        ] {
            let text = GOOD.replacen(was, is, 1);
            assert_ne!(text, GOOD, "{was} is not in the example");
            assert!(rules(&text).contains(&rule), "{rule} does not see {is:?}: {:?}", rules(&text));
        }
        assert_eq!(lib(&File { path: "lua/lib/x.lua", text: "local x = ARGV[1]\n" })[0].rule, "lib-takes-arguments");
    }
}
