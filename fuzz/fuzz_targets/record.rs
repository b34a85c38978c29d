//! `cargo fuzz run record`: see `nevertwice_fuzz::targets::record`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nevertwice_fuzz::targets::record::run(bytes);
});
