//! A real Postgres server in a folder of its own, on a socket in that folder: no port, no password, nobody else's data.
//!
//! It needs the server's programs of some Debian package `postgresql-NN`, or on the `PATH`. As root, which Postgres refuses to run
//! as, the server belongs to the user `postgres`.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

/// Where Debian keeps the server's programs, one folder for each version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// How often the server is asked whether it is there, and how long it is waited for between.
const ASKED_MAX: u32 = 600;
const ASKED_EVERY: Duration = Duration::from_millis(50);

/// A server, stopped when this goes.
#[derive(Debug)]
pub struct Postgres {
    folder: PathBuf,
    programs: PathBuf,
    settings: Vec<(String, String)>,
    child: Option<Child>,
    databases: AtomicU32,
}

impl Postgres {
    /// Makes an empty server and starts it with those settings (`("synchronous_commit", "on")`). What is not named is as Postgres
    /// ships it; in particular `fsync` is on.
    ///
    /// # Panics
    /// If there is no Postgres on this machine, or it does not start.
    #[must_use]
    pub fn start(settings: &[(&str, &str)]) -> Postgres {
        let programs = programs().expect("the package `postgresql` is installed: `cargo xtask test` brings it");
        let folder = new_folder();
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut server = Postgres { folder, programs, settings, child: None, databases: AtomicU32::new(0) };
        let data = server.data();
        let mut initdb = server.as_owner("initdb");
        initdb.arg("-D").arg(&data).args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"]);
        expect_success("initdb", &mut initdb);
        server.resume();
        server
    }

    /// One server for all tests of this program, without `fsync`: for tests that do not ask what outlives a power cut.
    ///
    /// # Panics
    /// As [`Postgres::start`].
    pub fn shared() -> &'static Postgres {
        static SHARED: OnceLock<Postgres> = OnceLock::new();
        SHARED.get_or_init(|| {
            // The system ends the server when the thread ends that started it: this one ends with the program.
            let (sender, receiver) = std::sync::mpsc::channel();
            let starter = move || {
                let settings = [("fsync", "off"), ("full_page_writes", "off"), ("max_connections", "200")];
                sender.send(Postgres::start(&settings)).expect("somebody waits for it");
                loop {
                    thread::park();
                }
            };
            thread::Builder::new().name("postgres".to_owned()).spawn(starter).expect("a thread starts");
            receiver.recv().expect("Postgres has started")
        })
    }

    /// Makes an empty database, and tells its address.
    ///
    /// # Panics
    /// If it can't be made.
    #[must_use]
    pub fn new_database(&self) -> String {
        let name = format!("scratch_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.psql("postgres", &format!("CREATE DATABASE {name}"));
        self.address(&name)
    }

    /// The address of one of its databases.
    #[must_use]
    pub fn address(&self, database: &str) -> String {
        format!("postgres://postgres@localhost/{database}?host={}", self.folder.display())
    }

    /// Runs SQL, and gives back what it prints, a line for each row.
    ///
    /// # Panics
    /// If it fails.
    pub fn psql(&self, database: &str, sql: &str) -> String {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.arg("-h").arg(&self.folder).args([
            "-U",
            "postgres",
            "-X",
            "-q",
            "-A",
            "-t",
            "-v",
            "ON_ERROR_STOP=1",
            "-d",
            database,
            "-c",
            sql,
        ]);
        String::from_utf8_lossy(&expect_success("psql", &mut psql).stdout).trim().to_owned()
    }

    /// Ends all of its processes at once, as a power cut would.
    ///
    /// # Panics
    /// If the system refuses.
    pub fn kill(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        let first = child.id();
        // Stopped, it starts no further ones while they are looked for.
        signal("STOP", &[first]);
        let mut all = children_of(first);
        all.push(first);
        signal("KILL", &all);
        child.wait().expect("it has ended");
        // What was its child is nobody's now; it must be gone before another one takes the folder.
        for _ in 0..ASKED_MAX {
            if !all.iter().any(|id| is_running(*id)) {
                return;
            }
            thread::sleep(ASKED_EVERY);
        }
        panic!("processes of Postgres are still there");
    }

    /// Ends it in order; who is connected is thrown out.
    ///
    /// # Panics
    /// If the system refuses.
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            signal("INT", &[child.id()]);
            child.wait().expect("it has ended");
        }
    }

    /// Starts it again on what is in its folder.
    ///
    /// # Panics
    /// If it does not start.
    pub fn resume(&mut self) {
        if self.child.is_some() {
            return;
        }
        let notes = fs::File::create(self.folder.join("server.txt")).expect("a file for what it says");
        let mut command = self.as_owner("postgres");
        command.arg("-D").arg(self.data()).arg("-k").arg(&self.folder).args(["-c", "listen_addresses="]);
        for (name, value) in &self.settings {
            command.arg("-c").arg(format!("{name}={value}"));
        }
        command.stdin(Stdio::null()).stdout(notes.try_clone().expect("the same file")).stderr(notes);
        self.child = Some(command.spawn().expect("Postgres starts"));
        let is_there = |server: &Postgres| {
            let mut ready = Command::new(server.programs.join("pg_isready"));
            ready.arg("-h").arg(&server.folder).args(["-q", "-d", "postgres", "-U", "postgres"]);
            ready.status().is_ok_and(|status| status.success())
        };
        for _ in 0..ASKED_MAX {
            if is_there(self) {
                return;
            }
            let ended = self.child.as_mut().is_none_or(|child| !matches!(child.try_wait(), Ok(None)));
            assert!(!ended, "Postgres has ended: {}", self.said());
            thread::sleep(ASKED_EVERY);
        }
        panic!("Postgres does not answer: {}", self.said());
    }

    /// Stops its processes where they stand, until [`Postgres::go_on`].
    ///
    /// # Panics
    /// If the system refuses.
    pub fn hold(&self) {
        self.signal_all("STOP");
    }

    /// Lets them go on.
    ///
    /// # Panics
    /// If the system refuses.
    pub fn go_on(&self) {
        self.signal_all("CONT");
    }

    fn signal_all(&self, name: &str) {
        if let Some(child) = &self.child {
            let mut all = vec![child.id()];
            all.extend(children_of(child.id()));
            signal(name, &all);
        }
    }

    /// What it said since it was started.
    #[must_use]
    pub fn said(&self) -> String {
        fs::read_to_string(self.folder.join("server.txt")).unwrap_or_default()
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// One of the server's programs, as a user who may run it.
    fn as_owner(&self, program: &str) -> Command {
        let path = self.programs.join(program);
        let mut command = Command::new("setpriv");
        if is_root() {
            command.args(["--reuid=postgres", "--regid=postgres", "--init-groups"]);
        }
        // Should this program be killed, the server ends as well.
        command.arg("--pdeathsig=QUIT").arg(path).current_dir(&self.folder);
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // A held process does not hear.
        self.go_on();
        if let Some(mut child) = self.child.take() {
            signal("QUIT", &[child.id()]);
            drop(child.wait());
        }
        drop(fs::remove_dir_all(&self.folder));
    }
}

