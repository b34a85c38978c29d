//! Forward to this version, and no way back by mistake: the commands on what other versions wrote.

use std::fs;
use std::path::Path;
use std::process::Command;

use nevertwice_testkit::release::{self, Folder};
use tempfile::TempDir;

use crate::ran::Ran as _;
use crate::reports::command;

/// What the last release left is clean, and has the states that it had.
#[test]
fn verify_reads_the_folders_of_the_last_release() {
    for name in release::folders(release::LAST) {
        let fixture = Folder::read(release::LAST, &name);
        let folder = TempDir::new().expect("a folder can be made");
        fixture.unpack(folder.path());
        for arguments in [&["verify"][..], &["journal", "inspect", "--entries"]] {
            let output = command(arguments, folder.path()).ran();
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{name}: {text}");
            if arguments == ["verify"] {
                assert!(text.ends_with("clean\n"), "{name}: {text}");
                assert!(fixture.hashes.iter().all(|hash| text.lines().any(|line| line == hash)), "{name}: {text}");
            }
        }
        assert_eq!(Folder::of(folder.path()).files, fixture.files, "{name}: to look is not to write");
    }
}

fn serve(data: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_nevertwice"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data).env_remove("NEVERTWICE_OPERATOR_KEY");
    command
}

#[test]
fn what_a_later_version_wrote_is_refused_by_every_command_and_left_alone() {
    let fixture = Folder::read(release::LAST, "stopped");
    let text = |name: &str| String::from_utf8(fixture.files[name].clone()).expect("it is text");
    for (name, newer, is_for_the_server_alone) in [
        ("format", text("format").replace("format 1", "format 2"), false),
        ("reach", format!("reach 2\n{}", text("reach")), false),
        ("person-key.check", "person-key 2\n".to_owned(), true),
    ] {
        let folder = TempDir::new().expect("a folder can be made");
        let data = folder.path().join("data");
        fixture.unpack(&data);
        fs::write(data.join(name), newer).expect("a file can be written");
        fs::write(folder.path().join("data.key"), "07".repeat(32)).expect("a file can be written");
        let before = Folder::of(&data);
        let mut commands = vec![serve(&data)];
        if !is_for_the_server_alone {
            commands.extend([command(&["verify"], &data), command(&["journal", "inspect"], &data)]);
        }
        for mut command in commands {
            let output = command.ran();
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success() && told.contains("data_too_new"), "{name}: {told}");
            assert_eq!(Folder::of(&data), before, "{name}: nothing was written");
        }
    }
}
