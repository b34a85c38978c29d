//! `cargo fuzz run note`: see `nevertwice_fuzz::targets::note`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nevertwice_fuzz::targets::note::run(bytes);
});
