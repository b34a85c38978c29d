//! A server in a process of its own: this same binary, ended with its owner.

use std::error::Error;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// How long it takes at most until the end of a server is seen.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// A server in a process of its own.
pub(crate) struct Server {
    process: Child,
    /// Where it listens: `http://host:port`.
    pub(crate) url: String,
}

impl Server {
    /// Starts this binary with these arguments, and waits for the line that says where it listens.
    pub(crate) fn start<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Result<Self, Box<dyn Error>> {
        let mut process = Command::new(std::env::current_exe()?).args(arguments).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        if let Some(output) = process.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        match line.trim().strip_prefix("listening on ") {
            Some(url) => Ok(Self { url: url.to_owned(), process }),
            None => {
                end(&mut process);
                Err("the server did not start; it says why above".into())
            }
        }
    }

    /// The number of its process.
    pub(crate) fn pid(&self) -> String {
        self.process.id().to_string()
    }

    /// Ends it by SIGKILL.
    pub(crate) fn kill(&mut self) {
        end(&mut self.process);
    }

    /// Waits until it ends by itself, and lets go of the thread meanwhile.
    pub(crate) async fn ended(&mut self) -> std::io::Result<ExitStatus> {
        loop {
            match self.process.try_wait()? {
                Some(status) => return Ok(status),
                None => tokio::time::sleep(LOOK_AGAIN).await,
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        end(&mut self.process);
    }
}

fn end(process: &mut Child) {
    // It may have ended already.
    let _ = process.kill();
    let _ = process.wait();
}
