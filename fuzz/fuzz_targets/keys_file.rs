//! `cargo fuzz run keys_file`: see `nevertwice_fuzz::targets::keys_file`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nevertwice_fuzz::targets::keys_file::run(bytes);
});
