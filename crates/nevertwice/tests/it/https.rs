//! The commands that ask a server, over TLS: whose certificate is believed, and whose is not.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use tempfile::TempDir;

use crate::ran::Ran as _;
use crate::serve::{MARKET, Serving};

/// A folder with a certificate for `localhost`, its key, and the data of a server on which a market was opened.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(TempDir::new().expect("a folder can be made"));
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        std::fs::write(place.file("certificate.pem"), cert.pem()).expect("it can be written");
        std::fs::write(place.file("key.pem"), signing_key.serialize_pem()).expect("it can be written");
        let plain = Serving::start(&place.file("data"), &[]);
        assert_eq!(plain.ask("POST /v1/markets", MARKET).0, 201);
        assert!(plain.signal("-TERM").status.success());
        place
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn settings(&self) -> [String; 2] {
        ["certificate", "key"].map(|what| format!("tls_{what}={}", self.file(&format!("{what}.pem")).display()))
    }

    /// The server, over TLS.
    fn serve(&self) -> Serving {
        let [certificate, key] = self.settings();
        Serving::start(&self.file("data"), &["--set", &certificate, "--set", &key])
    }

    fn ask(&self, arguments: &[&str]) -> Output {
        self.command(arguments).ran()
    }

    /// A command that believes what the system believes, which is nobody.
    fn command(&self, arguments: &[&str]) -> Command {
        let nobody = self.file("nobody.pem");
        std::fs::write(&nobody, "").expect("it can be written");
        let mut command = Command::new(env!("CARGO_BIN_EXE_nevertwice"));
        command.args(arguments).env("SSL_CERT_FILE", nobody).env_remove("SSL_CERT_DIR");
        command
    }
}

/// Under the name that is in the certificate.
fn url(serving: &Serving) -> String {
    format!("https://localhost:{}", serving.address.rsplit_once(':').expect("a port").1)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path is text")
}

fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
#[cfg(unix)]
fn commands_ask_over_tls_whom_the_named_authority_vouches_for() {
    let place = Place::new();
    let (ca, to) = (place.file("certificate.pem"), place.file("backup"));
    let serving = place.serve();
    let server = ["--server", &url(&serving), "--ca", text(&ca)];
    let ask = |arguments: &[&str]| place.ask(&[arguments, &server].concat());
    let key = format!("k{}", MARKET.len());
    for (arguments, expected) in [
        (&["audit"][..], "open_market by local"),
        (&["explain", "--principal", "local", "--key", &key], "1-1 open_market"),
        (&["backup", "--to", text(&to)], "read back and verified"),
    ] {
        let output = ask(arguments);
        assert!(output.status.success() && told(&output).contains(expected), "{arguments:?}: {}", told(&output));
    }
    let verified = place.ask(&["verify", "--data", text(&to)]);
    assert!(verified.status.success(), "{}", told(&verified));
    assert!(serving.signal("-TERM").status.success());
}

#[test]
#[cfg(unix)]
fn a_standby_follows_over_tls() {
    let place = Place::new();
    let (ca, copy) = (place.file("certificate.pem"), place.file("copy"));
    std::fs::copy(place.file("data.key"), place.file("copy.key")).expect("the person key can be copied");
    let serving = place.serve();
    let mut standby = place.command(&["standby", "--from", &url(&serving), "--ca", text(&ca), "--listen", "127.0.0.1:0"]);
    standby.args(["--data", text(&copy)]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let standby = Serving::started(standby);
    while standby.get("/v1/standby").1["shards"][0]["position"] != "1-1" {
        std::thread::yield_now();
    }
    let promoted = place.ask(&["promote", "--standby", &format!("http://{}", standby.address)]);
    assert!(promoted.status.success() && told(&promoted).contains("market/wc at 1-1"), "{}", told(&promoted));
    // The server that was followed is no standby, and says so over TLS.
    let refused = place.ask(&["promote", "--standby", &url(&serving), "--ca", text(&ca)]);
    assert!(!refused.status.success() && told(&refused).contains("(not_standby)"), "{}", told(&refused));
}

#[test]
#[cfg(unix)]
fn what_the_system_believes_is_believed() {
    let place = Place::new();
    let serving = place.serve();
    let audit = place.command(&["audit", "--server", &url(&serving)]).env("SSL_CERT_FILE", place.file("certificate.pem")).ran();
    assert!(audit.status.success() && told(&audit).contains("open_market"), "{}", told(&audit));
}

#[test]
#[cfg(unix)]
fn who_is_not_vouched_for_is_not_asked() {
    let (place, other) = (Place::new(), Place::new());
    let serving = place.serve();
    let (secure, ca) = (url(&serving), place.file("certificate.pem"));
    let (stranger, no_certificate) = (other.file("certificate.pem"), place.file("key.pem"));
    let (other_name, plain) = (secure.replace("localhost", "127.0.0.1"), secure.replace("https", "http"));
    for (what, server, ca, expected) in [
        ("the system knows nobody", &secure, None, "certificates can't be used"),
        ("another authority", &secure, Some(&stranger), "no TLS connection was made"),
        ("a certificate for another name", &other_name, Some(&ca), "no TLS connection was made"),
        ("a file without certificates", &secure, Some(&no_certificate), "it has no certificate in PEM"),
        ("no such file", &secure, Some(&place.file("gone.pem")), "gone.pem"),
        ("certificates for nothing", &plain, Some(&ca), "is reached without TLS"),
        ("a server that speaks TLS alone", &plain, None, "no answer"),
    ] {
        let mut arguments = vec!["audit", "--server", server];
        arguments.extend(ca.into_iter().flat_map(|ca| ["--ca", text(ca)]));
        let output = place.ask(&arguments);
        assert!(!output.status.success() && told(&output).contains(expected), "{what}: {}", told(&output));
    }
}
