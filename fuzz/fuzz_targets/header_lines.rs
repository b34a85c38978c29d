//! `cargo fuzz run header_lines`: see `nevertwice_fuzz::targets::header_lines`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nevertwice_fuzz::targets::header_lines::run(bytes);
});
