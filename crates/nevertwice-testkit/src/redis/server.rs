//! One server, started and ended by its owner.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use super::{RedisClient, RedisReply};

/// Names of the program. Debian's package without the service has it as `redis-check-rdb`: one program, which does what it is called by.
const PROGRAMS: &[&str] = &["redis-server", "valkey-server", "redis-check-rdb"];

/// A port that was free may be somebody else's by the time the server takes it.
const ATTEMPTS: usize = 20;

/// How often one looks whether servers have found each other, and how long one waits in between.
const LOOKS: usize = 2_000;
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// A server. It ends with this value.
pub struct RedisServer {
    child: Option<Child>,
    port: u16,
    arguments: Vec<String>,
    folder: tempfile::TempDir,
}

impl RedisServer {
    /// Starts a server with these further arguments (`--maxmemory 4mb`), without persistence unless they ask for it.
    ///
    /// # Panics
    ///
    /// If no server can be started: a test that needs one can't go on.
    #[must_use]
    pub fn start(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let mut server = Self { child: None, port: 0, arguments: arguments.iter().map(|&text| text.to_owned()).collect(), folder };
        for _ in 0..ATTEMPTS {
            server.port = free_port();
            if server.run() {
                return server;
            }
        }
        panic!("no Redis server would start with {arguments:?}; `cargo xtask test` brings the program, or install redis-server");
    }

    /// The port that it listens on, on 127.0.0.1.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Its address, as the product takes it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// A plain connection to it.
    ///
    /// # Panics
    ///
    /// If it does not listen.
    #[must_use]
    pub fn client(&self) -> RedisClient {
        RedisClient::connect(self.port).expect("the server listens")
    }

    /// Asks one command over a connection of its own.
    ///
    /// # Panics
    ///
    /// If there is no reply.
    pub fn ask<A: AsRef<[u8]>>(&self, command: &[A]) -> RedisReply {
        self.client().ask(command).expect("the server replies")
    }

    /// A field of `INFO`, such as `master_replid`.
    ///
    /// # Panics
    ///
    /// If there is no reply.
    #[must_use]
    pub fn info(&self, field: &str) -> Option<String> {
        let text = self.ask(&["INFO", "ALL"]).text();
        text.lines().find_map(|line| Some(line.strip_prefix(field)?.strip_prefix(':')?.to_owned()))
    }

    /// Ends it at once, as a power cut would.
    ///
    /// # Panics
    ///
    /// If it was ended already.
    pub fn kill(&mut self) {
        let mut child = self.child.take().expect("the server runs");
        child.kill().expect("a process of ours can be ended");
        child.wait().expect("a process of ours can be waited for");
    }

    /// Starts it again after [`Self::kill`], on the same port and in the same folder.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn restart(&mut self) {
        assert!(self.child.is_none(), "the server runs");
        assert!(self.run(), "the server does not start again");
    }

    /// Stops it where it stands: connections stay, and nothing answers.
    pub fn pause(&self) {
        self.signal("STOP");
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.signal("CONT");
    }

    fn signal(&self, name: &str) {
        let id = self.child.as_ref().expect("the server runs").id().to_string();
        let sent = Command::new("kill").args([format!("-{name}"), id]).status();
        assert!(sent.is_ok_and(|status| status.success()), "no {name} could be sent to the server");
    }

    /// Whether it came up.
    fn run(&mut self) -> bool {
        let port = self.port.to_string();
        let mut found = PROGRAMS.iter().filter_map(|program| {
            let mut command = Command::new(program);
            if *program == "redis-check-rdb" {
                command.arg0("redis-server");
            }
            command.args(["--port", &port, "--bind", "127.0.0.1", "--save", "", "--loglevel", "notice", "--daemonize", "no"]);
            command.arg("--dir").arg(self.folder.path()).args(&self.arguments);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()
        });
        let Some(mut child) = found.next() else { return false };
        let mut lines = BufReader::new(child.stdout.take().expect("its output is ours")).lines();
        let is_up = lines.by_ref().map_while(Result::ok).any(|line| line.contains("Ready to accept connections"));
        // Whoever does not read what it writes would stop it one day.
        thread::spawn(move || lines.map_while(Result::ok).count());
        if is_up {
            self.child = Some(child);
        } else {
            // It has closed its output, so it is at its end; this is no more than to be sure.
            drop(child.kill());
            drop(child.wait());
        }
        is_up
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// A primary and a replica that follows it.
///
/// # Panics
///
/// If they don't find each other.
#[must_use]
pub fn pair(arguments: &[&str]) -> (RedisServer, RedisServer) {
    let primary = RedisServer::start(&[arguments, &["--repl-diskless-sync-delay", "0"]].concat());
    let port = primary.port().to_string();
    let replica = RedisServer::start(&[arguments, &["--replicaof", "127.0.0.1", &port]].concat());
    until("a replica follows its primary", || {
        replica.info("master_link_status").as_deref() == Some("up") && primary.info("connected_slaves").as_deref() == Some("1")
    });
    (primary, replica)
}

/// Waits for what servers do among themselves and tell nobody.
pub(crate) fn until(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..LOOKS {
        if is_so() {
            return;
        }
        thread::sleep(BETWEEN_LOOKS);
    }
    panic!("waited in vain until {what}");
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has free ports");
    listener.local_addr().expect("a listener has an address").port()
}
