//! `cargo fuzz run following`: see `nevertwice_fuzz::targets::following`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nevertwice_fuzz::targets::following::run(bytes);
});
