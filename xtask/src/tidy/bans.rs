//! Rust code that a part of the repository must not contain, as data.

use super::finding::{Finding, Rule};
use super::modules::Source;
use super::tokens::{self, Token};
use super::tree::is_within;

/// A row of tokens that is banned in some places.
struct Ban {
    rule: Rule,
    patterns: &'static [&'static str],
    within: &'static [&'static str],
    except: &'static [&'static str],
    in_tests_too: bool,
    /// Path and text of a violation, and of the same thing done rightly.
    #[cfg_attr(not(test), expect(dead_code, reason = "the unit tests hold the rule to its examples"))]
    examples: Examples,
}

#[cfg_attr(not(test), expect(dead_code, reason = "only the unit tests look at them"))]
struct Examples {
    path: &'static str,
    caught: &'static [&'static str],
    passed: &'static [&'static str],
}

const PRODUCT: &[&str] = &["crates/*/src/"];
const CORE: &[&str] = &["crates/nevertwice-core/src/"];
const IN_CORE: &str = "crates/nevertwice-core/src/market.rs";

const BANS: &[Ban] = &[
    Ban {
        rule: Rule {
            name: "unfinished",
            why: "what is left unfinished panics for somebody else, or prints what nobody reads",
            instead: "finish it or leave it out; to see a value while working, use a test",
        },
        patterns: &["todo!", "unimplemented!", "dbg!"],
        within: &[""],
        except: &[],
        in_tests_too: true,
        examples: Examples {
            path: "crates/nevertwice-api/tests/it/main.rs",
            caught: &["fn f() { todo!() }", "fn f() { unimplemented!(\"x\") }", "fn f() { dbg!(1); }"],
            passed: &["fn f() { unreachable!(\"x\") }", "// todo!\nfn todo() {}", "fn f() { print(\"dbg!\") }"],
        },
    },
    Ban {
        rule: Rule {
            name: "skipped-test",
            why: "a test that does not run proves nothing and looks as if it did",
            instead: "run it, with a smaller case if it is slow, or delete it",
        },
        patterns: &["#[ignore"],
        within: &[""],
        except: &[],
        in_tests_too: true,
        examples: Examples {
            path: "crates/nevertwice-api/tests/it/main.rs",
            caught: &["#[test] #[ignore] fn f() {}", "#[test] #[ignore = \"slow\"] fn f() {}"],
            passed: &["#[test] fn ignore() {}"],
        },
    },
    Ban {
        rule: Rule {
            name: "unwrap",
            why: "a panic at a customer's site must say what was thought impossible",
            instead: "return the error, or `expect(\"why this cannot fail\")`",
        },
        patterns: &[".unwrap()", ".unwrap_err()"],
        within: PRODUCT,
        except: &[],
        in_tests_too: false,
        examples: Examples {
            path: "crates/nevertwice-server/src/routes.rs",
            caught: &["fn f() { g().unwrap(); }", "fn f() { g()\n  .unwrap_err() ; }"],
            passed: &["fn f() { g().unwrap_or(1); }", "#[cfg(test)] mod tests { fn f() { g().unwrap(); } }"],
        },
    },
    Ban {
        rule: Rule {
            name: "float",
            why: "money and shares are whole numbers; a float rounds, and rounds differently elsewhere",
            instead: "an integer in the market's unit; averages for display belong to the server",
        },
        patterns: &["f32", "f64"],
        within: &["crates/nevertwice-core/src/", "crates/nevertwice-ledger/src/"],
        except: &[],
        in_tests_too: true,
        examples: Examples {
            path: IN_CORE,
            caught: &["fn f(price: f64) {}", "const X: u8 = 1f32 as u8;", "use core::{f64, mem};"],
            passed: &["fn f(price: u64) {}", "/// not an f64\nfn f() {}", "const X: u32 = 0xf32;"],
        },
    },
    Ban {
        rule: Rule {
            name: "core-std",
            why: "the core is pure; without std it can't reach a clock, a file or a socket",
            instead: "`core::` and `alloc::`",
        },
        patterns: &["std::", "extern crate std"],
        within: CORE,
        except: &[],
        in_tests_too: false,
        examples: Examples {
            path: IN_CORE,
            caught: &["use std::mem;", "extern crate std;", "fn f() { std::mem::drop(1) }"],
            passed: &["use core::mem;\nuse alloc::vec::Vec;", "#[cfg(test)] extern crate std;"],
        },
    },
    Ban {
        rule: Rule {
            name: "core-sum",
            why: "`sum` and `product` add without a check and slip past the lint for unchecked arithmetic",
            instead: "a loop, or `try_fold`, with `checked_add` and `checked_mul`",
        },
        patterns: &[".sum(", ".sum::", ".product(", ".product::", "Iterator::sum", "Iterator::product"],
        within: CORE,
        except: &[],
        in_tests_too: false,
        examples: Examples {
            path: IN_CORE,
            caught: &["fn f() -> u8 { a.iter().sum() }", "fn f() { a.sum::<u8>(); }", "fn f() { a.product::<u8>() }"],
            passed: &["fn f() { self.sum }", "fn f() { a.try_fold(0_u8, |x, y| x.checked_add(y)) }"],
        },
    },
    Ban {
        rule: Rule {
            name: "clock",
            why: "time comes in from outside, so that a test, a simulator and a replay can set it",
            instead: "take `at_ms` as an argument; in nevertwice-local ask the clock of `src/clock.rs`",
        },
        patterns: &["SystemTime::now", "Instant::now", ".elapsed("],
        within: &["crates/nevertwice-core/src/", "crates/nevertwice-api/src/", "crates/nevertwice-local/src/"],
        except: &["crates/nevertwice-local/src/clock.rs", "crates/nevertwice-local/src/clock/"],
        in_tests_too: false,
        examples: Examples {
            path: "crates/nevertwice-local/src/sequencer.rs",
            caught: &["fn f() { SystemTime::now() }", "fn f() { std::time::Instant::now() }", "fn f() { t.elapsed() }"],
            passed: &["fn f(at_ms: u64) {}", "fn f() { self.clock.now_ms() }"],
        },
    },
    Ban {
        rule: Rule {
            name: "disk",
            why: "one module knows the disk, so that a double can lose writes, tear them and fail a sync",
            instead: "the storage of `src/storage.rs`",
        },
        patterns: &["std::fs", "fs::", "File::", "OpenOptions::"],
        within: &["crates/nevertwice-local/src/"],
        except: &["crates/nevertwice-local/src/storage.rs", "crates/nevertwice-local/src/storage/"],
        in_tests_too: false,
        examples: Examples {
            path: "crates/nevertwice-local/src/journal.rs",
            caught: &["use std::fs;", "use std::{fs::File, io};", "fn f() { File::open(p) }", "use std::{io, fs};"],
            passed: &["fn f() { self.storage.append(bytes) }", "use std::io;"],
        },
    },
    Ban {
        rule: Rule {
            name: "pure-contract",
            why: "the contract does no I/O: whoever implements or calls it brings his own",
            instead: "move it to the backend or to the server",
        },
        patterns: &["std::fs", "std::net", "std::process", "std::thread"],
        within: &["crates/nevertwice-api/src/"],
        except: &[],
        in_tests_too: false,
        examples: Examples {
            path: "crates/nevertwice-api/src/wire.rs",
            caught: &["use std::{fs, fmt};", "use std::net::TcpStream;", "fn f() { std::thread::sleep(d) }"],
            passed: &["use std::fmt;", "#[cfg(test)] mod tests { use std::fs; }"],
        },
    },
    Ban {
        rule: Rule {
            name: "server-decides",
            why: "decisions are made in one place per shard, the backend; a second place decides on another state",
            instead: "`Backend::submit` for a decision, `Backend::read` for what a shard holds",
        },
        patterns: &["nevertwice_core::State", "core::State", ".decide(", ".apply("],
        within: &["crates/nevertwice-server/src/"],
        except: &[],
        in_tests_too: false,
        examples: Examples {
            path: "crates/nevertwice-server/src/routes.rs",
            caught: &[
                "use nevertwice_core::State;",
                "use nevertwice_core::{Entry, State};",
                "use nevertwice_core as core; fn f(state: &core::State) {}",
                "fn f() { state.decide(&command, at_ms) }",
                "fn f() { state.apply(&entry); }",
            ],
            passed: &[
                "use nevertwice_core::{BookingState, StateHash};",
                "use axum::extract::State;",
                "fn f() { backend.submit(request) }",
                "#[cfg(test)] mod tests { use nevertwice_core::State; }",
            ],
        },
    },
];

