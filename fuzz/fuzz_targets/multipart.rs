//! `cargo fuzz run multipart`: see `nevertwice_fuzz::targets::multipart`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nevertwice_fuzz::targets::multipart::run(bytes);
});
