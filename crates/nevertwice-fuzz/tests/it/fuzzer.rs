//! The programs of the coverage-guided fuzzer lie outside of the workspace: they need another toolchain. So here is looked at
//! what they are.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use nevertwice_fuzz::TARGETS;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

/// The whole program of a target.
fn program(name: &str) -> String {
    format!(
        "//! `cargo fuzz run {name}`: see `nevertwice_fuzz::targets::{name}`.\n#![no_main]\n\n\
         libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {{\n    let _ = nevertwice_fuzz::targets::{name}::run(bytes);\n}});\n"
    )
}

#[test]
fn every_target_has_its_program_and_every_program_its_target() {
    let manifest = fs::read_to_string(folder().join("Cargo.toml")).expect("the fuzzer's manifest is there");
    for target in TARGETS {
        let path = folder().join("fuzz_targets").join(format!("{}.rs", target.name));
        if !path.exists() && std::env::var_os("NVT_WRITE_FIXTURES").is_some() {
            fs::write(&path, program(target.name)).expect("a program can be written");
        }
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(text, program(target.name));
        let listed = format!("name = \"{0}\"\npath = \"fuzz_targets/{0}.rs\"\n", target.name);
        assert!(manifest.contains(&listed), "fuzz/Cargo.toml lacks {listed}");
    }
    for place in ["fuzz_targets", "corpus"] {
        let files = fs::read_dir(folder().join(place)).expect("it can be listed");
        let names: BTreeSet<String> =
            files.map(|file| file.expect("it can be read").file_name().to_string_lossy().trim_end_matches(".rs").to_owned()).collect();
        assert_eq!(names, TARGETS.iter().map(|target| target.name.to_owned()).collect(), "{place}");
    }
}