const REASONED: Rule = Rule {
    name: "expect-reason",
    why: "when it fails, the text is all that anybody sees",
    instead: "`expect(\"why this cannot fail\")`, in words",
};

const BLACK_BOX: Rule = Rule {
    name: "black-box-bots",
    why: "bots judge the product from outside; with the core's state in hand they would repeat its mistakes",
    instead: "what the public API says, and the bots' own record of what they were told",
};

const BOTS: &str = "crates/nevertwice-bots/src/";

pub(super) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for ban in BANS {
        let is_here = |places: &[&str]| places.iter().any(|place| is_within(&source.path, place));
        if is_here(ban.within) && !is_here(ban.except) {
            findings.extend(apply(ban, source));
        }
    }
    if PRODUCT.iter().any(|place| is_within(&source.path, place)) {
        findings.extend(unreasoned(source));
    }
    if is_within(&source.path, BOTS) {
        findings.extend(white_box(source));
    }
    findings
}

fn apply(ban: &Ban, source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for text in ban.patterns {
        let pattern = tokens::pattern(text);
        // What an import with braces says is only seen when it is written out.
        let rows = std::iter::once(&source.tokens).chain(&source.imports);
        for token in rows.flat_map(|row| tokens::find(row, &pattern)) {
            if ban.in_tests_too || !token.is_test {
                findings.push(Finding::new(&source.path, token.line, format!("`{text}`"), ban.rule));
            }
        }
    }
    findings
}

