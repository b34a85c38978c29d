//! `cargo fuzz run body`: see `nevertwice_fuzz::targets::body`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nevertwice_fuzz::targets::body::run(bytes);
});
