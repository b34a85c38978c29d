//! `cargo fuzz run jwks`: see `nevertwice_fuzz::targets::jwks`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nevertwice_fuzz::targets::jwks::run(bytes);
});
