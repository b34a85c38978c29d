//! `nevertwice-fuzz`: writes the first inputs, or runs one input again.

use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, fs};

use nevertwice_fuzz::{corpus, target};

const USAGE: &str = "nevertwice-fuzz seeds          writes the first inputs of every target
nevertwice-fuzz TARGET FILE... runs a target on these inputs";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.as_slice() {
        [word] if word == "seeds" => match corpus::write_seeds() {
            Ok(written) => println!("{written} inputs written to {}", corpus::root().display()),
            Err(error) => return fail(&format!("inputs can't be written: {error}")),
        },
        [name, files @ ..] if !files.is_empty() => {
            let Some(target) = target(name) else { return fail(&format!("there is no target {name}")) };
            for file in files.iter().map(PathBuf::from) {
                match fs::read(&file) {
                    Ok(bytes) => println!("{}: {:?}", file.display(), (target.run)(&bytes)),
                    Err(error) => return fail(&format!("{} can't be read: {error}", file.display())),
                }
            }
        }
        _ => return fail(USAGE),
    }
    ExitCode::SUCCESS
}

fn fail(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::FAILURE
}
