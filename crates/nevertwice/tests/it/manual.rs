//! The completions and the manual pages have every command that there is.

use std::process::{Command, Output};

use tempfile::TempDir;

use crate::ran::Ran as _;

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_nevertwice")).args(arguments).ran()
}

fn told(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success() && output.stderr.is_empty(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("it is text")
}

/// The commands that the help lists.
fn commands() -> Vec<String> {
    let help = told(&["--help"]);
    let (_, list) = help.split_once("Commands:\n").expect("a list of commands");
    let lines = list.lines().take_while(|line| line.starts_with("  "));
    let commands: Vec<String> = lines.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect();
    assert!(commands.iter().any(|command| command == "serve"), "{commands:?}");
    commands
}

#[test]
fn each_shell_completes_every_command() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = told(&["completions", shell]);
        for command in commands() {
            assert!(script.contains(&command), "{shell} does not know {command}");
        }
        assert!(script.contains("config"), "{shell} does not know the flags");
    }
    let unknown = run(&["completions", "tcsh"]);
    assert!(!unknown.status.success() && String::from_utf8_lossy(&unknown.stderr).contains("tcsh"));
}

#[test]
#[cfg(unix)]
fn bash_takes_its_completions() {
    let folder = TempDir::new().expect("a folder can be made");
    let script = folder.path().join("nevertwice.bash");
    std::fs::write(&script, told(&["completions", "bash"])).expect("it can be written");
    let ask =
        r#"source "$0" && COMP_WORDS=(nevertwice doc) && COMP_CWORD=1 && _nevertwice nevertwice doc nevertwice && echo "${COMPREPLY[*]}""#;
    let output = Command::new("bash").arg("-c").arg(ask).arg(&script).output().expect("bash starts");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "doctor", "{output:?}");
}

#[test]
fn each_command_has_a_manual_page() {
    let page = told(&["man"]);
    assert!(page.contains(".TH nevertwice 1") && page.contains("nevertwice\\-doctor(1)"), "{page}");
    let folder = TempDir::new().expect("a folder can be made");
    told(&["man", "--to", folder.path().to_str().expect("a path")]);
    for command in commands().iter().filter(|command| *command != "help") {
        let page = std::fs::read_to_string(folder.path().join(format!("nevertwice-{command}.1"))).expect(command);
        assert!(page.contains(".SH SYNOPSIS"), "{command}: {page}");
    }
    assert!(!folder.path().join("nevertwice-bench-bare.1").exists(), "what is hidden has none");
    let output = run(&["man", "--to", "/no/such/folder"]);
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("/no/such/folder"));
}
