//! `nevertwice demo` as a process, told to stop before its end.

use std::fs::read_dir;
use std::process::{Command, Stdio};
use std::thread;

use tempfile::TempDir;

#[test]
#[cfg(unix)]
fn a_demo_that_is_stopped_leaves_no_server_and_no_folder() {
    for signal in ["-TERM", "-INT"] {
        let temporary = TempDir::new().expect("a folder can be made");
        let mut command = Command::new(env!("CARGO_BIN_EXE_nevertwice"));
        command.args(["demo", "--stay", "--report"]).arg(temporary.path().join("report.html")).env("TMPDIR", temporary.path());
        let mut demo = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary starts");
        // The server has made its folder, so the demo listens to signals.
        while !read_dir(temporary.path()).expect("it can be listed").flatten().any(|entry| entry.path().join("data/in-use").exists()) {
            assert!(demo.try_wait().expect("it can be asked").is_none(), "it ended before it was told to");
            thread::yield_now();
        }
        assert!(Command::new("kill").args([signal, &demo.id().to_string()]).status().expect("kill runs").success());
        // The server writes to the same standard error: its end is read only once both have ended.
        let output = demo.wait_with_output().expect("it ends");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && told.contains("stopped"), "{told}");
        assert_eq!(read_dir(temporary.path()).expect("it can be listed").count(), 0, "{told}");
    }
}
