//! `cargo fuzz run manifest`: see `nevertwice_fuzz::targets::manifest`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nevertwice_fuzz::targets::manifest::run(bytes);
});
