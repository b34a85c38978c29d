//! Where a report comes from: a stopped or copied data folder, or a running server.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use nevertwice_api::wire::Problem;
use nevertwice_bots::http::{Client, Outcome, Reply, Request, Target};
use nevertwice_local::inspect::Inspection;
use nevertwice_local::storage::FileStorage;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// How long a server may take for one answer: it searches its journal for some seconds at most.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);

/// How often a server that is busy with somebody else is asked again.
const TRIES: u32 = 10;

/// A data folder or a server.
#[derive(Args, Debug)]
pub(crate) struct SourceArgs {
    /// A stopped or copied data folder. Nothing is changed in it.
    #[arg(long, value_name = "DIR", required_unless_present = "server", conflicts_with_all = ["server", "api_key_file"])]
    data: Option<PathBuf>,
    /// A running server, written `http://HOST:PORT`.
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// A file with a key that lets an operator in; none for a server without keys.
    #[arg(long, value_name = "FILE", requires = "server")]
    api_key_file: Option<PathBuf>,
}

/// What was named.
pub(crate) enum Source {
    /// A folder, opened for reading.
    Folder(Inspection),
    /// A server.
    Server(Box<Server>),
}

impl SourceArgs {
    /// Opens it.
    pub(crate) fn open(&self) -> Result<Source, Box<dyn Error>> {
        match (&self.data, &self.server) {
            (Some(data), _) => Ok(Source::Folder(Inspection::open(Arc::new(FileStorage::open(data)?))?)),
            (None, Some(url)) => Ok(Source::Server(Box::new(Server::open(url, self.api_key_file.as_deref())?))),
            (None, None) => Err("name a data folder with --data, or a server with --server".into()),
        }
    }
}

/// A running server, which alone knows what is asked about.
#[derive(Args, Debug)]
pub(crate) struct ServerArgs {
    /// The running server, written `http://HOST:PORT`.
    #[arg(long, value_name = "URL")]
    server: String,
    /// A file with a key that lets an operator in; none for a server without keys.
    #[arg(long, value_name = "FILE")]
    api_key_file: Option<PathBuf>,
}

impl ServerArgs {
    pub(crate) fn open(&self) -> Result<Server, Box<dyn Error>> {
        Server::open(&self.server, self.api_key_file.as_deref())
    }
}

fn get(path: &str, query: &[(&str, String)]) -> Request {
    let mut encoded = form_urlencoded::Serializer::new(String::new());
    encoded.extend_pairs(query);
    Request::get(format!("{path}?{}", encoded.finish()))
}

fn read_key(file: &Path) -> Result<String, Box<dyn Error>> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("the key file {} can't be read: {error}", file.display()))?;
    let key = text.trim();
    if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!("the file {} holds no key: one line of visible ASCII characters", file.display()).into());
    }
    Ok(key.to_owned())
}

/// A running server.
pub(crate) struct Server {
    client: Client,
    key: Option<String>,
    runtime: tokio::runtime::Runtime,
}

impl Server {
    fn open(url: &str, key_file: Option<&Path>) -> Result<Self, Box<dyn Error>> {
        let key = key_file.map(read_key).transpose()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { client: Client::new(Target::parse(url)?, ANSWER_WITHIN), key, runtime })
    }

    /// Posts JSON to a path, on behalf of a principal. It must be something that may be repeated.
    pub(crate) fn post<T: DeserializeOwned>(&mut self, path: &str, principal: &str, body: &impl Serialize) -> Result<T, Box<dyn Error>> {
        self.ask(Request::post(path, body)?.header("principal", principal))
    }

    /// Reads what is at a path about a principal.
    pub(crate) fn get_of<T: DeserializeOwned>(
        &mut self,
        path: &str,
        principal: &str,
        query: &[(&str, String)],
    ) -> Result<T, Box<dyn Error>> {
        self.ask(get(path, query).header("principal", principal))
    }

    /// Reads what is at a path.
    pub(crate) fn get<T: DeserializeOwned>(&mut self, path: &str, query: &[(&str, String)]) -> Result<T, Box<dyn Error>> {
        self.ask(get(path, query))
    }

    fn ask<T: DeserializeOwned>(&mut self, mut request: Request) -> Result<T, Box<dyn Error>> {
        if let Some(key) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let mut tries = 0;
        loop {
            tries += 1;
            let reply = self.send(&request)?;
            if reply.is_success() {
                return Ok(reply.json()?);
            }
            let problem: Problem = reply.json().map_err(|_| format!("the server answered {} without saying why", reply.status))?;
            if problem.retryable && tries < TRIES {
                self.runtime.block_on(tokio::time::sleep(Duration::from_secs(1)));
                continue;
            }
            return Err(format!("{} [{}]", problem.detail, problem.code).into());
        }
    }

    fn send(&mut self, request: &Request) -> Result<Reply, String> {
        let server = self.client.target().authority().to_owned();
        match self.runtime.block_on(self.client.send(request)) {
            Outcome::Reply(reply) => Ok(reply),
            Outcome::Refused => Err(format!("nobody listens at {server}; nothing was asked")),
            Outcome::Lost => Err(format!("the connection to {server} broke before the whole answer had come")),
            Outcome::TimedOut => Err(format!("{server} did not answer within {} s", ANSWER_WITHIN.as_secs())),
            Outcome::Unsendable => Err("the key, or what was asked for, can't be sent in a request".to_owned()),
        }
    }
}
