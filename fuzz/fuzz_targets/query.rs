//! `cargo fuzz run query`: see `nevertwice_fuzz::targets::query`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nevertwice_fuzz::targets::query::run(bytes);
});
