//! `cargo fuzz run state`: see `nevertwice_fuzz::targets::state`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nevertwice_fuzz::targets::state::run(bytes);
});
