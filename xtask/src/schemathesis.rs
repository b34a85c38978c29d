//! Asks a running server whatever its own OpenAPI document lets one ask, and much that it does not, and holds every answer to it.
//!
//! The program is schemathesis, pinned with all that it needs in `xtask/schemathesis/requirements.txt`. The server is the real
//! binary on a free port of the loopback address, with credentials, on a folder that goes afterwards. Seed and numbers are fixed.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::step::Failure;
use crate::workspace::{Workspace, capture, stream};

/// Where its configuration lies, from the root of the repository.
const FOLDER: &str = "xtask/schemathesis";
const OPERATOR_KEY: &str = "the-operators-key-of-a-check";
const SERVICE_KEY: &str = "the-services-key-of-a-check";

pub(crate) fn run(workspace: &Workspace) -> Result<String, Failure> {
    let target = workspace.metadata()?.target_directory.into_std_path_buf();
    let own = workspace.root().join(FOLDER);
    let program = bring(&own, &target.join("tools/schemathesis"))?;
    stream(workspace.cargo().args(["build", "--package", "nevertwice"]), "mend what does not compile")?;
    let scratch = target.join("schemathesis");
    if scratch.exists() {
        fs::remove_dir_all(&scratch).map_err(broken("the folder of the last run could not be removed"))?;
    }
    fs::create_dir_all(&scratch).map_err(broken("no folder could be made"))?;
    let mut server = Server::start(&target.join("debug/nevertwice"), &scratch)?;
    let known = server.furnish()?;
    let mut check = Command::new(program);
    check
        .arg("--config-file")
        .arg(own.join("schemathesis.toml"))
        .args(["--no-color", "run", &format!("http://{}/openapi.json", server.address)])
        .args(["--header", &format!("Authorization: Bearer {OPERATOR_KEY}")])
        .current_dir(&scratch)
        .env("PYTHONPATH", &own)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("SCHEMATHESIS_HOOKS", "hooks")
        .env("NVT_BASE_URL", format!("http://{}", server.address))
        .env("NVT_EXPIRES", in_an_hour())
        .envs(known);
    let output = capture(&mut check)?;
    let text = String::from_utf8_lossy(&output.stdout);
    let log = server.end()?;
    if !output.status.success() {
        println!("{text}{}", String::from_utf8_lossy(&output.stderr));
        return Err(Failure::new(
            "the server does not answer as its document says",
            "each failure above has a request that repeats it; mend the server, or crates/nevertwice-server/src/openapi where the document is wrong",
        ));
    }
    if log.contains("panicked") || log.contains("internal fault") {
        println!("{log}");
        return Err(Failure::new("the server's log tells of a fault", "read it above"));
    }
    judge(&text)
}

/// What was asked, as the program counts it. Nothing is a failure.
fn judge(text: &str) -> Result<String, Failure> {
    let tested = figure(text, "Tested: ");
    let cases = text.lines().find_map(|line| line.trim().split_once(" generated")?.0.parse::<u64>().ok());
    match (tested, cases) {
        (Some(tested), Some(cases)) if tested > 20 && cases > 500 => {
            Ok(format!("{tested} operations answered {cases} requests as the document says"))
        }
        _ => {
            println!("{text}");
            Err(Failure::new("hardly anything was asked", "see above what the program says of the document"))
        }
    }
}

fn figure(text: &str, before: &str) -> Option<u64> {
    text.lines().find_map(|line| line.trim().strip_prefix(before)?.trim().parse().ok())
}

/// Puts the pinned packages into a folder of their own, if they are not there.
fn bring(own: &Path, folder: &Path) -> Result<PathBuf, Failure> {
    let list = own.join("requirements.txt");
    let wanted = fs::read_to_string(&list).map_err(broken("the list of packages can't be read"))?;
    let marker = folder.join("requirements.txt");
    if fs::read_to_string(&marker).is_ok_and(|have| have == wanted) {
        return Ok(folder.join("bin/schemathesis"));
    }
    let remedy = "install Python 3.10 or newer with venv and pip (on Debian: python3-venv), then run `cargo xtask schemathesis` again";
    stream(Command::new("python3").args(["-m", "venv", "--clear"]).arg(folder), remedy)?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
    stream(Command::new(folder.join("bin/python")).args(pip).arg(&list), remedy)?;
    fs::write(&marker, wanted).map_err(broken("the folder of tools can't be written"))?;
    Ok(folder.join("bin/schemathesis"))
}

