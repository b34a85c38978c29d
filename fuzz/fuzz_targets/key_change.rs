//! `cargo fuzz run key_change`: see `nevertwice_fuzz::targets::key_change`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nevertwice_fuzz::targets::key_change::run(bytes);
});
