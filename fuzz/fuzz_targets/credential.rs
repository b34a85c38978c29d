//! `cargo fuzz run credential`: see `nevertwice_fuzz::targets::credential`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nevertwice_fuzz::targets::credential::run(bytes);
});