/// The server that is asked.
struct Server {
    process: Child,
    address: String,
    log: PathBuf,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    fn start(binary: &Path, scratch: &Path) -> Result<Self, Failure> {
        let failed = "the server could not be started";
        let log = scratch.join("log");
        let stderr = fs::File::create(&log).map_err(broken(failed))?;
        let mut command = Command::new(binary);
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--log", "info", "--data"])
            .arg(scratch.join("data"))
            .env("NEVERTWICE_OPERATOR_KEY", OPERATOR_KEY)
            .env("NEVERTWICE_SERVICE_KEY", SERVICE_KEY)
            .stdout(Stdio::piped())
            .stderr(stderr);
        let mut process = command.spawn().map_err(broken(failed))?;
        let mut line = String::new();
        if let Some(stdout) = process.stdout.take() {
            BufReader::new(stdout).read_line(&mut line).map_err(broken(failed))?;
        }
        let address = line.trim().strip_prefix("listening on http://").unwrap_or_default().to_owned();
        let server = Self { process, address, log };
        if server.address.is_empty() {
            return Err(Failure::new(failed, format!("read {}", server.log.display())));
        }
        Ok(server)
    }

    /// Makes a market and a sale with a booking in them, and tells the names that were not chosen here.
    fn furnish(&self) -> Result<Vec<(&'static str, String)>, Failure> {
        for (number, (path, body)) in FURNITURE.iter().enumerate() {
            self.post(path, number, body)?;
        }
        let booked = self.post("/v1/sales/final/bookings", FURNITURE.len(), r#"{"code":"A1","level":"north"}"#)?;
        let text = |member: &str| {
            let (_, rest) = booked.split_once(&format!("\"{member}\":\""))?;
            Some(rest.split_once('"')?.0.to_owned())
        };
        match (text("booking"), text("payment"), text("position")) {
            (Some(booking), Some(payment), Some(position)) => {
                Ok(vec![("NVT_BOOKING", booking), ("NVT_PAYMENT", payment), ("NVT_POSITION", position)])
            }
            _ => Err(Failure::new(format!("a booking was answered with {booked}"), "compare with docs/sales.md")),
        }
    }

    fn post(&self, path: &str, number: usize, body: &str) -> Result<String, Failure> {
        let failed = broken("the server did not answer");
        let ask = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(&self.address)?;
            let length = body.len();
            write!(
                stream,
                "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {OPERATOR_KEY}\r\n\
                 idempotency-key: furniture-{number}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
            )?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        };
        let answer = ask().map_err(failed)?;
        if answer.starts_with("HTTP/1.1 20") {
            Ok(answer)
        } else {
            Err(Failure::new(format!("POST {path} was answered with {answer}"), "compare with docs/http-api.md"))
        }
    }

    /// Ends the server, if it has not ended by itself, and tells its log.
    fn end(&mut self) -> Result<String, Failure> {
        let failed = "the server could not be ended";
        if let Some(status) = self.process.try_wait().map_err(broken(failed))? {
            return Err(Failure::new(format!("the server ended while it was asked: {status}"), format!("read {}", self.log.display())));
        }
        self.process.kill().map_err(broken(failed))?;
        self.process.wait().map_err(broken(failed))?;
        fs::read_to_string(&self.log).map_err(broken("the server's log can't be read"))
    }
}

/// What is there before the server is asked; `schemathesis.toml` names it.
const FURNITURE: &[(&str, &str)] = &[
    (
        "/v1/markets",
        r#"{"market":"wc","decimals":2,"fee_bps":50,"limits":{"quantity_max":1000,"holding_max":1000000,"house_loss_max":10000000},"mode":"open"}"#,
    ),
    ("/v1/markets/wc/instruments", r#"{"instrument":"ARG","base":1000,"slope":2}"#),
    ("/v1/markets/wc/accounts", r#"{"account":"ann","opening_balance":1000000000}"#),
    ("/v1/sales", r#"{"sale":"final","levels":[{"level":"north","cap":2}],"total_cap":3,"opens_at":1000,"closes_at":4000000000000}"#),
    ("/v1/sales/final/candidates", r#"{"candidates":[{"code":"A1"},{"code":"B2"}]}"#),
    ("/v1/sales/final/open", r#"{"open":true}"#),
    ("/v1/keys/register", r#"{"key":"k","owner":"5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a","request":"{}"}"#),
];

/// An instant in an hour, in milliseconds.
fn in_an_hour() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (now.as_millis() + 3_600_000).to_string()
}

fn broken(what: &'static str) -> impl FnOnce(std::io::Error) -> Failure {
    move |error| Failure::new(format!("{what}: {error}"), "run `cargo xtask schemathesis` again, and look at the target folder")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_asked_hardly_anything_has_failed() {
        let run = |tested: u64, cases: u64| {
            format!("API Operations:\n  Selected: 37/37\n  Tested: {tested}\n\nTest cases:\n  {cases} generated, {cases} passed\n")
        };
        assert!(judge(&run(37, 2_800)).expect("a good run").contains("37 operations answered 2800 requests"));
        for text in [run(0, 2_800), run(37, 3), String::new()] {
            assert!(judge(&text).is_err(), "{text}");
        }
    }
}
