//! What no text file may contain, whatever its language.

use std::env;
use std::path::Path;

use super::finding::{Finding, Rule};

const LINES_MAX: usize = 700;

const TEXT: &[&str] = &["css", "html", "js", "lua", "md", "rs", "sh", "sql", "toml", "txt", "yaml", "yml"];
/// Input and recorded output keep the bytes that they came with.
const KEPT_AS_IS: &[&str] = &["data", "fixtures", "snapshots"];

const UNFINISHED: Rule = Rule {
    name: "left-over",
    why: "a note to oneself is read by everybody, and by nobody again",
    instead: "do it now, or file an issue and say in the text what holds today",
};
// Put together, so that this file passes its own rule.
const UNFINISHED_WORDS: &[&str] = &[concat!("FIX", "ME"), concat!("XX", "X")];

const PLACEHOLDER: Rule = Rule {
    name: "placeholder",
    why: "a page with a hole in it says less than no page",
    instead: "write what belongs there, or drop the sentence",
};

const TRAILING_SPACE: Rule =
    Rule { name: "trailing-space", why: "it makes differences where nothing differs", instead: "end the line after its last character" };

const TOO_LONG: Rule = Rule {
    name: "long-file",
    why: "a file of thousands of lines is read by nobody as a whole",
    instead: "one idea per file; tests may move to a file beside it",
};

const MACHINE_PATH: Rule = Rule {
    name: "machine-path",
    why: "a path of the machine on which it was written exists nowhere else",
    instead: "a path relative to the repository, or a temporary folder made at run time",
};
const MACHINE_FOLDERS: &[&str] = &[concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/"), concat!("C:\\", "Users\\")];

const FLOAT_COLUMN: Rule = Rule {
    name: "float-column",
    why: "amounts are whole numbers; a float column rounds them in silence",
    instead: "BIGINT (or INTEGER in SQLite)",
};
const FLOAT_COLUMNS: &[&str] = &["REAL", "DOUBLE", "FLOAT", "FLOAT4", "FLOAT8", "NUMERIC", "DECIMAL", "MONEY"];

/// Folders of this machine that no file may name: the repository, the home, cargo's.
pub(super) fn machine_folders(root: &Path) -> Vec<String> {
    let given = ["HOME", "CARGO_HOME", "CARGO_TARGET_DIR"].into_iter().filter_map(env::var_os);
    let folders = given.map(|value| value.to_string_lossy().into_owned()).chain([root.to_string_lossy().into_owned()]);
    let mut folders: Vec<String> = folders.map(|folder| folder.trim_end_matches('/').to_owned()).collect();
    // Of one segment only, as in a container, it would be too common a word.
    folders.retain(|folder| Path::new(folder).is_absolute() && folder.matches('/').count() >= 2);
    folders
}

pub(super) fn check(path: &str, text: &str, machine_folders: &[String]) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !is_text(path) {
        return findings;
    }
    let mut add = |line: usize, what: String, rule: Rule| findings.push(Finding::new(path, line, what, rule));
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if line.ends_with([' ', '\t', '\r']) {
            add(number, "space at the end of the line".into(), TRAILING_SPACE);
        }
        let note = if path.ends_with(".rs") { comment(line) } else { line };
        for word in UNFINISHED_WORDS.iter().filter(|word| has_word(note, word) && !note.contains(&format!("`{word}`"))) {
            add(number, format!("`{word}`"), UNFINISHED);
        }
        if path.ends_with(".md")
            && let Some(marker) = placeholder(line)
        {
            add(number, format!("`{marker}`"), PLACEHOLDER);
        }
        let folders = MACHINE_FOLDERS.iter().copied().chain(machine_folders.iter().map(String::as_str));
        if let Some(folder) = folders.into_iter().find(|folder| has_path(line, folder)) {
            add(number, format!("`{folder}`"), MACHINE_PATH);
        }
        if path.ends_with(".sql") {
            let statement = line.split("--").next().unwrap_or_default().to_uppercase();
            for column in FLOAT_COLUMNS.iter().filter(|column| has_word(&statement, column)) {
                add(number, format!("`{column}`"), FLOAT_COLUMN);
            }
        }
    }
    let lines = text.lines().count();
    if path.ends_with(".rs") && lines > LINES_MAX {
        add(lines, format!("{lines} lines; at most {LINES_MAX}"), TOO_LONG);
    }
    findings
}

fn is_text(path: &str) -> bool {
    let kept = path.split('/').any(|segment| KEPT_AS_IS.contains(&segment));
    let name = path.rsplit('/').next().unwrap_or_default();
    // Scripts and licences have no ending; `.gitignore` has only one.
    let is_known = match name.trim_start_matches('.').rsplit_once('.') {
        Some((_, ending)) => TEXT.contains(&ending),
        None => true,
    };
    is_known && !kept
}

/// From where a comment may begin: in a string, three letters may be anything.
fn comment(line: &str) -> &str {
    let start = line.find("//").or_else(|| line.find("/*"));
    let is_inside = line.trim_start().starts_with('*');
    &line[if is_inside { 0 } else { start.unwrap_or(line.len()) }..]
}

fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| !line[..at].ends_with(is_part) && !line[at + word.len()..].starts_with(is_part))
}

/// A marker of two `@` and a capital letter, as it is put where something is to be filled in.
fn placeholder(line: &str) -> Option<&str> {
    let mut capitals = line.char_indices().filter(|(_, letter)| letter.is_ascii_uppercase()).map(|(at, _)| at);
    let start = capitals.find(|at| line[..*at].ends_with("@@"))?.saturating_sub(2);
    line[start..].split(|c: char| c != '@' && c != '_' && !c.is_alphanumeric()).next()
}

/// The folder, not as the tail of a longer path or of an address.
fn has_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + folder.len()..].chars().next();
        let is_start = before.is_none_or(|c| !c.is_alphanumeric() && !"/._-}".contains(c));
        let goes_on = |c: char| c.is_alphanumeric() || "._-".contains(c);
        // A folder of the list ends with its separator and wants a name behind it; one of this machine is a whole name.
        let is_whole = if folder.ends_with(['/', '\\']) { after.is_some_and(goes_on) } else { after.is_none_or(|c| !goes_on(c)) };
        is_start && is_whole
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, text: &str) -> Vec<Rule> {
        let folders = ["/srv/build/checkout".to_owned()];
        check(path, text, &folders).into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn left_over_notes_are_found() {
        for word in UNFINISHED_WORDS {
            assert_eq!(rules("docs/a.md", &format!("see {word}: later\n")), [UNFINISHED]);
            assert_eq!(rules("crates/a/src/a.rs", &format!("// {word}\n")), [UNFINISHED]);
            assert_eq!(rules("crates/a/src/a.rs", &format!("f(1); /* {word} */\n * {word}\n")), [UNFINISHED; 2]);
            assert_eq!(rules("crates/a/src/a.rs", &format!("let team = \"{word}\"; // unknown\n")), []);
            assert_eq!(rules("crates/a/src/a.rs", &format!("/// The team `{word}`.\n")), []);
            assert_eq!(rules("docs/a.md", &format!("PRE{word}S\n")), []);
        }
    }

    #[test]
    fn placeholders_of_pages_are_found() {
        for text in ["It takes @@FIGURE ms.\n", "`@@A`\n", "@@@X@@\n"] {
            assert_eq!(rules("docs/a.md", text), [PLACEHOLDER], "{text}");
        }
        for text in ["@@ -1,2 +1,2 @@ fn f()\n", "a@@b\n", "@A\n"] {
            assert_eq!(rules("docs/a.md", text), [], "{text}");
        }
        assert_eq!(rules("crates/a/src/a.rs", "// @@A\n"), []);
        assert_eq!(check("docs/a.md", "see @@A_B, later\n", &[])[0].what, "`@@A_B`");
    }

    #[test]
    fn trailing_space_is_found() {
        assert_eq!(rules("docs/a.md", "a \nb\t\nc\r\n"), [TRAILING_SPACE, TRAILING_SPACE]);
        assert_eq!(rules(".ci/run", "a \n"), [TRAILING_SPACE]);
        assert_eq!(rules("docs/a.md", "a\n\nb\n"), []);
        assert_eq!(rules("data/a.txt", "a \n"), []);
        assert_eq!(rules("docs/picture.svg", "a \n"), []);
    }

    #[test]
    fn long_files_are_found() {
        assert_eq!(rules("crates/a/src/a.rs", &"\n".repeat(LINES_MAX + 1)), [TOO_LONG]);
        assert_eq!(rules("crates/a/src/a.rs", &"\n".repeat(LINES_MAX)), []);
        assert_eq!(rules("docs/a.md", &"\n".repeat(LINES_MAX + 1)), []);
    }

    #[test]
    fn paths_of_a_machine_are_found() {
        for folder in &MACHINE_FOLDERS[..3] {
            assert_eq!(rules("docs/a.md", &format!("cd {folder}somebody/x\n")), [MACHINE_PATH], "{folder}");
            assert_eq!(rules("docs/a.md", &format!("https://example.com{folder}page\n")), [], "{folder}");
        }
        assert_eq!(rules("docs/a.md", "in `/srv/build/checkout/crates`\n"), [MACHINE_PATH]);
        assert_eq!(rules("docs/a.md", "in `/srv/build/checkouts` or /srv/build\n"), []);
    }

    #[test]
    fn float_columns_are_found() {
        let path = "crates/nevertwice-ledger/migrations/0001.sql";
        assert_eq!(rules(path, "  price DOUBLE PRECISION,\n  fee real\n"), [FLOAT_COLUMN, FLOAT_COLUMN]);
        assert_eq!(rules(path, "  price BIGINT, -- never real\n  realm TEXT\n"), []);
    }

    #[test]
    fn short_folders_are_too_common() {
        assert!(machine_folders(Path::new("/app")).iter().all(|folder| folder != "/app"));
        assert!(machine_folders(Path::new("/srv/app/")).contains(&"/srv/app".to_owned()));
    }
}
