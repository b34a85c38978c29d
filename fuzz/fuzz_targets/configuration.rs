//! `cargo fuzz run configuration`: see `nevertwice_fuzz::targets::configuration`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nevertwice_fuzz::targets::configuration::run(bytes);
});
