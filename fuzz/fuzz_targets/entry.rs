//! `cargo fuzz run entry`: see `nevertwice_fuzz::targets::entry`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nevertwice_fuzz::targets::entry::run(bytes);
});