/// A folder that belongs to whom the server runs as. Its name is short: that of a socket may have a hundred letters.
fn new_folder() -> PathBuf {
    static FOLDERS: AtomicU32 = AtomicU32::new(0);
    loop {
        let name = format!("nvt-pg-{}-{}", std::process::id(), FOLDERS.fetch_add(1, Ordering::Relaxed));
        let folder = env::temp_dir().join(name);
        match fs::create_dir(&folder) {
            Ok(()) => {
                if is_root() {
                    expect_success("chown", Command::new("chown").arg("postgres:postgres").arg(&folder));
                }
                return folder;
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => panic!("{}: {error}", folder.display()),
        }
    }
}

/// The folder of the server's programs: Debian's newest, or one on the `PATH`.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir(DEBIAN).into_iter().flatten().flatten();
    let versions = versions.filter_map(|entry| Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path().join("bin"))));
    let newest = versions.filter(|(_, folder)| has_server(folder)).max_by_key(|(version, _)| *version);
    newest.map(|(_, folder)| folder).or_else(|| {
        let path = env::var_os("PATH")?;
        env::split_paths(&path).find(|folder| has_server(folder))
    })
}

fn has_server(folder: &Path) -> bool {
    ["initdb", "postgres", "psql", "pg_isready"].iter().all(|program| folder.join(program).is_file())
}

fn is_root() -> bool {
    static ROOT: OnceLock<bool> = OnceLock::new();
    *ROOT.get_or_init(|| Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout.trim_ascii() == b"0"))
}

fn children_of(id: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|id| id.parse().ok()).collect()
}

/// Whether the process is there and no corpse.
fn is_running(id: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

fn signal(name: &str, ids: &[u32]) {
    // One that has ended meanwhile is no failure.
    let mut kill = Command::new("kill");
    kill.arg(format!("-{name}")).args(ids.iter().map(u32::to_string)).stderr(Stdio::null());
    kill.status().expect("the program `kill` runs");
}

fn expect_success(what: &str, command: &mut Command) -> Output {
    let output = command.stdin(Stdio::null()).output().unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(output.status.success(), "{what}: {}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    output
}
