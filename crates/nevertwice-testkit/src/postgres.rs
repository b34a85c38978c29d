//! A real Postgres server for a test: made in a temporary folder, on a free port, and gone with the value.
//!
//! It comes from the machine's packages (`postgresql` on Debian). The server refuses to run as root, so where the tests do, it runs as the
//! user that the package made.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

const USER: &str = "postgres";
const READY: &str = "database system is ready to accept connections";

/// A server.
pub struct PostgresServer {
    /// Holds the database; the socket lies in it, too.
    folder: tempfile::TempDir,
    port: u16,
    settings: Vec<String>,
    server: Option<Child>,
}

impl PostgresServer {
    /// Makes a database and starts a server on it. `settings` are server settings such as `synchronous_commit=off`.
    ///
    /// # Panics
    /// If the machine has no Postgres, or it does not start: with what it said.
    #[must_use]
    pub fn start(settings: &[&str]) -> Self {
        let folder = tempfile::Builder::new().prefix("nvt-postgres-").tempdir().expect("a temporary folder");
        if let Some((user, group)) = unprivileged() {
            chown(folder.path(), Some(user), Some(group)).expect("root may give a folder away");
        }
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).expect("the folder is ours");
        let data = folder.path().join("data");
        let made = program("initdb")
            .args(["--auth=trust", "--username=nevertwice", "--encoding=UTF8", "--no-locale", "--no-sync", "--pgdata"])
            .arg(&data)
            .output()
            .expect("initdb can be run: install Debian's package `postgresql`");
        assert!(made.status.success(), "initdb failed: {}", String::from_utf8_lossy(&made.stderr));
        let port = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port is free").port();
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let mut server = Self { folder, port, settings, server: None };
        server.restart();
        server
    }

    /// Starts it again on its database and its port, after it was killed or stopped.
    ///
    /// # Panics
    /// If it does not start: with what it said.
    pub fn restart(&mut self) {
        self.kill();
        let mut command = program("postgres");
        command.arg("-D").arg(self.folder.path().join("data")).arg("-k").arg(self.folder.path());
        command.args(["-p", &self.port.to_string(), "-c", "listen_addresses=127.0.0.1", "-c", "shared_buffers=32MB"]);
        command.args(["-c", "max_connections=60", "-c", "logging_collector=off", "-c", "log_destination=stderr"]);
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        let mut server = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("postgres can be run");
        let mut said = String::new();
        let mut lines = BufReader::new(server.stderr.take().expect("it is piped"));
        while !said.contains(READY) {
            assert!(lines.read_line(&mut said).is_ok_and(|read| read > 0), "postgres did not start: {said}");
        }
        // Whoever does not read what a server says makes it wait.
        thread::spawn(move || drop(lines.read_to_end(&mut Vec::new())));
        self.server = Some(server);
    }

    /// Kills the server and each of its sessions by SIGKILL.
    pub fn kill(&mut self) {
        let Some(mut server) = self.server.take() else { return };
        let pid = server.id();
        // Stopped first, so that it starts no further session while they are being listed.
        signal("STOP", &[pid]);
        let mut pids = children(pid);
        pids.push(pid);
        signal("KILL", &pids);
        drop(server.wait());
    }

    /// Where it is reached by TCP, with its only user and database.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://nevertwice@127.0.0.1:{}/postgres", self.port)
    }

    /// Its port.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Makes a further, empty database on it and says where that is reached.
    ///
    /// # Panics
    /// If it can't be made.
    #[must_use]
    pub fn database(&self, name: &str) -> String {
        let port = self.port.to_string();
        let made = program("createdb").args(["-h", "127.0.0.1", "-p", &port, "-U", "nevertwice", name]).output().expect("createdb can be run");
        assert!(made.status.success(), "createdb failed: {}", String::from_utf8_lossy(&made.stderr));
        format!("postgres://nevertwice@127.0.0.1:{port}/{name}")
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The user and the group that the server runs as; none where the tests themselves are not root.
fn unprivileged() -> Option<(u32, u32)> {
    (number("id", &["-u"]) == Some(0)).then(|| {
        let user = number("id", &["-u", USER]).expect("the package `postgresql` makes a user for its server");
        (user, number("id", &["-g", USER]).expect("a user has a group"))
    })
}

fn number(program: &str, arguments: &[&str]) -> Option<u32> {
    let output = Command::new(program).args(arguments).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

/// One of the package's programs, run as its user where the tests are root. It replaces the process that is started, so its id is the
/// server's own.
fn program(name: &str) -> Command {
    let path = newest("/usr/lib/postgresql").map_or_else(|| PathBuf::from(name), |version| version.join("bin").join(name));
    if unprivileged().is_none() {
        return Command::new(path);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", USER, "--regid", USER, "--clear-groups"]).arg(path).current_dir("/");
    command
}

fn newest(folder: impl AsRef<Path>) -> Option<PathBuf> {
    let versions = fs::read_dir(folder).ok()?.flatten();
    versions.filter_map(|entry| Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path()))).max().map(|(_, path)| path)
}

fn children(pid: u32) -> Vec<u32> {
    let listed = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    listed.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

fn signal(name: &str, pids: &[u32]) {
    let pids: Vec<String> = pids.iter().map(ToString::to_string).collect();
    // A session that has ended meanwhile is no mistake.
    drop(Command::new("kill").arg(format!("-{name}")).args(pids).stderr(Stdio::null()).status());
}
