//! `cargo fuzz run snapshot`: see `nevertwice_fuzz::targets::snapshot`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nevertwice_fuzz::targets::snapshot::run(bytes);
});
