//! `nevertwice demo` as a process: to its end with a server that stays, and told to stop before.

use std::fs::read_dir;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
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

#[test]
#[cfg(unix)]
fn a_demo_whose_server_stays_ends_in_order_when_it_is_told_to() {
    let temporary = TempDir::new().expect("a folder can be made");
    let report = temporary.path().join("report.html");
    let mut command = Command::new(env!("CARGO_BIN_EXE_nevertwice"));
    command.args(["demo", "--small", "--stay", "--report"]).arg(&report).env("TMPDIR", temporary.path());
    let mut demo = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
    let mut lines = BufReader::new(demo.stdout.take().expect("its output")).lines().map(|line| line.expect("it can be read"));
    let mut told = Vec::new();
    let address = loop {
        let Some(line) = lines.next() else {
            let mut log = String::new();
            let _ = demo.stderr.take().expect("its log").read_to_string(&mut log);
            panic!("it ended without a server that stays:\n{}\n{log}", told.join("\n"));
        };
        if let Some((address, _)) = line.strip_prefix("the server stays up at http://").and_then(|rest| rest.split_once(';')) {
            break address.to_owned();
        }
        told.push(line);
    };
    assert!(report.exists(), "{told:?}");
    // It is ready, and has the demo's market.
    for path in ["/readyz", "/v1/markets/worldcup-2026"] {
        let mut stream = TcpStream::connect(&address).expect("it accepts");
        write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    }
    assert!(Command::new("kill").args(["-TERM", &demo.id().to_string()]).status().expect("kill runs").success());
    assert_eq!(lines.next(), None, "there is nothing more to say");
    let output = demo.wait_with_output().expect("it ends");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {log}\n{}", output.status, told.join("\n"));
    assert!(TcpStream::connect(&address).is_err(), "its server went with it");
    std::fs::remove_file(&report).expect("the report is there");
    assert_eq!(read_dir(temporary.path()).expect("it can be listed").count(), 0, "{log}");
}
