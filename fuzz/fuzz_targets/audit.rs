//! `cargo fuzz run audit`: see `nevertwice_fuzz::targets::audit`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nevertwice_fuzz::targets::audit::run(bytes);
});
