//! Every target takes its committed inputs and seeded mutations of them: always the same, so that a failure repeats.
//!
//! `NVT_FUZZ_SEED` and `NVT_FUZZ_MUTATIONS` (a factor) make another run, or a longer one.

use nevertwice_fuzz::{TARGETS, corpus, replay, target};

/// What all inputs together may take in the repository.
const CORPUS_BYTES_MAX: usize = 600 << 10;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

fn check(name: &str) {
    let target = target(name).expect("it is in the list");
    let inputs = corpus::read(target).expect("its inputs are there");
    let seed = setting("NVT_FUZZ_SEED", 1);
    let tally = replay(target, &inputs, seed, target.mutations * setting("NVT_FUZZ_MUTATIONS", 1));
    println!("{name}: {} inputs, seed {seed}: {tally:?}", inputs.len());
    // A reader that takes everything, or nothing, would be tried in vain.
    assert!(tally.accepted * 99 > tally.refused && tally.refused * 99 > tally.accepted, "{name}: {tally:?}");
}

macro_rules! targets {
    ($($name:ident)*) => {
        $(#[test] fn $name() { check(stringify!($name)); })*

        #[test]
        fn every_target_is_replayed() {
            let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

targets! { entry record history state segment folder snapshot key_change marker manifest following note audit answers headers body fingerprint batch configuration credential keys_file jwks query key_header header_lines traceparent proxy multipart }

#[test]
fn a_run_repeats() {
    let target = target("query").expect("it is in the list");
    let inputs = corpus::read(target).expect("its inputs are there");
    let run = |seed| replay(target, &inputs, seed, 500);
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn the_inputs_are_small() {
    let bytes: usize = TARGETS.iter().flat_map(|target| corpus::read(target).expect("its inputs are there")).map(|input| input.len()).sum();
    assert!(bytes < CORPUS_BYTES_MAX, "{bytes} bytes");
}
