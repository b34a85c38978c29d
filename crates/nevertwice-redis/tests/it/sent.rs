//! What is sent: a script is known to a server by the hash of its text, so a change of a text is a change of what runs there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use nevertwice_redis::scripts;

/// Names and hashes, with what each takes. `UPDATE=1 cargo test -p nevertwice-redis --test it sent` writes it anew.
const SENT: &str = "lua/sent.txt";

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn what_is_sent_changes_only_where_one_sees_it() {
    let line = |script: &nevertwice_redis::script::Script| {
        let (keys, args) = (script.keys().join(" "), script.args().join(" "));
        let told = format!("{} {}\n  keys: {keys}\n  args: {args}", script.name(), script.sha());
        told.trim_end().to_owned() + "\n"
    };
    let sent: String = scripts().into_iter().map(line).collect();
    let file = folder().join(SENT);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&file, &sent).unwrap();
    }
    let kept = fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(kept, sent, "a script's text has changed: look at it once more, then write {SENT} anew by UPDATE=1");
}

#[test]
fn every_file_is_a_script_and_takes_what_its_header_says() {
    let files = fs::read_dir(folder().join("lua")).unwrap().filter_map(|entry| {
        let path = entry.unwrap().path();
        (path.extension()? == "lua").then(|| path.file_stem().unwrap().to_string_lossy().into_owned())
    });
    let names: BTreeSet<String> = scripts().iter().map(|script| script.name().to_owned()).collect();
    assert_eq!(files.collect::<BTreeSet<_>>(), names);
    for script in scripts() {
        assert_eq!(declared(script.text(), "-- KEYS:"), script.keys(), "{}: keys", script.name());
        assert_eq!(declared(script.text(), "-- ARGV:"), script.args(), "{}: arguments", script.name());
    }
}

/// The names in a section of a header.
fn declared<'a>(text: &'a str, section: &str) -> Vec<&'a str> {
    let lines = text.lines().skip_while(|line| !line.starts_with(section)).skip(1);
    lines.map_while(|line| line.strip_prefix("--   ")?.split_once(':').map(|(name, _)| name)).collect()
}
