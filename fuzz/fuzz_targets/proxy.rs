//! `cargo fuzz run proxy`: see `nevertwice_fuzz::targets::proxy`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nevertwice_fuzz::targets::proxy::run(bytes);
});
