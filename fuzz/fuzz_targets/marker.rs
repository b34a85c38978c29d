//! `cargo fuzz run marker`: see `nevertwice_fuzz::targets::marker`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nevertwice_fuzz::targets::marker::run(bytes);
});
