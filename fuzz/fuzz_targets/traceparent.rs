//! `cargo fuzz run traceparent`: see `nevertwice_fuzz::targets::traceparent`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = nevertwice_fuzz::targets::traceparent::run(bytes);
});
