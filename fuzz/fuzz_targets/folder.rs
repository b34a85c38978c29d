//! `cargo fuzz run folder`: see `nevertwice_fuzz::targets::folder`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nevertwice_fuzz::targets::folder::run(bytes);
});
