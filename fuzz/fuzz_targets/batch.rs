//! `cargo fuzz run batch`: see `nevertwice_fuzz::targets::batch`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nevertwice_fuzz::targets::batch::run(bytes);
});