/// `expect` without a text of at least two words.
fn unreasoned(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for window in source.tokens.windows(4).filter(|window| !window[0].is_test) {
        let [dot, expect, open, argument] = window else {
            continue;
        };
        if dot.text == "." && expect.text == "expect" && open.text == "(" && !is_reason(&argument.text) {
            let what = format!("`expect({}`", argument.text);
            findings.push(Finding::new(&source.path, expect.line, what, REASONED));
        }
    }
    findings
}

fn is_reason(argument: &str) -> bool {
    // A parser's own `expect(b':')` takes what no `Option` or `Result` would.
    let is_other_method = argument.starts_with(['\'', ')']) || argument.starts_with("b'");
    is_other_method || argument.starts_with('"') && argument.split_whitespace().count() >= 2
}

/// Paths from the core to its state or its decisions.
fn white_box(source: &Source) -> Vec<Finding> {
    let is_state = |token: &&Token| token.text == "State" || token.text == "decide";
    let mut findings = Vec::new();
    let mut add = |token: &Token| {
        if !token.is_test {
            findings.push(Finding::new(&source.path, token.line, format!("`{}` of the core", token.text), BLACK_BOX));
        }
    };
    for import in source.imports.iter().filter(|path| path.first().is_some_and(|first| first.text == "nevertwice_core")) {
        import.iter().find(is_state).into_iter().for_each(&mut add);
    }
    for (index, _) in source.tokens.iter().enumerate().filter(|(_, token)| token.text == "nevertwice_core") {
        let is_path = |token: &&Token| token.text == ":" || token.text.starts_with(|c: char| c.is_alphabetic());
        source.tokens[index..].iter().take_while(is_path).find(is_state).into_iter().for_each(&mut add);
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str) -> Source {
        let tokens = tokens::read(text).expect("the example is Rust");
        let imports = tokens::imports(&tokens);
        Source { path: path.to_owned(), tokens, imports }
    }

    fn caught_by(rule: Rule, path: &str, text: &str) -> bool {
        check(&source(path, text)).iter().any(|finding| finding.rule == rule)
    }

    #[test]
    fn every_ban_catches_its_violations_and_nothing_else() {
        for ban in BANS {
            let Examples { path, caught, passed } = &ban.examples;
            assert!(!caught.is_empty() && !passed.is_empty(), "{}", ban.rule.name);
            for text in *caught {
                assert!(caught_by(ban.rule, path, text), "{} misses: {text}", ban.rule.name);
            }
            for text in *passed {
                assert_eq!(check(&source(path, text)), [], "{} hits: {text}", ban.rule.name);
            }
        }
    }

    #[test]
    fn a_ban_ends_where_its_place_ends() {
        for ban in BANS {
            for text in ban.examples.caught {
                for path in ban.except {
                    let path = if path.ends_with('/') { format!("{path}x.rs") } else { (*path).to_owned() };
                    assert!(!caught_by(ban.rule, &path, text), "{} hits {path}", ban.rule.name);
                }
                if !ban.within.contains(&"") {
                    assert!(!caught_by(ban.rule, "xtask/src/x.rs", text), "{} hits xtask", ban.rule.name);
                }
            }
        }
    }

    #[test]
    fn the_line_of_the_violation_is_told() {
        let findings = check(&source(IN_CORE, "fn a() {}\n\nfn b(x: f64) {}\n"));
        assert_eq!(findings.iter().map(|finding| finding.line).collect::<Vec<_>>(), [3]);
        let text = findings[0].to_string();
        assert!(text.contains("market.rs:3: `f64` [float]") && text.contains("instead: an integer"), "{text}");
    }

    #[test]
    fn an_expectation_needs_its_reason() {
        for text in ["x.expect(\"\")", "x.expect(\"ok\")", "x.expect(TEXT)", "x.expect(&format!(\"a b\"))"] {
            assert!(caught_by(REASONED, IN_CORE, &format!("fn f() {{ {text}; }}")), "{text}");
        }
        for text in ["x.expect(\"the table is never empty\")", "x.expect_err(y)", "expect(y)", "x.expect(b':')", "x.expect('{')"] {
            assert!(!caught_by(REASONED, IN_CORE, &format!("fn f() {{ {text}; }}")), "{text}");
        }
        assert!(!caught_by(REASONED, IN_CORE, "#[test] fn f() { x.expect(\"ok\"); }"));
    }

    #[test]
    fn bots_stay_outside() {
        let path = "crates/nevertwice-bots/src/persona.rs";
        for text in [
            "use nevertwice_core::State;",
            "use nevertwice_core::{curve, market::{self, State}};",
            "fn f() { nevertwice_core::market::decide(a, b) }",
        ] {
            assert!(caught_by(BLACK_BOX, path, text), "{text}");
        }
        for text in ["use nevertwice_core::model::Workload;", "use nevertwice_core::BookingState;", "use nevertwice_core::curve;"] {
            assert!(!caught_by(BLACK_BOX, path, text), "{text}");
        }
    }
}
