//! `cargo fuzz run segment`: see `nevertwice_fuzz::targets::segment`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nevertwice_fuzz::targets::segment::run(bytes);
});
