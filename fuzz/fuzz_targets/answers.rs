//! `cargo fuzz run answers`: see `nevertwice_fuzz::targets::answers`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nevertwice_fuzz::targets::answers::run(bytes);
});
