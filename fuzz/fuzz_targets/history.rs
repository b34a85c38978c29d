//! `cargo fuzz run history`: see `nevertwice_fuzz::targets::history`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nevertwice_fuzz::targets::history::run(bytes);
});
