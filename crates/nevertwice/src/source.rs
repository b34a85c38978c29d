//! Where a report comes from: a stopped or copied data folder, or a running server.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use nevertwice_local::inspect::Inspection;
use nevertwice_local::storage::FileStorage;
use nevertwice_server::{Remote, RemoteError, Target};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::asking::AskingArgs;

/// How often a server that is busy with somebody else is asked.
const TRIES: u32 = 10;

/// A data folder or a server.
#[derive(Args, Debug)]
pub(crate) struct SourceArgs {
    /// A stopped or copied data folder. Nothing is changed in it.
    #[arg(long, value_name = "DIR", required_unless_present = "server", conflicts_with_all = ["server", "api_key_file", "ca"])]
    data: Option<PathBuf>,
    /// A running server, written `http://HOST:PORT` or `https://HOST:PORT`.
    #[arg(long, value_name = "URL")]
    server: Option<Target>,
    #[command(flatten)]
    asking: AskingArgs,
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
            (None, Some(target)) => Ok(Source::Server(Box::new(Server(self.asking.remote(target)?)))),
            (None, None) => Err("name a data folder with --data, or a server with --server".into()),
        }
    }
}

/// A running server, which alone knows what is asked about.
#[derive(Args, Debug)]
pub(crate) struct ServerArgs {
    /// The running server, written `http://HOST:PORT` or `https://HOST:PORT`.
    #[arg(long, value_name = "URL")]
    server: Target,
    #[command(flatten)]
    asking: AskingArgs,
}

impl ServerArgs {
    pub(crate) fn open(&self) -> Result<Server, Box<dyn Error>> {
        Ok(Server(self.asking.remote(&self.server)?))
    }
}

/// A running server.
pub(crate) struct Server(Remote);

impl Server {
    /// Reads what is at a path.
    pub(crate) fn get<T: DeserializeOwned>(&mut self, path: &str, query: &[(&str, String)]) -> Result<T, RemoteError> {
        let path = with_query(path, query);
        self.ask(|remote| remote.read(&path))
    }

    /// Reads what is at a path about a principal.
    pub(crate) fn get_of<T: DeserializeOwned>(&mut self, path: &str, principal: &str, query: &[(&str, String)]) -> Result<T, RemoteError> {
        let path = with_query(path, query);
        self.ask(|remote| remote.read_of(&path, principal))
    }

    /// Posts JSON to a path, on behalf of a principal. It must be something that may be repeated.
    pub(crate) fn post<T: DeserializeOwned>(&mut self, path: &str, principal: &str, body: &impl Serialize) -> Result<T, RemoteError> {
        self.ask(|remote| remote.post(path, principal, body))
    }

    fn ask<T>(&mut self, ask: impl Fn(&mut Remote) -> Result<T, RemoteError>) -> Result<T, RemoteError> {
        let mut tries = 0;
        loop {
            tries += 1;
            match ask(&mut self.0) {
                Err(RemoteError::Refused(problem)) if problem.retryable && tries < TRIES => std::thread::sleep(Duration::from_secs(1)),
                answered => return answered,
            }
        }
    }
}

fn with_query(path: &str, query: &[(&str, String)]) -> String {
    let mut encoded = form_urlencoded::Serializer::new(String::new());
    encoded.extend_pairs(query);
    format!("{path}?{}", encoded.finish())
}
