//! `cargo fuzz run fingerprint`: see `nevertwice_fuzz::targets::fingerprint`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nevertwice_fuzz::targets::fingerprint::run(bytes);
});
