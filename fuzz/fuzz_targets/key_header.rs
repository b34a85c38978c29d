//! `cargo fuzz run key_header`: see `nevertwice_fuzz::targets::key_header`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nevertwice_fuzz::targets::key_header::run(bytes);
});
