//! `cargo fuzz run headers`: see `nevertwice_fuzz::targets::headers`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nevertwice_fuzz::targets::headers::run(bytes);
});
